#include "benchmarks/support/node_memory.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include "kernels/base/check.hpp"
#include "src/train/memory_limit.hpp"

namespace triax::benchmark {

int ranks_of_node() {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
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

void require_memory(const std::string& what, double bytes, int ranks) {
  if (const std::string lacking = lacking_memory(what, bytes, ranks); !lacking.empty())
    throw UsageError(lacking, "", "Start fewer ranks a node, or ask for its memory (--mem=0)");
}

}  // namespace triax::benchmark
