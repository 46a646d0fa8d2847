// SPDX-License-Identifier: Apache-2.0
#include "src/data/bpe_training/gather_words.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "kernels/base/mpi/exchange.hpp"

namespace triax {
namespace {

// A word in a message: these, and its bytes.
struct WordHeader {
  std::uint64_t count = 0, bytes = 0;
};

// Words of the partitions of rank `owner`, which are then empty.
std::vector<std::byte> take_words(SharedWords& shared, int owner, int ranks) {
  std::vector<std::byte> message;
  std::size_t size = 0;
  const auto each_partition = [&](auto&& f) {
    for (auto p = static_cast<std::size_t>(owner); p < shared.partitions();
         p += static_cast<std::size_t>(ranks))
      f(shared.words(p));
  };
  each_partition([&](const WordTable& words) {
    size += words.size() * sizeof(WordHeader) + words.text_bytes();
  });
  message.reserve(size);
  const auto append = [&](const void* from, std::size_t bytes) {
    const auto* const begin = static_cast<const std::byte*>(from);
    message.insert(message.end(), begin, begin + bytes);
  };
  each_partition([&](WordTable& words) {
    words.each([&](const WordKey&, std::string_view word, std::uint64_t count) {
      const WordHeader header{count, word.size()};
      append(&header, sizeof header);
      append(word.data(), word.size());
    });
    words = {};
  });
  return message;
}

template <class F>
void each_word(const std::vector<std::byte>& message, F&& f) {
  for (std::size_t at = 0; at < message.size();) {
    WordHeader header;
    std::memcpy(&header, message.data() + at, sizeof header);
    at += sizeof header;
    f(std::string_view(reinterpret_cast<const char*>(message.data() + at), header.bytes),
      header.count);
    at += header.bytes;
  }
}

// Collective. Afterwards each rank has all counts of its partitions, and no other words.
void sum_partitions(SharedWords& shared, const Ranks& ranks) {
  for (int shift = 1; shift < ranks.size; ++shift) {
    const int to = (ranks.rank + shift) % ranks.size;
    const int from = (ranks.rank + ranks.size - shift) % ranks.size;
    std::vector<std::byte> out;
    agreed(ranks, [&] { out = take_words(shared, to, ranks.size); });
    const std::vector<std::byte> in = exchange_bytes(ranks, out, to, from);
    agreed(ranks, [&] {
      each_word(in, [&](std::string_view word, std::uint64_t count) {
        const WordKey key = word_key(word, false);
        shared.words(shared.partition_of(key)).add(key, word, count);
      });
    });
  }
}

}  // namespace

std::size_t word_partitions(int ranks) {
  return std::max<std::size_t>(64, std::bit_ceil(static_cast<std::size_t>(ranks)));
}

std::int64_t gather_words(SharedWords& shared, const Ranks& ranks, TokenWords& words) {
  sum_partitions(shared, ranks);
  std::array<std::uint64_t, 2> sizes{};  // words, bytes
  for (std::size_t p = 0; p < shared.partitions(); ++p) {
    sizes[0] += shared.words(p).size();
    sizes[1] += shared.words(p).text_bytes();
  }
  sum_over_ranks(ranks, sizes);
  agreed(ranks, [&] {
    if (ranks.rank != 0) return;
    words.reserve(sizes[0], sizes[1]);
    for (std::size_t p = 0; p < shared.partitions(); ++p) {
      shared.words(p).each([&](const WordKey&, std::string_view word, std::uint64_t count) {
        words.add(word, count);
      });
      shared.words(p) = {};
    }
  });
  for (int rank = 1; rank < ranks.size; ++rank) {
    std::vector<std::byte> out;
    agreed(ranks, [&] {
      if (ranks.rank == rank) out = take_words(shared, rank, ranks.size);
    });
    const std::vector<std::byte> in = exchange_bytes(ranks, out, ranks.rank == rank ? 0 : no_peer,
                                                     ranks.rank == 0 ? rank : no_peer);
    agreed(ranks, [&] {
      if (ranks.rank == 0)
        each_word(in, [&](std::string_view word, std::uint64_t count) { words.add(word, count); });
    });
  }
  return static_cast<std::int64_t>(sizes[0]);
}

}  // namespace triax
