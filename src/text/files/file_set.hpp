// SPDX-License-Identifier: Apache-2.0
#pragma once
// The files of a tokenizer in memory, as a directory or a checkpoint holds them.
#include <map>
#include <string>

namespace triax {

struct TokenizerFiles {
  std::string place;            // directory or checkpoint, for errors
  std::string tokenizer;        // name of the file that defines the tokenizer; empty: there is none
  std::string class_name = {};  // tokenizer_class where no file names one; empty: unknown
  /// Bytes by file name: the tokenizer's, and those about text generation beside them.
  std::map<std::string, std::string> bytes = {};

  /// Bytes of a file; null: there is none.
  const std::string* find(const std::string& name) const {
    const auto found = bytes.find(name);
    return found == bytes.end() ? nullptr : &found->second;
  }
  /// Path of a file for errors.
  std::string path(const std::string& name) const {
    return place.empty() ? name : place + "/" + name;
  }
};

}  // namespace triax
