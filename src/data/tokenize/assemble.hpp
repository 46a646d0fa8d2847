// SPDX-License-Identifier: Apache-2.0
#pragma once
// Joins the parts into an output.
#include <memory>
#include <string>

#include "kernels/base/mpi/agree.hpp"
#include "src/data/tokenize/layout.hpp"

namespace triax {

/// Collective. Writes one output from the parts in `directory`, each rank and thread its extents.
/// The files are whole, but have their final names only after publish(). Rank 0's writer is
/// returned on all ranks.
std::unique_ptr<TokenWriter> assemble(const TokenizeOptions& options, const OutputSet& set,
                                      const Layout& layout, const std::string& directory,
                                      const std::string& job, const Ranks& ranks);

}  // namespace triax
