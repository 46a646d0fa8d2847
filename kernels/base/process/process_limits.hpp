// SPDX-License-Identifier: Apache-2.0
#pragma once
// Limits that a shell or a batch system sets on the memory of each process.
#include <sys/resource.h>

#include <optional>
#include <string>

namespace triax {

struct ProcessLimit {
  __rlimit_resource_t resource;
  const char* line;  // its name in /proc/self/limits
  const char* name;
  const char* remedy;
};

inline constexpr ProcessLimit process_limits[] = {
    {RLIMIT_AS, "Max address space", "a process's address space (RLIMIT_AS, ulimit -v)",
     "Raise that limit: ulimit -v unlimited"},
    {RLIMIT_DATA, "Max data size", "a process's data (RLIMIT_DATA, ulimit -d)",
     "Raise that limit: ulimit -d unlimited"}};

/// The limit of this process in bytes; empty if there is none.
std::optional<double> bytes_of_limit(const ProcessLimit& limit);

/// A size as text with a unit: "512 bytes", "146.5 MiB".
std::string size_text(double bytes);

}  // namespace triax
