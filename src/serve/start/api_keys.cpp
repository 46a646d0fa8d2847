// SPDX-License-Identifier: Apache-2.0
#include "src/serve/start/api_keys.hpp"

#include <sys/stat.h>

#include <fstream>
#include <random>
#include <string_view>

#include "kernels/base/check.hpp"

namespace triax {
namespace {

constexpr std::string_view bearer = "Bearer ";
constexpr std::string_view blank = " \t\r";

bool same(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  return difference == 0;
}

}  // namespace

bool ApiKeys::allow(const std::string& authorization) const {
  if (!any()) return true;
  if (!authorization.starts_with(bearer)) return false;
  const std::string_view given = std::string_view(authorization).substr(bearer.size());
  bool found = false;
  for (const std::string& key : keys_)
    if (same(given, key)) found = true;
  return found;
}

std::vector<std::string> read_api_keys(const std::string& path, std::string& warning) {
  std::ifstream file(path);
  if (!file)
    throw UsageError("serve.api_keys: " + path + " cannot be read", {},
                     "Write one key per line into it, readable by you alone");
  std::vector<std::string> keys;
  for (std::string line; std::getline(file, line);) {
    const std::size_t begin = line.find_first_not_of(blank);
    if (begin == line.npos || line[begin] == '#') continue;
    keys.push_back(line.substr(begin, line.find_last_not_of(blank) + 1 - begin));
  }
  if (keys.empty())
    throw UsageError("serve.api_keys: " + path + " has no key", {}, "Write one key per line");
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && (status.st_mode & (S_IRGRP | S_IROTH)) != 0)
    warning = path + " may be read by others: its keys are no secret. chmod 600 it";
  return keys;
}

std::string new_api_key() {
  std::random_device source;
  std::string key = "sk-triax-";
  for (int i = 0; i < 8; ++i) key += fmt::format("{:08x}", source());
  return key;
}

}  // namespace triax
