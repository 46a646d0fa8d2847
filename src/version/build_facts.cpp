// SPDX-License-Identifier: Apache-2.0
#include "src/version/build_facts.hpp"

#include <fmt/format.h>

#include "src/comm/launch/mpi_session.hpp"
#include "src/version/commit.hpp"
#include "src/version/libraries.hpp"

namespace triax {

std::string commit() {
  return built_commit;
}

bool built_for_gpus() {
  return gpu_code;
}

std::string build_facts() {
  return fmt::format("commit {}\nbuilt by {}\nMPI: {}\n{}\n{}", commit(), compiler, mpi_library(),
                     libraries, gpu_libraries);
}

}  // namespace triax
