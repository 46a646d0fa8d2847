// SPDX-License-Identifier: Apache-2.0
#include "src/serve/start/serve_settings.hpp"

#include <gmock/gmock.h>

#include "tests/support/error_of.hpp"

namespace triax::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ServeSettings, DefaultsAreThoseOfTheKeys) {
  const ServeSettings settings = serve_settings({});
  EXPECT_EQ(settings.host, "127.0.0.1");
  EXPECT_EQ(settings.port, 8000);
  EXPECT_EQ(settings.queue, 1000);
  EXPECT_EQ(settings.grace, 30);
  EXPECT_TRUE(settings.names.empty());
  EXPECT_EQ(settings.directory, "runs/triax");
  EXPECT_EQ(settings.engine.weights, "auto");
  EXPECT_EQ(serve_settings({"inference.weights=bf16"}).engine.weights, "bf16");
}

TEST(ServeSettings, AreReadFromOverrides) {
  const ServeSettings settings =
      serve_settings({"serve.port=0", "serve.name=[\"a\",\"b\"]", "serve.grace=2m",
                      "serve.api_keys=keys", "run.directory=7", "parallel.tensor=2"});
  EXPECT_EQ(settings.port, 0);
  EXPECT_THAT(settings.names, ElementsAre("a", "b"));
  EXPECT_EQ(settings.grace, 120);
  EXPECT_EQ(settings.api_keys, "keys");
  EXPECT_EQ(settings.directory, "7");
  EXPECT_THAT(settings.grid, ElementsAre("parallel.tensor=2"));
}

TEST(ServeSettings, WrongOnesAreRefused) {
  const auto refused = [](const char* one) { return error_of([&] { serve_settings({one}); }); };
  EXPECT_THAT(refused("serve.prot=1"), HasSubstr("nearest: serve.port"));
  EXPECT_THAT(refused("serve.port=70000"), HasSubstr("serve.port"));
  EXPECT_THAT(refused("run.steps=1"), HasSubstr("no such key"));
  EXPECT_THAT(refused("serve.port"), HasSubstr("has no ="));
}

}  // namespace
}  // namespace triax::test
