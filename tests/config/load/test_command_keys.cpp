// SPDX-License-Identifier: Apache-2.0
#include "src/config/load/command_keys.hpp"

#include <gmock/gmock.h>

#include "tests/support/error_of.hpp"

namespace triax::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(CommandKeys, TakeTheirSectionsAlone) {
  const CommandKeys keys("triax serve", {"serve.", "run.directory"},
                         {"serve.port=9", "run.directory=1", "parallel.data=2", "serve.name=a"});
  EXPECT_EQ(keys.integer("serve.port"), 9);
  EXPECT_EQ(keys.text("run.directory"), "1");
  EXPECT_EQ(keys.text("serve.api_keys"), "");
  EXPECT_EQ(keys.seconds("serve.grace"), 30);
  EXPECT_THAT(keys.texts("serve.name"), ElementsAre("a"));
  EXPECT_THAT(keys.grid(), ElementsAre("parallel.data=2"));
}

TEST(CommandKeys, NullIsTheDefault) {
  const CommandKeys keys("c", {"serve."}, {"serve.port=1", "serve.port=null"});
  EXPECT_EQ(keys.integer("serve.port"), 8000);
}

TEST(CommandKeys, RefuseOthers) {
  const auto refused = [](const char* one) {
    return error_of([&] { const CommandKeys keys("triax serve", {"serve."}, {one}); });
  };
  EXPECT_THAT(refused("run.steps=3"), HasSubstr("triax serve has no such key"));
  EXPECT_THAT(refused("serve.hots=3"), HasSubstr("nearest: serve.host"));
  EXPECT_THAT(refused("serve.queue=0"), HasSubstr("serve.queue"));
  EXPECT_THAT(refused("serve.queue=x"), HasSubstr("serve.queue"));
}

}  // namespace
}  // namespace triax::test
