// SPDX-License-Identifier: Apache-2.0
#pragma once
// Compressed files, and all documents of a file.
#include <zlib.h>
#include <zstd.h>

#include "io/documents/document_reader.hpp"
#include "tests/io/fixtures.hpp"

namespace triax::test {

inline std::string gzipped(std::string_view text) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()) + 32, '\0');
  std::string in(text);
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

inline std::string zstandard(std::string_view text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

inline std::string all_of(ByteSource& source, std::size_t at_once = 1000) {
  std::string text, part(at_once, '\0');
  for (std::size_t n = 0; (n = source.read(part)) > 0;) text.append(part, 0, n);
  return text;
}

/// Documents of a range, their pieces joined. A document that does not end in the range has "..."
/// behind it, one that is left out is "(left out)".
struct ReadDocuments {
  std::vector<std::string> texts;
  std::vector<std::string> bad;
  ReadCounts counts;
  std::size_t pieces = 0;
};

inline ReadDocuments documents_of(const InputFile& file, ByteRange range,
                                  const DocumentOptions& options = {}) {
  ReadDocuments read;
  const auto reader =
      open_documents(file, range, options, [&](const std::string& problem, const std::string& why) {
        read.bad.push_back(problem + ": " + why);
      });
  DocumentReader::Piece piece;
  std::string text;
  while (reader->next(piece)) {
    ++read.pieces;
    text += piece.left_out ? "(left out)" : std::string(piece.text);
    if (!piece.last) continue;
    read.texts.push_back(text);
    text.clear();
  }
  if (!text.empty()) read.texts.push_back(text + "...");
  read.counts = reader->counts();
  return read;
}

inline ReadDocuments documents_of(const std::string& path, const DocumentOptions& options = {},
                                  std::optional<DocumentFormat> format = {}) {
  const InputFile file = find_inputs({path}, format).front();
  return documents_of(file, {0, file.bytes}, options);
}

}  // namespace triax::test
