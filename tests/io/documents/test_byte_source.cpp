// SPDX-License-Identifier: Apache-2.0
#include "io/documents/byte_source.hpp"

#include "tests/io/document_fixtures.hpp"

namespace triax::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string long_text() {
  std::string text;
  for (int i = 0; i < 60000; ++i) text += std::to_string(i * 7919) + "\n";
  return text;
}

TEST(ByteSource, PlainBytesFromAnOffset) {
  const TempDirectory dir;
  const std::string path = dir.file("a", "0123456789");
  EXPECT_EQ(compression_of(path), Compression::none);
  EXPECT_EQ(all_of(*open_plain(path, 4), 3), "456789");
  EXPECT_EQ(all_of(*open_plain(path, 10)), "");
}

TEST(ByteSource, CompressionIsToldByContent) {
  const TempDirectory dir;
  const std::string text = long_text();
  const std::string gzip = dir.file("a.txt", gzipped(text)), zstd = dir.file("b", zstandard(text));
  EXPECT_EQ(compression_of(gzip), Compression::gzip);
  EXPECT_EQ(compression_of(zstd), Compression::zstd);
  for (const std::size_t at_once : {1000U, 1U << 20}) {
    EXPECT_EQ(all_of(*open_gzip(gzip), at_once), text);
    EXPECT_EQ(all_of(*open_zstd(zstd), at_once), text);
  }
}

TEST(ByteSource, MembersAndFramesFollowEachOther) {
  const TempDirectory dir;
  const auto padded = gzipped("one ") + gzipped("") + gzipped("two") + std::string(512, '\0');
  EXPECT_EQ(all_of(*open_gzip(dir.file("a", padded))), "one two");
  EXPECT_EQ(all_of(*open_zstd(dir.file("b", zstandard("one ") + zstandard("two")))), "one two");
}

TEST(ByteSource, TruncatedFilesAreRefusedAtEveryLength) {
  const TempDirectory dir;
  const std::string text = "a short text, and once more: a short text";
  const std::string gzip = gzipped(text), zstd = zstandard(text);
  for (std::size_t length = 4; length < gzip.size(); ++length) {
    const std::string path = dir.file("t.gz", gzip.substr(0, length));
    EXPECT_THAT(error_of([&] { all_of(*open_gzip(path)); }),
                AllOf(HasSubstr(path + " is truncated"), HasSubstr(std::to_string(length))));
  }
  for (std::size_t length = 4; length < zstd.size(); ++length) {
    const std::string path = dir.file("t.zst", zstd.substr(0, length));
    EXPECT_THAT(error_of([&] { all_of(*open_zstd(path)); }), HasSubstr(path + " is truncated"));
  }
}

TEST(ByteSource, DamagedFilesAreRefused) {
  const TempDirectory dir;
  std::string gzip = gzipped(long_text());
  gzip[gzip.size() - 6] = static_cast<char>(gzip[gzip.size() - 6] ^ 1);  // in its CRC
  EXPECT_THAT(error_of([&] { all_of(*open_gzip(dir.file("a.gz", gzip))); }),
              AllOf(HasSubstr("a.gz is damaged"), HasSubstr("incorrect data check")));
  std::string zstd = zstandard(long_text());
  zstd[zstd.size() / 2] = static_cast<char>(zstd[zstd.size() / 2] ^ 0x55);
  zstd[6] = static_cast<char>(zstd[6] ^ 0x7f);
  EXPECT_THAT(error_of([&] { all_of(*open_zstd(dir.file("a.zst", zstd))); }),
              HasSubstr("a.zst is "));
}

}  // namespace
}  // namespace triax::test
