// SPDX-License-Identifier: Apache-2.0
// Answers of models whose weights are held in 16 or few bits: on every grid those of the same
// weights in float32, bit for bit, in any company.
#include "src/inference/held_weights.hpp"

#include <gmock/gmock.h>

#include "src/huggingface/quantize_model.hpp"
#include "src/inference/grid/grid_engine.hpp"
#include "tests/inference/engine/engine_model.hpp"
#include "tests/inference/held_model.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/matchers.hpp"

namespace triax::test {
namespace {

using testing::HasSubstr;

std::vector<GenerationRequest> company(std::int64_t vocabulary) {
  std::vector<GenerationRequest> all;
  for (std::uint64_t id = 1; id <= 9; ++id) {
    GenerationRequest request{.id = id};
    request.prompt = some_tokens(1 + static_cast<std::int64_t>(7 * id % 22), vocabulary, id % 4);
    request.choice.temperature = id % 2 == 0 ? 0.0 : 0.7;
    request.choice.seed = id;
    request.max_tokens = id % 4 == 1 ? 0 : 7;
    if (request.max_tokens == 0) request.pooling = Pooling::mean;
    request.log_probabilities = 3;
    request.prompt_log_probabilities = id % 3 == 0;
    all.push_back(request);
  }
  return all;
}

// Grids of all ranks: tensor, pipeline, both, replicas.
std::vector<GridShape> every_grid() {
  std::vector<GridShape> all;
  const int ranks = world_size();
  for (const int tensor : {1, 2})
    for (const int pipeline : {1, 2})
      if (ranks % (tensor * pipeline) == 0)
        all.push_back({.data = ranks / tensor / pipeline, .pipeline = pipeline, .tensor = tensor});
  return all;
}

// Answers on rank 0; none elsewhere. `at_once`: all requests share the steps.
Answers answers_of_model(GridModel& model, bool at_once = true) {
  Answers found;
  with_engine(model, {.tokens_per_step = 23}, [&](Engine& engine) {
    const auto all = company(engine.vocabulary());
    if (at_once) found = answers_of(engine, all);
    for (const GenerationRequest& request : all)
      if (!at_once) found.merge(answers_of(engine, {request}));
  });
  return found;
}

void expect_same_bits(const Answers& found, const Answers& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (const auto& [id, answer] : expected) {
    EXPECT_TRUE(same(found.at(id).tokens, answer.tokens)) << id;
    EXPECT_TRUE(same(found.at(id).prompt, answer.prompt)) << id;
    EXPECT_EQ(found.at(id).embedding, answer.embedding) << id;
  }
}

// The type of each parameter with two dimensions, but for packed ones.
std::set<DType> types_of_matrices(const GridModel& model) {
  std::set<DType> types;
  for (int l = 0; l < model.stage().layers(0); ++l)
    for (std::size_t i = 0; i < model.layer(l).weights.size(); ++i) {
      const ParameterSpec& spec = model.stage().layer(0, l).params()[i];
      const DType type = model.layer(l).weights[i].dtype();
      if (!spec.packed && spec.shape.rank() == 2) types.insert(type);
      if (spec.shape.rank() == 1 && !spec.packed) {
        EXPECT_EQ(type, DType::f32) << spec.label;
      }
    }
  return types;
}

bool has_packed(const GridModel& model) {
  bool packed = false;
  for (int l = 0; l < model.stage().layers(0); ++l)
    for (const ParameterSpec& spec : model.stage().layer(0, l).params())
      packed = packed || spec.packed;
  return packed;
}

class HeldIn16Bits : public testing::TestWithParam<DType> {
 protected:
  SharedDirectory directory_;
};

TEST_P(HeldIn16Bits, AnswersHaveTheBitsOfFloat32OnEveryGrid) {
  for (const std::string family : {"gpt2-odd", "llama-scaled", "gemma2", "qwen2-tiny", "pythia"}) {
    const std::string path = narrow_copy(directory_, family, GetParam());
    for (const GridShape& shape : every_grid()) {
      SCOPED_TRACE(family + " on " + shape.text());
      HeldModel wide(path, "f32", MPI_COMM_WORLD, shape);
      HeldModel narrow(path, "auto", MPI_COMM_WORLD, shape);
      EXPECT_THAT(types_of_matrices(wide.model()), testing::ElementsAre(DType::f32));
      EXPECT_THAT(types_of_matrices(narrow.model()), testing::ElementsAre(GetParam()));
      const Answers expected = answers_of_model(wide.model());
      expect_same_bits(answers_of_model(narrow.model()), expected);
      expect_same_bits(answers_of_model(narrow.model(), /*at_once=*/false), expected);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, HeldIn16Bits, testing::Values(DType::bf16, DType::f16),
                         [](const auto& info) { return std::string(name_of(info.param)); });

// Linear maps in the bits of the files: the answers of the same files decoded as they are loaded.
TEST(HeldInFewBits, AnswersHaveTheBitsOfTheDecodedWeights) {
  const SharedDirectory directory;
  for (const std::string format : {"nf4", "nf4-double", "int8"}) {
    const std::string path = directory.path(format);
    quantize_model(read_golden("qwen2-tiny").directory, format, path, {}, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    for (const GridShape& shape : every_grid()) {
      if (format != "int8" && shape.tensor > 1) continue;  // groups of 64 lie across two ranks
      SCOPED_TRACE(format + " on " + shape.text());
      HeldModel decoded(path, "f32", MPI_COMM_WORLD, shape);
      HeldModel kept(path, format, MPI_COMM_WORLD, shape);
      EXPECT_TRUE(has_packed(kept.model()) && !has_packed(decoded.model()));
      const Answers expected = answers_of_model(decoded.model());
      expect_same_bits(answers_of_model(kept.model()), expected);
      expect_same_bits(answers_of_model(kept.model(), /*at_once=*/false), expected);
    }
  }
}

// Plain files are quantized as they are loaded; what is no linear map stays exact.
TEST(HeldInFewBits, PlainFilesAreQuantizedAndOtherTensorsAreExact) {
  const SharedDirectory directory;
  const std::string path = narrow_copy(directory, "qwen2-tiny", DType::bf16);
  const std::string golden = read_golden("qwen2-tiny").directory;
  const std::string quantized = directory.path("int8");
  quantize_model(golden, "int8", quantized, {}, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  const GridShape shape{.data = world_size()};
  HeldModel kept(path, "int8", MPI_COMM_WORLD, shape);
  EXPECT_TRUE(has_packed(kept.model()));
  EXPECT_THAT(types_of_matrices(kept.model()), testing::ElementsAre(DType::bf16));
  HeldModel plain(golden, "int8", MPI_COMM_WORLD, shape);
  HeldModel files(quantized, "int8", MPI_COMM_WORLD, shape);
  expect_same_bits(answers_of_model(plain.model()), answers_of_model(files.model()));
  EXPECT_THAT(error_of([&] { HeldModel(quantized, "nf4"); }), HasSubstr("the files have int8"));
}

// A rank keeps half the bytes.
TEST(HeldWeights, SixteenBitsTakeHalfTheMemory) {
  const SharedDirectory directory;
  const std::string path = narrow_copy(directory, "qwen2-tiny", DType::bf16);
  HeldModel model(path, "auto");
  const auto& weights = model.model().layer(1).weights;
  std::int64_t bytes = 0, elements = 0;
  for (const Tensor& weight : weights)
    if (weight.rank() == 2) bytes += weight.bytes(), elements += weight.elements();
  EXPECT_GT(elements, 0);
  EXPECT_EQ(bytes, 2 * elements);
}

TEST(HeldWeights, AutoIsTheExactTypeWhereEachStepReadsThemOnce) {
  const SharedDirectory directory;
  const std::string golden = read_golden("llama-odd").directory;
  const ModelFiles wide(golden, MPI_COMM_WORLD);
  const ModelFiles narrow(narrow_copy(directory, "llama-odd", DType::f16), MPI_COMM_WORLD);
  const auto held = [](const char* asked, const ModelFiles& files, bool streamed = true,
                       MemorySpace space = MemorySpace::host) {
    return held_weights(asked, files, SavedWeights::trained, space, streamed);
  };
  EXPECT_EQ(held("auto", wide).type, DType::f32);
  EXPECT_EQ(held("auto", wide).note, "");
  EXPECT_EQ(held("auto", narrow).type, DType::f16);
  EXPECT_EQ(held("auto", narrow).note, "weights in memory: f16, as in the files");
  EXPECT_EQ(held("auto", narrow, false).type, DType::f32);
  EXPECT_EQ(held("auto", narrow, true, MemorySpace::device).type, DType::f32);
  EXPECT_EQ(held("f32", narrow).type, DType::f32);
  EXPECT_EQ(held("bf16", wide, false).type, DType::bf16);
  EXPECT_EQ(held("bf16", wide).note, "weights in memory: bf16, rounded from f32");
  EXPECT_EQ(held("bf16", narrow).note, "weights in memory: bf16, rounded from f16");
  EXPECT_EQ(held("int8", narrow).maps, "int8");
  EXPECT_EQ(held("int8", narrow).type, DType::f16);
  EXPECT_THAT(error_of([&] { held("bf16", wide, true, MemorySpace::device); }),
              HasSubstr("on a GPU only f32 is built"));
  EXPECT_THAT(error_of([&] { held("f64", wide); }), HasSubstr("auto, f32, bf16, f16"));
}

}  // namespace
}  // namespace triax::test
