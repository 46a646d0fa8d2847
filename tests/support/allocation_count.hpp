#pragma once
// Counts the allocations of a test program, for what must not allocate once warm. Link
// triax_allocation_count: it replaces operator new. What C libraries take by malloc is not counted.

namespace triax {

/// Calls of operator new since the program began.
long allocation_count();

}  // namespace triax
