// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory of this process, as the system counts it.
#include <cstdint>
#include <string>
#include <string_view>

namespace triax {

/// Bytes of a line "VmHWM:     1234 kB" of this process's status; 0 where there is none. `proc`:
/// the folder /proc.
std::int64_t status_bytes(std::string_view key, const std::string& proc = "/proc");

/// Bytes of this process in memory now, libraries included (VmRSS); 0 where the system does not
/// say.
std::int64_t resident_bytes();
/// The most so far (VmHWM).
std::int64_t peak_resident_bytes();

}  // namespace triax
