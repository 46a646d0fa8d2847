#include <algorithm>
#include <cstring>
#include <exception>

#include "io/segment_exchange.hpp"
#include "io/segment_writer.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

class CollectiveWriter final : public SegmentWriter {
 public:
  CollectiveWriter(std::vector<std::string> paths, const Ranks& ranks, std::int64_t stripe,
                   GatherMemory* memory)
      : ranks_(ranks),
        stripe_(std::max(stripe, shortest_stripe)),
        exchange_(ranks, round_weight),
        own_(independent_writer(std::move(paths), memory)) {}

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
    try {
      own_->finish();  // also after a failure: until then memory is in use
    } catch (const std::exception& error) {
      if (failure_.empty()) failure_ = error.what();
    }
    if (!failure_.empty()) throw Error(failure_);
  }

 private:
  // What goes to the disk at once: of shorter ones too little is on its way.
  static constexpr std::int64_t shortest_stripe = independent_bytes / independent_parts;
  static constexpr std::int64_t round_weight = collective_bytes / 3;  // staged, packed, received
  // The first round is a short one: from it on what is staged may lie where the others read it.
  static constexpr std::int64_t first_weight = 2 * long_segment;

  // A piece of one stripe.
  void stage(const DataSegment& piece, Lifetime memory) {
    const std::int64_t weight = SegmentExchange::weight(piece);
    if (used_ + weight > most_) round(true);
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

  // Writes what all ranks have staged. `more`: this rank comes to another round; returns whether
  // any does.
  bool round(bool more) {
    const bool any = exchange_.run(staged_, more, [&](std::span<const DataSegment> segments) {
      attempt([&] { own_->write(segments, Lifetime::call); });
    });
    staged_.clear();
    used_ = filled_ = 0;
    most_ = round_weight;
    return any;
  }

  // A failure, of the disk or of memory, is kept for finish: the others go on.
  template <class Action>
  void attempt(Action&& action) {
    if (!failure_.empty()) return;
    try {
      action();
    } catch (const std::exception& error) {
      failure_ = error.what();
    }
  }

  Ranks ranks_;
  std::int64_t stripe_;
  SegmentExchange exchange_;
  std::int64_t most_ = first_weight, used_ = 0;  // weight of what is staged
  std::int64_t filled_ = 0;                      // bytes of it that are copied
  std::vector<OwnedSegment> staged_;
  std::string failure_;
  std::unique_ptr<SegmentWriter> own_;
};

}  // namespace

std::unique_ptr<SegmentWriter> collective_writer(std::vector<std::string> paths, const Ranks& ranks,
                                                 std::int64_t stripe, GatherMemory* memory) {
  return std::make_unique<CollectiveWriter>(std::move(paths), ranks, stripe, memory);
}

}  // namespace triax
