// SPDX-License-Identifier: Apache-2.0
#include "src/forecast/same_plan.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <string>

#include "kernels/base/mpi/agree.hpp"
#include "src/forecast/message_plan.hpp"

namespace triax {
namespace {

// Hash of 64-bit words, built like FNV-1a. One changed word always changes the hash; two changes
// may cancel by chance.
class Hash {
 public:
  void add(std::uint64_t word) {
    constexpr std::uint64_t odd = 0x9e3779b97f4a7c15u;  // the golden ratio
    value_ = std::rotl(value_ ^ word, 29) * odd;
  }
  template <class Number>
  void add_all(std::initializer_list<Number> words) {
    for (const Number word : words) add(static_cast<std::uint64_t>(word));
  }
  void add(const Op& op) {
    add_all({pair(static_cast<int>(op.kind), op.chunk), pair(op.layer, op.microbatch),
             pair(op.block, op.part)});
  }
  void add(const Messages& messages) {
    for (const Traffic& traffic :
         {messages.all_reduce, messages.reduce_scatter, messages.all_gather, messages.send})
      add_all({traffic.messages, traffic.bytes});
    add_all({messages.scratch, messages.part, messages.staged});
    add(static_cast<std::uint64_t>(messages.at_once));
  }
  void add(const FlatRange& range) { add_all({range.begin, range.end}); }
  static std::uint64_t pair(int high, int low) {
    return static_cast<std::uint64_t>(high) << 32 | static_cast<std::uint32_t>(low);
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325u;
};

std::uint64_t hash_of(const MessageList& list) {
  Hash hash;
  for (const PlannedMessage& message : list) {
    hash.add(message.op);
    hash.add_all({Hash::pair(message.at, 2 * message.stage + message.evaluation), message.bytes,
                  message.calls});
  }
  return hash.value();
}

// Calls `visit(op, at, stage, evaluation)` for each instruction of all stages.
void for_each_instruction(const StepPlans& plans, const auto& visit) {
  int evaluation = 0;
  for (const Plans* all_stages : {&plans.training, &plans.evaluation}) {
    for (std::size_t stage = 0; stage < all_stages->size(); ++stage) {
      const Plan& plan = (*all_stages)[stage];
      for (std::size_t at = 0; at < plan.size(); ++at)
        visit(plan[at], static_cast<int>(at), static_cast<int>(stage), evaluation);
    }
    ++evaluation;
  }
}

std::uint64_t hash_of(const StepPlans& plans) {
  Hash hash;
  for_each_instruction(plans, [&](const Op& op, int at, int stage, int evaluation) {
    if (at == 0) hash.add_all({stage, evaluation});
    hash.add(op);
  });
  return hash.value();
}

MessageList list_of(const StepPlans& plans) {
  MessageList list;
  for_each_instruction(plans, [&](const Op& op, int at, int stage, int evaluation) {
    list.push_back({.op = op, .at = at, .stage = stage, .evaluation = evaluation});
  });
  return list;
}

// Computes the messages of an instruction from the layout of its rank.
class Sender {
 public:
  Sender(const PlacedConfig& config, const RankPlace& rank)
      : stage_(make_stage(config, rank.pipeline, rank.tensor, StageUse::plan)),
        blocks_(lay_out_blocks(stage_, data_shard(config, rank.data))),
        messages_(config, stage_, blocks_, rank.data) {}

  /// `calls` includes the ranges of a bucket that are not visible in the total bytes.
  std::pair<Axis, PlannedMessage> message(const Op& op) const {
    const OpMessages::Sent sent = messages_.of(op);
    PlannedMessage message{.op = op, .bytes = sent.messages.total().bytes};
    if (message.bytes == 0) return {sent.axis, message};
    Hash hash;
    hash.add(sent.messages);
    const auto block = [&]() -> const ParameterBlock& {
      return blocks_[static_cast<std::size_t>(op.block)];
    };
    if (op.kind == OpKind::TensorSum)
      for (const PartialRange& partial : block().partial)
        hash.add_all(
            {intersect(partial.range, block().gradients).count(), std::int64_t{partial.parts}});
    if (op.kind == OpKind::GatherStart) {
      hash.add(static_cast<std::uint64_t>(block().elements));
      hash.add(gathered_run(block(), std::max(op.part, 0)));
    }
    message.calls = hash.value();
    return {sent.axis, message};
  }

 private:
  Stage stage_;
  std::vector<ParameterBlock> blocks_;
  OpMessages messages_;
};

std::string text_of(const PlannedMessage* message) {
  if (message == nullptr) return "nothing more";
  return fmt::format("instruction {} of stage {}'s {} ({}){}", message->at, message->stage,
                     message->evaluation == 0 ? "step" : "evaluation", text_of(message->op),
                     message->bytes == 0 ? "" : fmt::format(" with {} bytes", message->bytes));
}

// A group of ranks, and the hash that must be equal on them.
struct Compared {
  Communicator& group;
  std::string name;
  std::uint64_t hash;
  std::function<MessageList()> list;  // made only if hashes differ
};

void from_first(Communicator& group, void* data, std::size_t bytes) {
  const Stream host;
  group
      .broadcast(host, Tensor(static_cast<std::uint8_t*>(data), {static_cast<std::int64_t>(bytes)}),
                 0)
      .wait(host);
}

bool differs(const Compared& compared) {
  std::uint64_t first = compared.hash;
  from_first(compared.group, &first, sizeof first);
  return first != compared.hash;
}

// Text about the first message that differs from the group's first rank, with that rank's number in
// the grid; empty: none differs.
std::string difference(const Compared& compared, int rank) {
  const MessageList here = compared.list();
  std::array<std::int64_t, 2> first = {rank, std::ssize(here)};
  from_first(compared.group, first.data(), sizeof first);
  MessageList there(here);
  there.resize(static_cast<std::size_t>(first[1]));
  from_first(compared.group, there.data(), there.size() * sizeof(PlannedMessage));
  const auto [own, other] = std::mismatch(here.begin(), here.end(), there.begin(), there.end());
  if (own == here.end() && other == there.end()) return {};
  const std::string own_text = text_of(own == here.end() ? nullptr : &*own);
  const std::string other_text = text_of(other == there.end() ? nullptr : &*other);
  return fmt::format("{}: {} here, {} on rank {}{}", compared.name, own_text, other_text, first[0],
                     own_text == other_text ? ", in other pieces" : "");
}

const char* const remedy = "This is a bug of triax. Report it with job.json and this message";

std::string text_of(const BlockUse& block) {
  return fmt::format(
      "{} elements of {} layers, buffers {}, {} parts of which {} are kept, gathered {} at once, "
      "kept in way {}, {} and {}",
      block.elements, block.layers.size(), block.pool, block.parts, block.kept_parts,
      block.gather_piece, static_cast<int>(block.parameters),
      block.tensor_sum ? "summed over tensor ranks" : "not summed", block.tied ? "tied" : "untied");
}

}  // namespace

RankMessages rank_messages(const PlacedConfig& config, const StepPlans& plans, RankPlace rank) {
  const Sender sender(config, rank);
  RankMessages lists;
  int evaluation = 0;
  for (const Plans* stages : {&plans.training, &plans.evaluation}) {
    if (stages->empty()) continue;
    const Plan& plan = (*stages)[static_cast<std::size_t>(rank.pipeline)];
    if (config.parallel.tensor > 1) lists.tensor.reserve(lists.tensor.size() + plan.size());
    for (std::size_t at = 0; at < plan.size(); ++at) {
      if (!sends(plan[at].kind)) continue;
      auto [axis, message] = sender.message(plan[at]);
      if (message.bytes == 0) continue;
      message.at = static_cast<int>(at);
      message.stage = rank.pipeline;
      message.evaluation = evaluation;
      if (axis == Axis::tensor) lists.tensor.push_back(message);
      if (axis == Axis::data) lists.data.push_back(message);
      if (axis == Axis::pipeline && message.op.kind == OpKind::TiedSum)
        lists.ends.push_back(
            {.op = {OpKind::TiedSum}, .bytes = message.bytes, .calls = message.calls});
    }
    ++evaluation;
  }
  // Stages have different instructions, but messages between stages have one size everywhere.
  if (config.parallel.pipeline > 1)
    lists.neighbours = {sender.message({OpKind::SendActivationStart}).second};
  return lists;
}

void check_layout(const PlacedConfig& config, const StepPlans& plans, RankPlace rank) {
  const Stage stage = make_stage(config, rank.pipeline, rank.tensor, StageUse::plan);
  const std::vector<BlockUse> here = block_uses(stage, data_shard(config, rank.data));
  const std::vector<BlockUse>& planned =
      plans.shape.blocks[static_cast<std::size_t>(rank.pipeline)];
  const auto [own, other] = std::mismatch(here.begin(), here.end(), planned.begin(), planned.end());
  if (own == here.end() && other == planned.end()) return;
  throw Error(fmt::format("block {} of stage {} is not laid out as its plan has it",
                          own - here.begin(), rank.pipeline),
              fmt::format("on tensor rank {}, data rank {}: {}; in the plan: {}", rank.tensor,
                          rank.data, own == here.end() ? "there is none" : text_of(*own),
                          other == planned.end() ? "there is none" : text_of(*other)),
              remedy);
}

void check_same_messages(ProcessGrid& grid, const StepPlans& plans, const RankMessages& messages) {
  const auto compared = [](Communicator& group, const char* name, const MessageList& list) {
    return Compared{group, name, hash_of(list), [&list] { return list; }};
  };
  const std::array all = {
      Compared{grid.world(), "plans of all stages", hash_of(plans), [&] { return list_of(plans); }},
      compared(grid.tensor(), "messages of the tensor axis", messages.tensor),
      compared(grid.data(), "messages of the data axis", messages.data),
      compared(grid.embedding(), "sums of first and last stage", messages.ends),
      compared(grid.pipeline(), "messages between stages", messages.neighbours)};
  std::array<std::uint64_t, all.size()> found{};
  for (std::size_t i = 0; i < all.size(); ++i) found[i] = differs(all[i]) ? 1 : 0;
  sum_over_ranks(grid, found);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (found[i] == 0) continue;
    const std::string text = difference(all[i], grid.rank());
    agreed(grid, [&] {
      if (!text.empty())
        throw Error("the ranks have different plans", grid.place() + ": " + text, remedy);
    });
  }
}

void check_same_plan(ProcessGrid& grid, const PlacedConfig& config, const StepPlans& plans) {
  const RankPlace here{grid.data_rank(), grid.pipeline_rank(), grid.tensor_rank()};
  RankMessages messages;
  agreed(grid, [&] {
    check_layout(config, plans, here);
    messages = rank_messages(config, plans, here);
  });
  check_same_messages(grid, plans, messages);
}

}  // namespace triax
