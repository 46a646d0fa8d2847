// SPDX-License-Identifier: Apache-2.0
#include "src/data/files/inspect.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <nlohmann/json.hpp>

#include "io/tokens/write/token_writer.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

constexpr std::int64_t block_tokens = std::int64_t{1} << 20;

// `action(begin, tokens)` for all tokens of the file, in blocks.
template <class Action>
void for_each_block(const TokenSet& set, Action action) {
  std::vector<std::int32_t> tokens;
  for (std::int64_t begin = 0; begin < set.size(); begin += block_tokens) {
    tokens.resize(static_cast<std::size_t>(std::min(block_tokens, set.size() - begin)));
    set.read(begin, tokens);
    action(begin, std::span<const std::int32_t>(tokens));
  }
  set.check_length();
}

void count_documents(const TokenSet& set, TokenStatistics& statistics) {
  const auto walk = set.documents();
  if (!walk) return;
  statistics.documents = 0;
  statistics.shortest = std::numeric_limits<std::int64_t>::max();
  while (const auto tokens = walk->next()) {
    ++statistics.documents;
    statistics.shortest = std::min(statistics.shortest, *tokens);
    statistics.longest = std::max(statistics.longest, *tokens);
    const auto bin = static_cast<std::size_t>(
        std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(*tokens, 1))) - 1);
    if (statistics.histogram.size() <= bin) statistics.histogram.resize(bin + 1);
    ++statistics.histogram[bin];
  }
  if (statistics.documents == 0) statistics.shortest = 0;
}

std::string bar(std::int64_t count, std::int64_t largest) {
  constexpr std::int64_t width = 40;
  return std::string(static_cast<std::size_t>((count * width + largest - 1) / largest), '#');
}

std::string histogram_text(const std::vector<std::int64_t>& histogram) {
  std::string text;
  const std::int64_t largest = histogram.empty() ? 1 : std::ranges::max(histogram);
  for (std::size_t i = 0; i < histogram.size(); ++i)
    if (histogram[i] > 0)
      text +=
          fmt::format("  {:>10} to {:>10}  {:>12}  {}\n", i == 0 ? 0 : std::int64_t{1} << i,
                      (std::int64_t{1} << (i + 1)) - 1, histogram[i], bar(histogram[i], largest));
  return text;
}

std::string json_text(const TokenSet& set, const TokenStatistics& statistics) {
  nlohmann::ordered_json out = {{"file", set.path()},
                                {"format", set.format()},
                                {"tokens", set.size()},
                                {"documents", nullptr},
                                {"distinct_ids", statistics.distinct},
                                {"least_id", statistics.least_id},
                                {"largest_id", statistics.largest_id},
                                {"facts", nullptr}};
  if (statistics.documents >= 0) {
    out["documents"] = statistics.documents;
    out["shortest"] = statistics.shortest;
    out["longest"] = statistics.longest;
    out["histogram"] = statistics.histogram;
  }
  if (set.facts()) out["facts"] = nlohmann::ordered_json::parse(facts_json(*set.facts()));
  return out.dump(2) + '\n';
}

// Whether each document ends with the end token; the first that does not otherwise.
void check_documents(const TokenSet& set, std::vector<std::string>& problems) {
  const auto walk = set.documents();
  if (!walk) return;
  std::int64_t end = 0, documents = 0;
  std::int32_t last = -1;
  bool reported = false;
  while (const auto tokens = walk->next()) {
    end += *tokens;
    if (end > set.size()) break;
    if (*tokens > 0) set.read(end - 1, std::span(&last, 1));
    if (!reported && set.facts() && set.facts()->end_token >= 0 && *tokens > 0 &&
        last != set.facts()->end_token) {
      problems.push_back(fmt::format("document {} ends with token {}, not with the end token {}",
                                     documents, last, set.facts()->end_token));
      reported = true;
    }
    ++documents;
  }
  if (end != set.size())
    problems.push_back(fmt::format("the documents have {} tokens, the file {}", end, set.size()));
  if (set.facts() && documents != set.facts()->documents)
    problems.push_back(
        fmt::format("it has {} documents, and had {}", documents, set.facts()->documents));
}

}  // namespace

TokenStatistics statistics_of(const TokenSet& set) {
  TokenStatistics statistics;
  count_documents(set, statistics);
  std::vector<bool> seen;
  statistics.least_id = std::numeric_limits<std::int32_t>::max();
  statistics.largest_id = std::numeric_limits<std::int32_t>::min();
  constexpr std::int32_t most_ids = 1 << 26;  // a bit for each id takes 8 MiB
  for_each_block(set, [&](std::int64_t, std::span<const std::int32_t> tokens) {
    for (const std::int32_t id : tokens) {
      statistics.least_id = std::min(statistics.least_id, id);
      statistics.largest_id = std::max(statistics.largest_id, id);
      if (id < 0 || id >= most_ids) continue;
      if (static_cast<std::size_t>(id) >= seen.size())
        seen.resize(static_cast<std::size_t>(id) + 1);
      seen[static_cast<std::size_t>(id)] = true;
    }
  });
  statistics.distinct = std::ranges::count(seen, true);
  return statistics;
}

std::string inspect_text(const TokenSet& set, const TokenStatistics& statistics, bool json) {
  if (json) return json_text(set, statistics);
  std::string text = fmt::format("{}: {}, {} tokens", set.path(), set.format(), set.size());
  if (statistics.documents >= 0) text += fmt::format(", {} documents", statistics.documents);
  text += '\n';
  if (const auto& facts = set.facts()) {
    text += fmt::format("tokenizer {}, vocabulary {}, end token {}, made by triax {}\n",
                        facts->tokenizer, facts->vocabulary,
                        facts->end_token < 0 ? "none" : fmt::to_string(facts->end_token),
                        facts->version);
  } else {
    text += "tokenizer unknown: another program made the file\n";
  }
  text += fmt::format("{} different ids, from {} to {}\n", statistics.distinct, statistics.least_id,
                      statistics.largest_id);
  if (statistics.documents > 0)
    text +=
        fmt::format("tokens per document: {:.1f} on average, {} to {}\n{}",
                    static_cast<double>(set.size()) / static_cast<double>(statistics.documents),
                    statistics.shortest, statistics.longest, histogram_text(statistics.histogram));
  return text;
}

std::vector<std::string> problems_of(const TokenSet& set) {
  std::vector<std::string> problems;
  const auto& facts = set.facts();
  if (facts && facts->tokens != set.size())
    problems.push_back(fmt::format("it has {} tokens, and had {}", set.size(), facts->tokens));
  std::uint64_t checksum = 0;
  std::int64_t outside = 0;
  const auto format = token_format(set.format());
  const int width = facts && format ? token_bytes(*format, facts->vocabulary) : 4;
  std::vector<std::uint16_t> narrow;
  for_each_block(set, [&](std::int64_t begin, std::span<const std::int32_t> tokens) {
    if (facts)
      outside += std::ranges::count_if(
          tokens, [&](std::int32_t id) { return id < 0 || id >= facts->vocabulary; });
    const std::byte* data = std::as_bytes(tokens).data();
    if (width == 2) {
      narrow.assign(tokens.begin(), tokens.end());
      data = std::as_bytes(std::span(narrow)).data();
    }
    checksum += token_checksum(begin, data, std::ssize(tokens), width);
  });
  if (outside > 0)
    problems.push_back(
        fmt::format("{} tokens are outside the vocabulary of {}", outside, facts->vocabulary));
  if (facts && checksum != facts->checksum)
    problems.emplace_back("its tokens do not match their checksum");
  check_documents(set, problems);
  return problems;
}

}  // namespace triax
