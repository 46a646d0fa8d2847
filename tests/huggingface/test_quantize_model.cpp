// SPDX-License-Identifier: Apache-2.0
// Directories of triax against those of transformers with bitsandbytes, tensor by tensor
// (tests/golden/quantized/made.json), and read again.
#include "src/huggingface/quantize_model.hpp"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "src/config/model/huggingface.hpp"
#include "src/state/weights/huggingface_weights.hpp"
#include "tests/huggingface/huggingface_fixtures.hpp"

namespace triax::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const json& made() {
  static const json all =
      json::parse(contents(TRIAX_SOURCE_DIR "/tests/golden/quantized/made.json"));
  return all;
}

std::string stored_bytes(const SafetensorsReader& reader, const std::string& name) {
  std::string bytes(static_cast<std::size_t>(reader.stored(name).bytes), '\0');
  reader.read_bytes(name, 0, bytes.data(), std::ssize(bytes));
  return bytes;
}

// As in make_quantized.py.
std::string hash_of(const std::string& bytes) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001B3U;
  return fmt::format("{:016x}", hash);
}

std::map<std::string, std::string> stored_in(const std::string& directory) {
  const SafetensorsReader reader(directory);
  std::map<std::string, std::string> all;
  for (const std::string& name : reader.names()) all[name] = stored_bytes(reader, name);
  return all;
}

class QuantizeModel : public testing::Test {
 protected:
  std::string quantized(const std::string& golden, const std::string& format,
                        std::int64_t shard_bytes = 5'000'000'000) {
    std::string out = directory_.path(golden + "-" + format);
    sum_ = quantize_model(read_golden(golden).directory, format, out,
                          {.shard_bytes = shard_bytes, .replace = true}, MPI_COMM_SELF);
    return out;
  }
  std::vector<float> decoded(const std::string& directory, const std::string& name) const {
    const ModelConfig model =
        model_from_huggingface(contents(directory + "/config.json"), "config.json");
    const HuggingfaceWeights weights(directory, model);
    for (const GlobalTensor& tensor : global_tensors(model)) {
      if (tensor.name != name) continue;
      std::vector<float> values(static_cast<std::size_t>(tensor.shape.elements()));
      weights.read(name, 0, Tensor(values.data(), {std::ssize(values)}));
      return values;
    }
    return {};
  }
  QuantizeSummary sum_;
  TempDirectory directory_;
};

TEST_F(QuantizeModel, WritesTheTensorsOfBitsandbytes) {
  for (const std::string base : {"llama-tiny", "gpt2-tiny"})
    for (const std::string format : {"nf4", "fp4", "int8"}) {
      const json& expected = made()[base][format];
      const SafetensorsReader reader(quantized(base, format));
      EXPECT_EQ(reader.names().size(), expected.size()) << base << " " << format;
      for (const auto& entry : expected.items()) {
        ASSERT_TRUE(reader.contains(entry.key())) << entry.key();
        const SafetensorsStored stored = reader.stored(entry.key());
        EXPECT_EQ(stored.type, entry.value()[0]) << entry.key();
        EXPECT_EQ(json(stored.shape), entry.value()[1]) << entry.key();
        EXPECT_EQ(hash_of(stored_bytes(reader, entry.key())), entry.value()[2])
            << format << " " << entry.key();
      }
    }
}

// PyTorch's mean in float32 may differ in its last bit; codes and maps do not.
TEST_F(QuantizeModel, WritesNestedScalesAsBitsandbytes) {
  const std::string map = "model.layers.2.mlp.up_proj.weight";
  const json& expected = made()["llama-tiny"]["nf4-double"];
  const std::string out = quantized("llama-tiny", "nf4-double");
  const SafetensorsReader reader(out);
  EXPECT_EQ(reader.names().size(), expected.size());
  for (const auto& entry : expected.items()) {
    const SafetensorsStored stored = reader.stored(entry.key());
    EXPECT_EQ(stored.type, entry.value()[0]) << entry.key();
    if (entry.key().find("quant_state") != std::string::npos) continue;
    EXPECT_EQ(json(stored.shape), entry.value()[1]) << entry.key();
    if (entry.key().find("absmax") == std::string::npos) {
      EXPECT_EQ(hash_of(stored_bytes(reader, entry.key())), entry.value()[2]) << entry.key();
    }
  }
  const json state = json::parse(stored_bytes(reader, map + ".quant_state.bitsandbytes__nf4"));
  EXPECT_EQ(state["shape"], json({176, 64}));
  EXPECT_EQ(state["nested_blocksize"], 256);
  const std::vector<float> plain = decoded(quantized("llama-tiny", "nf4"), map);
  const std::vector<float> nested = decoded(out, map);
  ASSERT_EQ(plain.size(), 176U * 64U);
  ASSERT_EQ(nested.size(), plain.size());
  int different = 0;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    EXPECT_NEAR(nested[i], plain[i], 0.02F * std::abs(plain[i]));
    different += nested[i] != plain[i] ? 1 : 0;
  }
  EXPECT_GT(different, 0);
}

// Values read again are near the original.
TEST_F(QuantizeModel, IsReadNearTheOriginal) {
  for (const std::string base : {"llama-tiny", "gpt2-tiny", "phi3"}) {
    const std::string map = base == "gpt2-tiny" ? "transformer.h.1.mlp.c_fc.weight"
                            : base == "phi3"    ? "model.layers.1.self_attn.qkv_proj.weight"
                                                : "model.layers.1.mlp.down_proj.weight";
    const std::vector<float> original = decoded(read_golden(base).directory, map);
    ASSERT_FALSE(original.empty());
    double norm = 0.0;
    for (const float x : original) norm += x * x;
    for (const auto& [format, most] :
         std::map<std::string, double>{{"nf4", 0.1}, {"fp4", 0.16}, {"int8", 0.01}}) {
      const std::vector<float> found = decoded(quantized(base, format), map);
      ASSERT_EQ(found.size(), original.size());
      double error = 0.0;
      for (std::size_t i = 0; i < found.size(); ++i)
        error += (found[i] - original[i]) * (found[i] - original[i]);
      EXPECT_LT(std::sqrt(error / norm), most) << base << " " << format;
      EXPECT_GT(error, 0.0);
    }
  }
}

TEST_F(QuantizeModel, KeepsATensorsPartsInOneShard) {
  const std::string one = quantized("llama-tiny", "nf4-double");
  const auto whole = stored_in(one);
  EXPECT_EQ(sum_.quantized, 28);
  EXPECT_EQ(sum_.files.files, 1);
  EXPECT_LT(sum_.files.bytes, sum_.bytes_before / 3);
  const std::string many = quantized("llama-tiny", "nf4-double", 20'000);
  EXPECT_GT(sum_.files.files, 5);
  EXPECT_EQ(decoded(many, "model.layers.3.mlp.up_proj.weight"),
            decoded(one, "model.layers.3.mlp.up_proj.weight"));
  EXPECT_EQ(stored_in(many), whole);
}

TEST_F(QuantizeModel, RefusesWhatIsQuantizedAndWhatIsNotFinite) {
  const std::string out = quantized("llama-tiny", "nf4");
  EXPECT_THAT(
      error_of([&] { quantize_model(out, "int8", directory_.path("again"), {}, MPI_COMM_SELF); }),
      HasSubstr("is quantized already"));
  const std::string broken = directory_.path("broken");
  std::filesystem::copy(read_golden("llama-tiny").directory, broken);
  std::string file = contents(broken + "/model.safetensors");
  const float bad = std::numeric_limits<float>::quiet_NaN();
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof length);
  const json header = json::parse(file.substr(sizeof length, length));
  const std::string name = "model.layers.1.mlp.up_proj.weight";
  const std::size_t begin = header[name]["data_offsets"][0];
  std::memcpy(file.data() + sizeof length + length + begin + 400, &bad, sizeof bad);
  directory_.file("broken/model.safetensors", file);
  EXPECT_THAT(
      error_of([&] { quantize_model(broken, "nf4", directory_.path("never"), {}, MPI_COMM_SELF); }),
      HasSubstr(name + " has a value that is not finite"));
}

}  // namespace
}  // namespace triax::test
