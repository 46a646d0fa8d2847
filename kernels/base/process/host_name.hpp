#pragma once
// The machine's name.
#include <string>

namespace triax {

/// For people: two machines may have the same one.
std::string host_name();

}  // namespace triax
