// SPDX-License-Identifier: Apache-2.0
#pragma once
// `triax checkpoint list`: lists the checkpoints of a directory.
#include <string>

namespace triax {

/// One row per checkpoint file, by step: step, tokens, bytes, date, grid of the run that wrote it,
/// type of the weights, and state. States: opens (the attributes match their checksum; data are not
/// read), damaged, unreadable (refused by the system, or a dangling link), unfinished (a write is
/// in progress or was killed), superseded (a later run repeated its step). A row of a damaged or
/// unreadable file has the reason.
struct CheckpointListing {
  std::string text;
  bool all_open;  // whether all published checkpoints open
};
/// `json`: one JSON object, else a table. A run's directory, which has no checkpoints but a
/// directory "checkpoints", stands for the latter. Error where the directory is missing.
CheckpointListing list_directory(const std::string& named, bool json);

}  // namespace triax
