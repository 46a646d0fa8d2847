// SPDX-License-Identifier: Apache-2.0
#include "src/machine/description.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "kernels/base/check.hpp"
#include "src/config/source/errors.hpp"
#include "src/config/source/json_lines.hpp"
#include "src/config/source/spelling.hpp"
#include "src/machine/figures.hpp"
#include "src/machine/presets.hpp"

namespace triax {
namespace {

using nlohmann::json;

constexpr const char* word_keys[] = {"name", "like", "device", "ranks_per_node"};

class Reader {
 public:
  Reader(const std::string& text, const std::string& file)
      : file_(file), document_(parse_json(text, file, errors_)) {}

  Machine read() {
    const bool whole = !read_like();
    check_known(document_.root, "");
    read_words(whole);
    for (const MachineKey& key : machine_keys()) read_figure(key, whole);
    if (whole && errors_.empty() &&
        machine_.f32_flops + machine_.bf16_flops + machine_.f16_flops == 0.0)
      add("flops", "no type has FLOP/s. Set flops.bf16, flops.f16 or flops.f32");
    errors_.raise();
    return machine_;
  }

 private:
  const json* find(const std::string& path) const {
    const json* value = &document_.root;
    for (std::size_t begin = 0; begin <= path.size();) {
      const std::size_t end = std::min(path.find('.', begin), path.size());
      const auto found =
          value->is_object() ? value->find(path.substr(begin, end - begin)) : value->end();
      if (!value->is_object() || found == value->end()) return nullptr;
      value = &*found;
      begin = end + 1;
    }
    return value;
  }

  void add(const std::string& path, const std::string& problem) {
    const auto line = document_.lines.find(path);
    errors_.add({file_, line == document_.lines.end() ? document_.lines[""] : line->second},
                path + ": " + problem);
  }

  static std::vector<std::string> all_keys() {
    std::vector<std::string> keys(std::begin(word_keys), std::end(word_keys));
    for (const MachineKey& key : machine_keys()) keys.emplace_back(key.name);
    return keys;
  }

  void check_known(const json& object, const std::string& prefix) {
    const std::vector<std::string> known = all_keys();
    for (const auto& [name, value] : object.items()) {
      const std::string path = prefix + name;
      if (std::ranges::find(known, path) != known.end()) continue;
      const bool section = std::ranges::any_of(
          known, [&](const std::string& key) { return key.starts_with(path + "."); });
      if (!section)
        add(path, "there is no such key (nearest: " + nearest_word(path, known) + ")");
      else if (!value.is_object())
        add(path, "is not an object ({...})");
      else
        check_known(value, path + ".");
    }
  }

  // Whether the file takes what is absent from a preset.
  bool read_like() {
    const json* like = find("like");
    if (like == nullptr) return false;
    const auto found = like->is_string() ? preset(like->get<std::string>()) : std::nullopt;
    if (!found)
      add("like",
          fmt::format("{} is no preset ({})", like->dump(), fmt::join(preset_names(), ", ")));
    else
      machine_ = *found;
    return true;
  }

  void read_words(bool whole) {
    machine_.name = std::filesystem::path(file_).stem().string();
    if (const json* name = find("name")) {
      if (name->is_string())
        machine_.name = name->get<std::string>();
      else
        add("name", "is not a string");
    }
    if (const json* device = find("device")) {
      if (*device != "gpu" && *device != "cpu")
        add("device", device->dump() + " is neither \"gpu\" nor \"cpu\"");
      machine_.space = *device == "cpu" ? MemorySpace::host : MemorySpace::device;
    } else if (whole) {
      add("device", "is missing. Set it to \"gpu\" or \"cpu\"");
    }
    if (const json* ranks = find("ranks_per_node")) {
      if (ranks->is_number_integer() && *ranks >= 1 && *ranks <= 1024)
        machine_.ranks_per_node = ranks->get<int>();
      else
        add("ranks_per_node", ranks->dump() + " is not a whole number from 1 to 1024");
    } else if (whole) {
      add("ranks_per_node", "is missing");
    }
  }

  void read_figure(const MachineKey& key, bool whole) {
    const json* value = find(key.name);
    if (value == nullptr) {
      if (whole && !key.optional)
        add(key.name, fmt::format("is missing ({}, in {}). Set it, or take the rest from a preset: "
                                  "\"like\": \"h100\"",
                                  key.meaning, key.unit));
      return;
    }
    if (!value->is_number()) return add(key.name, value->dump() + " is not a number");
    const double number = value->get<double>();
    if (!(key.optional && number == 0.0) && !(number >= key.least && number <= key.most))
      return add(key.name, fmt::format("{:g} {} is absurd ({}; from {:g} to {:g})", number,
                                       key.unit, key.meaning, key.least, key.most));
    key.field(machine_) = number;
  }

  std::string file_;
  ErrorList errors_;
  JsonDocument document_;
  Machine machine_;
};

}  // namespace

Machine parse_machine(const std::string& text, const std::string& file) {
  return Reader(text, file).read();
}

Machine find_machine(const std::string& name_or_file) {
  if (auto found = preset(name_or_file)) return *std::move(found);
  if (std::filesystem::exists(name_or_file))
    return parse_machine(read_text(name_or_file), name_or_file);
  throw UsageError(fmt::format("there is no machine \"{}\"", name_or_file),
                   fmt::format("neither \"this\", nor a file, nor a preset: {}",
                               fmt::join(preset_names(), ", ")),
                   "Set --machine to a preset or to a JSON file: jobs/guides/plan.md");
}

std::string machine_json(const Machine& machine) {
  nlohmann::ordered_json root = {{"name", machine.name},
                                 {"device", machine.space == MemorySpace::host ? "cpu" : "gpu"},
                                 {"ranks_per_node", machine.ranks_per_node}};
  Machine copy = machine;
  for (const MachineKey& key : machine_keys()) {
    const std::string path = key.name;
    const std::size_t dot = path.find('.');
    (dot == std::string::npos ? root[path] : root[path.substr(0, dot)][path.substr(dot + 1)]) =
        key.field(copy);
  }
  return root.dump(2) + "\n";
}

}  // namespace triax
