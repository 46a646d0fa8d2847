// SPDX-License-Identifier: Apache-2.0
#include "src/data/tokenize/unit_encoder.hpp"

#include "src/data/units/segment_reader.hpp"

namespace triax {

UnitEncoder::UnitEncoder(const EncodeJob& job, UnitCounters& counters)
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
  const bool limited = options.max_documents > 0 && !options.deduplicate;
  ReadCounts read;
  const bool more =
      read_segment({job_.files[segment.file], segment.range, options.documents, options.skip_bad},
                   counters_, read, [&](const DocumentReader::Piece& piece, bool begins) {
                     add(piece, begins, part, counts);
                     return !limited || counts.sure < options.max_documents;
                   });
  counts.replaced += read.replaced;
  counts.invalid += read.invalid;
  counts.bad_lines += read.bad_lines;
  return more;
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

}  // namespace triax
