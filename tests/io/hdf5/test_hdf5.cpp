// SPDX-License-Identifier: Apache-2.0
#include "io/hdf5/hdf5.hpp"

#include <cmath>

#include "tests/io/fixtures.hpp"

namespace triax::hdf5 {
namespace {

using namespace test;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Hdf5File, EveryTypeRoundTrips) {
  const TempDirectory dir;
  constexpr std::array types = {DType::f64, DType::f32, DType::bf16, DType::f16,
                                DType::i64, DType::i32, DType::u16,  DType::u8};
  {
    File file(dir.path("a.h5"), File::Mode::create);
    std::vector<float> values = {0, 1, 2, 100};
    for (const DType type : types) {
      const std::string name = fmt::format("/x/{}", name_of(type));
      file.create_dataset(name, type, {4});
      file.write(name, {{{}, {4}}}, Tensor(values.data(), {4}));
    }
    file.close();
  }
  const File file(dir.path("a.h5"), File::Mode::read);
  for (const DType type : types) {
    const std::string name = fmt::format("/x/{}", name_of(type));
    EXPECT_EQ(file.dtype(name), type) << name;
    EXPECT_EQ(file.shape(name), Shape{4});
    EXPECT_EQ(file.is_integer(name), type >= DType::i64) << name;
    std::vector<double> out(4);
    file.read(name, {{{}, {4}}}, Tensor(out.data(), {4}));
    EXPECT_THAT(out, ElementsAre(0, 1, 2, 100)) << name;
  }
  EXPECT_EQ(file.datasets("/").size(), types.size());
}

TEST(Hdf5File, SixteenBitFloatsHaveTheirBits) {
  const TempDirectory dir;
  File file(dir.path("a.h5"), File::Mode::create);
  std::vector<std::uint16_t> bits = {0x3c00, 0x0001, 0xfc00, 0xc500};
  file.create_dataset("/h", DType::f16, {4});
  file.write("/h", {{{}, {4}}}, Tensor(bits.data(), DType::f16, {4}));
  std::vector<float> out(4);
  file.read("/h", {{{}, {4}}}, Tensor(out.data(), {4}));
  EXPECT_THAT(out, ElementsAre(1, 0x1p-24f, -HUGE_VALF, -5));
  file.create_dataset("/b", DType::bf16, {4});
  bits = {0x3f80, 0xc0a0, 0x7f80, 0x0001};
  file.write("/b", {{{}, {4}}}, Tensor(bits.data(), DType::bf16, {4}));
  file.read("/b", {{{}, {4}}}, Tensor(out.data(), {4}));
  EXPECT_THAT(out, ElementsAre(1, -5, HUGE_VALF, 0x1p-133f));
}

TEST(Hdf5File, UnionsOfBoxesGoInRowMajorOrder) {
  const TempDirectory dir;
  File file(dir.path("a.h5"), File::Mode::create);
  file.create_dataset("/w", DType::f32, {3, 4});
  std::vector<float> all(12);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<float>(i);
  file.write("/w", {{{0, 0}, {3, 4}}}, Tensor(all.data(), {3, 4}));
  // Two column slabs, given right before left: their rows interleave.
  const std::vector<Box> slabs = {{{0, 3}, {3, 1}}, {{0, 0}, {3, 1}}};
  std::vector<float> out(6);
  file.read("/w", slabs, Tensor(out.data(), {6}));
  EXPECT_THAT(out, ElementsAre(0, 3, 4, 7, 8, 11));
  for (float& value : out) value += 100;
  file.write("/w", slabs, Tensor(out.data(), {6}));
  file.read("/w", {{{0, 0}, {3, 4}}}, Tensor(all.data(), {12}));
  EXPECT_THAT(all, ElementsAre(100, 1, 2, 103, 104, 5, 6, 107, 108, 9, 10, 111));
}

TEST(Hdf5File, ScalarsAndEmptyDatasets) {
  const TempDirectory dir;
  {
    File file(dir.path("a.h5"), File::Mode::create);
    float value = 7;
    file.create_dataset("/scalar", DType::f32, {});
    file.write("/scalar", {{{}, {}}}, Tensor(&value, {}));
    file.create_dataset("/none", DType::f32, {0, 3});
    file.write("/none", {}, Tensor(&value, {0, 3}));
  }
  const File file(dir.path("a.h5"), File::Mode::read);
  float value = 0;
  file.read("/scalar", {{{}, {}}}, Tensor(&value, {}));
  EXPECT_EQ(value, 7);
  EXPECT_EQ(file.shape("/scalar"), Shape{});
  EXPECT_EQ(file.shape("/none"), (Shape{0, 3}));
  EXPECT_NO_THROW(file.read("/none", {}, Tensor(&value, {0})));
}

TEST(Hdf5File, Attributes) {
  const TempDirectory dir;
  const std::string large(200'000, 'j');  // beyond the 64 KiB of a compact attribute
  {
    File file(dir.path("a.h5"), File::Mode::create);
    file.create_dataset("/g/d", DType::i32, {1});
    file.write_attribute("/", "text", std::string("old"));
    file.write_attribute("/", "text", std::string("h\xc3\xa9"));
    file.write_attribute("/", "empty", std::string());
    file.write_attribute("/", "large", large);
    file.write_attribute("/g", "count", std::int64_t{1} << 40);
  }
  const File file(dir.path("a.h5"), File::Mode::read);
  EXPECT_EQ(file.string_attribute("/", "text"), "h\xc3\xa9");
  EXPECT_EQ(file.string_attribute("/", "empty"), "");
  EXPECT_EQ(file.string_attribute("/", "large"), large);
  EXPECT_EQ(file.integer_attribute("/g", "count"), std::int64_t{1} << 40);
  EXPECT_TRUE(file.has_attribute("/", "text"));
  EXPECT_FALSE(file.has_attribute("/", "none"));
  EXPECT_THAT(error_of([&] { file.integer_attribute("/", "none"); }),
              AllOf(HasSubstr("none"), HasSubstr("a.h5")));
  EXPECT_THAT(error_of([&] { file.string_attribute("/g", "count"); }), HasSubstr("count"));
}

TEST(Hdf5File, NamesAndExistence) {
  const TempDirectory dir;
  File file(dir.path("a.h5"), File::Mode::create);
  for (const char* name : {"/b", "/m/z", "/m/a/x"}) file.create_dataset(name, DType::u8, {1});
  EXPECT_THAT(file.datasets("/"), ElementsAre("/b", "/m/a/x", "/m/z"));
  EXPECT_THAT(file.datasets("/m"), ElementsAre("/m/a/x", "/m/z"));
  EXPECT_THAT(file.datasets("/nothing"), ElementsAre());
  EXPECT_TRUE(file.exists("/"));
  EXPECT_TRUE(file.exists("/m/a/x"));
  EXPECT_FALSE(file.exists("/m/b/x"));
  EXPECT_FALSE(file.exists("/m/a/y"));
}

TEST(Hdf5File, MisuseIsCaught) {
  const TempDirectory dir;
  File file(dir.path("a.h5"), File::Mode::create);
  file.create_dataset("/w", DType::f32, {3, 4});
  std::vector<float> v(12);
  EXPECT_THAT(error_of([&] {
                file.write("/w", {{{0, 0}, {3, 4}}}, Tensor(v.data(), {11}));
              }),
              HasSubstr("11"));
  EXPECT_THAT(error_of([&] {
                file.write("/w", {{{0, 1}, {3, 4}}}, Tensor(v.data(), {12}));
              }),
              AllOf(HasSubstr("/w"), HasSubstr("a.h5")));
  EXPECT_THAT(error_of([&] {
                file.write("/w", {{{0}, {3}}}, Tensor(v.data(), {3}));
              }),
              HasSubstr("dimensions"));
  const std::vector<Box> overlap = {{{0, 0}, {1, 2}}, {{0, 1}, {1, 2}}};
  EXPECT_THAT(error_of([&] { file.write("/w", overlap, Tensor(v.data(), {4})); }),
              HasSubstr("overlap"));
  EXPECT_THAT(error_of([&] {
                file.write("/none", {{{0}, {1}}}, Tensor(v.data(), {1}));
              }),
              HasSubstr("/none"));
  EXPECT_THAT(error_of([&] { file.create_dataset("/w", DType::f32, {1}); }),
              AllOf(HasSubstr("/w"), HasSubstr("exists")));
}

TEST(Hdf5File, OpeningWhatIsNotThere) {
  const TempDirectory dir;
  const auto error = [&](const std::string& path) {
    return error_of([&] { File(path, File::Mode::read); });
  };
  EXPECT_THAT(error(dir.path("none.h5")), AllOf(HasSubstr("none.h5"), HasSubstr("No such file")));
  EXPECT_THAT(error(dir.path()), HasSubstr("Is a directory"));
  EXPECT_THAT(error(dir.file("empty", "")), HasSubstr("empty"));
  EXPECT_THAT(error(dir.file("text", "not HDF5 at all")), HasSubstr("text as HDF5"));
  const std::string blocked = dir.file("file", "") + "/a.h5";
  EXPECT_THAT(error_of([&] { File(blocked, File::Mode::create); }), HasSubstr("Not a directory"));
}

// After the error the file can be truncated and closed, and the library still works.
TEST(Hdf5File, AFullDiskIsAnErrorOfWriteAndOfClose) {
  const TempDirectory dir;
  constexpr std::int64_t n = 1 << 20;
  std::vector<float> values(n, 1);
  for (const char* name : {"a.h5", "b.h5"}) {
    File file(dir.path(name), File::Mode::create);
    file.create_dataset("/w", DType::f32, {n});
    {
      const FileSizeLimit limit(1 << 20);
      EXPECT_THAT(error_of([&] {
                    file.write("/w", {{{0}, {n}}}, Tensor(values.data(), {n}));
                  }),
                  AllOf(HasSubstr("/w"), HasSubstr(name), HasSubstr("File too large")));
      EXPECT_THAT(error_of([&] { file.close(); }),
                  AllOf(HasSubstr(name), HasSubstr("File too large")));
    }
    std::filesystem::resize_file(dir.path(name), 0);
  }
  File file(dir.path("c.h5"), File::Mode::create);
  file.create_dataset("/w", DType::f32, {n});
  file.write("/w", {{{0}, {n}}}, Tensor(values.data(), {n}));
  file.close();
  EXPECT_EQ(File(dir.path("c.h5"), File::Mode::read).shape("/w"), Shape{n});
}

}  // namespace
}  // namespace triax::hdf5
