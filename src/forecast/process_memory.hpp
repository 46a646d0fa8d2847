// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory of this process as the kernel counts it.
#include <cstdint>
#include <string>
#include <string_view>

namespace triax {

/// Bytes of the line `key` ("VmHWM:") in this process's status file; 0 if there is none. `proc`:
/// the directory /proc.
std::int64_t status_bytes(std::string_view key, const std::string& proc = "/proc");

/// Resident bytes of this process now, libraries included (VmRSS); 0 if unknown.
std::int64_t resident_bytes();
/// Largest resident_bytes() so far (VmHWM).
std::int64_t peak_resident_bytes();

}  // namespace triax
