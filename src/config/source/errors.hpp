#pragma once
// The errors of a job, gathered so that all of them are reported together.
#include <string>
#include <vector>

namespace triax {

/// Where a value was written: a file and its line, or "--set" with line 0.
struct Origin {
  std::string file;
  int line = 0;
  /// "job.json:12", "--set", or the file alone where no line is known.
  std::string text() const;
};

class ErrorList {
 public:
  /// `text` reads "<key>: <problem> ...".
  void add(const Origin& origin, const std::string& text);
  void add(const ErrorList& others);
  bool empty() const { return entries_.empty(); }
  /// A text an error, in the order of the files' lines.
  std::vector<std::string> texts() const;
  /// Throws UsageError with the texts, a line each; nothing when empty.
  void raise() const;

 private:
  struct Entry {
    Origin origin;
    std::string text;
  };
  std::vector<Entry> entries_;
};

}  // namespace triax
