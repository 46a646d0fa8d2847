// SPDX-License-Identifier: Apache-2.0
// Work of a block during its messages.
#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "src/model/block/block_layer.hpp"
#include "tests/model/layer_run.hpp"
#include "tests/model/small_models.hpp"

namespace triax::test {
namespace {

// A group of two in which only rank 0 exists: messages transfer nothing. Each call is recorded with
// the caller's progress.
class NotedMessages final : public Communicator {
 public:
  /// `done` returns the number of gradients computed so far.
  explicit NotedMessages(std::function<std::int64_t()> done) : done_(std::move(done)) {}

  int rank() const override { return 0; }
  int size() const override { return 2; }
  Request all_reduce(const Stream&, const Tensor&, ReduceOp) override { return start("sum"); }
  Request reduce_scatter(const Stream&, const Tensor&, const Tensor&) override {
    return start("sum");
  }
  Request all_gather(const Stream&, const Tensor&, const Tensor&) override {
    return start("gather");
  }
  Request all_gather_run(const Stream&, const Tensor&, std::int64_t, std::int64_t) override {
    return {};
  }
  Request broadcast(const Stream&, const Tensor&, int) override { return {}; }
  Request send(const Stream&, const Tensor&, int, int) override { return {}; }
  Request receive(const Stream&, const Tensor&, int, int) override { return {}; }
  Request barrier(const Stream&) override { return {}; }
  Traffic traffic() const override { return {}; }

  // Gradients computed between the start and the wait of each sum.
  std::vector<std::int64_t> made_during_sums() const {
    std::vector<std::int64_t> made;
    for (const Message& message : messages_)
      if (message.what == "sum") made.push_back(message.done_at_end - message.done_at_start);
    return made;
  }
  int most_under_way() const { return most_; }

 protected:
  void wait(std::uintptr_t handle, const Stream&) override {
    messages_[handle].done_at_end = done_();
    --under_way_;
  }
  bool test(std::uintptr_t) override { return false; }

 private:
  struct Message {
    std::string what;
    std::int64_t done_at_start, done_at_end = -1;
  };
  Request start(const std::string& what) {
    messages_.push_back({what, done_()});
    most_ = std::max(most_, ++under_way_);
    return Request(this, messages_.size() - 1);
  }

  std::function<std::int64_t()> done_;
  std::vector<Message> messages_;
  int under_way_ = 0, most_ = 0;
};

class BlockMessages : public testing::TestWithParam<bool> {};

// A half computes the weight gradient of its first map during the sum of the input gradient.
TEST_P(BlockMessages, AreUnderWayWhileGradientsAreMade) {
  const TensorShard shard{2, 0, GetParam()};
  const ModelConfig model = small_model("gpt2");
  const BlockLayer block(model, 0, shard, {});
  const BatchShape shape = batch_shape(2, 4, shard);
  LayerRun run(block, shape, model.hidden, 0.1F);
  NotedMessages messages([&] {
    return std::ranges::count_if(run.gradients, [](const std::vector<float>& gradient) {
      return gradient.front() != -77.0F;
    });
  });
  const Context alone = run.context();
  const Context ctx{.stream = alone.stream,
                    .tensor = messages,
                    .shard = shard,
                    .shape = shape,
                    .scratch = alone.scratch,
                    .tokens = {},
                    .labels = {},
                    .loss_sum = {}};
  std::vector<float> x = random_floats(shape.local_rows * model.hidden, 1), dx(x.size());
  const auto rows = [&](std::vector<float>& of) {
    return Tensor(of.data(), {shape.local_rows, model.hidden});
  };
  const Buffer memory(block.frame_bytes(shape));
  const Tensor frame = memory.tensor(DType::u8, {static_cast<std::int64_t>(memory.bytes())});
  fill_zero(alone.stream, frame);
  block.backward(ctx, run.views(), rows(x), rows(x), rows(dx), frame);
  const std::int64_t weight_and_bias = 2;
  EXPECT_THAT(messages.made_during_sums(), testing::ElementsAre(weight_and_bias, weight_and_bias));
  EXPECT_EQ(messages.most_under_way(), block.messages(shape).backward.at_once);
  EXPECT_EQ(messages.most_under_way(), GetParam() ? 2 : 1);
}

INSTANTIATE_TEST_SUITE_P(SequenceParallel, BlockMessages, testing::Bool());

}  // namespace
}  // namespace triax::test
