// SPDX-License-Identifier: Apache-2.0
#include "src/data/units/segment_reader.hpp"

#include <algorithm>

#include "kernels/base/check.hpp"

namespace triax {
namespace {

void count_bad_line(UnitCounters& counters, std::int64_t allowed, const std::string& problem,
                    const std::string& why) {
  if (++counters.bad_lines <= allowed) return;
  if (allowed == 0)
    throw Error(problem, why, "Repair the file, or set --skip-bad to pass over such lines");
  throw Error(fmt::format("more than {} lines are bad, the limit of --skip-bad", allowed),
              problem + ": " + why, "Repair the files, or set --skip-bad to more");
}

}  // namespace

bool read_segment(const SegmentInput& input, UnitCounters& counters, ReadCounts& counts,
                  const TakePiece& take) {
  const auto reader = open_documents(input.file, input.range, input.documents,
                                     [&](const std::string& problem, const std::string& why) {
                                       count_bad_line(counters, input.skip_bad, problem, why);
                                     });
  // Readers read ahead, beyond the end of a range too.
  const std::int64_t bytes = input.range.end - input.range.begin;
  std::int64_t counted = 0;
  const auto count_to = [&](std::int64_t read) {
    read = std::min(read, bytes);
    counters.bytes += read - counted;
    counted = read;
  };
  DocumentReader::Piece piece;
  // A range of a text file begins within its document.
  bool begins = input.file.format != DocumentFormat::text || input.range.begin == 0;
  bool wanted = true;
  while (wanted && !counters.stop && reader->next(piece)) {
    wanted = take(piece, begins);
    begins = piece.last;
    count_to(reader->taken());
  }
  count_to(bytes);
  require_unchanged(input.file);
  counts.replaced += reader->counts().replaced;
  counts.invalid += reader->counts().invalid;
  counts.bad_lines += reader->counts().bad_lines;
  return wanted && !counters.stop;
}

}  // namespace triax
