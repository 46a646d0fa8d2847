// SPDX-License-Identifier: Apache-2.0
#include "src/comm/watchdog/stall_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "src/comm/interface/rank_ranges.hpp"

namespace triax {
namespace {

constexpr std::size_t most_listed = 32;  // most ranks to list per heading

std::string text_of(const MessageSeen& message) {
  if (message.kind == CallKind::meeting && message.number == 0)
    return "the ranks with which it makes a group";
  const std::string_view kind = name_of(message.kind);
  if (message.kind == CallKind::device) return "its own GPU, which has not finished its work";
  if (message.kind == CallKind::send || message.kind == CallKind::receive)
    return fmt::format("a {} of {} bytes {} rank {} (tag {}), {}", kind, message.bytes,
                       message.kind == CallKind::send ? "to" : "from", message.peer, message.tag,
                       message.group);
  const std::string bytes = message.bytes > 0 ? fmt::format(" of {} bytes", message.bytes) : "";
  return fmt::format("{} {}{}, {}", kind, message.number, bytes, message.group);
}

// Part of `rank` in the operation; none if it has not reached it. An operation that is no longer in
// the slot finished long ago.
std::optional<MessageSeen> part_of(const RankProgress& rank, const MessageSeen& operation) {
  std::uint32_t newest = 0;
  for (const MessageSeen& own : rank.collectives) {
    if (own.group != operation.group) continue;
    if (own.number == operation.number) return own;
    newest = std::max(newest, own.number);
  }
  if (newest < operation.number) return {};
  MessageSeen forgotten = operation;
  forgotten.finished = true;
  return forgotten;
}

bool waits_for_device(const RankProgress& rank) {
  return rank.waits_for && rank.waits_for->kind == CallKind::device;
}

std::string state_text(const RankProgress& rank) {
  switch (rank.process) {
    case ProcessState::gone:
      return fmt::format("its process {} is gone", rank.process_number);
    case ProcessState::stopped:
      return fmt::format("its process {} is stopped by a signal", rank.process_number);
    case ProcessState::running:
      break;
  }
  if (!rank.waits_for) return rank.file_work ? "works on files" : "waits for no rank";
  return waits_for_device(rank) ? "waits for its GPU" : "waits for " + text_of(*rank.waits_for);
}

std::string where_text(const RankProgress& rank, const ExplainProgress& explain) {
  const std::string where = explain ? explain(rank) : "";
  return fmt::format("{}: {}{}{}", rank.place, state_text(rank), where.empty() ? "" : "; at ",
                     where);
}

struct Parts {
  std::vector<int> finished, joined, not_seen;
  std::vector<std::string> differ, absent, lost;
};

Parts parts_of(const Stall& stall, const ExplainProgress& explain) {
  const MessageSeen& operation = *stall.waiter.waits_for;
  Parts parts;
  for (const int member : stall.members) {
    const auto found = std::ranges::find(stall.seen, member, &RankProgress::rank);
    if (found == stall.seen.end()) {
      parts.not_seen.push_back(member);
      continue;
    }
    const bool to_peer = operation.number == 0;
    const auto part = to_peer ? std::nullopt : part_of(*found, operation);
    if (to_peer ? member == operation.peer : !part)
      parts.absent.push_back(where_text(*found, explain));
    else if (found->process != ProcessState::running)
      parts.lost.push_back(where_text(*found, explain));
    else if (!part)
      continue;  // neither end of the point-to-point message
    else if (part->kind != operation.kind || part->bytes != operation.bytes)
      parts.differ.push_back(fmt::format("{}: {}", found->place, text_of(*part)));
    else
      (part->finished ? parts.finished : parts.joined).push_back(member);
  }
  return parts;
}

void add_ranks(std::string& text, const char* what, const std::vector<int>& ranks) {
  if (!ranks.empty()) text += fmt::format("\n  {}: {}", what, ranks_text(ranks));
}

// Adds the ranks outside the group.
void add_others(std::string& text, const Stall& stall, const ExplainProgress& explain) {
  std::size_t others = 0;
  for (const RankProgress& rank : stall.seen) {
    if (std::ranges::find(stall.members, rank.rank) != stall.members.end()) continue;
    if (++others <= most_listed) text += "\n  " + where_text(rank, explain);
  }
  if (others > most_listed) text += fmt::format("\n  and {} other ranks", others - most_listed);
}

// Adds the ranks that probably keep the others waiting: lost processes, else ranks that wait for
// their GPU, else busy ranks. Ranks not heard of come last: their nodes may be lost, or may only
// have failed to write their reports.
void add_suspects(std::string& text, const Stall& stall, const std::vector<int>& not_seen) {
  std::vector<std::string> suspects;
  std::vector<int> busy, on_device;
  for (const RankProgress& rank : stall.seen) {
    if (rank.process != ProcessState::running)
      suspects.push_back(fmt::format("rank {} ({})", rank.rank, state_text(rank)));
    else if (waits_for_device(rank))
      on_device.push_back(rank.rank);
    else if (!rank.waits_for)
      busy.push_back(rank.rank);
  }
  if (suspects.size() > most_listed) suspects.resize(most_listed);
  if (suspects.empty() && !on_device.empty())
    suspects.push_back(ranks_text(on_device) + " (waiting for its GPU)");
  if (suspects.empty() && !busy.empty()) suspects.push_back(ranks_text(busy) + " (busy)");
  if (!suspects.empty()) text += fmt::format("\n  look first at: {}", fmt::join(suspects, ", "));
  if (!not_seen.empty())
    text += fmt::format(
        "{}{}, whose node's report could not be read",
        suspects.empty() ? "\n  look first at: " : "; not heard of: ", ranks_text(not_seen));
}

}  // namespace

std::string_view name_of(CallKind kind) {
  switch (kind) {
    case CallKind::all_reduce:
      return "all-reduce";
    case CallKind::reduce_scatter:
      return "reduce-scatter";
    case CallKind::all_gather:
      return "all-gather";
    case CallKind::broadcast:
      return "broadcast";
    case CallKind::barrier:
      return "barrier";
    case CallKind::meeting:
      return "meeting";
    case CallKind::send:
      return "send";
    case CallKind::receive:
      return "receive";
    case CallKind::device:
      return "device";
  }
  return "?";
}

std::string stall_report(const Stall& stall, const ExplainProgress& explain) {
  const RankProgress& waiter = stall.waiter;
  const std::string where = explain ? explain(waiter) : "";
  std::string text = fmt::format("{} has waited {:.3g} s for {}{}{}", waiter.place, stall.seconds,
                                 text_of(*waiter.waits_for), where.empty() ? "" : ", at ", where);
  const Parts parts = parts_of(stall, explain);
  add_ranks(text, "finished it", parts.finished);
  add_ranks(text, "joined it", parts.joined);
  for (const std::string& differs : parts.differ) text += "\n  came with another: " + differs;
  for (const std::string& absent : parts.absent) text += "\n  did not join: " + absent;
  for (const std::string& lost : parts.lost) text += "\n  lost: " + lost;
  add_ranks(text, "not heard of", parts.not_seen);
  if (!stall.problem.empty())
    text += "\n  nodes could not exchange their reports: " + stall.problem;
  add_others(text, stall, explain);
  add_suspects(text, stall, parts.not_seen);
  return text;
}

bool all_run(const std::vector<RankProgress>& ranks) {
  return std::ranges::all_of(
      ranks, [](const RankProgress& rank) { return rank.process == ProcessState::running; });
}

std::string file_workers(const std::vector<RankProgress>& ranks) {
  std::vector<int> workers;
  for (const RankProgress& rank : ranks)
    if (rank.file_work && !rank.waits_for) workers.push_back(rank.rank);
  return workers.empty() ? "" : ranks_text(std::move(workers));
}

}  // namespace triax
