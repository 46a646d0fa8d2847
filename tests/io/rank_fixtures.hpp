// SPDX-License-Identifier: Apache-2.0
#pragma once
// A scratch directory that all ranks share.
#include <mpi.h>

#include <memory>
#include <string>

#include "tests/io/fixtures.hpp"

namespace triax::test {

inline int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

inline int world_size() {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

/// Rank 0 creates and removes it. Construction and destruction are collective.
class SharedDirectory {
 public:
  SharedDirectory() {
    if (world_rank() == 0) owner_ = std::make_unique<TempDirectory>();
    std::string name = owner_ ? owner_->path() : "";
    name.resize(256);
    MPI_Bcast(name.data(), 256, MPI_CHAR, 0, MPI_COMM_WORLD);
    path_ = name.c_str();
  }
  ~SharedDirectory() { MPI_Barrier(MPI_COMM_WORLD); }
  std::string path(std::string_view name = {}) const {
    return name.empty() ? path_.string() : (path_ / name).string();
  }

 private:
  std::unique_ptr<TempDirectory> owner_;
  std::filesystem::path path_;
};

}  // namespace triax::test
