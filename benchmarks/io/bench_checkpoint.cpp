// SPDX-License-Identifier: Apache-2.0
// Checkpoints written and read by all ranks, against plain O_DIRECT writes and reads of the same
// number of bytes on the same disk, in alternating runs: mpiexec -n N bench_checkpoint [DIRECTORY
// [REPETITIONS [CASE]...]].
// Runs all cases, or the named ones ("write collective", "async", "read flat", "verify", ...)
// beside the plain ones. The state is GPT-2 124M's with AdamW in float32, 1.5 GB, sharded over the
// ranks as ZeRO does, and by columns as tensor-parallel ranks do.
// Prints one JSON line per case: peak_fraction is the median time of the plain write or read over
// the case's; write_fraction, of reading cases, is relative to plain writes. "stands still" is the
// time in which training could not continue, if forward and backward pass take longer than the copy
// of the state. "copies" is the time of that copy, in which an update has to wait. Their
// peak_fraction is relative to the synchronous write.
#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <array>
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

#include "benchmarks/io/checkpoint_kinds.hpp"
#include "benchmarks/io/checkpoint_state.hpp"
#include "benchmarks/io/plain_file.hpp"
#include "benchmarks/support/arguments.hpp"
#include "benchmarks/support/node_memory.hpp"
#include "benchmarks/support/report.hpp"
#include "io/checkpoint/checkpoint_background.hpp"
#include "io/checkpoint/checkpoint_directory.hpp"
#include "io/checkpoint/checkpoint_reader.hpp"
#include "io/checkpoint/checkpoint_writer.hpp"
#include "io/checkpoint/load/checkpoint_loader.hpp"
#include "io/checkpoint/load/loader_options.hpp"
#include "io/checkpoint/tools/checkpoint_verify.hpp"
#include "kernels/base/check.hpp"
#include "kernels/base/wait.hpp"

namespace {

using namespace triax;

// A barrier. MPICH's own spins, which takes 10 ms where ranks share cores.
void meet() {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  int done = 0;
  for (Patience others(WaitPolicy::yield); done == 0; others.pause())
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
}

// Time from one barrier to the next, that of the slowest rank.
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
  Bench(const World& world, std::string directory, std::vector<Kind> cases)
      : world_(world),
        directory_(std::move(directory)),
        wanted_(std::move(cases)),
        flat_(world, State::Cut::flat),
        columns_(world, Cut::columns),
        plain_(directory_ + "/bench_checkpoint-plain", world, state_bytes()),
        snapshot_(flat_.snapshot_bytes()) {}

  void round() {
    for (const Kind& kind : wanted_) {
      State& state = kind.cut == Cut::columns ? columns_ : flat_;
      switch (kind.action) {
        case Kind::Action::write:
          write(kind, state);
          break;
        case Kind::Action::write_behind:
          write_behind(kind);
          break;
        case Kind::Action::verify:
          verify(kind);
          break;
        case Kind::Action::read:
          if (kind.cut == Cut::replicated) {  // takes most memory: freed as soon as possible
            State replicated(world_, kind.cut);
            read(kind, replicated);
          } else {
            read(kind, state);
          }
      }
    }
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
      const double rate = static_cast<double>(one.bytes) / own.seconds;
      // Compares rates, because plain files consist of whole pages only.
      const auto fraction_of = [&](const std::string& name) {
        const double seconds = timing(name).seconds;
        const std::int64_t bytes = name.starts_with("plain") ? plain_.bytes() : state_bytes();
        return seconds > 0.0 ? rate * seconds / static_cast<double>(bytes) : 0.0;
      };
      std::vector<std::pair<std::string_view, double>> figures = {{"bytes_per_second", rate}};
      if (const double fraction = fraction_of(one.limit); fraction > 0.0)
        figures.emplace_back("peak_fraction", fraction);
      const std::string write = write_before + one.name;
      if (const double fraction = fraction_of(write); fraction > 0.0 && one.limit != write)
        figures.emplace_back("write_fraction", fraction);
      benchmark::print_result("checkpoint", fmt::format("{} ranks={}", one.name, world_.size), own,
                              figures);
    }
  }

 private:
  static inline const std::string write_before = "plain write before ";
  static inline const std::string read_before = "plain read before ";

  struct Case {
    std::string name;
    std::string limit;  // the case that this one is compared with
    std::int64_t bytes;
    std::vector<double> seconds;
  };

  void record(const std::string& name, const std::string& limit, double seconds) {
    for (Case& one : cases_)
      if (one.name == name) return one.seconds.push_back(seconds);
    const std::int64_t bytes = name.starts_with("plain") ? plain_.bytes() : state_bytes();
    cases_.push_back({name, limit, bytes, {seconds}});
  }
  void time(const std::string& name, const std::string& limit, const std::function<void()>& body) {
    record(name, limit, seconds_of(body));
  }

  std::string path() const { return checkpoint_path(directory_, 1); }

  void write(const Kind& kind, State& state) {
    prepare_write(kind.name);
    time(kind.name, write_before + kind.name, [&] { write_file(state, kind.options()); });
  }

  // Deletes the file of the previous round, then makes a plain write of the same number of bytes
  // into a new file, because the disk's speed changes from second to second.
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

  // A write with checkpoint.async: the file's structure, a copy, the data behind the training, and
  // at the end the file's name.
  void write_behind(const Kind& kind) {
    prepare_write(kind.name);
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

  // Prepares a file on the disk alone, and makes a plain write and a plain read of the same number
  // of bytes.
  void prepare_read(const std::string& name, const CheckpointOptions& options) {
    const std::filesystem::path parts = path() + ".parts";
    const bool there =
        std::filesystem::exists(path()) && std::filesystem::exists(parts) == (options.files > 1);
    meet();  // every rank has looked
    if (!there) {
      remove();
      write_file(flat_, options);
    }
    plain_write(name);
    time(read_before + name, "", [&] { plain_.run(false); });
    forget_cached(path());
    if (options.files > 1)
      for (const auto& part : std::filesystem::directory_iterator(parts))
        forget_cached(part.path());
  }

  // A read as in a resume.
  void read(const Kind& kind, State& state) {
    prepare_read(kind.name, kind.options());
    time(kind.name, read_before + kind.name, [&] {
      const CheckpointReader reader(path(), MPI_COMM_WORLD);
      CheckpointLoader loader(reader, MPI_COMM_WORLD, {.memory = idle_});
      state.each([&](const std::string& tensor, const std::vector<hdf5::Box>& boxes,
                     const Tensor&) { loader.want(tensor, boxes); });
      state.each([&](const std::string& tensor, const std::vector<hdf5::Box>& boxes,
                     const Tensor& data) { loader.read(tensor, boxes, data); });
      loader.finish();
    });
  }

  void verify(const Kind& kind) {
    prepare_read(kind.name, {});
    time(kind.name, read_before + kind.name,
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
  std::vector<Kind> wanted_;
  State flat_, columns_;
  PlainFile plain_;
  CheckpointSnapshot snapshot_;
  // Memory of a run's writers, and of its steps, which is idle while a checkpoint is loaded.
  GatherMemory gather_;
  Buffer activations_{static_cast<std::size_t>(loading_bytes_at_once)};
  std::span<std::byte> idle_{static_cast<std::byte*>(activations_.data()), activations_.bytes()};
  std::vector<Case> cases_;
};

// Leaves out the cases for which some node lacks memory, and reports them. Collective.
bool left_out(std::vector<Kind>& cases, const World& world) {
  const auto is_replicated = [](const Kind& kind) { return kind.cut == Cut::replicated; };
  const auto all = static_cast<double>(state_bytes());
  const double of_rank = 3.0 * all / world.size + loading_bytes_at_once + independent_bytes;
  const int ranks = benchmark::ranks_of_node();
  benchmark::require_memory("a checkpoint's state, cut two ways and copied", of_rank, ranks);
  if (std::ranges::none_of(cases, is_replicated)) return false;
  const std::string lacking = benchmark::lacking_on_any_node("\"read replicated\"", of_rank + all);
  if (lacking.empty()) return false;
  if (world.rank == 0) fmt::print(stderr, "{}: case left out\n", lacking);
  return std::erase_if(cases, is_replicated) > 0;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const World world;
  std::string place = ".";
  int repetitions = 5;
  std::vector<Kind> cases = kinds_of(world.size);
  std::vector<std::string> names;
  CLI::App app{
      "Checkpoints written and read by all ranks (mpiexec -n N), against plain O_DIRECT writes and "
      "reads of as many bytes on the same disk: one JSON line a case. The state is GPT-2 124M's "
      "with AdamW in float32, 1.5 GB."};
  app.add_option("directory", place, "Directory on the disk to measure")->capture_default_str();
  app.add_option("repetitions", repetitions, "Repetitions of each case")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("case", names, "Cases to run (default: all)")
      ->check(CLI::IsMember(names_of(cases)));
  int status = 0;
  if (const auto refused = benchmark::refused(app, argc, argv, world.rank == 0)) {
    MPI_Finalize();
    return *refused;
  }
  try {
    if (!names.empty())
      std::erase_if(cases, [&](const Kind& kind) {
        return std::ranges::find(names, kind.name) == names.end();
      });
    if (left_out(cases, world)) status = 2;
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
    status = dynamic_cast<const UsageError*>(&error) != nullptr ? 2 : 3;
    MPI_Abort(MPI_COMM_WORLD, status);
  }
  MPI_Finalize();
  return status;
}
