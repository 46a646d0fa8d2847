// SPDX-License-Identifier: Apache-2.0
#include "src/data/tokenize/assemble.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "kernels/base/check.hpp"
#include "kernels/base/mpi/first_failure.hpp"
#include "src/data/tokenize/parts.hpp"
#include "src/version/version.hpp"

namespace triax {
namespace {

// Reads tokens of an output in its order.
class OutputReader {
 public:
  OutputReader(const Layout& layout, std::string directory, int width)
      : layout_(layout), directory_(std::move(directory)), width_(width) {}

  /// The tokens of an extent.
  std::span<const std::byte> extent(std::int64_t number) {
    const std::int64_t count = std::min(extent_tokens, layout_.tokens() - number * extent_tokens);
    buffer_.resize(static_cast<std::size_t>(count * width_));
    std::span<std::byte> out(buffer_);
    OutputPosition at = layout_.extent(number);
    pending_ = {};
    while (!out.empty()) {
      PlacedDocument document = layout_.document(at.document++);
      const std::int64_t skipped = std::exchange(at.token, 0);
      document.offset += skipped;
      document.tokens -= skipped;
      const std::int64_t tokens = std::min(document.tokens, std::ssize(out) / width_);
      append(document, out.first(static_cast<std::size_t>(tokens * width_)));
      out = out.subspan(static_cast<std::size_t>(tokens * width_));
    }
    flush();
    return buffer_;
  }

 private:
  // Documents that adjoin in a part are read at once.
  void append(const PlacedDocument& document, std::span<std::byte> out) {
    const std::int64_t pending = std::ssize(pending_) / width_;
    if (!pending_.empty() && document.part == part_ && document.offset == offset_ + pending) {
      pending_ = {pending_.data(), pending_.size() + out.size()};
      return;
    }
    flush();
    part_ = document.part;
    offset_ = document.offset;
    pending_ = out;
  }

  // A document that is longer than the rest of its part goes on in the next one.
  void flush() {
    std::int64_t part = part_;
    std::int64_t at = offset_ * width_;
    while (!pending_.empty()) {
      const std::string path = part_tokens_path(directory_, static_cast<std::size_t>(part));
      const std::int64_t bytes = bytes_of(part, path);
      if (at >= bytes) {
        at -= bytes;
        ++part;
        continue;
      }
      const auto here = static_cast<std::size_t>(std::min(bytes - at, std::ssize(pending_)));
      read_part(path, at, pending_.first(here));
      pending_ = pending_.subspan(here);
      at += static_cast<std::int64_t>(here);
    }
  }

  std::int64_t bytes_of(std::int64_t part, const std::string& path) {
    if (part != sized_part_) {
      const auto counts = part_counts(directory_, static_cast<std::size_t>(part));
      if (!counts)
        throw Error(path + " is missing",
                    "it was removed during the work, or this node does not see it",
                    "Write to a file system that all nodes share, and run the command again");
      sized_part_ = part;
      part_bytes_ = counts->tokens * width_;
    }
    return part_bytes_;
  }

  const Layout& layout_;
  std::string directory_;
  int width_;
  std::vector<std::byte> buffer_;
  std::span<std::byte> pending_;        // to be read from part_, from offset_ on
  std::int64_t part_ = 0, offset_ = 0;  // offset_: tokens
  std::int64_t sized_part_ = -1, part_bytes_ = 0;
};

// Writes this rank's extents on its threads. Returns the sum of their checksums.
std::uint64_t write_extents(TokenWriter& writer, const TokenizeOptions& options,
                            const Layout& layout, const std::string& directory, int width,
                            const Ranks& ranks) {
  const std::int64_t extents = (layout.tokens() + extent_tokens - 1) / extent_tokens;
  std::atomic<std::int64_t> next = ranks.rank;
  std::atomic<std::uint64_t> checksum = 0;
  std::mutex mutex;
  FirstFailure failure;
  const auto work = [&]() noexcept {
    try {
      OutputReader reader(layout, directory, width);
      for (std::int64_t e = next.fetch_add(ranks.size); e < extents;
           e = next.fetch_add(ranks.size)) {
        const auto tokens = reader.extent(e);
        checksum +=
            token_checksum(e * extent_tokens, tokens.data(), std::ssize(tokens) / width, width);
        writer.write(e, tokens);
      }
    } catch (...) {
      next = extents;
      const std::scoped_lock lock(mutex);
      failure.keep(std::current_exception());
    }
  };
  {
    std::vector<std::jthread> threads;
    for (int t = 1; t < options.workers; ++t) threads.emplace_back(work);
    work();
  }
  failure.rethrow();
  return checksum;
}

}  // namespace

std::unique_ptr<TokenWriter> assemble(const TokenizeOptions& options, const OutputSet& set,
                                      const Layout& layout, const std::string& directory,
                                      const std::string& job, const Ranks& ranks) {
  const std::int64_t vocabulary = options.tokenizer->vocabulary();
  auto writer = make_token_writer(options.format, {.prefix = set.prefix,
                                                   .directory = directory,
                                                   .tokens = layout.tokens(),
                                                   .documents = layout.documents(),
                                                   .vocabulary = vocabulary,
                                                   .shard_tokens = options.shard_tokens});
  agreed(ranks, [&] {
    if (ranks.rank == 0) writer->begin();
  });
  std::array<std::uint64_t, 1> checksum{};
  agreed(ranks, [&] {
    checksum[0] = write_extents(*writer, options, layout, directory,
                                token_bytes(options.format, vocabulary), ranks);
  });
  sum_over_ranks(ranks, checksum);
  agreed(ranks, [&] {
    if (ranks.rank == 0)
      writer->finish(layout.lengths_path(), {.tokenizer = options.tokenizer->fingerprint(),
                                             .vocabulary = vocabulary,
                                             .end_token = options.end_token.value_or(-1),
                                             .documents = layout.documents(),
                                             .tokens = layout.tokens(),
                                             .checksum = checksum[0],
                                             .job = job,
                                             .version = version});
  });
  return writer;
}

}  // namespace triax
