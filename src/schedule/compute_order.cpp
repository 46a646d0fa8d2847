// SPDX-License-Identifier: Apache-2.0
#include "src/schedule/compute_order.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <vector>

namespace triax {
namespace {

constexpr std::string_view heading = "stage,operation,chunk,microbatch";
constexpr std::size_t columns = 4;
constexpr int most_stages = 1'000'000;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r";
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

std::vector<std::string_view> split(std::string_view line) {
  std::vector<std::string_view> fields;
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t end = std::min(line.find(',', begin), line.size());
    fields.push_back(trimmed(line.substr(begin, end - begin)));
    begin = end + 1;
  }
  return fields;
}

char letter_of(OpKind kind) {
  return kind == OpKind::Forward ? 'F' : kind == OpKind::Backward ? 'B' : 'W';
}

std::optional<OpKind> kind_of(std::string_view letter) {
  for (const OpKind kind : {OpKind::Forward, OpKind::Backward, OpKind::WeightGradient})
    if (letter.size() == 1 && letter[0] == letter_of(kind)) return kind;
  return {};
}

[[noreturn]] void fail(int line, const std::string& text) {
  throw std::invalid_argument("line " + std::to_string(line) + ": " + text);
}

int number(std::string_view field, std::string_view column, int line) {
  int value = -1;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (error != std::errc() || end != field.data() + field.size() || value < 0)
    fail(line, "the " + std::string(column) + " is \"" + std::string(field) +
                   "\" and must be a whole number, from 0");
  return value;
}

void read_line(std::string_view text, int line, Plans& order) {
  const std::vector<std::string_view> fields = split(text);
  if (fields.size() != columns)
    fail(line, "it has " + std::to_string(fields.size()) + " fields, not the " +
                   std::to_string(columns) + " of " + std::string(heading));
  const std::optional<OpKind> kind = kind_of(fields[1]);
  if (!kind)
    fail(line, "there is no operation \"" + std::string(fields[1]) +
                   "\". Take F (forward), B (backward) or W (weight gradient)");
  const int stage = number(fields[0], "stage", line);
  if (stage >= most_stages)
    fail(line, "the stage is " + std::string(fields[0]) + " and must be below " +
                   std::to_string(most_stages));
  if (stage >= std::ssize(order)) order.resize(static_cast<std::size_t>(stage) + 1);
  order[static_cast<std::size_t>(stage)].push_back(
      {*kind, number(fields[2], "chunk", line), all, number(fields[3], "microbatch", line)});
}

std::string name_of(const Op& op) {
  return letter_of(op.kind) + (" c" + std::to_string(op.chunk)) + " m" +
         std::to_string(op.microbatch);
}

// An instruction of a stage.
struct StageOp {
  int stage = 0;
  Op op;
  std::string text() const { return name_of(op) + " of stage " + std::to_string(stage); }
};

// Instructions that have to be done before one.
std::vector<StageOp> needs_of(const StageOp& at, int stages, int chunks) {
  const auto other = [&](OpKind kind, int step) {
    const int global = at.op.chunk * stages + at.stage + step;
    return StageOp{global % stages, {kind, global / stages, all, at.op.microbatch}};
  };
  const int global = at.op.chunk * stages + at.stage;
  std::vector<StageOp> needs;
  if (at.op.kind == OpKind::Forward && global > 0) needs.push_back(other(OpKind::Forward, -1));
  if (at.op.kind == OpKind::Backward) {
    needs.push_back(other(OpKind::Forward, 0));
    if (global + 1 < stages * chunks) needs.push_back(other(OpKind::Backward, 1));
  }
  if (at.op.kind == OpKind::WeightGradient) needs.push_back(other(OpKind::Backward, 0));
  return needs;
}

// Runs all stages, each as far as it comes, until none comes further.
class OrderRun {
 public:
  OrderRun(const Plans& order, int chunks)
      : order_(order),
        chunks_(chunks),
        next_(order.size(), 0),
        done_(order.size() * static_cast<std::size_t>(chunks)) {
    while (advance()) {
    }
  }

  /// Problem of the first stage that did not come to its end; empty: all did.
  std::string problem() const {
    for (std::size_t s = 0; s < order_.size(); ++s) {
      if (next_[s] == order_[s].size()) continue;
      const StageOp at{static_cast<int>(s), order_[s][next_[s]]};
      for (const StageOp& need : needs_of(at, static_cast<int>(order_.size()), chunks_))
        if (!is_done(need)) return waits(at, need);
    }
    return {};
  }

 private:
  // Micro-batches come in their order, so that a number says which are done.
  int& done(const StageOp& at) {
    return done_[static_cast<std::size_t>(at.stage * chunks_ + at.op.chunk)][letter_of(at.op.kind)];
  }
  bool is_done(const StageOp& at) const {
    const auto& counts = done_[static_cast<std::size_t>(at.stage * chunks_ + at.op.chunk)];
    const auto count = counts.find(letter_of(at.op.kind));
    return count != counts.end() && count->second > at.op.microbatch;
  }

  bool advance() {
    bool moved = false;
    for (std::size_t s = 0; s < order_.size(); ++s)
      for (; next_[s] < order_[s].size(); ++next_[s], moved = true) {
        const StageOp at{static_cast<int>(s), order_[s][next_[s]]};
        const std::vector<StageOp> needs = needs_of(at, static_cast<int>(order_.size()), chunks_);
        if (!std::ranges::all_of(needs, [&](const StageOp& need) { return is_done(need); })) break;
        ++done(at);
      }
    return moved;
  }

  std::string waits(const StageOp& at, const StageOp& need) const {
    const std::string text = "stage " + std::to_string(at.stage) + " waits forever before " +
                             name_of(at.op) + ": it needs " + need.text();
    if (need.stage == at.stage) return text + ", which comes later";
    const auto other = static_cast<std::size_t>(need.stage);
    return text + ", which comes after " + name_of(order_[other][next_[other]]) + " there";
  }

  const Plans& order_;
  int chunks_;
  std::vector<std::size_t> next_;          // by stage: instruction to run
  std::vector<std::map<char, int>> done_;  // by stage and chunk: micro-batches done of each kind
};

// Each chunk's instructions of a kind are those of micro-batches 0, 1, 2, ...
void check_stage(const Plan& plan, int stage, int chunks, int microbatches, bool splits) {
  const std::string where = "stage " + std::to_string(stage) + ": ";
  std::map<std::tuple<int, OpKind>, int> next;
  for (const Op& op : plan) {
    if (op.chunk >= chunks || op.microbatch >= microbatches)
      throw std::invalid_argument(
          where + name_of(op) + " is outside of the job, which has chunks 0 to " +
          std::to_string(chunks - 1) + " (parallel.chunks) and micro-batches 0 to " +
          std::to_string(microbatches - 1) + " (gradient_accumulation_steps)");
    int& expected = next[{op.chunk, op.kind}];
    if (op.microbatch != expected)
      throw std::invalid_argument(
          where + name_of(op) + " stands where micro-batch " + std::to_string(expected) +
          " is due (each once, in their order, so that gradients are summed "
          "in the order of all schedules)");
    ++expected;
  }
  for (int chunk = 0; chunk < chunks; ++chunk)
    for (const OpKind kind : {OpKind::Forward, OpKind::Backward, OpKind::WeightGradient})
      if (const int expected = next[{chunk, kind}];
          expected != microbatches && (splits || kind != OpKind::WeightGradient))
        throw std::invalid_argument(where + name_of({kind, chunk, all, expected}) + " is missing");
}

}  // namespace

std::string text_of_order(const Plans& order) {
  std::string text(heading);
  text += '\n';
  for (std::size_t s = 0; s < order.size(); ++s)
    for (const Op& op : order[s])
      text += std::to_string(s) + "," + letter_of(op.kind) + "," + std::to_string(op.chunk) + "," +
              std::to_string(op.microbatch) + "\n";
  return text;
}

Plans order_of_text(const std::string& text) {
  Plans order;
  bool headed = false;
  int line = 0;
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";  // a spreadsheet's
  for (std::size_t begin = text.starts_with(byte_order_mark) ? 3 : 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view whole = std::string_view(text).substr(begin, end - begin);
    const std::string_view content = trimmed(whole.substr(0, whole.find('#')));
    begin = end + 1;
    ++line;
    if (content.empty()) continue;
    if (headed)
      read_line(content, line, order);
    else if (content != heading)
      fail(line, "the first line must be " + std::string(heading));
    headed = true;
  }
  if (order.empty()) throw std::invalid_argument("there are no instructions in it");
  return order;
}

bool splits_backward(const Plans& order) {
  return std::ranges::any_of(order, [](const Plan& plan) {
    return std::ranges::any_of(plan,
                               [](const Op& op) { return op.kind == OpKind::WeightGradient; });
  });
}

void check_order(const Plans& order, int stages, int chunks, int microbatches) {
  if (std::ssize(order) != stages)
    throw std::invalid_argument("it has " + std::to_string(order.size()) + " stages, the job " +
                                std::to_string(stages) + " (parallel.pipeline)");
  const bool splits = splits_backward(order);
  for (int s = 0; s < stages; ++s)
    check_stage(order[static_cast<std::size_t>(s)], s, chunks, microbatches, splits);
  if (const std::string problem = OrderRun(order, chunks).problem(); !problem.empty())
    throw std::invalid_argument(problem);
}

}  // namespace triax
