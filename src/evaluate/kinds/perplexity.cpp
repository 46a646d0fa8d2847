// SPDX-License-Identifier: Apache-2.0
#include "src/evaluate/kinds/perplexity.hpp"

#include <algorithm>
#include <cmath>

namespace triax {

nlohmann::ordered_json Perplexity::score(const Item& item, const Answer& answer) {
  nlohmann::ordered_json score = item.facts;
  std::int64_t tokens = 0;
  double loglikelihood = 0.0;
  for (std::size_t i = 0; i < item.requests.size(); ++i) {
    tokens += std::ranges::count_if(item.requests[i].labels, [](auto label) { return label >= 0; });
    loglikelihood += answer.loglikelihoods[i];
  }
  score["tokens"] = tokens;
  score["loglikelihood"] = loglikelihood;
  return score;
}

void Perplexity::add(const nlohmann::ordered_json& score) {
  loglikelihood_ += score.at("loglikelihood").get<double>();
  tokens_ += score.at("tokens").get<std::int64_t>();
  ++windows_;
  if (score.at("window").get<std::int64_t>() == 0) ++documents_;
  bytes_ += score.value("bytes", std::int64_t{0});
  words_ += score.value("words", std::int64_t{0});
}

nlohmann::ordered_json Perplexity::results() const {
  const auto per = [&](std::int64_t units) { return -loglikelihood_ / static_cast<double>(units); };
  nlohmann::ordered_json results = {
      {"documents", documents_}, {"windows", windows_}, {"tokens", tokens_}};
  results["loglikelihood"] = loglikelihood_;
  results["loss"] = per(tokens_);
  results["perplexity"] = std::exp(per(tokens_));
  if (words_ > 0) {
    results["words"] = words_;
    results["word_perplexity"] = std::exp(per(words_));
  }
  if (bytes_ > 0) {
    results["bytes"] = bytes_;
    results["byte_perplexity"] = std::exp(per(bytes_));
    results["bits_per_byte"] = per(bytes_) / std::log(2.0);
  }
  return results;
}

}  // namespace triax
