// SPDX-License-Identifier: Apache-2.0
#pragma once
// Files of documents that a command line names: files, directories and patterns.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/documents/byte_source.hpp"

namespace triax {

enum class DocumentFormat : std::uint8_t {
  text,   // the file is one document
  lines,  // each line is one
  json,   // each line is an object
};

struct InputFile {
  std::string path;
  std::int64_t bytes = 0;     // on disk
  std::int64_t modified = 0;  // nanoseconds since 1970
  Compression compression = Compression::none;
  DocumentFormat format = DocumentFormat::text;
};

/// The files of `names`, each once, in the order given. A directory stands for the files below it
/// whose names end as below, a name with *, ? or [] for what it matches; both are sorted by name.
/// Without `format` it is decided by a file's name, less .gz and .zst: .jsonl, .ndjson and .json
/// are JSON lines, anything else text; directories give .jsonl, .ndjson and .txt alone. UsageError
/// for a name that stands for no file, and for a .gz or .zst that is none.
std::vector<InputFile> find_inputs(const std::vector<std::string>& names,
                                   std::optional<DocumentFormat> format);

/// Error where the file is not as it was when find_inputs() looked at it.
void require_unchanged(const InputFile& file);

}  // namespace triax
