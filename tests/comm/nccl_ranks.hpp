// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fixture: each rank has its own device and sends by the fake NCCL (fake_nccl.hpp).
#include <memory>
#include <vector>

#include "src/comm/grid/process_grid.hpp"
#include "tests/comm/device_ranks.hpp"

namespace triax {

class Nccl : public DeviceRanks {
 protected:
  void SetUp() override { queue_ = Stream(MemorySpace::device); }
  static std::unique_ptr<ProcessGrid> grid_of(const GridShape& shape) {
    return std::make_unique<ProcessGrid>(MPI_COMM_WORLD, shape, std::vector<int>{}, 0.0,
                                         MemorySpace::device);
  }

  std::unique_ptr<ProcessGrid> grid_ = grid_of({.data = size_});
  Communicator& comm_ = grid_->data();
};

}  // namespace triax
