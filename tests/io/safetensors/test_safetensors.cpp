// SPDX-License-Identifier: Apache-2.0
#include "io/safetensors/safetensors.hpp"

#include <bit>
#include <cmath>

#include "tests/io/fixtures.hpp"

namespace triax {
namespace {

using namespace test;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string safetensors(const std::string& header, const std::string& data) {
  return bytes_of<std::uint64_t>(header.size()) + header + data;
}

std::vector<float> values(const SafetensorsReader& reader, const std::string& name,
                          std::int64_t begin, std::int64_t count) {
  std::vector<float> out(static_cast<std::size_t>(count));
  reader.read(name, begin, Tensor(out.data(), {count}));
  return out;
}

TEST(Safetensors, ReadsEveryFloatingPointType) {
  const TempDirectory dir;
  const std::string header = R"({"__metadata__":{"format":"pt"},)"
                             R"("a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},)"
                             R"("b":{"dtype":"F64","shape":[2],"data_offsets":[16,32]},)"
                             R"("c":{"dtype":"F16","shape":[3],"data_offsets":[32,38]},)"
                             R"("d":{"dtype":"BF16","shape":[2],"data_offsets":[38,42]},)"
                             R"("e":{"dtype":"F32","shape":[],"data_offsets":[42,46]},)"
                             R"("f":{"dtype":"F32","shape":[0,3],"data_offsets":[46,46]}}   )";
  const std::string data = bytes_of<float>({1, 2, 3, 4}) + bytes_of<double>({0.5, -1e300}) +
                           bytes_of<std::uint16_t>({0x3c00, 0x0001, 0xfc00}) +
                           bytes_of<std::uint16_t>({0x3f80, 0xc0a0}) + bytes_of<float>(9.0f);
  const SafetensorsReader reader(dir.file("m.safetensors", safetensors(header, data)));
  EXPECT_EQ(reader.entries().size(), 6u);
  EXPECT_EQ(reader.entries().at("a").shape, (Shape{2, 2}));
  EXPECT_EQ(reader.entries().at("d").dtype, DType::bf16);
  EXPECT_THAT(values(reader, "a", 0, 4), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(values(reader, "a", 1, 2), ElementsAre(2, 3));
  EXPECT_THAT(values(reader, "b", 0, 2), ElementsAre(0.5f, -HUGE_VALF));
  EXPECT_THAT(values(reader, "c", 0, 3), ElementsAre(1, 0x1p-24f, -HUGE_VALF));
  EXPECT_THAT(values(reader, "d", 0, 2), ElementsAre(1, -5));
  EXPECT_THAT(values(reader, "e", 0, 1), ElementsAre(9));
  EXPECT_THAT(values(reader, "f", 0, 0), ElementsAre());
  EXPECT_THROW(values(reader, "a", 3, 2), Error);
}

// Only a few MiB of a file of any size are mapped at a time.
TEST(Safetensors, LittleOfTheFileIsInMemory) {
  const TempDirectory dir;
  constexpr std::int64_t elements = 32 << 20;
  const std::string header =
      R"({"a":{"dtype":"BF16","shape":[33554432],"data_offsets":[0,67108864]}} )";
  std::string data(2 * elements, '\0');
  data[2 * (elements - 1) + 1] = 0x40;  // the last element is 2
  const SafetensorsReader reader(dir.file("m.safetensors", safetensors(header, data)));
  const auto most = static_cast<std::int64_t>(SafetensorsReader::most_mapped);
  const std::int64_t before = mapped_in_memory();
  EXPECT_EQ(values(reader, "a", 0, elements).back(), 2);
  EXPECT_LE(mapped_in_memory(), before + most);
  for (std::int64_t begin = 0; begin < elements; begin += 4096) values(reader, "a", begin, 7);
  EXPECT_LE(mapped_in_memory(), before + most);
}

TEST(Safetensors, OtherTypesAreAnErrorOnlyWhenRead) {
  const TempDirectory dir;
  const std::string header = R"({"x":{"dtype":"I8","shape":[2],"data_offsets":[0,2]},)"
                             R"("y":{"dtype":"I64","shape":[1],"data_offsets":[2,10]},)"
                             R"("z":{"dtype":"F32","shape":[1,1,1,1,1],"data_offsets":[10,14]},)"
                             R"("w":{"dtype":"F9_NEW","shape":[5],"data_offsets":[14,16]}})";
  const SafetensorsReader reader(
      dir.file("m.safetensors", safetensors(header, std::string(16, 'x'))));
  for (const char* name : {"w", "x", "y", "z"}) EXPECT_TRUE(reader.contains(name));
  EXPECT_FALSE(reader.contains("none"));
  EXPECT_THAT(error_of([&] { (void)reader.entry("x"); }), HasSubstr("its type is I8"));
  EXPECT_THAT(error_of([&] { values(reader, "x", 0, 2); }),
              AllOf(HasSubstr("tensor x"), HasSubstr("I8")));
  EXPECT_THAT(error_of([&] { values(reader, "y", 0, 1); }), HasSubstr("I64"));
  EXPECT_THAT(error_of([&] { values(reader, "z", 0, 1); }), HasSubstr("5 dimensions"));
  EXPECT_THAT(error_of([&] { values(reader, "w", 0, 1); }), HasSubstr("F9_NEW"));
  EXPECT_THAT(error_of([&] { values(reader, "none", 0, 1); }), HasSubstr("none is missing"));
}

TEST(Safetensors, DamagedHeadersAreRefused) {
  const TempDirectory dir;
  const auto error = [&](const std::string& bytes) {
    return error_of([&] { SafetensorsReader(dir.file("m.safetensors", bytes)); });
  };
  const auto with = [&](const std::string& entries) {
    return error(safetensors(entries, "12345678"));
  };
  EXPECT_EQ(with(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})"), "");
  EXPECT_THAT(error("1234"), HasSubstr("4 bytes"));
  EXPECT_THAT(error(bytes_of<std::uint64_t>(1000) + "{}"),
              AllOf(HasSubstr("1000"), HasSubstr("10")));
  EXPECT_THAT(error(bytes_of<std::uint64_t>(~0ull) + "{}"), HasSubstr("claims"));
  EXPECT_THAT(error(safetensors("{\"a\":", "")), HasSubstr("JSON"));
  EXPECT_THAT(with(R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})"),
              HasSubstr("truncated"));
  EXPECT_THAT(with(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})"),
              HasSubstr("make 12"));
  EXPECT_THAT(with(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})"),
              HasSubstr("end at"));
  EXPECT_THAT(with(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})"),
              HasSubstr("starts at byte 4"));
  EXPECT_THAT(with(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                   R"("b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})"),
              HasSubstr("ends at"));
  EXPECT_THAT(with(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})"),
              HasSubstr("[8, 0)"));
  EXPECT_THAT(with(R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})"),
              HasSubstr("whole number"));
  EXPECT_THAT(with(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0]}})"),
              HasSubstr("data_offsets"));
  EXPECT_THAT(with(R"({"a":{"shape":[2],"data_offsets":[0,8]}})"), HasSubstr("tensor a"));
  EXPECT_THAT(with(R"({"a":5})"), HasSubstr("tensor a"));
  EXPECT_THAT(with(R"({"a":{"dtype":"F32","shape":[4611686018427387905,4],"data_offsets":[0,8]}})"),
              HasSubstr("make 18446744073709551615"));
}

class ShardedSafetensors : public testing::Test {
 protected:
  void SetUp() override {
    const auto one = [](const std::string& name, float value) {
      return safetensors("{\"" + name + R"(":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
                         bytes_of(value));
    };
    dir_.file("s1.safetensors", one("a", 1));
    dir_.file("s2.safetensors", one("b", 2));
  }
  std::string index(const std::string& map) {
    return dir_.file("model.safetensors.index.json",
                     "{\"metadata\":{},\"weight_map\":" + map + "}");
  }
  std::string error(const std::string& map) {
    return error_of([&] { SafetensorsReader{index(map)}; });
  }
  TempDirectory dir_;
};

TEST_F(ShardedSafetensors, AreReadAsOne) {
  const std::string path = index(R"({"a":"s1.safetensors","b":"s2.safetensors"})");
  for (const std::string& name : {path, dir_.path()}) {
    const SafetensorsReader reader(name);
    EXPECT_EQ(reader.entries().size(), 2u);
    EXPECT_THAT(values(reader, "a", 0, 1), ElementsAre(1));
    EXPECT_THAT(values(reader, "b", 0, 1), ElementsAre(2));
  }
}

TEST_F(ShardedSafetensors, TheSingleFileComesFirst) {
  index(R"({"a":"s1.safetensors"})");
  std::filesystem::copy(dir_.path("s2.safetensors"), dir_.path("model.safetensors"));
  EXPECT_TRUE(SafetensorsReader(dir_.path()).contains("b"));
}

TEST_F(ShardedSafetensors, ProblemsNameTheShard) {
  EXPECT_THAT(error(R"({"a":"s2.safetensors"})"),
              AllOf(HasSubstr("tensor a"), HasSubstr("s2.safetensors")));
  EXPECT_THAT(error(R"({"a":"s3.safetensors"})"), HasSubstr("s3.safetensors"));
  EXPECT_THAT(error(R"({"a":"../s1.safetensors"})"), HasSubstr("not a file name"));
  EXPECT_THAT(error("{}"), HasSubstr("empty"));
  EXPECT_THAT(error("5"), HasSubstr("weight_map"));
  const TempDirectory empty;
  EXPECT_THAT(error_of([&] { SafetensorsReader{empty.path()}; }), HasSubstr("no weights"));
  EXPECT_THAT(error_of([&] { SafetensorsReader{empty.path("none")}; }), HasSubstr("No such file"));
}

}  // namespace
}  // namespace triax
