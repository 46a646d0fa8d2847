// SPDX-License-Identifier: Apache-2.0
#include "io/metrics/event_file.hpp"

#include <bit>
#include <cmath>
#include <cstring>

#include "tests/io/fixtures.hpp"

namespace triax {
namespace {

using namespace test;
using testing::HasSubstr;

std::uint64_t number_at(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data() + at, size);
  return value;
}

// Data of the records of a file; each has both its CRCs right.
std::vector<std::string> records_of(const std::string& file) {
  std::vector<std::string> records;
  const auto unmasked = [](std::uint64_t masked) {
    return std::rotl(static_cast<std::uint32_t>(masked) - 0xa282ead8U, 15);
  };
  for (std::size_t at = 0; at < file.size();) {
    const std::string_view rest = std::string_view(file).substr(at);
    const std::uint64_t length = number_at(rest, 0, 8);
    EXPECT_EQ(crc32c(rest.substr(0, 8)), unmasked(number_at(rest, 8, 4)));
    records.emplace_back(rest.substr(12, length));
    EXPECT_EQ(crc32c(records.back()), unmasked(number_at(rest, 12 + length, 4)));
    at += 16 + length;
  }
  return records;
}

std::string only_file(const std::string& directory) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    files.push_back(entry.path());
  EXPECT_EQ(files.size(), 1U);
  return files.front();
}

// RFC 3720, B.4.
TEST(Crc32c, OfPublishedVectors) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aaU);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43U);
}

// Bytes as protoc encodes them: {step: 300, summary: {value: {tag: "lr", simple_value: 0.5}}}.
TEST(EventRecords, AScalarIsAProtobufMessage) {
  const std::string record = scalar_record({2.0, 300}, {{"lr", 0.5}});
  const std::string data = record.substr(12, record.size() - 16);
  const std::string expected =
      std::string("\x09\x00\x00\x00\x00\x00\x00\x00\x40\x10\xac\x02\x2a\x0b\x0a\x09\x0a\x02lr\x15",
                  21) +
      std::string("\x00\x00\x00\x3f", 4);
  EXPECT_EQ(data, expected);
}

TEST(EventFile, BeginsWithItsVersionAndTheSession) {
  const TempDirectory directory;
  const std::string folder = directory.path("tensorboard");
  {
    EventFile file(folder, 7);
    file.scalars(7, {{"loss", 2.5}, {"grad_norm", std::nan("")}});
    file.scalars(8, {{"loss", std::nan("")}});
    file.text(7, "job", "    {}\n");
    EXPECT_EQ(file.problem(), "");
  }
  const std::string path = only_file(folder);
  EXPECT_THAT(path, HasSubstr("events.out.tfevents."));
  const auto records = records_of(contents(path));
  ASSERT_EQ(records.size(), 4U) << "a step without a finite number has no record";
  EXPECT_THAT(records[0], HasSubstr("brain.Event:2"));
  EXPECT_THAT(records[1], testing::EndsWith(std::string("\x10\x07\x3a\x02\x08\x01")));
  EXPECT_THAT(records[2], HasSubstr("loss"));
  EXPECT_THAT(records[2], testing::Not(HasSubstr("grad_norm")));
  EXPECT_THAT(records[3], HasSubstr("text"));
}

TEST(EventFile, TwoOfOneSecondHaveTheirOwnNames) {
  const TempDirectory directory;
  const EventFile first(directory.path(), 0), second(directory.path(), 0);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory.path()),
                          std::filesystem::directory_iterator()),
            2);
}

TEST(EventFile, RecordsWaitWhileTheDiskIsFull) {
  const TempDirectory directory;
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, SIG_IGN);
  std::int64_t problems = 0;
  {
    EventFile file(directory.path(), 0);
    const rlimit small{300, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    for (std::int64_t step = 0; step < 20; ++step) {
      file.scalars(step, {{"loss", static_cast<double>(step)}});
      problems += file.problem().empty() ? 0 : 1;
    }
    setrlimit(RLIMIT_FSIZE, &before);
    file.scalars(20, {{"loss", 20.0}});
    EXPECT_EQ(file.problem(), "");
  }
  EXPECT_GT(problems, 0);
  EXPECT_EQ(records_of(contents(only_file(directory.path()))).size(), 2U + 21U);
}

}  // namespace
}  // namespace triax
