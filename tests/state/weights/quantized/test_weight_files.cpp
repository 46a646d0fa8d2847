// SPDX-License-Identifier: Apache-2.0
// Quantized directories that transformers wrote with bitsandbytes, and those of GPTQ and AWQ by
// NumPy (tests/golden/make_quantized.py); contradictions.
#include "src/state/weights/quantized/weight_files.hpp"

#include <functional>
#include <nlohmann/json.hpp>

#include "io/safetensors/safetensors_writer.hpp"
#include "src/config/model/huggingface.hpp"
#include "src/model/families/families.hpp"
#include "src/state/weights/huggingface_weights.hpp"
#include "tests/io/fixtures.hpp"

namespace triax::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

const std::string golden = TRIAX_SOURCE_DIR "/tests/golden/quantized/";

std::vector<float> read(const HuggingfaceWeights& weights, const std::string& name,
                        std::int64_t begin, std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  weights.read(name, begin, Tensor(values.data(), {count}));
  return values;
}

// As in make_quantized.py.
std::string hash_of(const std::vector<float>& values) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  const auto* bytes = reinterpret_cast<const unsigned char*>(values.data());
  for (std::size_t i = 0; i < values.size() * sizeof(float); ++i)
    hash = (hash ^ bytes[i]) * 0x100000001B3U;
  return fmt::format("{:016x}", hash);
}

ModelConfig model_in(const std::string& directory) {
  return model_from_huggingface(contents(directory + "/config.json"), "config.json");
}

class QuantizedDirectory : public testing::TestWithParam<const char*> {};

TEST_P(QuantizedDirectory, DecodesToTheBitsOfItsLibrary) {
  const std::string directory = golden + GetParam();
  const ModelConfig model = model_in(directory);
  const HuggingfaceWeights weights(directory, model);
  EXPECT_EQ(weights.names().unused, std::vector<std::string>());
  const json decoded = json::parse(contents(directory + "/decoded.json"));
  std::size_t compared = 0;
  for (const GlobalTensor& tensor : global_tensors(model)) {
    const std::int64_t elements = tensor.shape.elements();
    const std::vector<float> whole = read(weights, tensor.name, 0, elements);
    if (!decoded.contains(tensor.name)) continue;
    ++compared;
    EXPECT_EQ(hash_of(whole), decoded[tensor.name]) << tensor.name;
    // Ranges as ranks of a tensor axis and pieces of an export ask for them.
    const std::int64_t columns = tensor.shape[1];
    for (const std::int64_t begin :
         {std::int64_t{0}, std::int64_t{1}, columns - 1, 3 * columns + 5})
      for (const std::int64_t count : {std::int64_t{1}, columns / 2, columns, 4 * columns + 3})
        EXPECT_EQ(read(weights, tensor.name, begin, count),
                  std::vector<float>(whole.begin() + begin, whole.begin() + begin + count))
            << tensor.name << " " << begin << " " << count;
  }
  EXPECT_EQ(compared, decoded.size());
  EXPECT_GE(compared, 4U);
}

INSTANTIATE_TEST_SUITE_P(Formats, QuantizedDirectory,
                         testing::Values("nf4", "nf4-double", "fp4", "int8", "gpt2-nf4", "gptq",
                                         "gptq-reordered", "gptq-2-bits", "gptq-3-bits",
                                         "gptq-8-bits", "awq"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

struct StoredTensor {
  std::string type;
  std::vector<std::int64_t> shape;
  std::string bytes;
};

// A golden directory with other settings, or other tensors.
class Contradiction : public testing::Test {
 protected:
  using Tensors = std::map<std::string, StoredTensor>;
  using Change = std::function<void(json& quantization, Tensors& tensors)>;

  std::string error(const std::string& name, const Change& change) {
    json config = json::parse(contents(golden + name + "/config.json"));
    const SafetensorsReader reader(golden + name);
    Tensors tensors;
    for (const std::string& tensor : reader.names()) {
      const SafetensorsStored stored = reader.stored(tensor);
      std::string bytes(static_cast<std::size_t>(stored.bytes), '\0');
      reader.read_bytes(tensor, 0, bytes.data(), stored.bytes);
      tensors[tensor] = {stored.type, stored.shape, bytes};
    }
    change(config["quantization_config"], tensors);
    if (config["quantization_config"].is_null()) config.erase("quantization_config");
    directory_.file("config.json", config.dump());
    directory_.file("model.safetensors", file_of(tensors));
    return error_of([&] { HuggingfaceWeights(directory_.path(), model_in(directory_.path())); });
  }

  static constexpr const char* q_proj = "model.layers.0.self_attn.q_proj";

 private:
  static std::string file_of(const Tensors& tensors) {
    json header;
    std::string data;
    for (const auto& [name, tensor] : tensors) {
      header[name] = {{"dtype", tensor.type},
                      {"shape", tensor.shape},
                      {"data_offsets", {data.size(), data.size() + tensor.bytes.size()}}};
      data += tensor.bytes;
    }
    const std::string text = header.dump();
    return bytes_of(std::uint64_t{text.size()}) + text + data;
  }
  TempDirectory directory_;
};

TEST_F(Contradiction, GoldenDirectoriesHaveNone) {
  for (const char* name : {"nf4", "int8", "gptq", "awq"})
    EXPECT_EQ(error(name, [](json&, Tensors&) {}), "") << name;
}

TEST_F(Contradiction, OfMethodsAndBits) {
  EXPECT_THAT(error("nf4", [](json& q, Tensors&) { q["quant_method"] = "fp8"; }),
              AllOf(HasSubstr("quant_method fp8 is not supported"),
                    HasSubstr("bitsandbytes, gptq and awq")));
  EXPECT_THAT(error("nf4", [](json& q, Tensors&) { q = nullptr; }),
              AllOf(HasSubstr("has quantized weights"), HasSubstr("no quantization_config")));
  EXPECT_THAT(error("nf4", [](json& q, Tensors&) { q["bnb_4bit_quant_type"] = "fp4"; }),
              AllOf(HasSubstr("it has 4 bits of type nf4"), HasSubstr("says 4 bits of fp4")));
  EXPECT_THAT(error("int8",
                    [](json& q, Tensors&) {
                      q["load_in_4bit"] = q["_load_in_4bit"] = true;
                      q["load_in_8bit"] = q["_load_in_8bit"] = false;
                    }),
              AllOf(HasSubstr("it has 8 bits"), HasSubstr("says 4 of fp4")));
  EXPECT_THAT(error("nf4", [](json& q, Tensors&) { q["load_in_8bit"] = true; }),
              HasSubstr("load_in_4bit and load_in_8bit are both true"));
  EXPECT_THAT(error("gptq", [](json& q, Tensors&) { q["bits"] = 8; }),
              AllOf(HasSubstr("makes 4 bits for 96 inputs"), HasSubstr("says 8 bits")));
  EXPECT_THAT(error("gptq", [](json& q, Tensors&) { q["checkpoint_format"] = "marlin"; }),
              HasSubstr("checkpoint_format marlin is not supported"));
  EXPECT_THAT(error("awq", [](json& q, Tensors&) { q["version"] = "gemv"; }),
              HasSubstr("version gemv is not supported"));
  EXPECT_THAT(error("gptq", [](json& q, Tensors&) { q["quant_method"] = "awq"; }),
              HasSubstr("g_idx is there"));
}

TEST_F(Contradiction, OfBitsandbytesTensors) {
  const std::string weight = std::string(q_proj) + ".weight";
  EXPECT_THAT(error("nf4",
                    [&](json&, Tensors& tensors) {
                      StoredTensor& absmax = tensors.at(weight + ".absmax");
                      absmax.bytes.resize(absmax.bytes.size() - 4);
                      --absmax.shape[0];
                    }),
              AllOf(HasSubstr(weight + ".absmax has shape (63)"), HasSubstr("must be (64)")));
  EXPECT_THAT(error("nf4", [&](json&, Tensors& tensors) { tensors.erase(weight + ".absmax"); }),
              HasSubstr(weight + ".absmax is missing"));
  EXPECT_THAT(error("nf4",
                    [&](json&, Tensors& tensors) {
                      tensors.erase(weight + ".quant_state.bitsandbytes__nf4");
                    }),
              HasSubstr("its quant_state is missing"));
  EXPECT_THAT(
      error("nf4",
            [&](json&, Tensors& tensors) { tensors.at(weight + ".quant_map").bytes[7] ^= 1; }),
      HasSubstr("quant_map is not the table of its type"));
  EXPECT_THAT(error("nf4-double",
                    [&](json&, Tensors& tensors) { tensors.erase(weight + ".nested_absmax"); }),
              HasSubstr(weight + ".nested_absmax is missing"));
  EXPECT_THAT(
      error("int8", [&](json&, Tensors& tensors) { tensors.erase(std::string(q_proj) + ".SCB"); }),
      HasSubstr("its SCB is missing"));
  EXPECT_THAT(error("int8",
                    [&](json&, Tensors& tensors) {
                      tensors.at(std::string(q_proj) + ".weight_format").bytes[0] = 1;
                    }),
              HasSubstr("weight_format is not 0"));
}

// Zero points of version 2 called version 1, and the reverse; groups that do not follow each other.
TEST_F(Contradiction, OfGptqTensors) {
  EXPECT_THAT(
      error("gptq", [](json& q, Tensors&) { q["checkpoint_format"] = "gptq_v2"; }),
      AllOf(HasSubstr("the zero point of group 0, output 0 is 7"), HasSubstr("makes it 8")));
  EXPECT_THAT(error("gptq-3-bits", [](json& q, Tensors&) { q["checkpoint_format"] = "gptq"; }),
              AllOf(HasSubstr("is 5"), HasSubstr("makes it 4")));
  EXPECT_THAT(error("gptq-reordered", [](json& q, Tensors&) { q["desc_act"] = false; }),
              AllOf(HasSubstr("g_idx puts input"), HasSubstr("says no desc_act")));
  EXPECT_THAT(error("gptq-reordered",
                    [&](json&, Tensors& tensors) {
                      tensors.at(std::string(q_proj) + ".g_idx").bytes[0] = 9;
                    }),
              HasSubstr("into group 9 (there are 8 groups)"));
  EXPECT_THAT(error("gptq", [](json& q, Tensors&) { q["group_size"] = 8; }),
              AllOf(HasSubstr("scales has shape (6, 64)"), HasSubstr("must be (12, 64)")));
}

}  // namespace
}  // namespace triax::test
