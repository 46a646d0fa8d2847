// SPDX-License-Identifier: Apache-2.0
#include "io/safetensors/safetensors_writer.hpp"

#include <nlohmann/json.hpp>

#include "io/safetensors/safetensors.hpp"
#include "tests/io/fixtures.hpp"

namespace triax {
namespace {

using namespace test;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<float> values(const SafetensorsReader& reader, const std::string& name) {
  std::vector<float> out(static_cast<std::size_t>(reader.entries().at(name).shape.elements()));
  reader.read(name, 0, Tensor(out.data(), {std::ssize(out)}));
  return out;
}

TEST(SafetensorsWriter, WritesTheFormatByteForByte) {
  const TempDirectory dir;
  SafetensorsWriter writer(dir.path("m.safetensors"),
                           {{"b", DType::f32, {2}}, {"a", DType::bf16, {1, 2}}});
  std::vector<float> b = {1, 2};
  std::vector<Bf16> a = {Bf16(3.0F), Bf16(4.0F)};
  writer.write("a", 0, Tensor(a.data(), {2}));
  writer.write("b", 0, Tensor(b.data(), {2}));
  writer.publish();
  // The reference library's order: the wider type first.
  std::string header = R"({"__metadata__":{"format":"pt"},)"
                       R"("b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                       R"("a":{"dtype":"BF16","shape":[1,2],"data_offsets":[8,12]}})";
  header.append((8 - header.size() % 8) % 8, ' ');
  EXPECT_EQ(contents(dir.path("m.safetensors")), bytes_of<std::uint64_t>(header.size()) + header +
                                                     bytes_of<float>({1, 2}) +
                                                     bytes_of<std::uint16_t>({0x4040, 0x4080}));
}

TEST(SafetensorsWriter, WhatIsWrittenInPiecesIsReadBack) {
  const TempDirectory dir;
  SafetensorsWriter writer(
      dir.path("m.safetensors"),
      {{"x", DType::f32, {3, 2}}, {"scalar", DType::f16, {}}, {"none", DType::f32, {0, 4}}});
  std::vector<float> x = {1, 2, 3, 4, 5, 6};
  std::vector<F16> scalar = {F16(0.5F)};
  writer.write("x", 4, Tensor(x.data() + 4, {2}));
  writer.write("scalar", 0, Tensor(scalar.data(), {1}));
  writer.write("x", 0, Tensor(x.data(), {4}));
  EXPECT_FALSE(std::filesystem::exists(dir.path("m.safetensors")));
  writer.publish();
  EXPECT_FALSE(std::filesystem::exists(dir.path("m.safetensors.tmp")));
  const SafetensorsReader reader(dir.path("m.safetensors"));
  EXPECT_THAT(values(reader, "x"), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(values(reader, "scalar"), ElementsAre(0.5F));
  EXPECT_EQ(reader.entries().at("x").shape, (Shape{3, 2}));
  EXPECT_EQ(reader.entries().at("none").shape, (Shape{0, 4}));
}

TEST(SafetensorsWriter, WhatIsNotPublishedLeavesNothing) {
  const TempDirectory dir;
  const std::string path = dir.path("m.safetensors");
  dir.file("m.safetensors.tmp", "of a killed program");
  {
    SafetensorsWriter writer(path, {{"x", DType::f32, {2}}});
    float one = 1;
    writer.write("x", 0, Tensor(&one, {1}));
    EXPECT_THAT(error_of([&] { writer.publish(); }), HasSubstr("1 elements"));
  }
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

TEST(SafetensorsWriter, AFormerFileStaysUntilTheNewOneIsWhole) {
  const TempDirectory dir;
  const std::string path = dir.file("m.safetensors", "former");
  const std::string error = error_of([&] {
    const FileSizeLimit limit(64 << 10);
    SafetensorsWriter(path, {{"x", DType::f32, {1 << 20}}});
  });
  EXPECT_THAT(error, AllOf(HasSubstr("no room"), HasSubstr(path)));
  EXPECT_EQ(contents(path), "former");
  EXPECT_FALSE(std::filesystem::exists(path + ".tmp"));
  EXPECT_THAT(error_of([&] { SafetensorsWriter(dir.path("none/m"), {}); }),
              AllOf(HasSubstr("none/m"), HasSubstr("No such file")));
}

TEST(SafetensorsWriter, MisuseIsRefused) {
  const TempDirectory dir;
  SafetensorsWriter writer(dir.path("m.safetensors"), {{"x", DType::f32, {2}}});
  std::vector<float> x = {1, 2};
  std::vector<Bf16> other(2);
  EXPECT_THAT(error_of([&] { writer.write("y", 0, Tensor(x.data(), {2})); }), HasSubstr("y"));
  EXPECT_THAT(error_of([&] { writer.write("x", 1, Tensor(x.data(), {2})); }), HasSubstr("[1, 3)"));
  EXPECT_THAT(error_of([&] { writer.write("x", 0, Tensor(other.data(), {2})); }),
              HasSubstr("contiguous f32"));
  EXPECT_THAT(error_of([&] {
                SafetensorsWriter(dir.path("n"), {{"x", DType::f32, {1}}, {"x", DType::f32, {1}}});
              }),
              HasSubstr("twice"));
}

TEST(SafetensorsShards, AreFilledInOrderAndNamedByTheirNumber) {
  const std::vector<SafetensorsTensor> tensors = {{"a", DType::f32, {2}},
                                                  {"b", DType::f32, {2}},
                                                  {"large", DType::f32, {9}},
                                                  {"c", DType::bf16, {2}}};
  const auto whole = cut_into_shards(tensors, 1000);
  ASSERT_EQ(whole.size(), 1U);
  EXPECT_EQ(whole[0].file, "model.safetensors");
  EXPECT_EQ(whole[0].tensors, tensors);
  const auto shards = cut_into_shards(tensors, 16);
  ASSERT_EQ(shards.size(), 3U);
  EXPECT_THAT(shards[0].tensors, ElementsAre(tensors[0], tensors[1]));
  EXPECT_THAT(shards[1].tensors, ElementsAre(tensors[2]));
  EXPECT_EQ(shards[2].file, "model-00003-of-00003.safetensors");
  const auto index = nlohmann::json::parse(safetensors_index(shards));
  EXPECT_EQ(index["metadata"]["total_size"], 8 + 8 + 36 + 4);
  EXPECT_EQ(index["weight_map"].size(), 4U);
  EXPECT_EQ(index["weight_map"]["c"], "model-00003-of-00003.safetensors");
  EXPECT_EQ(cut_into_shards({}, 16).size(), 1U);
}

}  // namespace
}  // namespace triax
