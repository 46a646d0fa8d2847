#pragma once
// What the system says of this process's memory.
#include <cstdint>

namespace triax {

/// Bytes of memory of this machine.
double node_memory();

/// Bytes of this process in memory now, libraries included (VmRSS); 0 where the system does not
/// say.
std::int64_t resident_bytes();
/// The most so far (VmHWM).
std::int64_t peak_resident_bytes();

}  // namespace triax
