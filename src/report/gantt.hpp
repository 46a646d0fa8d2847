// SPDX-License-Identifier: Apache-2.0
#pragma once
// The instructions of a step in time, one row per rank or stage.
#include <string>
#include <vector>

namespace triax {

/// Work of an interval, which gives its color.
enum class GanttKind : int { forward, backward, recompute, message, reduction, optimizer, other };

struct GanttBar {
  GanttKind kind = GanttKind::other;
  double begin = 0.0, end = 0.0;  // seconds from the step's begin
  std::string name;
};

struct GanttRow {
  std::string name;
  std::vector<GanttBar> bars;  // by begin
};

/// Kind of an instruction, from its text.
GanttKind gantt_kind(const std::string& instruction);

/// A figure with the seconds of each row by kind in a table; empty without rows.
std::string gantt_html(const std::string& title, const std::vector<GanttRow>& rows);

}  // namespace triax
