// SPDX-License-Identifier: Apache-2.0
#pragma once
// Counts allocations of a test program, for code that must not allocate once warm. Link
// triax_allocation_count: it replaces operator new. Allocations of C libraries by malloc are not
// counted.

namespace triax {

/// Number of calls of operator new since the program began.
long allocation_count();

}  // namespace triax
