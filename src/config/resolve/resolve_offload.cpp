// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include "src/config/resolve/resolve.hpp"
#include "src/config/source/file_look.hpp"

namespace triax {
namespace {

void check_directory(Settings& s, const std::string& section, ErrorList& errors,
                     ErrorList& missing) {
  if (s.string(section + "device") != "nvme") return;
  const std::string key = section + "nvme_path";
  if (!s.sound({key})) return;
  if (!s.has(key) || s.string(key).empty()) {
    s.error(errors, section + "device",
            "\"nvme\" needs " + key + ". Name a directory on the fastest disk of each node");
    return;
  }
  const std::string path = s.string(key);
  const FileLook look = look_at(path);
  if (!look.problem.empty())
    s.error(missing, key, look.problem);
  else if (!look.there)
    s.error(missing, key, "no such directory: " + path + ". Create it on every node");
  else if (!look.directory)
    s.error(missing, key, path + " is not a directory. Name one");
  else if (::access(path.c_str(), W_OK | X_OK) != 0)
    s.error(missing, key, path + " cannot be written. Change its permissions, or name another");
}

// DeepSpeed's old switches mean "cpu", which the section's device may contradict.
void check_old_name(Settings& s, const std::string& old, const std::string& section,
                    ErrorList& errors) {
  if (s.boolean(old) && s.string(section + "device") == "nvme")
    s.error(errors, old,
            fmt::format("true means host memory, but {}device is \"nvme\". Leave one of them out",
                        section));
}

}  // namespace

void check_offload(Settings& s, ErrorList& errors, ErrorList& missing) {
  const std::string z = "zero_optimization.";
  const std::string param = z + "offload_param.";
  check_directory(s, z + "offload_optimizer.", errors, missing);
  check_directory(s, param, errors, missing);
  const auto stage = s.integer(z + "stage");
  const auto check_stage = [&](const std::string& key, bool wanted) {
    if (wanted && stage != 3 && s.sound({z + "stage"}))
      s.error(errors, key,
              fmt::format("parameters are offloaded under ZeRO-3 only (stage is {}). Set "
                          "zero_optimization.stage to 3, or leave this out",
                          stage));
  };
  check_stage(param + "device", s.string(param + "device") != "none");
  for (const char* old : {"cpu_offload_param", "cpu_offload_params"}) {
    check_stage(z + old, s.boolean(z + old));
    check_old_name(s, z + old, param, errors);
  }
  check_old_name(s, z + "cpu_offload", z + "offload_optimizer.", errors);
  if (const auto block = s.integer("aio.block_size"); block % 4096 != 0)
    s.error(errors, "aio.block_size",
            fmt::format("{} is not a multiple of 4096, as reads and writes past the page cache "
                        "need. Set it to one, or leave this out",
                        block));
}

}  // namespace triax
