// SPDX-License-Identifier: Apache-2.0
#include "src/commands/evaluate/evaluate_output.hpp"

#include <fmt/format.h>

namespace triax {

std::string evaluation_text(const nlohmann::ordered_json& results) {
  const std::string error = "_stderr";
  std::string text;
  for (const auto& task : results) {
    text += fmt::format("{}: {}\n", task.at("task").get<std::string>(),
                        task.at("kind").get<std::string>());
    for (const auto& [name, value] : task.items()) {
      if (!value.is_number() || name.ends_with(error)) continue;
      const std::string number =
          value.is_number_float() ? fmt::format("{:.6g}", value.get<double>()) : value.dump();
      text += fmt::format("  {:<16} {:>12}", name, number);
      if (const auto found = task.find(name + error); found != task.end() && found->is_number())
        text += fmt::format("  +- {:.4g}", found->get<double>());
      text += "\n";
    }
  }
  return text;
}

}  // namespace triax
