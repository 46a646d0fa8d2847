// Checkpoints written and read by all ranks, against plain O_DIRECT writes and reads of as many
// bytes on the same disk, in alternating runs: mpiexec -n N bench_checkpoint [DIRECTORY
// [REPETITIONS [CASE]...]], all cases or those named ("write collective", "async", "read flat",
// "verify", ...) beside the plain ones. The state is GPT-2 124M's with AdamW in float32, 1.5 GB,
// cut over the ranks as ZeRO cuts it, and by columns as tensor ranks have it. One JSON line a case;
// peak_fraction is the plain median time over the case's, of the same kind; write_fraction, of
// reading cases, that of plain writes. "stands still" is the time in which
// training could not go on where forward and backward pass take longer than the copy of the state,
// "copies" the time of that copy, in which an update has to wait; there peak_fraction is of the
// time of the synchronous write.
#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/io/checkpoint_state.hpp"
#include "benchmarks/support/arguments.hpp"
#include "benchmarks/support/report.hpp"
#include "io/checkpoint_background.hpp"
#include "io/checkpoint_loader.hpp"
#include "io/checkpoint_verify.hpp"
#include "kernels/base/check.hpp"
#include "kernels/base/wait.hpp"

namespace {

using namespace triax;

/// What one would write by hand: each rank its run of a new file, in blocks past the page cache.
class PlainFile {
 public:
  PlainFile(const std::string& path, const World& world, std::int64_t bytes)
      : path_(path), bytes_(bytes / world.size / block * block), begin_(world.rank * bytes_) {}
  ~PlainFile() { ::unlink(path_.c_str()); }
  PlainFile(const PlainFile&) = delete;
  PlainFile& operator=(const PlainFile&) = delete;

  const std::string& path() const { return path_; }
  void run(bool write) {
    const int fd = ::open(path_.c_str(), (write ? O_CREAT | O_WRONLY : O_RDONLY) | O_DIRECT, 0666);
    check(fd >= 0, "no O_DIRECT for {}", path_);
    if (write) (void)::posix_fallocate(fd, begin_, bytes_);
    for (std::int64_t done = 0; done < bytes_; done += block) {
      const ssize_t moved = write ? ::pwrite(fd, memory_.data(), block, begin_ + done)
                                  : ::pread(fd, memory_.data(), block, begin_ + done);
      check(moved == block, "a short block");
    }
    if (write) check(::fdatasync(fd) == 0, "sync");
    ::close(fd);
  }

 private:
  static constexpr std::int64_t block = std::int64_t{16} << 20;
  std::string path_;
  std::int64_t bytes_, begin_;
  Buffer memory_{static_cast<std::size_t>(block)};
};

// A barrier. MPICH's own spins: where ranks share cores, it takes 10 ms.
void meet() {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  int done = 0;
  for (Patience others(WaitPolicy::yield); done == 0; others.pause())
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
}

// From a barrier to the next: the slowest rank's.
double seconds_of(const std::function<void()>& body) {
  meet();
  const auto start = std::chrono::steady_clock::now();
  body();
  meet();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void forget_cached(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY);
  if (fd < 0) return;
  ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  ::close(fd);
}

class Bench {
 public:
  Bench(const World& world, std::string directory, std::vector<std::string> cases)
      : world_(world),
        directory_(std::move(directory)),
        wanted_(std::move(cases)),
        flat_(world, State::Cut::flat),
        columns_(world, State::Cut::columns),
        replicated_(world, State::Cut::replicated),
        plain_(directory_ + "/bench_checkpoint-plain", world, flat_.bytes()),
        snapshot_(flat_.snapshot_bytes()) {}

  void round() {
    write("independent", flat_, {});
    write("independent columns", columns_, {});
    write("independent files=4", flat_, {.files = 4});
    if (world_.size > 1) write("collective", flat_, {.collective = true});
    if (world_.size > 1) write("collective columns", columns_, {.collective = true});
    write_behind();
    read("flat", flat_, {});
    read("columns", columns_, {});
    read("replicated", replicated_, {});
    verify();
    read("flat files=4", flat_, {.files = 4});
  }

  void print() const {
    if (world_.rank != 0) return;
    const auto timing = [&](const std::string& name) {
      for (const Case& one : cases_)
        if (one.name == name) return benchmark::timing_of(one.seconds);
      return benchmark::Timing{};
    };
    for (const Case& one : cases_) {
      const benchmark::Timing own = timing(one.name);
      std::vector<std::pair<std::string_view, double>> figures = {
          {"bytes_per_second", static_cast<double>(flat_.bytes()) / own.seconds}};
      if (!one.limit.empty())
        figures.emplace_back("peak_fraction", timing(one.limit).seconds / own.seconds);
      if (const double write = timing(write_before + one.name).seconds;
          write > 0.0 && one.limit != write_before + one.name)
        figures.emplace_back("write_fraction", write / own.seconds);
      benchmark::print_result("checkpoint", fmt::format("{} ranks={}", one.name, world_.size), own,
                              figures);
    }
  }

 private:
  static inline const std::string write_before = "plain write before ";

  struct Case {
    std::string name;
    std::string limit;  // the case that is the measure of this one
    std::vector<double> seconds;
  };

  void record(const std::string& name, const std::string& limit, double seconds) {
    for (Case& one : cases_)
      if (one.name == name) return one.seconds.push_back(seconds);
    cases_.push_back({name, limit, {seconds}});
  }
  void time(const std::string& name, const std::string& limit, const std::function<void()>& body) {
    record(name, limit, seconds_of(body));
  }

  std::string path() const { return checkpoint_path(directory_, 1); }

  bool wanted(const std::string& name) const {
    return wanted_.empty() || std::ranges::find(wanted_, name) != wanted_.end();
  }

  void write(const std::string& name, State& state, const CheckpointOptions& options) {
    if (!wanted("write " + name)) return;
    prepare_write("write " + name);
    time("write " + name, write_before + ("write " + name), [&] { write_file(state, options); });
  }

  // No file of the round before, and a plain write of as many bytes into a new file: the disk
  // changes its mind from second to second.
  void prepare_write(const std::string& name) {
    remove();
    plain_write(name);
  }

  void plain_write(const std::string& name) {
    ::unlink(plain_.path().c_str());
    time(write_before + name, "", [&] { plain_.run(true); });
  }

  void write_file(State& state, CheckpointOptions options) {
    options.gather = &gather_;
    CheckpointWriter writer(path(), MPI_COMM_WORLD, options);
    writer.create({}, state.tensors());
    state.each([&](const std::string& tensor, const std::vector<hdf5::Box>& boxes,
                   const Tensor& data) { writer.write(tensor, boxes, data); });
    writer.publish();
  }

  // What a run does with checkpoint.async: the file's structure, a copy and the data behind the
  // training, and at the end the file's name.
  void write_behind() {
    if (!wanted("async")) return;
    prepare_write("async");
    std::optional<CheckpointWriter> writer;
    std::optional<BackgroundWrite> background;
    const double begin = seconds_of([&] {
      snapshot_.clear();
      flat_.each([&](const std::string& tensor, const std::vector<hdf5::Box>& boxes,
                     const Tensor& data) { snapshot_.add(tensor, boxes, data); });
      writer.emplace(path(), MPI_COMM_WORLD, CheckpointOptions{.gather = &gather_});
      writer->create({}, flat_.tensors());
      background.emplace(*writer, snapshot_);
    });
    const double copies = seconds_of([&] { background->wait_copied(); });
    const double writes = seconds_of([&] { background->wait(); });
    const double end = seconds_of([&] { writer->publish(); });
    record("async all", write_before + "async", begin + copies + writes + end);
    record("async stands still", "write independent", begin + end);
    record("async copies", "write independent", copies);
  }

  // A file on the disk alone, and a plain write and a plain read of as many bytes.
  void prepare_read(const std::string& name, const CheckpointOptions& options) {
    const std::filesystem::path parts = path() + ".parts";
    const bool there =
        std::filesystem::exists(path()) && std::filesystem::exists(parts) == (options.files > 1);
    meet();  // all have looked
    if (!there) {
      remove();
      write_file(flat_, options);
    }
    plain_write(name);
    time("plain read before " + name, "", [&] { plain_.run(false); });
    forget_cached(path());
    if (options.files > 1)
      for (const auto& part : std::filesystem::directory_iterator(parts))
        forget_cached(part.path());
  }

  // What a resume does.
  void read(const std::string& name, State& state, const CheckpointOptions& options) {
    if (!wanted("read " + name)) return;
    prepare_read("read " + name, options);
    time("read " + name, "plain read before read " + name, [&] {
      const CheckpointReader reader(path(), MPI_COMM_WORLD);
      CheckpointLoader loader(reader, MPI_COMM_WORLD, {.memory = idle_});
      state.each([&](const std::string& tensor, const std::vector<hdf5::Box>& boxes,
                     const Tensor&) { loader.want(tensor, boxes); });
      state.each([&](const std::string& tensor, const std::vector<hdf5::Box>& boxes,
                     const Tensor& data) { loader.read(tensor, boxes, data); });
      loader.finish();
    });
  }

  void verify() {
    if (!wanted("verify")) return;
    prepare_read("verify", {});
    time("verify", "plain read before verify",
         [&] { check(require_whole(path(), MPI_COMM_WORLD), "a checkpoint without checksums"); });
  }

  void remove() const {
    if (world_.rank == 0) {
      std::filesystem::remove(path());
      for (const std::string& left : remove_unfinished(directory_)) check(!left.empty(), "a name");
    }
    meet();
  }

  const World& world_;
  std::string directory_;
  std::vector<std::string> wanted_;  // cases; none: all
  State flat_, columns_, replicated_;
  PlainFile plain_;
  CheckpointSnapshot snapshot_;
  // As a run has them: of the writers, and of steps, which lie idle while a checkpoint is loaded.
  GatherMemory gather_;
  Buffer activations_{static_cast<std::size_t>(loading_bytes_at_once)};
  std::span<std::byte> idle_{static_cast<std::byte*>(activations_.data()), activations_.bytes()};
  std::vector<Case> cases_;
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const World world;
  std::string place = ".";
  int repetitions = 5;
  std::vector<std::string> cases;
  CLI::App app{
      "Checkpoints written and read by all ranks (mpiexec -n N), against plain O_DIRECT writes and "
      "reads of as many bytes on the same disk: one JSON line a case. The state is GPT-2 124M's "
      "with AdamW in float32, 1.5 GB."};
  app.add_option("directory", place, "On the disk to measure")->capture_default_str();
  app.add_option("repetitions", repetitions, "Of each case")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("case", cases,
                 "Those to run (default: all): \"write collective\", \"async\", \"read flat\", "
                 "\"verify\", ...");
  int status = 0;
  if (const auto refused = benchmark::refused(app, argc, argv, world.rank == 0)) {
    MPI_Finalize();
    return *refused;
  }
  try {
    const std::string directory = place + "/bench_checkpoint-files";
    std::filesystem::create_directories(directory);
    {
      Bench bench(world, directory, cases);
      for (int i = 0; i < repetitions; ++i) bench.round();
      bench.print();
      meet();
    }
    if (world.rank == 0) std::filesystem::remove_all(directory);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    status = 3;
    MPI_Abort(MPI_COMM_WORLD, status);
  }
  MPI_Finalize();
  return status;
}
