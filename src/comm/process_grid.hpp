#pragma once
// The 3D grid of ranks: tensor x pipeline x data, by MPI's Cartesian topology.
#include <mpi.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "src/comm/communicator.hpp"

namespace triax {

enum class Axis : std::uint8_t { data, pipeline, tensor };

struct GridShape {
  int data = 1, pipeline = 1, tensor = 1;
  /// Slowest axis first. The default keeps tensor groups on neighbouring ranks.
  std::array<Axis, 3> order = {Axis::data, Axis::pipeline, Axis::tensor};
  /// Allow tensor groups to span nodes (slow).
  bool tensor_across_nodes = false;
  int size() const { return data * pipeline * tensor; }
};

class ProcessGrid {
 public:
  /// Collective over `world`, whose size must be shape.size(): a UsageError says what would fit.
  /// A tensor group that would span nodes (MPI_Comm_split_type) is a UsageError with the remedy.
  ProcessGrid(MPI_Comm world, const GridShape& shape);
  ~ProcessGrid();
  ProcessGrid(const ProcessGrid&) = delete;
  ProcessGrid& operator=(const ProcessGrid&) = delete;

  const GridShape& shape() const;
  int rank() const;  // in the grid
  int size() const;
  int data_rank() const;
  int pipeline_rank() const;
  int tensor_rank() const;
  int node_rank() const;  // among the ranks of this node
  int node_size() const;
  int nodes() const;
  std::string place() const;  // "rank 5 (data 1, pipeline 0, tensor 1) on host"

  /// All ranks of the grid.
  Communicator& world();
  /// The ranks that differ from this one along `axis` only.
  Communicator& along(Axis axis);
  Communicator& data() { return along(Axis::data); }
  Communicator& pipeline() { return along(Axis::pipeline); }
  Communicator& tensor() { return along(Axis::tensor); }
  /// First and last pipeline stage (where tied embeddings are summed); size 1 on stages between, and
  /// where there is one stage.
  Communicator& embedding();
  /// `parts` equal runs of neighbouring ranks of the tensor axis: the run this rank is in (for
  /// key/value heads shared by several tensor ranks). Collective over the tensor axis at the first call.
  Communicator& tensor_part(int parts);
  /// For HDF5: the whole grid.
  MPI_Comm mpi() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace triax
