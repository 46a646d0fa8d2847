// SPDX-License-Identifier: Apache-2.0
#include "src/config/resolve/resolve.hpp"

#include <gmock/gmock.h>

#include "src/state/optimizer/rules/rules.hpp"
#include "tests/config/job_files.hpp"

namespace triax {
namespace {
using testing::HasSubstr;

class Resolve : public testing_support::JobFiles {};

TEST_F(Resolve, TimesLeaveRoomForAStep) {
  const auto times = [&](const std::string& leave, const std::string& limit) {
    return error("", 1, {"run.stop_before_end=" + leave, "run.time_limit=" + limit});
  };
  EXPECT_EQ(times("179s", "3m"), "");
  EXPECT_EQ(times("180s", "0"), "") << "Slurm's limit counts";
  EXPECT_THAT(times("180s", "3m"),
              HasSubstr("run.stop_before_end: 180 s is all of run.time_limit, 180 s"));
  EXPECT_THAT(times("1e10", "0"), HasSubstr("run.stop_before_end: 10000000000.0 is not allowed"));
  EXPECT_THAT(times("0", "1e10"), HasSubstr("run.time_limit: 10000000000.0 is not allowed"));
}

TEST_F(Resolve, LossSpikes) {
  const LossSpikeConfig unsaid = config("").run.loss_spike;
  EXPECT_EQ(unsaid.factor, 3.0);
  EXPECT_EQ(unsaid.window, 50);
  EXPECT_EQ(unsaid.action, SpikeAction::warn);
  EXPECT_EQ(unsaid.max_rollbacks, 3);
  const auto with = [](const std::string& members, const std::string& interval = "5") {
    return R"(, "run": {"loss_spike": {)" + members + R"(}}, "checkpoint": {"interval": )" +
           interval + "}";
  };
  const LossSpikeConfig said =
      config(with(R"("factor": 1.5, "window": 20, "action": "rollback", "max_rollbacks": 7)"))
          .run.loss_spike;
  EXPECT_EQ(said.factor, 1.5);
  EXPECT_EQ(said.window, 20);
  EXPECT_EQ(said.action, SpikeAction::rollback);
  EXPECT_EQ(said.max_rollbacks, 7);
  EXPECT_EQ(config(with(R"("action": "stop")", "0")).run.loss_spike.action, SpikeAction::stop);
  EXPECT_THAT(error(with(R"("action": "rollback")", "0")),
              HasSubstr("job.json:3: run.loss_spike.action: \"rollback\" goes back to a "
                        "checkpoint, and checkpoint.interval 0 writes none before the end. Set"));
  EXPECT_THAT(error(with(R"("action": "retry")")),
              HasSubstr("job.json:3: run.loss_spike.action: \"retry\" is not allowed (allowed: "
                        "\"warn\", \"stop\", \"rollback\")"));
  EXPECT_THAT(error(with(R"("factor": 1)")),
              HasSubstr("job.json:3: run.loss_spike.factor: 1 is not allowed (allowed: > 1)"));
  EXPECT_THAT(error(with(R"("window": 1001)")),
              HasSubstr("run.loss_spike.window: 1001 is not allowed (allowed: 1 <= x <= 1000)"));
  EXPECT_THAT(error(with(R"("max_rollbacks": 0)")),
              HasSubstr("run.loss_spike.max_rollbacks: 0 is not allowed (allowed: 1 <= x"));
  EXPECT_THAT(error(with(R"("windows": 5)")), HasSubstr("run.loss_spike.window"));
}

TEST_F(Resolve, AverageOfTheWeights) {
  const auto with = [](const std::string& members) {
    return R"(, "run": {"ema": {)" + members + "}}";
  };
  EXPECT_FALSE(weight_average_of(config("").optimizer));
  EXPECT_EQ(weight_average_of(config(with(R"("decay": 0.99)")).optimizer),
            (WeightAverage{0.99, 1}));
  EXPECT_EQ(weight_average_of(config(with(R"("decay": 0.5, "interval": 10)")).optimizer),
            (WeightAverage{0.5, 10}));
  EXPECT_THAT(error(with(R"("interval": 10)")),
              HasSubstr("job.json:3: run.ema.interval: it is the interval of an average of the "
                        "weights, which run.ema.decay asks for. Set run.ema.decay"));
  EXPECT_THAT(error(with(R"("decay": 1)")), HasSubstr("run.ema.decay: 1 is not allowed"));
  EXPECT_THAT(error(with(R"("decay": 0.5, "interval": 0)")),
              HasSubstr("run.ema.interval: 0 is not allowed"));
  EXPECT_THAT(error(with(R"("power": 0.5)")), HasSubstr("run.ema.power"));
}

TEST_F(Resolve, FrozenTensors) {
  const auto of = [&](const std::string& members) {
    Trainability found = config(members).model.trainability;
    EXPECT_EQ(found.origin.ends_with("job.json:3"), !members.empty()) << found.origin;
    found.origin.clear();
    return found;
  };
  EXPECT_EQ(of(""), Trainability{});
  EXPECT_EQ(of(R"(, "freeze": ["a.*", "b"])"), (Trainability{.freeze = {"a.*", "b"}}));
  EXPECT_EQ(of(R"(, "freeze": "a.*")"), (Trainability{.freeze = {"a.*"}}));
  EXPECT_EQ(of(R"(, "train_only": "lm_head", "freeze": [])"),
            (Trainability{.train_only = {"lm_head"}}));
  EXPECT_THAT(
      error(R"(, "train_only": "lm_head", "freeze": ["a"])"),
      HasSubstr(
          "job.json:3: train_only: it freezes all other tensors already, and freeze is set too"));
  EXPECT_THAT(error(R"(, "freeze": true)"), HasSubstr("freeze: expected string or list"));
}

TEST_F(Resolve, CountsOfOverflowsFitTheirType) {
  EXPECT_THAT(error(R"(, "fp16": {"enabled": true, "hysteresis": 4294967297})"),
              HasSubstr("fp16.hysteresis: 4294967297 is not allowed (allowed: 1 <= x <= 1"));
}

TEST_F(Resolve, Optimizer) {
  const auto o =
      config(
          R"(, "optimizer": {"type": "adam", "params": {"lr": 6e-4, "betas": [0.8, 0.95], "eps": 1e-6, "weight_decay": 0.1, "adam_w_mode": true}})")
          .optimizer;
  EXPECT_EQ(o.learning_rate, 6e-4);
  EXPECT_EQ(o.beta1, 0.8);
  EXPECT_EQ(o.beta2, 0.95);
  EXPECT_EQ(o.numbers.at("eps"), 1e-6);
  EXPECT_EQ(o.weight_decay, 0.1);
  const auto d =
      config(
          R"(, "optimizer": {"type": "AdamW", "params": {"lr": "auto", "betas": "auto", "eps": "auto", "weight_decay": "auto"}})")
          .optimizer;
  EXPECT_EQ(d.learning_rate, 5e-5) << "of TrainingArguments";
  EXPECT_EQ(config("").optimizer.learning_rate, 1e-3) << "of DeepSpeed's Adam";
  EXPECT_EQ(d.beta2, 0.999);
  EXPECT_EQ(d.weight_decay, 0.0);
}

TEST_F(Resolve, StochasticRoundingIsOfSixteenBits) {
  const std::string on = R"(, "optimizer": {"params": {"stochastic_rounding": true}})";
  EXPECT_THAT(error(on), HasSubstr("no 16-bit weights to round. Enable bf16 or fp16"));
  for (const char* type : {"bf16", "fp16"})
    EXPECT_EQ(config(on + R"(, ")" + type + R"(": {"enabled": true}, "run": {"seed": 5})")
                  .optimizer.stochastic_rounding,
              5U);
  EXPECT_FALSE(config(R"(, "bf16": {"enabled": true})").optimizer.stochastic_rounding);
}

TEST_F(Resolve, OtherOptimizersAreRefusedByName) {
  EXPECT_THAT(
      error(R"(, "optimizer": {"type": "Lamb", "params": {"max_coeff": 1, "lr": 1}})"),
      testing::StrEq("job.json:3: optimizer.type: \"Lamb\" is not built yet. Use "
                     "\"AdamW\", \"Adam\", \"AdamW8bit\", \"Adan\", \"Lion\", \"Muon\", \"SGD\", "
                     "\"Adagrad\""));
  EXPECT_THAT(error(R"(, "optimizer": {"type": "Frob"})"),
              HasSubstr("\"Frob\" is not allowed (allowed: \"AdamW\", \"Adam\", \"AdamW8bit\", "
                        "\"Adan\", \"Lion\", \"Muon\", \"SGD\", \"Adagrad\")"));
  EXPECT_THAT(error(R"(, "optimizer": {"type": "Lyon"})"), HasSubstr("nearest: \"Lion\""));
  EXPECT_EQ(error(R"(, "optimizer": {"type": "Adam", "params": {"adam_w_mode": false}})"), "");
  EXPECT_EQ(error(R"(, "optimizer": {"type": "AdamW", "params": {"adam_w_mode": false}})"), "")
      << "DeepSpeed's AdamW is decoupled whatever this says";
  EXPECT_THAT(error(R"(, "optimizer": {"params": {"betas": [0.9]}})"),
              HasSubstr("expected two numbers, got [0.9]"));
  EXPECT_THAT(error(R"(, "optimizer": {"params": {"betas": [0.9, 1]}})"), HasSubstr("0 <= x < 1"));
  EXPECT_THAT(error(R"(, "optimizer": {"params": {"bias_correction": false}})"),
              HasSubstr("optimizer.params.bias_correction: false is refused"));
}

TEST_F(Resolve, ClippingDefaultsToNone) {
  EXPECT_EQ(config("").gradient_clipping, 0.0);
  EXPECT_EQ(config(R"(, "gradient_clipping": "auto")").gradient_clipping, 1.0);
  EXPECT_EQ(config(R"(, "gradient_clipping": 0.25)").gradient_clipping, 0.25);
  EXPECT_THAT(error(R"(, "gradient_clipping": -1)"), HasSubstr("allowed: >= 0"));
}

TEST_F(Resolve, ClippingIsByNormOrByValue) {
  EXPECT_EQ(config("").optimizer.clip_value, 0.0);
  EXPECT_EQ(config(R"(, "gradient_clipping_value": 0.5)").optimizer.clip_value, 0.5);
  EXPECT_EQ(error(R"(, "gradient_clipping": 0, "gradient_clipping_value": 0.5)"), "");
  EXPECT_THAT(error(R"(, "gradient_clipping": 2, "gradient_clipping_value": 0.5)"),
              HasSubstr("gradient_clipping_value: 0.5 clips each element, but gradient_clipping 2 "
                        "clips the norm. Set one of them to 0"));
  EXPECT_THAT(error(R"(, "gradient_clipping_value": -1)"), HasSubstr("allowed: >= 0"));
  EXPECT_THAT(error(R"(, "gradient_clip_value": 1)"),
              HasSubstr("unknown key (nearest: gradient_clipping_value)"));
}

TEST_F(Resolve, RecomputeOfLayers) {
  const auto check = [&](const std::string& more, Recompute what, int layers) {
    const auto c = config(more);
    EXPECT_EQ(c.recompute.what, what) << more;
    EXPECT_EQ(c.recompute.layers, layers) << more;
  };
  const auto section = [&](const std::string& keys, Recompute what, int layers) {
    check(R"(, "activation_checkpointing": {)" + keys + "}", what, layers);
  };
  check("", Recompute::none, 0);
  check(R"(, "activation_checkpointing": null)", Recompute::none, 0);
  check(R"(, "pipeline": {"activation_checkpoint_interval": 1})", Recompute::layer, 0);
  section(R"("number_checkpoints": null)", Recompute::none, 0);
  section(R"("number_checkpoints": 2)", Recompute::layer, 2);
  section(R"("granularity": "full")", Recompute::none, 0);
  section(R"("granularity": "selective")", Recompute::attention, 0);
  section(R"("granularity": "selective", "number_checkpoints": 3)", Recompute::attention, 3);
  section(R"("granularity": "selective", "number_checkpoints": 0)", Recompute::none, 0);
  check(R"(, "activation_checkpointing": {"granularity": "selective", "number_checkpoints": 3},
           "pipeline": {"activation_checkpoint_interval": 1})",
        Recompute::attention, 0);
  EXPECT_THAT(error(R"(, "activation_checkpointing": {"granularity": "some"})"),
              HasSubstr("activation_checkpointing.granularity"));
}

// DeepSpeed reads the section for models that call its checkpoint(): it turns nothing on by itself.
TEST_F(Resolve, DeepSpeedsActivationCheckpointingAlone) {
  const auto c = config(R"(, "activation_checkpointing": {"partition_activations": true,
      "cpu_checkpointing": true, "contiguous_memory_optimization": false, "number_checkpoints": null,
      "synchronize_checkpoint_boundary": false, "profile": false})");
  EXPECT_EQ(c.recompute.what, Recompute::none);
  EXPECT_TRUE(c.recompute.partition_inputs);
}

}  // namespace
}  // namespace triax
