#pragma once
// `triax checkpoint list`: the checkpoints of a directory.
#include <string>

namespace triax {

/// A row for each checkpoint file, by step: what it holds (step, tokens, bytes, date, grid that
/// wrote it, type of its weights) and its state: opens (its attributes match their checksum; its
/// data are not read), damaged or unreadable (the system does not let it be read, or it is a link
/// to nothing) with the reason, unfinished (a write is under way or was killed) or superseded (a
/// later run took another way).
struct CheckpointListing {
  std::string text;
  bool all_open;  // that have a checkpoint's name
};
/// `json`: one JSON object; else a table. A directory without checkpoints that has a directory
/// "checkpoints", as a run's has, stands for that. Error where there is no such directory.
CheckpointListing list_directory(const std::string& named, bool json);

}  // namespace triax
