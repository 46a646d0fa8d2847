// SPDX-License-Identifier: Apache-2.0
#pragma once
// Perplexity of texts, each document alone: lm-evaluation-harness's rolling log-likelihood.
#include <memory>
#include <string>
#include <vector>

#include "io/documents/document_reader.hpp"
#include "src/evaluate/kinds/perplexity.hpp"
#include "src/evaluate/kinds/rolling_windows.hpp"
#include "src/evaluate/task/text_encoder.hpp"

namespace triax {

class TextPerplexity : public Task {
 public:
  /// `limit`: most documents; 0: all.
  TextPerplexity(std::string name, std::vector<InputFile> files, DocumentOptions documents,
                 const EvaluationTokenizer& tokenizer, const WindowShape& shape,
                 std::int64_t limit);

  const char* kind() const override { return "perplexity"; }
  const std::string& name() const override { return name_; }
  bool next(Item& item) override;
  double passed() const override;
  nlohmann::ordered_json score(const Item& item, const Answer& answer) const override {
    return Perplexity::score(item, answer);
  }
  void add(const nlohmann::ordered_json& score) override { sums_.add(score); }
  nlohmann::ordered_json results() const override { return sums_.results(); }

 private:
  bool open_next_file();
  bool read_piece();
  void begin_document(std::string_view text);
  void end_document();

  std::string name_;
  std::vector<InputFile> files_;
  DocumentOptions documents_;
  TextEncoder encoder_;
  std::int64_t limit_;
  std::size_t file_ = 0;  // that reader_ reads
  std::int64_t passed_bytes_ = 0, all_bytes_ = 0;
  std::unique_ptr<DocumentReader> reader_;
  RollingWindows windows_;
  std::int64_t document_ = -1;  // number of the one being cut
  bool within_ = false;         // its last piece is not read yet
  bool pending_ = false;        // an item of it is still to come
  bool framed_ = false;
  std::int64_t bytes_ = 0;
  WordCount words_;
  std::vector<std::int32_t> ids_;
  Perplexity sums_;
};

}  // namespace triax
