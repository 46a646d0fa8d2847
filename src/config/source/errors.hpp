// SPDX-License-Identifier: Apache-2.0
#pragma once
// The errors of a job, collected so that all are reported together.
#include <string>
#include <vector>

namespace triax {

/// Where a value was written: file and line, or "--set" with line 0.
struct Origin {
  std::string file;
  int line = 0;
  /// "job.json:12", "--set", or the file alone if the line is unknown.
  std::string text() const;
};

class ErrorList {
 public:
  /// `text` reads "<key>: <problem> ...".
  void add(const Origin& origin, const std::string& text);
  void add(const ErrorList& others);
  bool empty() const { return entries_.empty(); }
  /// One text per error, in the order of the files' lines.
  std::vector<std::string> texts() const;
  /// Throws UsageError with one line per error; returns if there are none.
  void raise() const;

 private:
  struct Entry {
    Origin origin;
    std::string text;
  };
  std::vector<Entry> entries_;
};

}  // namespace triax
