// SPDX-License-Identifier: Apache-2.0
#include "src/doctor/directory_facts.hpp"

#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "io/direct/block_file.hpp"
#include "io/files/file_lock.hpp"
#include "kernels/base/process/host_name.hpp"
#include "kernels/base/process/mount.hpp"
#include "src/config/source/absolute_path.hpp"

namespace triax::doctor {
namespace {
namespace fs = std::filesystem;

std::string contents(const char* path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// A file with a unique name, removed with the object.
class ProbeFile {
 public:
  explicit ProbeFile(const std::string& directory)
      : path_(directory + "/.triax-doctor-" + host_name() + '-' + std::to_string(getpid())) {
    errno = 0;
    std::ofstream file(path_);
    const std::vector<char> block(BlockFile::alignment);
    file.write(block.data(), static_cast<std::streamsize>(block.size()));
    file.close();
    if (!file) problem_ = std::strerror(errno != 0 ? errno : EIO);
  }
  ~ProbeFile() {
    std::error_code gone;
    fs::remove(path_, gone);
  }
  ProbeFile(const ProbeFile&) = delete;
  ProbeFile& operator=(const ProbeFile&) = delete;
  const std::string& path() const { return path_; }
  const std::string& problem() const { return problem_; }

 private:
  std::string path_, problem_;
};

std::string lock_problem(const std::string& directory, const std::string& probe) {
  std::ifstream mounts("/proc/self/mounts");
  if (const std::string option = node_local_locks(directory, mounts); !option.empty())
    return "locks hold on one node alone (mount option " + option + ")";
  try {
    const FileLock lock(probe + ".lock", "another process holds a lock", "Try again",
                        std::chrono::milliseconds(0), FileLock::Leaves::nothing);
    return lock.refusal();
  } catch (const std::exception& error) {
    return error.what();
  }
}

std::string transfers_of(const std::string& probe) {
  try {
    return BlockFile(probe, {}).description();
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace

std::string file_system_of(const std::string& path, const std::string& mounts) {
  std::istringstream lines(mounts);
  const std::string type = mount_of(path, lines).type;
  return type.empty() ? "unknown" : type;
}

DirectoryFacts directory_facts(const std::string& directory) {
  DirectoryFacts facts;
  facts.path = absolute_path(directory);
  std::error_code error;
  const fs::path real = fs::canonical(facts.path, error);
  if (error) {
    facts.problem = error.message();
    return facts;
  }
  facts.type = file_system_of(real.string(), contents("/proc/self/mounts"));
  struct statvfs space {};
  if (statvfs(facts.path.c_str(), &space) == 0)
    facts.free_bytes = static_cast<double>(space.f_bavail) * static_cast<double>(space.f_frsize);
  const ProbeFile probe(facts.path);
  facts.problem = probe.problem();
  if (!facts.problem.empty()) return facts;
  facts.lock_problem = lock_problem(real.string(), probe.path());
  facts.transfers = transfers_of(probe.path());
  return facts;
}

void to_json(nlohmann::ordered_json& json, const DirectoryFacts& f) {
  json = {{"path", f.path},
          {"problem", f.problem},
          {"file_system", f.type},
          {"free_bytes", f.free_bytes},
          {"locks", f.lock_problem},
          {"transfers", f.transfers},
          {"seen_by_this_rank", f.seen}};
}

void from_json(const nlohmann::ordered_json& json, DirectoryFacts& f) {
  json.at("path").get_to(f.path);
  json.at("problem").get_to(f.problem);
  json.at("file_system").get_to(f.type);
  json.at("free_bytes").get_to(f.free_bytes);
  json.at("locks").get_to(f.lock_problem);
  json.at("transfers").get_to(f.transfers);
  json.at("seen_by_this_rank").get_to(f.seen);
}

}  // namespace triax::doctor
