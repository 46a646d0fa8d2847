// SPDX-License-Identifier: Apache-2.0
#pragma once
// Keys of the table that a command without a job file takes from --set.
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace triax {

class CommandKeys {
 public:
  /// `command`: for errors. `taken`: sections ("serve.") and single keys ("run.directory").
  /// `overrides`: "KEY=VALUE", of which those that begin with "parallel." are left to others.
  /// UsageError for a key that is not taken, with the nearest one that is, and for a wrong value.
  CommandKeys(const std::string& command, const std::vector<std::string>& taken,
              const std::vector<std::string>& overrides);

  // Values of keys, or their defaults. `path` is a taken key of that type.
  std::string text(const std::string& path) const;  // empty: null
  std::int64_t integer(const std::string& path) const;
  double number(const std::string& path) const;
  bool flag(const std::string& path) const;
  double seconds(const std::string& path) const;
  std::vector<std::string> texts(const std::string& path) const;
  /// The overrides that are left to others.
  const std::vector<std::string>& grid() const { return grid_; }

 private:
  std::map<std::string, nlohmann::json> values_;
  std::vector<std::string> grid_;
};

}  // namespace triax
