// SPDX-License-Identifier: Apache-2.0
#include "src/axolotl/job_text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace triax {
namespace {

using nlohmann::ordered_json;
using Entries = std::vector<AxolotlJob::Entry>;

std::string text_of(const ordered_json& value) {
  std::string text = value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  std::string spaced;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"' && (i == 0 || text[i - 1] != '\\')) quoted = !quoted;
    spaced += text[i];
    if (!quoted && (text[i] == ',' || text[i] == ':')) spaced += ' ';
  }
  return spaced;
}

std::string first_part(const std::string& key) {
  return key.substr(0, key.find('.'));
}

// Lines of the entries, whose keys begin at `begin`, in the order in which sections come first.
void write(std::string& out, Entries entries, std::size_t begin, int depth) {
  const std::string indent(static_cast<std::size_t>(2 * depth), ' ');
  while (!entries.empty()) {
    const std::string part = first_part(entries.front().key.substr(begin));
    Entries inside, rest;
    for (AxolotlJob::Entry& entry : entries)
      (first_part(entry.key.substr(begin)) == part ? inside : rest).push_back(std::move(entry));
    const bool leaf = inside.front().key.size() == begin + part.size();
    const std::string comma = rest.empty() ? "" : ",";
    if (leaf) {
      out += fmt::format("{}\"{}\": {}{}  // {}\n", indent, part, text_of(inside.front().value),
                         comma, inside.front().origin);
    } else {
      out += fmt::format("{}\"{}\": {{\n", indent, part);
      write(out, std::move(inside), begin + part.size() + 1, depth + 1);
      out += fmt::format("{}}}{}\n", indent, comma);
    }
    entries = std::move(rest);
  }
}

}  // namespace

std::string job_text(const AxolotlJob& job) {
  std::string text = fmt::format("// From {}, by triax config --from-axolotl.\n", job.file());
  for (const std::string& line : job.lacking().texts()) text += "// Missing: " + line + "\n";
  for (const std::string& line : job.passed_over()) text += "// Without effect: " + line + "\n";
  text += "{\n";
  write(text, job.entries(), 0, 1);
  return text + "}\n";
}

}  // namespace triax
