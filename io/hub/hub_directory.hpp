// SPDX-License-Identifier: Apache-2.0
#pragma once
// Directories as the hub of Hugging Face caches them: models--ORG--NAME/ has refs/main, which names
// a commit, and snapshots/COMMIT/, whose files are links into blobs/.
#include <string>

namespace triax {

/// Directory of a model's files: `path` itself or, for the cache's folder of a model, the snapshot
/// that refs/main names; without refs/main, the only one. UsageError where there is no such
/// snapshot, or several.
std::string hub_snapshot(const std::string& path);

/// "PATH is a link to nothing (TARGET)" where it is; else empty.
std::string dangling_link(const std::string& path);

/// Error where `path` is a link to nothing: a download that was stopped, or moved without its
/// blobs.
void refuse_dangling_link(const std::string& path);

}  // namespace triax
