#pragma once
// What a report of a fault should say of the program.
#include <string>

namespace triax {

/// The commit that it was built from, as git describes it; "unknown" outside of a checkout.
std::string commit();

/// It was built for GPUs too.
bool built_for_gpus();

/// Commit, compiler and libraries, a line each.
std::string build_facts();

}  // namespace triax
