// SPDX-License-Identifier: Apache-2.0
#include "src/trace/rank_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <vector>

#include "src/schedule/stage_layout.hpp"
#include "src/trace/transfers.hpp"

namespace triax {
namespace {

constexpr int rows_per_transfer = 1000;  // thread numbers for transfers of one kind at once

// A transfer of a step, from its Start to the end of its Wait.
struct Span {
  std::int64_t begin = 0, end = 0;
  std::string name;
};

const char* category_of(OpKind kind) {
  constexpr std::array<const char*, 5> names = {"compute", "buffer", "message", "block", "store"};
  return names[static_cast<std::size_t>(group_of(kind))];
}

class RankRows {
 public:
  RankRows(TraceWriter& out, const TracedRank& rank, const PlanShape& shape, const Plan& plan,
           const TraceSteps& steps)
      : out_(out),
        rank_(rank),
        shape_(shape),
        plan_(plan),
        steps_(steps),
        layout_(shape, rank.stage) {}

  void step(std::int64_t step, std::span<const OpStamps> stamps, std::int64_t zero) {
    std::int64_t end = stamps[0].end - zero;
    for (const OpStamps& one : stamps.subspan(1)) end = std::max(end, one.end - zero);
    const TraceRow row{rank_.rank, 0};
    const std::int64_t begin = stamps[0].begin - zero;
    out_.slice(row, {fmt::format("step {}", step), "step", begin, end});
    out_.slice(row, {"batch", "batch", begin, stamps[0].end - zero});
    for (std::size_t at = 0; at < plan_.size(); ++at)
      if (stamps[at + 1].end != 0)
        instruction(step, at, stamps[at + 1].begin - zero, stamps[at + 1].end - zero);
  }

  // Transfers at the same time have rows of their own.
  void write_transfers() {
    for (std::size_t kind = 0; kind < spans_.size(); ++kind) {
      std::ranges::stable_sort(spans_[kind], {}, &Span::begin);
      std::vector<std::int64_t> free;  // by row
      for (const Span& span : spans_[kind]) {
        auto row = std::ranges::find_if(free, [&](std::int64_t at) { return at <= span.begin; });
        if (row == free.end()) row = free.insert(row, 0);
        *row = span.end;
        const auto number = static_cast<int>(row - free.begin());
        out_.slice(row_of(kind, number), {span.name, "transfer", span.begin, span.end});
      }
      for (int number = 0; number < std::ssize(free); ++number)
        out_.name_row(row_of(kind, number),
                      fmt::format("{} {}", name_of(static_cast<TransferRow>(kind)), number + 1));
    }
  }

 private:
  TraceRow row_of(std::size_t kind, int number) const {
    return {rank_.rank, static_cast<int>(kind + 1) * rows_per_transfer + number};
  }

  void instruction(std::int64_t step, std::size_t at, std::int64_t begin, std::int64_t end) {
    const Op& op = plan_[at];
    const TraceRow row{rank_.rank, 0};
    out_.slice(row, {text_of(op), category_of(op.kind), begin, end, arguments(step, at)});
    if (op.kind == OpKind::SendActivationStart || op.kind == OpKind::SendGradientStart)
      out_.arrow(row, TraceWriter::ArrowEnd::from, message_number(step, op), begin);
    if (op.kind == OpKind::RecvActivationWait || op.kind == OpKind::RecvGradientWait)
      out_.arrow(row, TraceWriter::ArrowEnd::to, message_number(step, op),
                 std::max(begin, end - 1));
    const std::optional<Transfer> transfer = transfer_of(op);
    if (!transfer) return;
    if (transfer->begins) {
      under_way_[transfer->key] = begin;
    } else if (const auto start = under_way_.find(transfer->key); start != under_way_.end()) {
      spans_[static_cast<std::size_t>(transfer->row)].push_back(
          {start->second, end, transfer_name(transfer->key)});
      under_way_.erase(start);
    }
  }

  // "layer" counts in the model, from the embedding, layer 0.
  std::string arguments(std::int64_t step, std::size_t at) const {
    const Op& op = plan_[at];
    const OpFields fields = fields_of(op.kind);
    std::string text = fmt::format(R"({{"step":{},"position":{})", step, at);
    if (fields.layer) text += fmt::format(R"(,"layer":{})", model_layer(op));
    if (fields.microbatch) text += fmt::format(R"(,"microbatch":{})", op.microbatch);
    if (fields.block) text += fmt::format(R"(,"bucket":{})", op.block);
    return text + "}";
  }

  int model_layer(const Op& op) const {
    int before = 0;
    for (int chunk = 0; chunk < layout_.global_chunk(op.chunk); ++chunk)
      before += shape_.layers[static_cast<std::size_t>(chunk % shape_.stages)]
                             [static_cast<std::size_t>(chunk / shape_.stages)];
    return before + std::max(op.layer, 0);
  }

  // The same at both ends of a message: replica, step, payload, sending chunk and micro-batch.
  std::int64_t message_number(std::int64_t step, const Op& op) const {
    const bool gradient =
        op.kind == OpKind::SendGradientStart || op.kind == OpKind::RecvGradientWait;
    const bool sends =
        op.kind == OpKind::SendActivationStart || op.kind == OpKind::SendGradientStart;
    const int chunk = layout_.global_chunk(op.chunk);
    const int sender = sends ? chunk : gradient ? chunk + 1 : chunk - 1;
    const std::int64_t all_chunks = std::int64_t{shape_.stages} * shape_.chunks;
    const std::int64_t in_step =
        ((gradient ? all_chunks : 0) + sender) * shape_.microbatches + op.microbatch;
    const std::int64_t per_step = 2 * all_chunks * shape_.microbatches;
    return (rank_.replica * steps_.count() + step - steps_.first) * per_step + in_step;
  }

  TraceWriter& out_;
  const TracedRank& rank_;
  const PlanShape& shape_;
  const Plan& plan_;
  TraceSteps steps_;
  StageLayout layout_;
  std::map<Op, std::int64_t> under_way_;  // begins of transfers
  std::array<std::vector<Span>, transfer_rows> spans_;
};

}  // namespace

void write_rank_rows(TraceWriter& out, const TracedRank& rank, const PlanShape& shape,
                     const Plan& plan, const TraceSteps& steps, std::span<const OpStamps> stamps,
                     std::int64_t zero) {
  out.name_process(rank.rank, rank.name);
  out.name_row({rank.rank, 0}, "instructions");
  RankRows rows(out, rank, shape, plan, steps);
  const std::size_t length = plan.size() + 1;
  for (std::int64_t step = steps.first; step < steps.end; ++step) {
    const auto own = stamps.subspan(static_cast<std::size_t>(step - steps.first) * length, length);
    if (own[0].end != 0) rows.step(step, own, zero);
  }
  rows.write_transfers();
}

}  // namespace triax
