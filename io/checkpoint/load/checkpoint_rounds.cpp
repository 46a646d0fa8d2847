// SPDX-License-Identifier: Apache-2.0
#include "io/checkpoint/load/checkpoint_rounds.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <set>
#include <utility>

#include "io/checkpoint/load/round_messages.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

constexpr std::size_t width = 128;  // chunks per offer, enough for several rounds

// Runs `action`, which throws on all ranks or on none; `broken` stays true if it throws.
template <class Action>
void on_all(bool& broken, Action&& action) {
  const bool before = std::exchange(broken, true);
  action();
  broken = before;
}

}  // namespace

CheckpointRounds::CheckpointRounds(const CheckpointReader& file, const Ranks& ranks,
                                   const LoaderOptions& options)
    : reader_(file), ranks_(ranks), options_(options), blocks_(file, ranks), disk_(blocks_, file) {}

void CheckpointRounds::want(std::int64_t block) {
  check(!memory_, "a checkpoint's loader was told of block {} when it had begun", block);
  if (sequence_.empty() || sequence_.back() != block) sequence_.push_back(block);
}

void CheckpointRounds::begin() {
  NodeMemory::Need need;
  need.window = options_.window_bytes;
  for (const std::int64_t block : std::set(sequence_.begin(), sequence_.end())) {
    const std::int64_t bytes = blocks_.footprint(block);
    need.all += bytes;
    need.largest = std::max(need.largest, bytes);
  }
  memory_ = std::make_unique<NodeMemory>(ranks_, need, options_.node, options_.memory);
  planner_.emplace(memory_->nodes(), ranks_.rank,
                   [this](std::int64_t block) { return blocks_.footprint(block); });
  while (std::ssize(ahead_) < memory_->ahead()) ahead_.push_back(start_round());
}

std::vector<std::int64_t> CheckpointRounds::offer() const {
  std::vector<std::int64_t> out(width, -1);
  for (std::size_t i = 0; i < width && next_ + i < sequence_.size(); ++i)
    out[i] = sequence_[next_ + i];
  return out;
}

// Address of a chunk of the round.
std::byte* CheckpointRounds::place_of(const Round& round, const LoadPlace& place) const {
  switch (place.kind) {
    case LoadPlace::Kind::own:
      return round.landings[static_cast<std::size_t>(place.at)];
    case LoadPlace::Kind::shared:
      return round.shared + place.at;
    case LoadPlace::Kind::kept:
      return memory_->kept();
  }
  return nullptr;
}

CheckpointRounds::Round CheckpointRounds::start_round() {
  Round round;
  round.number = rounds_++;
  round.shared = memory_->shared(round.number % shared_parts);
  on_all(broken_, [&] {  // all ranks compute the same plan
    if (planner_->wants_offers()) planner_->offer(gather_over_ranks(ranks_, offer()), width);
    round.plan = planner_->next();
  });
  start_readings(round);
  for (const LoadPlace& place : round.plan.places) {
    const std::int64_t block = sequence_[next_++];
    round.mine.emplace_back(block, place_of(round, place) + blocks_.data_offset(block));
  }
  return round;
}

// Starts the disk reads into own memory and assigns the memory of all other duties.
void CheckpointRounds::start_readings(Round& round) {
  std::byte* own = memory_->own(round.number % memory_->parts());
  std::vector<std::int64_t> from_disk;
  for (const LoadDuty& duty : round.plan.duties)
    if (duty.from < 0) from_disk.push_back(duty.block);
  if (failure_.empty()) try {  // after a failure nothing is read: all ranks will throw
      round.readings = disk_.start(from_disk, own);
      for (const std::int64_t block : from_disk) own += blocks_.footprint(block);
    } catch (const std::exception& error) {
      failure_ = failure_text(error);
    }
  std::size_t reading = 0;
  for (const LoadDuty& duty : round.plan.duties) {
    if (!duty.lands_own)
      round.landings.push_back(place_of(round, duty.place));
    else if (duty.from < 0 && !round.readings.empty())
      round.landings.push_back(round.readings[reading++].memory);
    else
      round.landings.push_back(std::exchange(own, own + blocks_.footprint(duty.block)));
  }
}

// Compares a chunk with its checksum and copies it to `place` where it is not there yet.
void CheckpointRounds::check_block(BlockReading reading, std::byte* place) {
  try {
    const Tensor data = disk_.finish(reading);
    bytes_read_ += data.bytes();
    if (blocks_.matches(reading.block, data, place + blocks_.data_offset(reading.block))) return;
    throw Error(
        fmt::format("{} is damaged", reader_.path()),
        fmt::format("its data do not match their checksum in {}", blocks_.text(reading.block)),
        "Use another checkpoint");
  } catch (const std::exception& error) {
    if (failure_.empty()) failure_ = failure_text(error);
  }
}

// Receives, checks and sends the chunks of a round. A chunk that could not be read is sent too: its
// receivers learn of the failure right after.
void CheckpointRounds::complete(Round& round) {
  RoundMessages messages(ranks_);
  const std::vector<LoadDuty>& duties = round.plan.duties;
  const auto bytes_of = [&](std::size_t i) {
    return std::span(round.landings[i],
                     static_cast<std::size_t>(blocks_.footprint(duties[i].block)));
  };
  for (std::size_t i = 0; i < duties.size(); ++i)
    if (duties[i].from >= 0) messages.receive(duties[i], bytes_of(i));
  std::size_t reading = 0;
  for (std::size_t i = 0; i < duties.size(); ++i) {
    if (duties[i].from >= 0) continue;
    if (!round.readings.empty())
      check_block(round.readings[reading++], place_of(round, duties[i].place));
    messages.send(duties[i], bytes_of(i));
  }
  messages.finish();
}

void CheckpointRounds::advance() {
  check(!broken_, "a checkpoint's loader is asked for more after it has failed");
  on_all(broken_, [&] {
    if (!memory_) begin();
  });
  for (BlockReading& reading : ahead_.front().readings) disk_.wait(reading);
  ahead_.push_back(start_round());
  complete(ahead_.front());
  // This barrier makes shared chunks visible to all their ranks. The barrier of the next round
  // shows that their memory is free again.
  const LoadRound& plan = ahead_.front().plan;
  if (plan.shared || now_.plan.shared || plan.empty || ranks_.size == 1)
    on_all(broken_, [&] { agree(ranks_, failure_); });
  now_ = std::move(ahead_.front());
  ahead_.pop_front();
  if (const auto& keep = now_.plan.keep)
    std::memcpy(memory_->kept(), place_of(now_, keep->place),
                static_cast<std::size_t>(blocks_.footprint(keep->block)));
}

const std::byte* CheckpointRounds::data_of(std::int64_t block) {
  const auto here = [&] { return at_ < now_.mine.size() && now_.mine[at_].first == block; };
  if (!here() && ++at_ >= now_.mine.size()) {
    advance();
    at_ = 0;
  }
  if (!here()) check(false, "{} was not wanted when it was read", blocks_.text(block));
  return now_.mine[at_].second;
}

void CheckpointRounds::fail(const std::string& why) {
  if (failure_.empty()) failure_ = why;
}

void CheckpointRounds::finish() {
  do {
    advance();
  } while (!now_.plan.empty || !ahead_.front().plan.empty);
}

}  // namespace triax
