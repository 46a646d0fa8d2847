// SPDX-License-Identifier: Apache-2.0
#include "src/data/tokenize/unit_encoder.hpp"

#include <algorithm>

#include "kernels/base/check.hpp"

namespace triax {

UnitEncoder::UnitEncoder(const EncodeJob& job, EncodeCounters& counters)
    : job_(job), counters_(counters), encoder_(job.options.tokenizer->encoder()) {}

void UnitEncoder::encode(std::size_t unit) {
  const TokenizeOptions& options = job_.options;
  PartWriter part(job_.directory, unit,
                  token_bytes(options.format, options.tokenizer->vocabulary()));
  PartCounts counts;
  for (const Segment& segment : job_.units[unit].segments)
    if (!encode_segment(segment, part, counts)) break;
  if (!counters_.stop) part.finish(counts);
}

bool UnitEncoder::encode_segment(const Segment& segment, PartWriter& part, PartCounts& counts) {
  const TokenizeOptions& options = job_.options;
  const InputFile& file = job_.files[segment.file];
  const auto reader = open_documents(
      file, segment.range, options.documents,
      [this](const std::string& problem, const std::string& why) { bad_line(problem, why); });
  // Readers read ahead, beyond the end of a range too.
  const std::int64_t bytes = segment.range.end - segment.range.begin;
  std::int64_t counted = 0;
  const auto count_to = [&](std::int64_t read) {
    read = std::min(read, bytes);
    counters_.bytes += read - counted;
    counted = read;
  };
  DocumentReader::Piece piece;
  // A range of a text file begins within its document.
  bool begins = file.format != DocumentFormat::text || segment.range.begin == 0;
  bool enough = false;
  while (!enough && !counters_.stop && reader->next(piece)) {
    add(piece, begins, part, counts);
    begins = piece.last;
    count_to(reader->taken());
    enough =
        options.max_documents > 0 && !options.deduplicate && counts.sure >= options.max_documents;
  }
  count_to(bytes);
  require_unchanged(file);
  counts.replaced += reader->counts().replaced;
  counts.invalid += reader->counts().invalid;
  counts.bad_lines += reader->counts().bad_lines;
  return !enough && !counters_.stop;
}

void UnitEncoder::add(const DocumentReader::Piece& piece, bool begins, PartWriter& part,
                      PartCounts& counts) {
  const TokenizeOptions& options = job_.options;
  ids_.clear();
  encoder_->encode(piece.text, {.special_tokens_in_text = options.special_tokens_in_text}, ids_);
  const bool long_enough = std::ssize(ids_) >= options.min_length;
  if (piece.last && options.end_token) ids_.push_back(*options.end_token);
  part.add(ids_, text_hash(piece.text), piece.last, piece.left_out);
  counts.sure += begins && piece.last && !piece.left_out && long_enough ? 1 : 0;
}

void UnitEncoder::bad_line(const std::string& problem, const std::string& why) {
  const std::int64_t allowed = job_.options.skip_bad;
  if (++counters_.bad_lines <= allowed) return;
  if (allowed == 0)
    throw Error(problem, why, "Repair the file, or set --skip-bad to pass over such lines");
  throw Error(fmt::format("more than {} lines are bad, the limit of --skip-bad", allowed),
              problem + ": " + why, "Repair the files, or set --skip-bad to more");
}

}  // namespace triax
