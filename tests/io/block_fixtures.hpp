// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fixtures for the tests of BlockFile and OffloadFile.
#include <sys/stat.h>
#include <unistd.h>

#include <random>
#include <string>
#include <vector>

#include "io/direct/block_file.hpp"
#include "kernels/base/device/device.hpp"
#include "tests/io/fixtures.hpp"

namespace triax::test {

/// All engines: io_uring with its own thread, io_uring in its callers, and threads; each past the
/// page cache and through it.
inline std::vector<BlockFile::Options> all_ways() {
  std::vector<BlockFile::Options> ways(6);
  for (std::size_t i = 0; i < ways.size(); ++i) {
    ways[i].io_uring = i < 4;
    ways[i].thread = i < 2;
    ways[i].direct = i % 2 == 0;
  }
  return ways;
}
inline std::string name_of_way(const testing::TestParamInfo<BlockFile::Options>& info) {
  const char* const engine = info.param.thread ? "uring" : "calledUring";
  return std::string(info.param.io_uring ? engine : "threads") +
         (info.param.direct ? "Direct" : "Cached");
}

inline std::span<std::byte> bytes_in(const Buffer& buffer) {
  return {static_cast<std::byte*>(buffer.data()), buffer.bytes()};
}

inline void fill_random(std::span<std::byte> memory, unsigned seed) {
  std::mt19937 random(seed);
  for (std::byte& byte : memory) byte = static_cast<std::byte>(random());
}

/// Drops root's rights for its lifetime, if the process runs as root.
class WithoutRights {
 public:
  WithoutRights() : user_(::geteuid()) {
    constexpr uid_t nobody = 65534;
    if (user_ == 0) check(::seteuid(nobody) == 0, "seteuid");
  }
  ~WithoutRights() {
    if (user_ == 0) (void)!::seteuid(0);
  }
  WithoutRights(const WithoutRights&) = delete;
  WithoutRights& operator=(const WithoutRights&) = delete;

 private:
  uid_t user_;
};

}  // namespace triax::test
