// SPDX-License-Identifier: Apache-2.0
#pragma once
// Facts on the program that a report of a fault needs.
#include <string>

namespace triax {

/// Commit that the program was built from, as git describe names it; "unknown" outside a checkout.
std::string commit();

/// Whether the program was built with GPU code.
bool built_for_gpus();

/// Commit, compiler and libraries, one per line.
std::string build_facts();

}  // namespace triax
