// SPDX-License-Identifier: Apache-2.0
#include "src/config/resolve/sources.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <utility>

#include "src/config/resolve/paths.hpp"
#include "src/config/source/spelling.hpp"

namespace triax {
namespace {
using nlohmann::json;

constexpr const char* train = "data.train";

std::string shown(const json& value) {
  auto text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  return text.size() > 60 ? text.substr(0, 57) + "..." : text;
}

bool is_object(const json& value) {
  return value.is_object();
}

// Checks one source of data.train and its weights. Errors carry the path of what is wrong.
class SourceCheck {
 public:
  SourceCheck(Settings& settings, ErrorList& errors) : settings_(settings), errors_(errors) {}

  bool sound(const std::string& path, const json& source) {
    sound_ = true;
    check_keys(path, source, {"paths", "weight"});
    check_paths(path + ".paths", source.value("paths", json()));
    check_weight(path + ".weight", source.value("weight", json()));
    return sound_;
  }

 private:
  void fail(const std::string& path, const std::string& text) {
    errors_.add(settings_.origin_of(train), path + ": " + text);
    settings_.mark_wrong(train);
    sound_ = false;
  }

  void check_keys(const std::string& path, const json& object,
                  const std::vector<std::string>& keys) {
    for (const auto& [key, value] : object.items())
      if (std::ranges::find(keys, key) == keys.end())
        fail(path + "." + key,
             fmt::format("unknown key (nearest: {}.{})", path, nearest_word(key, keys)));
  }

  void check_paths(const std::string& path, const json& paths) {
    const bool list = paths.is_array() && !paths.empty() &&
                      std::ranges::all_of(paths, [](const json& p) { return p.is_string(); });
    if (paths.is_string() || list) return;
    const bool none = paths.is_null() || (paths.is_array() && paths.empty());
    fail(path, none ? "missing. Name a file, a pattern (\"corpus/*.bin\") or a list of them"
                    : "expected path or list of paths, got " + shown(paths));
  }

  void check_number(const std::string& path, const json& weight, bool may_be_zero) {
    if (!weight.is_number()) {
      fail(path, (weight.is_null() ? "missing" : "expected number, got " + shown(weight)) +
                     ". Set it to the source's share of the samples, in any unit");
      return;
    }
    const double number = weight.get<double>();
    if (std::isfinite(number) && (number > 0.0 || (may_be_zero && number == 0.0))) return;
    fail(path, fmt::format("{} is not allowed (allowed: {} 0). {}", shown(weight),
                           may_be_zero ? ">=" : ">",
                           number == 0.0 ? "Leave the source out"
                                         : "Set it to the source's share of the samples"));
  }

  void check_weight(const std::string& path, const json& weight) {
    if (!weight.is_array()) return check_number(path, weight, false);
    if (weight.empty()) return fail(path, "an empty list. Give a number, or a weight per phase");
    std::int64_t last = 0;
    for (std::size_t i = 0; i < weight.size(); ++i)
      check_phase(fmt::format("{}[{}]", path, i), weight[i], i + 1 == weight.size(), last);
    const bool used = std::ranges::any_of(weight, [](const json& phase) {
      return !phase.is_object() || phase.value("weight", json(1)) != 0;
    });
    if (!used) fail(path, "0 in every phase. Leave the source out");
  }

  void check_phase(const std::string& path, const json& phase, bool last_phase,
                   std::int64_t& last) {
    if (!phase.is_object())
      return fail(path, "expected {\"until_step\": N, \"weight\": W}, got " + shown(phase));
    check_keys(path, phase, {"until_step", "weight"});
    check_number(path + ".weight", phase.value("weight", json()), true);
    const json until = phase.value("until_step", json());
    if (last_phase) {
      if (!until.is_null())
        fail(path + ".until_step",
             "the last weight holds to the end of the run. Leave this out, or add a weight for the "
             "steps from there on");
      return;
    }
    if (until.is_null())
      return fail(path + ".until_step", "missing. Set it to the first step of the next weight");
    if (!until.is_number_integer() || until.get<std::int64_t>() < 1)
      return fail(path + ".until_step", "expected integer >= 1, got " + shown(until));
    if (until.get<std::int64_t>() <= last)
      return fail(path + ".until_step",
                  fmt::format("{} does not come after {}. Give the weights in the order of their "
                              "steps",
                              shown(until), last));
    last = until.get<std::int64_t>();
  }

  Settings& settings_;
  ErrorList& errors_;
  bool sound_ = true;
};

// The first step without any weight above 0; -1: there is none.
std::int64_t step_without_weight(const std::vector<DataSource>& sources) {
  std::set<std::int64_t> steps = {0};
  for (const DataSource& source : sources)
    for (const SourceWeight& weight : source.weights) steps.insert(weight.until_step);
  for (const std::int64_t step : steps) {
    const auto has_weight = [&](const DataSource& source) {
      const auto holds = [&](const SourceWeight& w) {
        return w.until_step == 0 || step < w.until_step;
      };
      return std::ranges::find_if(source.weights, holds)->weight > 0.0;
    };
    if (std::ranges::none_of(sources, has_weight)) return step;
  }
  return -1;
}

}  // namespace

json train_files(Settings& settings, const std::string& job_file, ErrorList& errors,
                 ErrorList& missing) {
  if (!settings.has(train)) return json::array();
  json value = settings.at(train).value;
  if (!value.is_array() || std::ranges::none_of(value, is_object))
    return data_files(settings, train, value, job_file, errors, missing);
  if (!std::ranges::all_of(value, is_object)) {
    settings.error(errors, train,
                   "paths and objects are mixed. Write each source as {\"paths\": [...], "
                   "\"weight\": W}, or all as paths, which are one source");
    return json::array();
  }
  SourceCheck check(settings, errors);
  bool sound = true;
  for (std::size_t i = 0; i < value.size(); ++i)
    sound &= check.sound(fmt::format("{}[{}]", train, i), value[i]);
  if (!sound) return json::array();
  // A plan needs no files: the patterns of missing ones stay.
  for (json& source : value)
    source["paths"] = data_files(settings, train, source["paths"], job_file, errors, missing);
  if (const std::int64_t step = step_without_weight(data_sources(value)); step >= 0)
    settings.error(errors, train, fmt::format("no source has a weight above 0 at step {}", step));
  return value;
}

std::vector<std::string> patterns_of_sources(const json& value) {
  std::vector<std::string> all;
  for (const json& each : value) {
    if (each.is_string()) {
      all.push_back(each.get<std::string>());
      continue;
    }
    const auto paths = each.at("paths").get<std::vector<std::string>>();
    all.insert(all.end(), paths.begin(), paths.end());
  }
  return all;
}

std::vector<DataSource> data_sources(const json& value) {
  std::vector<DataSource> sources;
  for (const json& each : value) {
    if (!each.is_object()) return {};
    DataSource source{each.at("paths").size()};
    const json& weight = each.at("weight");
    if (weight.is_number()) source.weights = {{weight.get<double>()}};
    if (weight.is_array())
      for (const json& phase : weight) {
        const json until = phase.value("until_step", json());
        source.weights.push_back(
            {phase.at("weight").get<double>(), until.is_null() ? 0 : until.get<std::int64_t>()});
      }
    sources.push_back(std::move(source));
  }
  return sources;
}

}  // namespace triax
