// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace triax {

/// Name of this machine, for people to read; two machines may have the same name.
std::string host_name();

}  // namespace triax
