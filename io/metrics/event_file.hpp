// SPDX-License-Identifier: Apache-2.0
#pragma once
// An event file of TensorBoard that a run appends to.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/metrics/event_records.hpp"

namespace triax {

/// While the disk is full, records wait in memory, and training continues.
class EventFile {
 public:
  /// Opens a new file in `directory`, which is made. TensorBoard forgets what earlier files of the
  /// directory have of steps from `first_step` on. Error where the file cannot be made.
  EventFile(const std::string& directory, std::int64_t first_step);
  ~EventFile();
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  /// Numbers that are not finite are left out.
  void scalars(std::int64_t step, std::vector<EventScalar> scalars);
  /// A text, shown as Markdown.
  void text(std::int64_t step, std::string_view tag, std::string_view text);
  /// Reason why records wait; empty: none wait.
  const std::string& problem() const { return problem_; }

 private:
  void append(const std::string& record);

  std::string path_, waiting_, problem_;
  int file_ = -1;
};

}  // namespace triax
