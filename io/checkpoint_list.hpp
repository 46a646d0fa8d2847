#pragma once
// `triax checkpoint list`: the checkpoints of a directory.
#include <string>

namespace triax {

/// A row for each checkpoint file, by step: what it holds (step, tokens, bytes, date, grid that
/// wrote it, type of its weights) and its state: whole (it opens, and its attributes match their
/// checksum; its data are not read), damaged with the reason, unfinished (a write is under way or
/// was killed) or superseded (a later run took another way). `json`: one JSON object; else a table.
/// Error where there is no such directory.
std::string list_checkpoints_text(const std::string& directory, bool json);

}  // namespace triax
