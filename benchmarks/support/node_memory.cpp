// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/support/node_memory.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include "kernels/base/check.hpp"
#include "src/forecast/memory_limit.hpp"

namespace triax::benchmark {

MPI_Comm ranks_of_own_node() {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  return node;
}

int ranks_of_node() {
  MPI_Comm node = ranks_of_own_node();
  int ranks = 1;
  MPI_Comm_size(node, &ranks);
  MPI_Comm_free(&node);
  return ranks;
}

std::string lacking_memory(const std::string& what, double bytes, int ranks) {
  const MemoryLimit limit = node_limit();
  if (bytes * ranks <= limit.bytes) return {};
  return fmt::format(
      "{} needs {:.3g} GB on each of {} rank(s) of a node, more than the {:.3g} GB of {}", what,
      bytes / 1e9, ranks, limit.bytes / 1e9, limit.what);
}

std::string lacking_on_any_node(const std::string& what, double bytes) {
  std::string lacking = lacking_memory(what, bytes, ranks_of_node());
  int lacks = lacking.empty() ? 0 : 1;
  MPI_Allreduce(MPI_IN_PLACE, &lacks, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return lacks == 1 && lacking.empty() ? "another node lacks memory" : lacking;
}

void require_memory(const std::string& what, double bytes, int ranks) {
  if (const std::string lacking = lacking_memory(what, bytes, ranks); !lacking.empty())
    throw UsageError(lacking, "",
                     "Start fewer ranks per node, or request all of its memory (--mem=0)");
}

}  // namespace triax::benchmark
