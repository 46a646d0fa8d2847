// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <utility>

#include "io/checkpoint/write/segment_exchange.hpp"
#include "io/checkpoint/write/segment_writer.hpp"
#include "kernels/base/mpi/first_failure.hpp"

namespace triax {
namespace {

// Weight of one round. Each of three buffers (staged, packed, received) takes that much; with
// shared memory, each of two.
constexpr std::int64_t round_weight = collective_bytes / 3;

class CollectiveWriter final : public SegmentWriter {
 public:
  CollectiveWriter(std::vector<std::string> paths, const Ranks& ranks, std::int64_t stripe,
                   GatherMemory* memory)
      : ranks_(ranks),
        stripe_(std::max(stripe, shortest_stripe)),
        exchange_(ranks, round_weight),
        memory_(memory != nullptr ? *memory : own_memory_),
        own_(independent_writer(std::move(paths), &memory_)) {}

  // Mapping the shared memory of all other ranks may exhaust the address space of this rank: its
  // own buffers, and what the libraries need, are allocated first.
  void meet() override {
    FirstFailure lack;
    Buffer for_libraries;
    lack.of([&] {
      take_all(memory_);
      for_libraries = Buffer::unwritten(static_cast<std::size_t>(collective_library_bytes));
    });
    exchange_.meet(!lack.met());
  }

  void write(std::span<const DataSegment> segments, Lifetime memory) override {
    for (DataSegment rest : segments) {
      if (rest.bytes >= long_segment) {
        attempt([&] { own_->write({&rest, 1}, memory); });
        continue;
      }
      while (rest.bytes > 0) {
        const std::int64_t in_stripe = stripe_ - rest.offset % stripe_;
        const std::int64_t bytes = std::min(rest.bytes, in_stripe);
        stage({rest.file, rest.offset, bytes, rest.memory}, memory);
        rest = {rest.file, rest.offset + bytes, rest.bytes - bytes, rest.memory + bytes};
      }
    }
  }

  void finish() override {
    while (round(false)) {
    }
    failure_.of(
        [&] { own_->finish(); });  // also after a failure: the callers' memory is in use until then
    failure_.rethrow();
  }

 private:
  // One write to the disk: shorter stripes would leave too few bytes in flight.
  static constexpr std::int64_t shortest_stripe = independent_bytes / independent_parts;

  // Stages a piece, which lies in one stripe, for the stripe's owner.
  void stage(const DataSegment& piece, Lifetime memory) {
    const std::int64_t weight = SegmentExchange::weight(piece);
    if (used_ + weight > round_weight) round(true);
    const auto stripe = piece.offset / stripe_ + static_cast<std::int64_t>(piece.file);
    const auto owner = static_cast<int>(stripe % ranks_.size);
    OwnedSegment& staged = staged_.emplace_back(OwnedSegment{owner, piece});
    if (memory == Lifetime::call || (exchange_.shares() && owner != ranks_.rank)) {
      std::byte* const own = exchange_.staging() + filled_;
      std::memcpy(own, piece.memory, static_cast<std::size_t>(piece.bytes));
      staged.segment.memory = own;
      filled_ += piece.bytes;
    }
    used_ += weight;
  }

  // Writes all staged pieces of all ranks. `more`: this rank needs another round. Returns whether
  // any rank does. A failure (disk, memory) is kept for finish(), so that the other ranks go on.
  bool round(bool more) {
    const SegmentExchange::Outcome outcome =
        exchange_.run(staged_, more, [&](std::span<const DataSegment> segments) {
          attempt([&] { own_->write(segments, Lifetime::call); });
        });
    failure_.keep(outcome.failure);
    staged_.clear();
    used_ = filled_ = 0;
    return outcome.any_more;
  }

  template <class Action>
  void attempt(Action&& action) {
    if (!failure_.met()) failure_.of(std::forward<Action>(action));
  }

  Ranks ranks_;
  std::int64_t stripe_;
  SegmentExchange exchange_;
  std::int64_t used_ = 0;    // weight of the staged pieces
  std::int64_t filled_ = 0;  // bytes of them copied to staging
  std::vector<OwnedSegment> staged_;
  FirstFailure failure_;
  GatherMemory own_memory_;  // used where the caller gave none
  GatherMemory& memory_;
  std::unique_ptr<SegmentWriter> own_;
};

}  // namespace

std::unique_ptr<SegmentWriter> collective_writer(std::vector<std::string> paths, const Ranks& ranks,
                                                 std::int64_t stripe, GatherMemory* memory) {
  return std::make_unique<CollectiveWriter>(std::move(paths), ranks, stripe, memory);
}

}  // namespace triax
