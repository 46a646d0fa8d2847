// SPDX-License-Identifier: Apache-2.0
#include "src/evaluate/kinds/text_perplexity.hpp"

#include <algorithm>
#include <utility>

#include "kernels/base/check.hpp"

namespace triax {

TextPerplexity::TextPerplexity(std::string name, std::vector<InputFile> files,
                               DocumentOptions documents, const EvaluationTokenizer& tokenizer,
                               const WindowShape& shape, std::int64_t limit)
    : name_(std::move(name)),
      files_(std::move(files)),
      documents_(std::move(documents)),
      encoder_(tokenizer),
      limit_(limit),
      windows_(shape) {
  for (const InputFile& file : files_) all_bytes_ += file.bytes;
}

bool TextPerplexity::open_next_file() {
  if (file_ == files_.size()) return false;
  if (reader_) {
    passed_bytes_ += files_[file_].bytes;
    require_unchanged(files_[file_]);
    ++file_;
  }
  if (file_ == files_.size()) return false;
  reader_ = open_documents(files_[file_], {0, files_[file_].bytes}, documents_,
                           [](const std::string& problem, const std::string& why) {
                             throw Error(problem, why,
                                         "Repair the file, or set --field to a key of its objects");
                           });
  return true;
}

double TextPerplexity::passed() const {
  const std::int64_t within =
      reader_ && file_ < files_.size() ? std::min(reader_->taken(), files_[file_].bytes) : 0;
  return static_cast<double>(passed_bytes_ + within) /
         static_cast<double>(std::max<std::int64_t>(all_bytes_, 1));
}

void TextPerplexity::begin_document(std::string_view text) {
  ++document_;
  windows_.begin();
  words_ = {};
  bytes_ = 0;
  framed_ = encoder_.is_framed(text);
  if (const auto prefix = encoder_.tokenizer().prefix) windows_.add(std::span(&*prefix, 1));
  if (framed_) windows_.add(encoder_.tokenizer().before);
}

void TextPerplexity::end_document() {
  if (framed_) windows_.add(encoder_.tokenizer().after);
  windows_.end();
}

// False where there is no piece of the document, or of another one.
bool TextPerplexity::read_piece() {
  if (!within_ && limit_ > 0 && document_ + 1 == limit_) return false;
  DocumentReader::Piece piece;
  while (!reader_ || !reader_->next(piece))
    if (!open_next_file()) return false;
  const bool begins = !within_;
  if (begins) begin_document(piece.text);
  ids_.clear();
  encoder_.encode_piece(piece.text, ids_);
  windows_.add(ids_);
  if (begins && !encoder_.tokenizer().prefix && !ids_.empty())  // the first token is not scored
    bytes_ -= std::ssize(encoder_.decode(std::span(ids_).first(1)));
  words_.add(piece.text);
  bytes_ += std::ssize(piece.text);
  within_ = !piece.last;
  pending_ = true;
  if (piece.last) end_document();
  return true;
}

bool TextPerplexity::next(Item& item) {
  item = {};
  LabelledTokens request;
  const auto give = [&] {
    item.where = fmt::format("{}, document {}", files_[file_].path, document_);
    item.facts["document"] = document_;
  };
  for (;;) {
    const std::int64_t window = windows_.number();
    if (pending_ && windows_.next(request)) {
      give();
      item.facts["window"] = window;
      item.requests.push_back(std::move(request));
    } else if (!pending_ || within_) {
      if (!read_piece()) return false;
      continue;
    } else {  // a document of one token, which follows nothing
      give();
      item.facts["window"] = window;
    }
    if (!within_ && windows_.done()) {
      item.facts["bytes"] = bytes_;
      item.facts["words"] = words_.words();
      pending_ = false;
    }
    return true;
  }
}

}  // namespace triax
