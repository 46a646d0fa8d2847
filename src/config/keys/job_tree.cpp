// SPDX-License-Identifier: Apache-2.0
#include "src/config/keys/job_tree.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "kernels/base/check.hpp"
#include "src/axolotl/translate.hpp"
#include "src/config/keys/key.hpp"
#include "src/config/source/file_look.hpp"
#include "src/config/source/json_lines.hpp"

namespace triax {
namespace {
using nlohmann::json;
namespace fs = std::filesystem;

void forget_below(JobTree& tree, const std::string& path) {
  std::erase_if(tree.origins,
                [&](const auto& entry) { return entry.first.starts_with(path + "."); });
}

// Lays `over` on `base`, key by key; `origin_of(path)` says where each key of `over` was written.
template <class OriginOf>
void overlay(JobTree& tree, json& base, const json& over, const std::string& prefix,
             const OriginOf& origin_of) {
  for (const auto& [name, value] : over.items()) {
    const auto path = prefix.empty() ? name : prefix + "." + name;
    tree.origins[path] = origin_of(path);
    auto& slot = base[name];
    if (value.is_object() && !value.empty()) {
      if (!slot.is_object()) {
        slot = json::object();
        forget_below(tree, path);
      }
      overlay(tree, slot, value, path, origin_of);
    } else if (!(value.is_object() && slot.is_object())) {
      slot = value;
      forget_below(tree, path);
    }
  }
}

// `extends` is not a row of the table: the base file is read before there are settings.
Key extends_key() {
  return obeyed("extends", KeyType::path, nullptr, anything(), "the job file under this one");
}

JsonDocument document_of(JobTree& tree, const std::string& file, ErrorList& errors) {
  const std::string text = read_text(file);
  return is_axolotl_file(file) ? axolotl_job(text, file, tree.notes)
                               : parse_json(text, file, errors);
}

void add_file(JobTree& tree, const fs::path& path, std::vector<fs::path>& chain,
              ErrorList& errors) {
  const auto file = path.string();
  chain.push_back(path);
  auto document = document_of(tree, file, errors);
  const auto origin_of = [&](const std::string& key) {
    const auto line = document.lines.find(key);
    return Origin{file, line == document.lines.end() ? 0 : line->second};
  };
  if (const auto extends = document.root.find("extends"); extends != document.root.end()) {
    const auto where = origin_of("extends");
    const auto fail = [&](const std::string& why) {
      throw UsageError(where.text() + ": extends: " + why);
    };
    if (const auto problem = problem_with(extends_key(), *extends)) fail(*problem);
    if (extends->is_string()) {
      const auto base = path.parent_path() / extends->get<std::string>();
      if (const auto problem = look_at(base).problem; !problem.empty()) fail(problem);
      std::error_code no;
      if (std::ranges::any_of(chain, [&](const auto& f) { return fs::equivalent(f, base, no); }))
        fail(base.string() + " is extended in a cycle. Break the chain");
      if (!fs::is_regular_file(base, no))
        fail("no such file: " + base.string() + " (relative to " + file + ")");
      add_file(tree, base, chain, errors);
    }
    document.root.erase("extends");
  }
  tree.line = document.lines[""];  // the job file's own line overwrites the base files'
  overlay(tree, tree.root, document.root, {}, origin_of);
}

void add_override(JobTree& tree, const std::string& text, ErrorList& errors) {
  const Origin origin{"--set", 0};
  const auto equals = text.find('=');
  const auto key = text.substr(0, equals);
  if (equals == std::string::npos || key.empty() || key.front() == '.' || key.back() == '.' ||
      key.find("..") != std::string::npos) {
    errors.add(
        origin,
        text + ": expected KEY=VALUE (KEY is a dotted path). For example: --set parallel.tensor=2");
    return;
  }
  if (key == "extends")
    return errors.add(
        origin, "extends: only a job file can extend another, not --set. Write it into the file");
  auto value = parse_override(key, text.substr(equals + 1), errors);
  for (auto end = key.size(), dot = end; end > 0; end = dot) {
    dot = key.rfind('.', end - 1);
    const bool top = dot == std::string::npos;
    value = json{{key.substr(top ? 0 : dot + 1, end - (top ? 0 : dot + 1)), std::move(value)}};
    if (top) break;
  }
  overlay(tree, tree.root, value, {}, [&](const std::string&) { return origin; });
}

}  // namespace

Origin JobTree::origin(const std::string& path) const {
  for (auto end = path.size(); end != std::string::npos;
       end = end == 0 ? std::string::npos : path.rfind('.', end - 1)) {
    const auto found = origins.find(path.substr(0, end));
    if (found != origins.end()) return found->second;
  }
  return {file, line};
}

JobTree read_job(const std::string& path, const std::vector<std::string>& overrides,
                 ErrorList& errors) {
  const FileLook look = look_at(path);
  if (!look.problem.empty()) throw UsageError(look.problem);
  if (!look.there) throw UsageError(path + ": no such job file");
  JobTree tree;
  tree.file = path;
  std::vector<fs::path> chain;
  add_file(tree, path, chain, errors);
  for (const auto& text : overrides) add_override(tree, text, errors);
  return tree;
}

}  // namespace triax
