#include "src/comm/shared_slots.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <new>

#include "kernels/base/check.hpp"
#include "src/comm/mpi_error.hpp"
#include "src/comm/process_name.hpp"
#include "src/comm/wait.hpp"

namespace triax {
namespace {

using Name = std::array<char, 64>;

void meet(MPI_Comm node, const std::string& where) {
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Ibarrier(node, &request), "MPI_Ibarrier", where);
  check_mpi(wait_for(request, WaitPolicy::yield), "MPI_Ibarrier", where);
}

// The node's first rank makes the memory, whose name begins with its error number.
int create(Name& name, std::size_t bytes) {
  const ProcessName process = this_process();
  fmt::format_to_n(name.data(), name.size() - 1, "/triax-{}-{}", process.number, process.born);
  const int file = shm_open(name.data(), O_CREAT | O_EXCL | O_RDWR, 0600);
  // Without room now, the first store would end the process.
  if (file >= 0) errno = posix_fallocate(file, 0, static_cast<off_t>(bytes));
  return file;
}

}  // namespace

SharedSlots::SharedSlots(MPI_Comm node, const std::string& where) {
  int rank = 0;
  int size = 1;
  check_mpi(MPI_Comm_rank(node, &rank), "MPI_Comm_rank", where);
  check_mpi(MPI_Comm_size(node, &size), "MPI_Comm_size", where);
  bytes_ = static_cast<std::size_t>(size) * sizeof(ProgressSlot);
  Name name{};
  errno = 0;
  int file = rank == 0 ? create(name, bytes_) : -1;
  int error = errno;
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Ibcast(name.data(), static_cast<int>(name.size()), MPI_CHAR, 0, node, &request),
            "MPI_Ibcast", where);
  check_mpi(wait_for(request, WaitPolicy::yield), "MPI_Ibcast", where);
  if (rank != 0) file = shm_open(name.data(), O_RDWR, 0600);
  if (file < 0) error = errno;
  if (error == 0) memory_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory_ == MAP_FAILED) error = errno;
  if (file >= 0) close(file);
  const auto slot = [&](int r) {
    return static_cast<char*>(memory_) + static_cast<std::size_t>(r) * sizeof(ProgressSlot);
  };
  if (error == 0) new (slot(rank)) ProgressSlot;
  meet(node, where);
  if (rank == 0) shm_unlink(name.data());
  if (error != 0)
    throw Error(fmt::format("no memory for the ranks of a node to share, on {}", where),
                std::strerror(error), "Check the room in /dev/shm");
  for (int r = 0; r < size; ++r)
    slots_.push_back(std::launder(reinterpret_cast<ProgressSlot*>(slot(r))));
}

SharedSlots::~SharedSlots() {
  if (memory_ != nullptr && memory_ != MAP_FAILED) munmap(memory_, bytes_);
}

}  // namespace triax
