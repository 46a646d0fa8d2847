// SPDX-License-Identifier: Apache-2.0
#pragma once
// Keys that clients must know.
#include <string>
#include <vector>

namespace triax {

class ApiKeys {
 public:
  /// Without keys, every client may come.
  ApiKeys() = default;
  ApiKeys(std::vector<std::string> keys) : keys_(std::move(keys)) {}

  bool any() const { return !keys_.empty(); }
  /// Whether the header "Authorization: Bearer KEY" has one of the keys. Takes the same time for
  /// every wrong key of one length.
  bool allow(const std::string& authorization) const;

 private:
  std::vector<std::string> keys_;
};

/// Keys of a file, one per line; empty lines and those that begin with # are none. UsageError if it
/// cannot be read or has no key. `warning`: set if others may read it.
std::vector<std::string> read_api_keys(const std::string& path, std::string& warning);
/// A key that no one can guess: 256 bits from the operating system.
std::string new_api_key();

}  // namespace triax
