// SPDX-License-Identifier: Apache-2.0
#include "src/evaluate/kinds/choices.hpp"

#include <algorithm>

#include "kernels/base/check.hpp"

namespace triax {
namespace {

std::int64_t likeliest(const std::vector<double>& values) {
  return std::ranges::max_element(values) - values.begin();
}

}  // namespace

void add_choice(Item& item, const EncodedPair& pair, std::int64_t length) {
  const std::size_t number = item.requests.size();
  const std::int64_t scored = std::ssize(pair.continuation);
  if (scored == 0)
    throw UsageError(fmt::format("{}: choice {} has no tokens of its own", item.where, number),
                     "its text is empty, or a part of the context's last token",
                     "Correct the document");
  if (scored > length)
    throw UsageError(fmt::format("{}: choice {} has {} tokens", item.where, number, scored),
                     fmt::format("a sequence has at most {}", length),
                     "Raise --seq-length, if the model has more positions");
  std::vector<std::int32_t> all = pair.context;
  all.insert(all.end(), pair.continuation.begin(), pair.continuation.end());
  if (std::ssize(all) > length + 1) {
    all.erase(all.begin(), all.end() - (length + 1));
    item.facts["truncated"] = true;
  }
  LabelledTokens request{{all.begin(), all.end() - 1}, {all.begin() + 1, all.end()}};
  std::fill(request.labels.begin(), request.labels.end() - scored, -1);
  item.requests.push_back(std::move(request));
}

nlohmann::ordered_json Choices::score(const Item& item, const Answer& answer) const {
  nlohmann::ordered_json score = item.facts;
  const auto right = score.at("answer").get<std::int64_t>();
  const std::vector<double>& sums = answer.loglikelihoods;
  score["loglikelihoods"] = sums;
  score["acc"] = likeliest(sums) == right ? 1 : 0;
  for (const ChoiceLengths& lengths : lengths_) {
    const auto by = score.at(lengths.fact).get<std::vector<double>>();
    std::vector<double> norms(sums);
    for (std::size_t i = 0; i < norms.size(); ++i) norms[i] /= by[i];
    score[lengths.metric] = likeliest(norms) == right ? 1 : 0;
  }
  return score;
}

void Choices::add(const nlohmann::ordered_json& score) {
  accuracy_.add(score.at("acc").get<double>());
  for (std::size_t i = 0; i < lengths_.size(); ++i)
    norms_[i].add(score.at(lengths_[i].metric).get<double>());
  truncated_ += score.value("truncated", false) ? 1 : 0;
}

nlohmann::ordered_json Choices::results() const {
  nlohmann::ordered_json results = {{"documents", accuracy_.count()}, {"truncated", truncated_}};
  accuracy_.report("acc", results);
  for (std::size_t i = 0; i < lengths_.size(); ++i) norms_[i].report(lengths_[i].metric, results);
  return results;
}

}  // namespace triax
