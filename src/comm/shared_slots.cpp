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

// What the node's first rank tells the others of the memory that it made.
struct Made {
  std::array<char, 64> name{};
  int error = 0;  // of the system; 0: the memory is there
};

int create(Made& made, std::size_t bytes) {
  const ProcessName process = this_process();
  fmt::format_to_n(made.name.data(), made.name.size() - 1, "/triax-{}-{}", process.number,
                   process.born);
  const int file = shm_open(made.name.data(), O_CREAT | O_EXCL | O_RDWR, 0600);
  // Without room now, the first store would end the process.
  made.error = file < 0 ? errno : posix_fallocate(file, 0, static_cast<off_t>(bytes));
  return file;
}

// The largest of the ranks' error numbers, once all are here.
int agreed_error(MPI_Comm node, int error, const std::string& where) {
  MPI_Request request = MPI_REQUEST_NULL;
  int largest = 0;
  check_mpi(MPI_Iallreduce(&error, &largest, 1, MPI_INT, MPI_MAX, node, &request), "MPI_Iallreduce",
            where);
  check_mpi(wait_for(request, WaitPolicy::yield), "MPI_Iallreduce", where);
  return largest;
}

}  // namespace

SharedSlots::SharedSlots(MPI_Comm node, const std::string& where) {
  int rank = 0;
  int size = 1;
  check_mpi(MPI_Comm_rank(node, &rank), "MPI_Comm_rank", where);
  check_mpi(MPI_Comm_size(node, &size), "MPI_Comm_size", where);
  bytes_ = static_cast<std::size_t>(size) * sizeof(ProgressSlot);
  Made made;
  int file = rank == 0 ? create(made, bytes_) : -1;
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Ibcast(&made, sizeof made, MPI_BYTE, 0, node, &request), "MPI_Ibcast", where);
  check_mpi(wait_for(request, WaitPolicy::yield), "MPI_Ibcast", where);
  int error = made.error;
  if (error == 0 && rank != 0) {
    file = shm_open(made.name.data(), O_RDWR, 0600);
    if (file < 0) error = errno;
  }
  if (error == 0) memory_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory_ == MAP_FAILED) error = errno;
  if (file >= 0) close(file);
  const auto slot = [&](int r) {
    return static_cast<char*>(memory_) + static_cast<std::size_t>(r) * sizeof(ProgressSlot);
  };
  if (error == 0) new (slot(rank)) ProgressSlot;
  error = agreed_error(node, error, where);
  if (rank == 0) shm_unlink(made.name.data());
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
