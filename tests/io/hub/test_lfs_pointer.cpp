// SPDX-License-Identifier: Apache-2.0
#include "io/hub/lfs_pointer.hpp"

#include "io/hdf5/hdf5.hpp"
#include "io/safetensors/safetensors.hpp"
#include "io/tokens/token_reader.hpp"
#include "tests/io/fixtures.hpp"

namespace triax {
namespace {

using test::error_of;
using test::TempDirectory;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string pointer =
    "version https://git-lfs.github.com/spec/v1\n"
    "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\n"
    "size 548118077\n";

testing::Matcher<std::string> says_pointer(const std::string& path) {
  return AllOf(HasSubstr(path + " is a pointer of git-lfs"), HasSubstr("stands for 548118077)"),
               HasSubstr("`git lfs pull`"));
}

TEST(LfsPointer, IsToldByItsText) {
  const TempDirectory dir;
  const auto error = [&](const std::string& text) {
    return error_of([&] { refuse_lfs_pointer(MappedFile(dir.file("a", text))); });
  };
  EXPECT_THAT(error(pointer), says_pointer(dir.path("a")));
  EXPECT_THAT(error("version https://git-lfs"), HasSubstr("it has 23 bytes)"));
  for (const std::string& other :
       {std::string(), std::string("version 1\n"), std::string("a version https://git-lfs\n"),
        pointer + std::string(1000, 'x')})
    EXPECT_THAT(error(other), IsEmpty()) << other;
}

// Otherwise a run would train on the pointer's text.
TEST(LfsPointer, IsNoData) {
  const TempDirectory dir;
  for (const char* name : {"a.txt", "a.bin", "a.jsonl", "a.h5"}) {
    const std::string path = dir.file(name, pointer);
    EXPECT_THAT(error_of([&] { TokenReader({path}, 8, false, 1); }), says_pointer(path));
  }
  dir.file("pair.bin", pointer);
  const std::string index = dir.file("pair.idx", pointer);
  EXPECT_THAT(error_of([&] { TokenReader({index}, 8, false, 1); }), says_pointer(index));
}

TEST(LfsPointer, IsNoWeights) {
  const TempDirectory dir;
  const std::string index = dir.file(safetensors_index_name, pointer);
  EXPECT_THAT(error_of([&] { SafetensorsReader{dir.path()}; }), says_pointer(index));
  const std::string weights = dir.file(safetensors_single_name, pointer);
  EXPECT_THAT(error_of([&] { SafetensorsReader{dir.path()}; }), says_pointer(weights));
}

TEST(LfsPointer, IsNoCheckpoint) {
  const TempDirectory dir;
  const std::string path = dir.file("step-000001.h5", pointer);
  EXPECT_THAT(error_of([&] { hdf5::File(path, hdf5::File::Mode::read); }), says_pointer(path));
}

}  // namespace
}  // namespace triax
