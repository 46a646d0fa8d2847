// SPDX-License-Identifier: Apache-2.0
#include "src/forecast/dry_run.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "src/comm/interface/rank_ranges.hpp"
#include "src/data/mixture/source_plan.hpp"

namespace triax {
namespace {

using nlohmann::ordered_json;

double mib(double bytes) {
  return bytes / (1 << 20);
}

struct Storage {
  const char* name;
  KindBytes RankMemory::*bytes;
};
constexpr std::array<Storage, 3> storages = {
    {{"device", &RankMemory::device}, {"host", &RankMemory::host}, {"nvme", &RankMemory::nvme}}};

struct MessageKind {
  const char* name;
  Traffic Messages::*traffic;
};
constexpr std::array<MessageKind, 4> message_kinds = {
    {{"all_reduce", &Messages::all_reduce},
     {"reduce_scatter", &Messages::reduce_scatter},
     {"all_gather", &Messages::all_gather},
     {"send", &Messages::send}}};

constexpr std::size_t most_ranges = 4;  // of ranks, per row of the table

// Ranks of one stage with equal memory.
struct RankKind {
  int stage;
  RankMemory memory;
  std::vector<int> ranks;
};

std::vector<RankKind> kinds_of_ranks(const MemoryPlan& plan) {
  std::vector<RankKind> kinds;
  for (int rank = 0; rank < plan.grid().size(); ++rank) {
    const int stage = plan.stage_of(rank);
    const auto found = std::find_if(kinds.begin(), kinds.end(), [&](const RankKind& kind) {
      return kind.stage == stage && kind.memory == plan.of(rank);
    });
    if (found == kinds.end())
      kinds.push_back({stage, plan.of(rank), {rank}});
    else
      found->ranks.push_back(rank);
  }
  std::stable_sort(kinds.begin(), kinds.end(),
                   [](const RankKind& a, const RankKind& b) { return a.stage < b.stage; });
  return kinds;
}

ordered_json json_of(const KindBytes& bytes) {
  ordered_json object;
  for (const MemoryKind& kind : memory_kinds) object[std::string(kind.name)] = bytes.*kind.bytes;
  return object;
}

ordered_json json_of(const Traffic& traffic) {
  return {{"count", traffic.messages}, {"bytes", traffic.bytes}};
}

std::string row_of(const std::string& label, std::size_t width, const KindBytes& bytes) {
  std::string row = fmt::format("{:{}}", label, width);
  for (const MemoryKind& kind : memory_kinds)
    row += fmt::format(" {:>{}.1f}", mib(static_cast<double>(bytes.*kind.bytes)),
                       std::max<std::size_t>(kind.name.size(), 9));
  return row + fmt::format(" {:>10.1f}\n", mib(static_cast<double>(bytes.total())));
}

// The steps of run.epochs may not be counted yet.
std::string samples_text(const SourcePlan& source, std::int64_t steps) {
  return steps == 0 ? "" : fmt::format("; {:.0f} samples in {} steps", source.samples, steps);
}

}  // namespace

std::string memory_text(const KindBytes& bytes) {
  std::vector<std::string> parts;
  for (const MemoryKind& kind : memory_kinds)
    if (bytes.*kind.bytes != 0)
      parts.push_back(
          fmt::format("{} {:.1f}", kind.name, mib(static_cast<double>(bytes.*kind.bytes))));
  return fmt::format("{:.1f} MiB: {}", mib(static_cast<double>(bytes.total())),
                     fmt::join(parts, ", "));
}

std::string messages_text(const MessagePlan& plan) {
  std::string text;
  for (const Axis axis : all_axes)
    for (const MessageKind& kind : message_kinds)
      if (const Traffic& traffic = plan.along(axis).*kind.traffic; traffic.messages > 0)
        text += fmt::format("{}{}: {} {}, {:.1f} MiB", text.empty() ? "" : "; ", name_of(axis),
                            traffic.messages, kind.name, mib(static_cast<double>(traffic.bytes)));
  return text.empty() ? "no messages" : text;
}

std::vector<std::string> gpu_notes(const PlacedConfig& config, bool present) {
  std::vector<std::string> notes;
  if (config.place.space == MemorySpace::host) return notes;
  const int ranks = grid_shape(config.parallel).size();
  const bool staged = config.place.staged_messages;
  if (!present)
    notes.push_back(
        fmt::format("run.device is gpu, but this machine has none: planned for one GPU per rank, "
                    "of unknown memory{}. A run here would be refused",
                    ranks == 1 ? ""
                    : staged   ? ", and messages through host memory"
                               : ", and messages by NCCL"));
  std::string kept = fmt::format(
      "{:.0f} MiB of each rank's GPU memory (in buffers) are reserved for code that CUDA and its "
      "libraries load",
      mib(static_cast<double>(cuda_reserve)));
  if (!staged && ranks > 1)
    kept += fmt::format(", and {:.0f} MiB (communication) for NCCL's buffers in {} groups{}",
                        mib(static_cast<double>(nccl_bytes(config))), nccl_groups(config),
                        config.parallel.pipeline > 1 ? " and between stages" : "");
  notes.push_back(kept + ": estimates, not measured");
  return notes;
}

std::string dry_run_table(const JobPlan& plan, const MemoryLimit& limit) {
  const std::vector<RankKind> kinds = kinds_of_ranks(plan.memory);
  std::size_t width = 0;
  const auto label = [](const RankKind& kind, const char* storage) {
    return fmt::format("stage {}: {}, {}", kind.stage, ranks_text(kind.ranks, most_ranges),
                       storage);
  };
  for (const RankKind& kind : kinds) width = std::max(width, label(kind, "device").size());
  std::string text = fmt::format("{:{}}", "MiB per rank", width);
  for (const MemoryKind& kind : memory_kinds) text += fmt::format(" {:>9}", kind.name);
  text += fmt::format(" {:>10}\n", "total");
  for (const RankKind& kind : kinds)
    for (const Storage& storage : storages)
      if (const KindBytes& bytes = kind.memory.*storage.bytes; bytes.total() > 0)
        text += row_of(label(kind, storage.name), width, bytes);
  const RankMemory& fullest = plan.memory.of(plan.memory.fullest());
  const KindBytes limited =
      limit.space == MemorySpace::device ? fullest.on_gpu() : fullest.in_memory();
  const auto largest = static_cast<double>(limited.total());
  text += fmt::format("{} has {:.1f} MiB: room for {:.0f} such rank(s)\n", limit.what,
                      mib(limit.bytes), std::floor(limit.bytes / largest));
  text += fmt::format("a step sends, all ranks together: {}\n", messages_text(plan.messages));
  for (const SourcePlan& source : plan_sources(plan.config))
    text += fmt::format("source {}: {} file(s), {}{}\n", source.name, source.files, source.share,
                        samples_text(source, plan.config.run.steps));
  return text;
}

namespace {

void add_dry_run(ordered_json& json, const JobPlan& plan) {
  for (const SourcePlan& source : plan_sources(plan.config))
    json["sources"].push_back({{"name", source.name},
                               {"files", source.files},
                               {"share", source.share},
                               {"samples", std::llround(source.samples)}});
  ordered_json& ranks = json["ranks"] = ordered_json::array();
  for (int rank = 0; rank < plan.memory.grid().size(); ++rank) {
    ordered_json entry{{"rank", rank}};
    for (const Storage& storage : storages)
      entry[storage.name] = json_of(plan.memory.of(rank).*storage.bytes);
    ranks.push_back(std::move(entry));
  }
  for (const Axis axis : all_axes) {
    const Messages& messages = plan.messages.along(axis);
    ordered_json entry = json_of(messages.total());
    for (const MessageKind& kind : message_kinds)
      if (const Traffic& traffic = messages.*kind.traffic; traffic.messages > 0)
        entry["kinds"][kind.name] = json_of(traffic);
    json["messages"][std::string(name_of(axis))] = std::move(entry);
  }
}

ordered_json instructions(const Plan& plan) {
  ordered_json texts = ordered_json::array();
  for (const Op& op : plan) texts.push_back(text_of(op));
  return texts;
}

}  // namespace

std::string plan_json(const JobPlan& plan, const PlanParts& parts) {
  ordered_json json;
  if (parts.instructions)
    for (const Plan& stage : plan.steps.training) json["stages"].push_back(instructions(stage));
  if (parts.dry_run) add_dry_run(json, plan);
  return json.dump(2) + "\n";
}

}  // namespace triax
