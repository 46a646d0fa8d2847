// SPDX-License-Identifier: Apache-2.0
// An OffloadFile read and written from end to end, against a plain loop over io_uring on the same
// bytes of the same file: bench_block_file [DIRECTORY [GIB]].
// Prints one JSON line per case. peak_fraction is the plain loop's median time over the
// OffloadFile's, in alternating runs; it is missing without io_uring or O_DIRECT. The last cases
// read, compute on and write back each chunk, as an optimizer does; there peak_fraction is relative
// to the time that the slower of disk and computation takes alone.
#include <fcntl.h>
#include <liburing.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "benchmarks/support/arguments.hpp"
#include "benchmarks/support/random_bits.hpp"
#include "benchmarks/support/report.hpp"
#include "io/hdf5/hdf5.hpp"
#include "io/offload/offload_file.hpp"
#include "kernels/base/device/device.hpp"

namespace {

using triax::Buffer;
using triax::DType;
using triax::Error;
using triax::Tensor;
using triax::benchmark::Timing;

constexpr int repetitions = 7;

struct Sizes {
  std::int64_t bytes;
  std::int64_t block;
  int depth;
  std::int64_t memory() const { return 2 * depth * block; }
};

double seconds_of(const std::function<void()>& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The hand-written reference: one thread, which submits a request for each one that completes.
class PlainLoop {
 public:
  PlainLoop(const std::string& path, const Sizes& sizes, const Buffer& memory)
      : sizes_(sizes), memory_(static_cast<char*>(memory.data())) {
    fd_ = ::open(path.c_str(), O_RDWR | O_DIRECT | O_CLOEXEC);
    if (fd_ < 0) throw Error(fmt::format("no O_DIRECT for {}: {}", path, std::strerror(errno)));
    const int failure = io_uring_queue_init(static_cast<unsigned>(sizes.depth), &ring_, 0);
    if (failure != 0) {
      ::close(fd_);
      throw Error(fmt::format("no io_uring: {}", std::strerror(-failure)));
    }
    const triax::hdf5::File file(path, triax::hdf5::File::Mode::read);
    base_ = file.offset("/data");
  }
  ~PlainLoop() {
    io_uring_queue_exit(&ring_);
    ::close(fd_);
  }
  PlainLoop(const PlainLoop&) = delete;
  PlainLoop& operator=(const PlainLoop&) = delete;

  void run(bool write) {
    const std::int64_t blocks = sizes_.bytes / sizes_.block;
    std::int64_t started = 0;
    for (; started < std::min<std::int64_t>(blocks, sizes_.depth); ++started) start(write, started);
    for (std::int64_t finished = 0; finished < blocks; ++finished) {
      io_uring_submit_and_wait(&ring_, 1);
      io_uring_cqe* entry = nullptr;
      io_uring_wait_cqe(&ring_, &entry);
      if (entry->res != sizes_.block) throw Error("the plain loop met a short block");
      io_uring_cqe_seen(&ring_, entry);
      if (started < blocks) start(write, started++);
    }
  }

 private:
  void start(bool write, std::int64_t block) {
    io_uring_sqe* const entry = io_uring_get_sqe(&ring_);
    char* const at = memory_ + block % (2 * sizes_.depth) * sizes_.block;
    const auto length = static_cast<unsigned>(sizes_.block);
    const auto offset = static_cast<std::uint64_t>(base_ + block * sizes_.block);
    if (write)
      io_uring_prep_write(entry, fd_, at, length, offset);
    else
      io_uring_prep_read(entry, fd_, at, length, offset);
  }

  Sizes sizes_;
  char* memory_;
  io_uring ring_{};
  int fd_ = -1;
  std::int64_t base_ = 0;
};

/// Processes the dataset in chunks of half a queue, four of them in flight, so that the queue never
/// runs dry.
void run_offload(triax::OffloadFile& file, const Sizes& sizes, const Buffer& memory, bool write) {
  constexpr std::int64_t in_flight = 4;
  const std::int64_t chunk = sizes.memory() / in_flight / static_cast<std::int64_t>(sizeof(float));
  const std::int64_t elements = sizes.bytes / static_cast<std::int64_t>(sizeof(float));
  const Tensor all = memory.tensor(DType::f32, {in_flight * chunk});
  std::array<triax::BlockRequest, in_flight> requests;
  for (std::int64_t i = 0; i * chunk < elements; ++i) {
    triax::BlockRequest& request = requests[static_cast<std::size_t>(i % in_flight)];
    request.wait();
    const Tensor part = all.slice(0, i % in_flight * chunk, chunk);
    request = write ? file.write(0, i * chunk, part) : file.read(0, i * chunk, part);
  }
  for (triax::BlockRequest& request : requests) request.wait();
}

// The plain loop; empty, with a note, if the system lacks io_uring or O_DIRECT.
std::optional<PlainLoop> plain_loop(const std::string& path, const Sizes& sizes,
                                    const Buffer& memory) {
  try {
    return std::optional<PlainLoop>(std::in_place, path, sizes, memory);
  } catch (const Error& error) {
    fmt::print(stderr, "no plain loop to compare with: {}\n", error.what());
    return std::nullopt;
  }
}

// limit: time (s) that peak_fraction is relative to; 0 for none.
void print(const std::string& name, const Sizes& sizes, const Timing& timing, double limit = 0) {
  std::vector<std::pair<std::string_view, double>> figures = {
      {"bytes_per_second", static_cast<double>(sizes.bytes) / timing.seconds}};
  if (limit > 0) figures.emplace_back("peak_fraction", limit / timing.seconds);
  triax::benchmark::print_result(
      "block_file",
      fmt::format("{} bytes={} block={} depth={}", name, sizes.bytes, sizes.block, sizes.depth),
      timing, figures);
}

void compare(const std::string& path, const Sizes& sizes) {
  triax::OffloadFile::Options options;
  options.blocks.block_bytes = sizes.block;
  options.blocks.queue_depth = sizes.depth;
  const std::int64_t elements = sizes.bytes / static_cast<std::int64_t>(sizeof(float));
  triax::OffloadFile file(path, {{"/data", DType::f32, elements}}, options);
  std::fprintf(stderr, "%s\n", file.description().c_str());
  const Buffer memory(static_cast<std::size_t>(sizes.memory()));
  triax::benchmark::fill_random_bits(memory);
  std::optional<PlainLoop> plain = plain_loop(path, sizes, memory);
  const auto ours = [&](bool write) {
    return seconds_of([&] { run_offload(file, sizes, memory, write); });
  };
  const auto theirs = [&](bool write) { return seconds_of([&] { plain->run(write); }); };
  ours(true);  // the first write of a reserved extent costs more
  for (const bool write : {true, false}) {
    std::vector<double> our_times;
    std::vector<double> their_times;
    for (int i = 0; i < repetitions; ++i) {
      if (i % 2 == 0) our_times.push_back(ours(write));
      if (plain) their_times.push_back(theirs(write));
      if (i % 2 != 0) our_times.push_back(ours(write));
    }
    const Timing limit = plain ? triax::benchmark::timing_of(their_times) : Timing{};
    const std::string name = write ? "write" : "read";
    print(name + " offload_file", sizes, triax::benchmark::timing_of(our_times), limit.seconds);
    if (plain) print(name + " plain_loop", sizes, limit);
  }
}

// `rounds` multiply-adds per element, a cacheful of elements at a time. They reflect numbers
// between 0 and 1, which therefore stay as random as they were.
void compute(const Tensor& data, int rounds) {
  constexpr std::int64_t cacheful = 4096;
  auto* const values = data.as<float>();
  for (std::int64_t begin = 0; rounds > 0 && begin < data.elements(); begin += cacheful) {
    const std::int64_t end = std::min(begin + cacheful, data.elements());
    for (int round = 0; round < rounds; ++round)
      for (std::int64_t i = begin; i < end; ++i) values[i] = values[i] * -0.9999999F + 1.0F;
  }
}

/// Three chunks of memory: one being read, one computed on, one written.
class Sweep {
 public:
  Sweep(const std::string& path, const Sizes& sizes, std::int64_t chunk_bytes)
      : chunk_(chunk_bytes / static_cast<std::int64_t>(sizeof(float))),
        chunks_(sizes.bytes / chunk_bytes),
        memory_(static_cast<std::size_t>(places * chunk_bytes)),
        file_(path, {{"/data", DType::f32, chunk_ * chunks_}}, options(sizes)) {
    triax::benchmark::fill_random_floats(memory_);
    for (std::int64_t i = 0; i < chunks_; ++i) file_.write(0, i * chunk_, part(i)).wait();
  }

  /// disk = false: computation only. rounds = 0: disk only.
  void run(bool disk, int rounds) {
    std::array<triax::BlockRequest, places> writes;
    triax::BlockRequest next = disk ? file_.read(0, 0, part(0)) : triax::BlockRequest();
    for (std::int64_t i = 0; i < chunks_; ++i) {
      triax::BlockRequest current = std::move(next);
      if (disk && i + 1 < chunks_) {
        writes[static_cast<std::size_t>((i + 1) % places)].wait();
        next = file_.read(0, (i + 1) * chunk_, part(i + 1));
      }
      current.wait();
      compute(part(i), rounds);
      if (disk) writes[static_cast<std::size_t>(i % places)] = file_.write(0, i * chunk_, part(i));
    }
    for (triax::BlockRequest& write : writes) write.wait();
  }

 private:
  static constexpr std::int64_t places = 3;
  static triax::OffloadFile::Options options(const Sizes& sizes) {
    triax::OffloadFile::Options options;
    options.blocks.block_bytes = sizes.block;
    options.blocks.queue_depth = sizes.depth;
    return options;
  }
  Tensor part(std::int64_t i) const {
    return memory_.tensor(DType::f32, {places * chunk_}).slice(0, i % places * chunk_, chunk_);
  }

  std::int64_t chunk_;
  std::int64_t chunks_;
  Buffer memory_;
  triax::OffloadFile file_;
};

void overlap(const std::string& path, const Sizes& sizes) {
  constexpr std::int64_t chunk = std::int64_t{64} << 20;
  Sweep sweep(path, sizes, chunk);
  constexpr int few = 8;
  const double disk = seconds_of([&] { sweep.run(true, 0); });
  const double few_rounds = seconds_of([&] { sweep.run(false, few); });
  const int rounds = std::max(
      1, static_cast<int>(few * disk / few_rounds));  // so that it takes as long as the disk
  std::array<std::vector<double>, 3> times;
  for (int i = 0; i < repetitions; ++i) {
    times[0].push_back(seconds_of([&] { sweep.run(true, 0); }));
    times[1].push_back(seconds_of([&] { sweep.run(false, rounds); }));
    times[2].push_back(seconds_of([&] { sweep.run(true, rounds); }));
  }
  const Timing disk_alone = triax::benchmark::timing_of(times[0]);
  const Timing compute_alone = triax::benchmark::timing_of(times[1]);
  print("read_and_write_back disk_alone", sizes, disk_alone);
  print("read_and_write_back compute_alone", sizes, compute_alone);
  print("read_and_write_back overlapped", sizes, triax::benchmark::timing_of(times[2]),
        std::max(disk_alone.seconds, compute_alone.seconds));
}

}  // namespace

int main(int argc, char** argv) {
  std::string directory = ".";
  std::int64_t gibibytes = 1;
  CLI::App app{
      "An offload file read and written from end to end, against a plain loop over io_uring on the "
      "same disk, and behind computation: one JSON line a case."};
  app.add_option("directory", directory, "Directory on the disk to measure")
      ->check(CLI::ExistingDirectory)
      ->capture_default_str();
  app.add_option("gibibytes", gibibytes, "Size of the file (GiB)")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  if (const auto status = triax::benchmark::refused(app, argc, argv)) return *status;
  try {
    const std::string path = fmt::format("{}/bench_block_file-{}.h5", directory, ::getpid());
    const std::int64_t bytes = gibibytes << 30;
    constexpr std::int64_t mebi = std::int64_t{1} << 20;
    compare(path, {.bytes = bytes, .block = mebi, .depth = 16});
    compare(path, {.bytes = bytes, .block = mebi, .depth = 32});
    compare(path, {.bytes = bytes, .block = mebi / 8, .depth = 32});
    overlap(path, {.bytes = bytes, .block = mebi, .depth = 32});
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 3;
  }
}
