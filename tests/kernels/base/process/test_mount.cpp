// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/process/mount.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace triax {
namespace {

Mount among(const std::string& path, const std::string& lines) {
  std::istringstream mounts(lines);
  return mount_of(path, mounts);
}

TEST(Mount, IsTheDeepestAndTheLastOne) {
  const std::string lines =
      "a / ext4 rw 0 0\nb /home nfs4 rw,nolock 0 0\nc /a\\040b tmpfs rw,nosuid 0 0\n"
      "d /home xfs ro 0 0\n";
  EXPECT_EQ(among("/var/run", lines).type, "ext4");
  EXPECT_EQ(among("/home/me", lines).type, "xfs") << "it hides the one before";
  EXPECT_EQ(among("/home/me", lines).options, "ro");
  EXPECT_EQ(among("/homes", lines).type, "ext4") << "no part of a name";
  EXPECT_EQ(among("/a b/c", lines).options, "rw,nosuid");
  EXPECT_EQ(among("/a b/c", "").type, "");
}

}  // namespace
}  // namespace triax
