// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/mpi/mpi_error.hpp"

#include <string>

#include "kernels/base/check.hpp"

namespace triax {

void throw_mpi_error(int code, std::string_view call, std::string_view where) {
  std::string text(MPI_MAX_ERROR_STRING, '\0');
  int length = 0;
  if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) length = 0;
  text.resize(static_cast<std::size_t>(length));
  if (text.empty()) text = fmt::format("MPI error code {}", code);
  throw Error(fmt::format("{} failed on {}", call, where), text,
              "Look in the job's output for a rank or a node that failed first");
}

}  // namespace triax
