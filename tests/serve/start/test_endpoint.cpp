// SPDX-License-Identifier: Apache-2.0
#include "src/serve/start/endpoint.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "tests/io/fixtures.hpp"

namespace triax::test {
namespace {

const Endpoint endpoint{.host = "127.0.0.1", .port = 8001, .model = "m", .key = "sk-1"};

TEST(Endpoint, NamesUrls) {
  EXPECT_EQ(endpoint.url(), "http://127.0.0.1:8001/v1");
  EXPECT_EQ((Endpoint{.host = "::1", .port = 1, .model = {}, .key = {}}).url(),
            "http://[::1]:1/v1");
  EXPECT_TRUE(is_loopback("127.0.0.2") && is_loopback("::1") && !is_loopback("10.0.0.1"));
  EXPECT_FALSE(is_loopback("127.example.org") || is_loopback("127.0.0.1.example.org"));
  EXPECT_EQ(client_host("10.0.0.1"), "10.0.0.1");
  EXPECT_NE(client_host("0.0.0.0"), "0.0.0.0");
  EXPECT_THAT(ssh_line(endpoint), testing::HasSubstr("ssh -N -L 8001:127.0.0.1:8001 "));
}

TEST(EndpointFile, IsPrivateAndGoesWithItsServer) {
  const TempDirectory directory;
  std::string path;
  {
    const EndpointFile file(directory.path("a/b"), endpoint);
    path = file.path();
    struct stat status {};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0600U);
    const auto json = nlohmann::ordered_json::parse(contents(path));
    EXPECT_EQ(json["url"], endpoint.url());
    EXPECT_EQ(json["api_key"], "sk-1");
  }
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
}

TEST(EndpointFile, OfALaterServerStays) {
  const TempDirectory directory;
  const std::string path = directory.path("endpoint.json");
  {
    const EndpointFile first(directory.path(""), endpoint);
    directory.file("endpoint.json", "another's");
  }
  EXPECT_EQ(contents(path), "another's");
}

}  // namespace
}  // namespace triax::test
