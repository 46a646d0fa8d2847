#pragma once
// The tags that this MPI library has for messages between ranks.
#include <string_view>

namespace triax {

/// The largest tag that a message of Communicator may have; the next one is that of sums
/// (DirectExchange). `where` names who asks, in errors.
int largest_message_tag(std::string_view where);

}  // namespace triax
