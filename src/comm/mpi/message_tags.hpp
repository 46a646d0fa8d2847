// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tags available for messages between ranks in this MPI library.
#include <string_view>

namespace triax {

/// Largest tag a Communicator message may have; the next one is reserved for the sums of
/// DirectExchange. `where` names the caller in errors.
int largest_message_tag(std::string_view where);

}  // namespace triax
