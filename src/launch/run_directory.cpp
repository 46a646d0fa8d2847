// SPDX-License-Identifier: Apache-2.0
#include "src/launch/run_directory.hpp"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "io/checkpoint/checkpoint_directory.hpp"
#include "io/checkpoint/tools/checkpoint_verify.hpp"
#include "io/files/durable.hpp"
#include "io/files/shell_word.hpp"
#include "kernels/base/mpi/agree.hpp"
#include "kernels/base/process/host_name.hpp"
#include "kernels/base/utf8.hpp"
#include "src/config/resolve/resolved_paths.hpp"
#include "src/config/source/absolute_path.hpp"
#include "src/launch/requeue.hpp"
#include "src/version/build_facts.hpp"
#include "src/version/version.hpp"

namespace triax {

namespace {

// `text` with each byte beyond ASCII as "\xNN".
std::string escaped(const std::string& text) {
  std::string shown;
  for (const char c : text)
    shown += (static_cast<unsigned char>(c) & 0x80U) == 0
                 ? std::string(1, c)
                 : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  return shown;
}

// Warns of paths that job.json, which is UTF-8, cannot hold.
void warn_of_names(const Config& config) {
  std::vector<std::string> paths = {config.run.directory, config.checkpoint.directory};
  for (const auto* files : {&config.data.train, &config.data.valid})
    paths.insert(paths.end(), files->begin(), files->end());
  for (const std::string& path : paths) {
    const std::string whole = absolute_path(path);
    if (is_utf8(whole)) continue;
    spdlog::warn(
        "the path {} is not UTF-8, and job.json cannot hold it: triax train {}/job.json will not "
        "find it. Rename it",
        escaped(whole), escaped(absolute_path(config.run.directory)));
    return;
  }
}

}  // namespace

void prepare_run_directory(const LoadedJob& job, const std::vector<std::string>& hosts,
                           const std::string& batch_job, std::int64_t step) {
  const std::string& directory = job.config.run.directory;
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  nlohmann::ordered_json resolved =
      nlohmann::ordered_json::parse(with_absolute_paths(job.resolved));
  const ParallelConfig& parallel = job.config.parallel;
  resolved["triax"] = {
      {"version", version},
      {"commit", commit()},
      {"grid",
       {{"data", parallel.data}, {"pipeline", parallel.pipeline}, {"tensor", parallel.tensor}}},
      {"hosts", hosts}};
  if (!batch_job.empty()) {
    const std::optional<BatchStart> start = recorded_start(directory);
    const bool again = start && start->job == batch_job &&
                       start->resume == resolved["checkpoint"]["resume"].get<std::string>();
    resolved["triax"]["batch_job"] = {{"name", batch_job}, {"begin", again ? start->step : step}};
  }
  warn_of_names(job.config);
  const std::string path = directory + "/job.json";
  try {
    write_durably(path, resolved.dump(2) + '\n');
  } catch (const Error& failure) {
    // A resumed run can do without an updated job.json.
    if (!std::filesystem::exists(path, error))
      throw Error(fmt::format("cannot write {}", path), failure.what(),
                  "Free some space, or set run.directory to a directory that can be written");
    spdlog::warn("{} was not updated and describes the previous run: {}", path, failure.what());
  }
}

namespace {

void warn_of_old(const std::string& file) {
  spdlog::warn("{} has no checksums (an older triax wrote it): its data cannot be verified", file);
}

// Reason why a checkpoint cannot be used; empty if it can. Collective.
std::string problem_of(ProcessGrid& grid, const std::string& file) {
  try {
    require_whole(file, grid);
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

// Newest checkpoint older than `file` in `directory`, as rank 0 sees it; empty: none. Collective.
std::string one_before(ProcessGrid& grid, const std::string& file, const std::string& directory) {
  std::string before;
  agreed(grid, [&] {
    if (grid.rank() != 0) return;
    for (const std::string& other : list_checkpoints(directory))  // the newest first
      if (before.empty() && checkpoint_step(other) < checkpoint_step(file)) before = other;
  });
  return broadcast_text(grid, before);
}

}  // namespace

std::string resume_file(const CheckpointConfig& checkpoint) {
  const std::string& resume = checkpoint.resume;
  if (resume == "never") return {};
  if (resume != "auto" && resume != "must") {
    if (!std::filesystem::exists(resume))
      throw UsageError(fmt::format("checkpoint.resume: there is no file {}", resume), {},
                       "Name a checkpoint, or use \"auto\", \"must\" or \"never\"");
    return resume;
  }
  const std::vector<std::string> found = list_checkpoints(checkpoint.directory);
  if (!found.empty()) return found.front();
  if (resume == "must")
    throw UsageError(fmt::format("checkpoint.resume is \"must\", but {} holds no checkpoint",
                                 checkpoint.directory),
                     {}, "Check checkpoint.directory, or set checkpoint.resume to \"auto\"");
  return {};
}

void check_whole(ProcessGrid& grid, const std::string& file, const std::string& directory) {
  std::string unreadable;
  try {
    agreed(grid, [&] {
      if (const std::string why = hdf5::why_unreadable(file); !why.empty())
        throw Error("cannot read it", why);
    });
  } catch (const Error& error) {
    unreadable = error.what();
  }
  const std::string problem = unreadable.empty() ? problem_of(grid, file) : unreadable;
  if (problem.empty()) return;
  std::string remedy = "Start anew with --set checkpoint.resume=never";
  for (std::string other = one_before(grid, file, directory); !other.empty();
       other = one_before(grid, other, directory)) {
    if (!problem_of(grid, other).empty()) continue;
    remedy = fmt::format("Resume the one before it with --set {}",
                         shell_word("checkpoint.resume=" + other));
    break;
  }
  if (!unreadable.empty())
    remedy = fmt::format("Make it readable on every node: it may be undamaged. Or: {}", remedy);
  throw Error(fmt::format("cannot resume from {}", file), problem, remedy);
}

std::optional<CheckpointReader> checkpoint_to_resume(ProcessGrid& grid,
                                                     const CheckpointConfig& checkpoint) {
  std::string file;
  agreed(grid, [&] {
    if (grid.rank() == 0) file = resume_file(checkpoint);
  });
  file = broadcast_text(grid, file);
  std::optional<CheckpointReader> reader;
  if (file.empty()) return reader;
  try {
    reader.emplace(file, grid);
  } catch (const Error&) {
    check_whole(grid, file, checkpoint.directory);
    throw;
  }
  if (grid.rank() == 0 && !reader->has_checksums()) warn_of_old(file);
  return reader;
}

std::vector<std::string> gather_hosts(ProcessGrid& grid) {
  constexpr std::size_t length = 64;
  std::array<char, length> own{};
  host_name().copy(own.data(), length - 1);
  std::vector<char> all(length * static_cast<std::size_t>(grid.size()));
  const auto bytes = [](char* data, std::size_t n) {
    return Tensor(data, DType::u8, {static_cast<std::int64_t>(n)});
  };
  const Stream host;
  grid.world()
      .all_gather(host, bytes(all.data(), all.size()), bytes(own.data(), own.size()))
      .wait(host);
  std::vector<std::string> hosts;
  if (grid.rank() != 0) return hosts;
  for (std::size_t at = 0; at < all.size(); at += length)
    if (const std::string host = all.data() + at;
        std::find(hosts.begin(), hosts.end(), host) == hosts.end())
      hosts.push_back(host);
  return hosts;
}

}  // namespace triax
