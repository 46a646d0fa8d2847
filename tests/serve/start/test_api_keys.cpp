// SPDX-License-Identifier: Apache-2.0
#include "src/serve/start/api_keys.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "tests/io/fixtures.hpp"
#include "tests/support/error_of.hpp"

namespace triax::test {
namespace {

using testing::HasSubstr;

TEST(ApiKeys, AllowTheirOwnersAlone) {
  const ApiKeys keys({"one", "two"});
  EXPECT_TRUE(keys.allow("Bearer two"));
  for (const char* wrong : {"", "Bearer ", "Bearer on", "Bearer onee", "two", "bearer two"})
    EXPECT_FALSE(keys.allow(wrong)) << wrong;
  EXPECT_TRUE(ApiKeys().allow(""));
}

TEST(ApiKeys, StandInAFile) {
  const TempDirectory directory;
  std::string warning;
  const std::string path = directory.file("keys", "# mine\n\n sk-1 \r\nsk-2\n");
  ::chmod(path.c_str(), 0600);
  EXPECT_THAT(read_api_keys(path, warning), testing::ElementsAre("sk-1", "sk-2"));
  EXPECT_EQ(warning, "");
  ::chmod(path.c_str(), 0644);
  read_api_keys(path, warning);
  EXPECT_THAT(warning, HasSubstr("chmod 600"));
  EXPECT_THAT(error_of([&] { read_api_keys(directory.file("none", "#\n"), warning); }),
              HasSubstr("has no key"));
  EXPECT_THAT(error_of([&] { read_api_keys(directory.path("absent"), warning); }),
              HasSubstr("cannot be read"));
}

TEST(ApiKeys, NewOnesDiffer) {
  EXPECT_NE(new_api_key(), new_api_key());
  EXPECT_GE(new_api_key().size(), 64U);
}

}  // namespace
}  // namespace triax::test
