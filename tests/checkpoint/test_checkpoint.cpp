// SPDX-License-Identifier: Apache-2.0
#include "src/checkpoint/checkpoint.hpp"

#include "io/checkpoint/checkpoint_background.hpp"
#include "io/checkpoint/checkpoint_reader.hpp"
#include "io/checkpoint/checkpoint_writer.hpp"
#include "src/checkpoint/optimizer_states.hpp"
#include "src/config/model/huggingface.hpp"
#include "src/state/weights/initial_weights.hpp"
#include "tests/io/rank_fixtures.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

ModelConfig golden_model(const std::string& name) {
  return model_from_huggingface(contents(read_golden(name).directory + "/config.json"), name);
}

// State of a run with a given layout on all ranks.
struct State {
  ProcessGrid grid;
  Stage stage;
  ParameterStore store;
  Optimizer optimizer;
  static DataShard shard_of(const Layout& layout, int data_rank) {
    return {.size = layout.data, .rank = data_rank, .zero_stage = layout.zero};
  }
  // Saving and restoring needs no whole buckets: the pools stay empty.
  static WholeBuffers whole_of(const Stage& stage, const Layout& layout) {
    return {std::vector<int>(lay_out_blocks(stage, shard_of(layout, 0)).size(), 0), {0}, {0}, {}};
  }
  State(const ModelConfig& model, const Layout& layout)
      : grid(MPI_COMM_WORLD, {layout.data, layout.pipeline, layout.tensor}),
        stage(model,
              {layout.pipeline,
               grid.pipeline_rank(),
               layout.chunks,
               {layout.tensor, grid.tensor_rank(), layout.sequence_parallel}},
              16),
        store(stage, grid, {.shard = shard_of(layout, grid.data_rank())}, whole_of(stage, layout)),
        optimizer(store, {}, 1.0) {}
};

// Value of a tensor's element, different for each tensor, index and `salt`.
float value_at(const std::string& name, std::int64_t index, int salt) {
  const auto seed = std::hash<std::string>{}(name) % 997;
  return static_cast<float>(seed + static_cast<std::size_t>(salt)) +
         static_cast<float>(index % 4099) / 4099.0F;
}

// Calls visit(value, expected) for every element in memory: owned, copied, and padding (expected
// 0).
void for_each_value(const ParameterBlock& block, const BlockView& values, int salt,
                    const std::function<void(float&, float)>& visit) {
  std::vector<float> expected(static_cast<std::size_t>(block.elements));
  for (const PlacedParameter& param : block.params)
    for (const Piece& piece : param.spec.pieces)
      for_each_run(intersect(piece, param.spec.shape, 0, param.spec.shape.elements()),
                   param.spec.shape, [&](std::int64_t at, std::int64_t global, std::int64_t count) {
                     for (std::int64_t i = 0; i < count; ++i)
                       expected[static_cast<std::size_t>(param.offset + at + i)] =
                           value_at(piece.name, global + i, salt);
                   });
  for (std::int64_t i = values.range.begin; i < values.range.end; ++i)
    visit(values.data.as<float>()[i - values.range.begin], expected[static_cast<std::size_t>(i)]);
}

// Visits weights with salt 0 and the moments with salts 1 and 2.
void for_each_value(const State& state, const std::function<void(float&, float)>& visit) {
  for (int b = 0; b < static_cast<int>(state.store.blocks().size()); ++b) {
    const ParameterBlock& block = state.store.blocks()[static_cast<std::size_t>(b)];
    for_each_value(block, weights_of(state.store)(b), 0, visit);
    for_each_value(block, first_moments_of(state.optimizer)(b), 1, visit);
    for_each_value(block, second_moments_of(state.optimizer)(b), 2, visit);
  }
}

void fill(const State& state) {
  for_each_value(state, [](float& value, float expected) { value = expected; });
}

std::int64_t wrong_values(const State& state) {
  std::int64_t wrong = 0;
  for_each_value(state, [&](float value, float expected) { wrong += value != expected ? 1 : 0; });
  return wrong;
}

CheckpointHeader header_of(const ModelConfig& model) {
  CheckpointHeader header;
  header.step = 3;
  header.samples = 24;
  header.job = "{}";
  header.model = huggingface_config(model);
  header.grid = "{}";
  return header;
}

void save(const std::string& path, const ModelConfig& model, State& state) {
  save_checkpoint(Stream{}, path, header_of(model), model, state.store, &state.optimizer,
                  state.grid);
}

const std::vector<Layout> all_layouts = {
    {},
    {.chunks = 3},
    {.tensor = 2},
    {.tensor = 2, .sequence_parallel = false},
    {.pipeline = 2},
    {.pipeline = 2, .chunks = 2},
    {.data = 2},
    {.data = 2, .zero = 1},
    {.tensor = 4},
    {.pipeline = 4},
    {.data = 4, .zero = 1},
    {.tensor = 2, .pipeline = 2},
    {.tensor = 2, .data = 2, .zero = 1},
    {.pipeline = 2, .data = 2, .zero = 1},
};

// A file of one grid restores weights, moments, copies and padding of another grid exactly, on
// every rank.
TEST(Checkpoint, EveryGridRestoresEveryOthersFile) {
  for (const std::string name : {"gpt2-tiny", "gpt2-odd", "qwen2-odd"}) {
    const SharedDirectory directory;
    const ModelConfig model = golden_model(name);
    int number = 0;
    std::vector<std::pair<std::string, std::unique_ptr<State>>> states;
    for (Layout layout : all_layouts) {
      layout.micro = 1;
      if (layout.ranks() == world_size() && carries(read_golden(name), layout))
        states.emplace_back(layout.text(), std::make_unique<State>(model, layout));
    }
    for (const auto& [from, saved] : states) {
      const std::string path = directory.path(fmt::format("step-{}.h5", number++));
      fill(*saved);
      save(path, model, *saved);
      const CheckpointReader reader(path);
      for (const auto& [to, restored] : states) {
        SCOPED_TRACE(name + " from " + from + " to " + to);
        for_each_value(*restored, [](float& value, float expected) {
          value = expected == 0.0F ? 0.0F : -1.0F;
        });
        restore_checkpoint(Stream{}, reader, model, restored->store, &restored->optimizer,
                           restored->grid);
        EXPECT_EQ(wrong_values(*restored), 0);
      }
    }
  }
}

// The copy is made as late as the optimizer permits, with contiguous pieces and with others.
TEST(Checkpoint, ASnapshotHasTheStateFromBeforeTheUpdateThatWaitsForIt) {
  const SharedDirectory directory;
  const ModelConfig model = golden_model("gpt2-tiny");
  const Stream stream;
  for (Layout layout : all_layouts) {
    layout.micro = 1;
    if (layout.ranks() != world_size() || !carries(read_golden("gpt2-tiny"), layout)) continue;
    SCOPED_TRACE(layout.text());
    State state(model, layout);
    fill(state);
    CheckpointSnapshot snapshot(
        snapshot_bytes(state.store.blocks(), DType::f32, state.optimizer.states()));
    take_snapshot(stream, state.store, state.optimizer, snapshot);
    bool copied = false;
    state.optimizer.before_update([&] {
      EXPECT_TRUE(copied || wrong_values(state) == 0);
      snapshot.copy(stream);
      copied = true;
    });
    const auto step = [&](bool usable) {
      state.optimizer.gradient_norm(stream, state.grid.world(), {}, usable);
      for (int b = 0; b < std::ssize(state.store.blocks()); ++b)
        state.optimizer.step(stream, b, -1, {.learning_rate = 0.1});
    };
    for (int b = 0; b < std::ssize(state.store.blocks()); ++b) {
      const BlockView& gradients = state.store.gradients(b);
      std::fill_n(gradients.data.as<float>(), gradients.range.count(), 1.0F);
    }
    step(false);
    EXPECT_FALSE(copied) << "a step that changes nothing waits for nothing";
    step(true);
    EXPECT_TRUE(copied);
    EXPECT_GT(wrong_values(state), 0);

    const std::string path = directory.path("step-1.h5");
    CheckpointWriter writer(path, state.grid);
    writer.create(header_of(model), checkpoint_tensors(model, state.store, &state.optimizer));
    BackgroundWrite(writer, snapshot).wait();
    writer.publish();
    restore_checkpoint(stream, CheckpointReader(path), model, state.store, &state.optimizer,
                       state.grid);
    EXPECT_EQ(wrong_values(state), 0);
  }
}

TEST(Checkpoint, HoldsHuggingFaceTensorsInGlobalShape) {
  const SharedDirectory directory;
  const ModelConfig model = golden_model("gpt2-odd");
  State state(model, {.data = world_size(), .zero = 1});
  fill(state);
  save(directory.path("step-1.h5"), model, state);
  const CheckpointReader reader(directory.path("step-1.h5"));
  EXPECT_EQ(reader.header().step, 3);
  EXPECT_EQ(reader.header().samples, 24);
  for (const GlobalTensor& tensor : global_tensors(model)) {
    EXPECT_EQ(reader.shape("/model/" + tensor.name), tensor.shape);
    EXPECT_EQ(reader.shape("/optimizer/exp_avg/" + tensor.name), tensor.shape);
    EXPECT_EQ(reader.shape("/optimizer/exp_avg_sq/" + tensor.name), tensor.shape);
  }
  EXPECT_EQ(reader.shape("/model/lm_head.weight"), (Shape{131, 48}));
  EXPECT_EQ(reader.tensors().size(), 3 * global_tensors(model).size());
}

TEST(Checkpoint, WithoutOptimizerOnlyWeightsAreRead) {
  const SharedDirectory directory;
  const ModelConfig model = golden_model("llama-tiny");
  State saved(model, {.data = world_size()});
  fill(saved);
  save(directory.path("step-1.h5"), model, saved);
  State restored(model, {.data = world_size()});
  restore_checkpoint(Stream{}, CheckpointReader(directory.path("step-1.h5")), model, restored.store,
                     nullptr, restored.grid);
  const auto weight = restored.store.weights(0);
  EXPECT_EQ(weight.data.as<float>()[0], saved.store.weights(0).data.as<float>()[0]);
  EXPECT_EQ(restored.optimizer.kept_state(0).states[0].data.as<float>()[0], 0.0F);
}

TEST(Checkpoint, OfWeightsAloneLeavesMomentsOfZero) {
  const SharedDirectory directory;
  const ModelConfig model = golden_model("gpt2-odd");
  const Layout layout{.data = world_size(), .zero = 1};
  State state(model, layout);
  fill(state);
  save_checkpoint(Stream{}, directory.path("step-1.h5"), header_of(model), model, state.store,
                  nullptr, state.grid);
  const CheckpointReader reader(directory.path("step-1.h5"));
  EXPECT_EQ(reader.tensors().size(), global_tensors(model).size());
  EXPECT_TRUE(saved_states(reader).empty());
  State expected(model, layout);
  fill(expected);
  restore_checkpoint(Stream{}, reader, model, state.store, &state.optimizer, state.grid);
  for (int b = 0; b < static_cast<int>(state.store.blocks().size()); ++b) {
    const auto same = [](const BlockView& a, const BlockView& c) {
      return std::equal(a.data.as<float>(), a.data.as<float>() + a.range.count(),
                        c.data.as<float>());
    };
    EXPECT_TRUE(same(state.store.weights(b), expected.store.weights(b)));
    for (const BlockView& moments :
         {state.optimizer.kept_state(b).states[0], state.optimizer.kept_state(b).states[1]})
      EXPECT_EQ(std::count(moments.data.as<float>(),
                           moments.data.as<float>() + moments.range.count(), 0.0F),
                moments.range.count());
  }
}

TEST(Checkpoint, AnotherModelIsRefused) {
  const SharedDirectory directory;
  const ModelConfig model = golden_model("gpt2-odd");
  State saved(model, {.data = world_size()});
  save(directory.path("step-1.h5"), model, saved);
  const auto error_on = [&](const ModelConfig& other) {
    State state(other, {.data = world_size()});
    return error_of([&] {
      check_same_model(CheckpointReader(directory.path("step-1.h5")), other, state.grid);
    });
  };
  EXPECT_EQ(error_on(model), "");
  EXPECT_THAT(
      error_on(golden_model("llama-tiny")),
      AllOf(HasSubstr("no tensor /model/model.embed_tokens.weight"), HasSubstr("another model")));
  ModelConfig wider = model;
  wider.vocabulary = 132;
  EXPECT_THAT(error_on(wider), AllOf(HasSubstr("/model/transformer.wte.weight"),
                                     HasSubstr("(131, 48)"), HasSubstr("(132, 48)")));
  ModelConfig deeper = model;
  deeper.layers = 7;
  EXPECT_THAT(error_on(deeper), HasSubstr("transformer.h.6"));
  // Models with the same tensor names and shapes, or whose tensors are all in the file.
  ModelConfig fewer_heads = model;
  fewer_heads.heads = fewer_heads.kv_heads = 3;
  fewer_heads.head_size = 16;
  EXPECT_THAT(error_on(fewer_heads), HasSubstr("n_head is 6 in the checkpoint, 3 in the job"));
  ModelConfig shallower = model;
  shallower.layers = 4;
  EXPECT_THAT(error_on(shallower), HasSubstr("n_layer is 6 in the checkpoint, 4 in the job"));
  ModelConfig with_dropout = model;
  with_dropout.residual_dropout = 0.1F;
  EXPECT_EQ(error_on(with_dropout), "");
}

}  // namespace
}  // namespace triax::test
