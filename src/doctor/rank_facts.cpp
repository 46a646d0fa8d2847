// SPDX-License-Identifier: Apache-2.0
#include "src/doctor/rank_facts.hpp"

#include <sched.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "kernels/base/device/device.hpp"
#include "kernels/base/mpi/agree.hpp"
#include "kernels/base/process/host_name.hpp"
#include "kernels/base/process/process_limits.hpp"
#include "kernels/isa/isa.hpp"
#include "src/comm/launch/launcher.hpp"
#include "src/forecast/memory_limit.hpp"
#include "src/launch/same_job.hpp"
#include "src/launch/shared_directories.hpp"
#include "src/version/build_facts.hpp"

namespace triax::doctor {
namespace {

using nlohmann::ordered_json;

constexpr std::int64_t no_limit = -1;

std::int64_t limit_of(__rlimit_resource_t resource) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return no_limit;
  return static_cast<std::int64_t>(limit.rlim_cur);
}

int allowed_threads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

double free_shared_memory() {
  struct statvfs space {};
  if (statvfs("/dev/shm", &space) != 0) return no_limit;
  return static_cast<double>(space.f_bavail) * static_cast<double>(space.f_frsize);
}

// Each GPU is bound for a moment to read its name; nothing is computed on it.
std::vector<std::string> gpu_names() {
  std::vector<std::string> names;
  for (int index = 0; index < device_count(); ++index) {
    bind_device(index);
    const DeviceFacts facts = device_facts();
    names.push_back(fmt::format("{}, {} of {} free", facts.name,
                                size_text(static_cast<double>(facts.free_bytes)),
                                size_text(static_cast<double>(facts.total_bytes))));
  }
  return names;
}

void add_memory(RankFacts& facts) {
  const MemoryLimit node = node_limit();
  facts.memory = node.bytes;
  facts.memory_of = node.what;
  const MemoryLimit process = process_limit();
  facts.process_memory = std::isinf(process.bytes) ? no_limit : process.bytes;
  facts.process_remedy = process.remedy;
  facts.shared_memory = free_shared_memory();
  facts.open_files = limit_of(RLIMIT_NOFILE);
  facts.locked_memory = limit_of(RLIMIT_MEMLOCK);
}

// Sets `seen` of each directory that rank 0 can write. Collective.
void add_sharing(ProcessGrid& grid, std::vector<DirectoryFacts>& directories) {
  if (grid.nodes() == 1) return;
  for (DirectoryFacts& directory : directories) {
    const bool usable = directory.problem.empty();
    if (broadcast_text(grid, usable ? "yes" : "").empty()) continue;
    directory.seen = sees_file_of_rank0(grid, directory.path, longest_directory_patience);
  }
}

std::string padded(std::string text, std::size_t size) {
  text.resize(size, ' ');
  return text;
}

}  // namespace

RankFacts rank_facts(ProcessGrid& grid, const std::vector<std::string>& directories) {
  RankFacts facts;
  facts.rank = grid.rank();
  facts.host = host_name();
  facts.program = this_program();
  facts.isa = name_of(best_isa());
  facts.binding = grid.cores().text();
  facts.omp = environment_variable("OMP_NUM_THREADS");
  facts.cores = grid.node_cores();
  facts.node_ranks = grid.node_size();
  facts.allowed = allowed_threads();
  facts.hardware = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  facts.gpus = gpu_names();
  facts.gpu_code = built_for_gpus();
  facts.gpu_nodes = std::filesystem::exists("/dev/nvidiactl");
  add_memory(facts);
  for (const std::string& directory : directories)
    facts.directories.push_back(directory_facts(directory));
  add_sharing(grid, facts.directories);
  agree(grid, {});  // a barrier: all ranks read the clock at about the same time
  facts.clock =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  return facts;
}

std::vector<RankFacts> gather_facts(ProcessGrid& grid, const RankFacts& own) {
  const std::string text =
      ordered_json(own).dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  const std::int64_t length = std::ssize(text);
  std::int64_t longest = 0;
  for (const std::int64_t one : gather_over_ranks(grid, std::span(&length, 1)))
    longest = std::max(longest, one);
  // Padded with blanks, which JSON ignores at the end.
  const std::size_t words = (static_cast<std::size_t>(longest) + 7) / 8;
  std::vector<std::int64_t> packed(words);
  const std::string whole = padded(text, words * 8);
  std::memcpy(packed.data(), whole.data(), whole.size());
  const std::vector<std::int64_t> all = gather_over_ranks(grid, packed);
  std::vector<RankFacts> ranks;
  for (std::size_t rank = 0; rank < all.size() / words; ++rank) {
    std::string one(words * 8, ' ');
    std::memcpy(one.data(), all.data() + rank * words, one.size());
    ranks.push_back(ordered_json::parse(one).get<RankFacts>());
  }
  return ranks;
}

void to_json(ordered_json& json, const RankFacts& f) {
  json = {{"rank", f.rank},
          {"host", f.host},
          {"program", f.program},
          {"isa_level", f.isa},
          {"cores", f.binding},
          {"omp_num_threads", f.omp},
          {"cores_of_node", f.cores},
          {"ranks_of_node", f.node_ranks},
          {"allowed_threads", f.allowed},
          {"hardware_threads", f.hardware},
          {"memory_bytes", f.memory},
          {"memory_of", f.memory_of},
          {"process_memory_bytes", f.process_memory},
          {"process_memory_remedy", f.process_remedy},
          {"shared_memory_bytes", f.shared_memory},
          {"gpus", f.gpus},
          {"gpu_code", f.gpu_code},
          {"gpu_device_files", f.gpu_nodes},
          {"open_files", f.open_files},
          {"locked_memory_bytes", f.locked_memory},
          {"clock", f.clock},
          {"directories", f.directories}};
}

void from_json(const ordered_json& json, RankFacts& f) {
  json.at("rank").get_to(f.rank);
  json.at("host").get_to(f.host);
  json.at("program").get_to(f.program);
  json.at("isa_level").get_to(f.isa);
  json.at("cores").get_to(f.binding);
  json.at("omp_num_threads").get_to(f.omp);
  json.at("cores_of_node").get_to(f.cores);
  json.at("ranks_of_node").get_to(f.node_ranks);
  json.at("allowed_threads").get_to(f.allowed);
  json.at("hardware_threads").get_to(f.hardware);
  json.at("memory_bytes").get_to(f.memory);
  json.at("memory_of").get_to(f.memory_of);
  json.at("process_memory_bytes").get_to(f.process_memory);
  json.at("process_memory_remedy").get_to(f.process_remedy);
  json.at("shared_memory_bytes").get_to(f.shared_memory);
  json.at("gpus").get_to(f.gpus);
  json.at("gpu_code").get_to(f.gpu_code);
  json.at("gpu_device_files").get_to(f.gpu_nodes);
  json.at("open_files").get_to(f.open_files);
  json.at("locked_memory_bytes").get_to(f.locked_memory);
  json.at("clock").get_to(f.clock);
  json.at("directories").get_to(f.directories);
}

}  // namespace triax::doctor
