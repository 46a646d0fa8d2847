// SPDX-License-Identifier: Apache-2.0
#include "src/state/optimizer/optimizer.hpp"

#include <cmath>
#include <limits>

#include "kernels/optimizer/adamw.hpp"
#include "kernels/random/random.hpp"
#include "src/state/optimizer/optimizer_layout.hpp"

namespace triax {

Optimizer::Optimizer(ParameterStore& store, const OptimizerConfig& config, double gradient_clipping,
                     const StateBuffers& stored)
    : store_(store), config_(config), clip_(gradient_clipping), verdict_(store.memory()) {
  keep_in_memory();
  if (steps_on_host(store.blocks(), store.space()))
    host_step_ = std::make_unique<HostStep>(store.type(), store.gradient_type(), store.wait());
  make_store(stored);
  for (const ParameterBlock& block : store.blocks()) {
    const bool at_random = config.stochastic_rounding && has_master();
    runs_.push_back(stepped_runs(block, at_random));
    if (at_random) {
      auto& numbers = numbers_.emplace_back();
      for (const PlacedParameter& param : block.params)
        numbers.push_back(
            element_numbers(param.spec, mix_key(*config.stochastic_rounding, "rounding")));
    }
    counted_.push_back(counted_ranges(block));
  }
}

void Optimizer::keep_in_memory() {
  const std::vector<ParameterBlock>& blocks = store_.blocks();
  kept_.resize(blocks.size());
  const auto keep = [&](StateMemory& memory, const MemorySource& source, bool host) {
    std::int64_t total = 0;
    for (std::size_t b = 0; b < blocks.size(); ++b)
      if (blocks[b].host_state == host) total += kept_state_range(blocks[b]).count();
    const auto bytes = static_cast<std::size_t>(total) * sizeof(float);
    memory.moments = source.take("moments", 2 * bytes);
    if (has_master()) memory.master = source.take("master weights", bytes);
    const Tensor moments = memory.moments.tensor(DType::f32, {2 * total});
    const Tensor masters = has_master() ? memory.master.tensor(DType::f32, {total}) : Tensor{};
    std::int64_t at = 0;
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      if (blocks[b].host_state != host) continue;
      const FlatRange range = kept_state_range(blocks[b]);
      const std::int64_t count = range.count();
      kept_[b].first = {moments.slice(0, 2 * at, count), range};
      kept_[b].second = {moments.slice(0, 2 * at + count, count), range};
      if (has_master()) kept_[b].master = {masters.slice(0, at, count), range};
      at += count;
    }
  };
  keep(memory_, store_.memory(), false);
  keep(host_memory_, MemorySpace::host, true);
}

void Optimizer::make_store(const StateBuffers& stored) {
  StoredState state = stored_state(store_.blocks(), has_master());
  first_unit_ = std::move(state.first_unit);
  if (stored.location.path.empty())
    check(state.units.empty(), "no location for optimizer state that is not kept in memory");
  else
    offload_ =
        std::make_unique<OffloadStore>(stored.location, std::move(state.datasets),
                                       std::move(state.units), std::vector<int>{stored.count});
}

OptimizerBytes Optimizer::allocated() const {
  const auto bytes = [](const Memory& memory) { return static_cast<std::int64_t>(memory.bytes()); };
  OptimizerBytes is;
  is.host_moments = bytes(host_memory_.moments);
  is.host_master = bytes(host_memory_.master);
  is.moments = bytes(memory_.moments) + is.host_moments;
  is.master = bytes(memory_.master) + is.host_master;
  if (host_step_) is.host_step = HostStep::bytes_of(store_.type(), store_.gradient_type());
  if (!offload_) return is;
  is.buffers = offload_->bytes().buffers;
  set_stored(is, offload_->bytes().stored, has_master());
  return is;
}

int Optimizer::unit(int block, int part) const {
  const auto b = static_cast<std::size_t>(block);
  return first_unit_[b] + part - store_.blocks()[b].kept_parts;
}

StateView Optimizer::state_of(int index, int part) const {
  const ParameterBlock& block = store_.blocks()[static_cast<std::size_t>(index)];
  if (part < block.kept_parts) return kept_state(index);
  const FlatRange& range = block.parts[static_cast<std::size_t>(part)];
  const auto run = [&](std::size_t kind) {
    return BlockView{offload_->at(unit(index, part), kind), range};
  };
  return {run(0), run(1), has_master() ? run(2) : BlockView{}};
}

bool Optimizer::decides_on_device() const {
  return store_.space() == MemorySpace::device && !host_step_ && !offload_ && !store_.offload();
}

void Optimizer::sum_squares(const Stream& stream) {
  verdict_.begin(stream);
  for (std::size_t b = 0; b < counted_.size(); ++b)
    for (const FlatRange& range : counted_[b])
      add_sum_of_squares(stream, verdict_.squares(),
                         store_.gradients(static_cast<int>(b)).at(range));
}

double Optimizer::gradient_norm(const Stream& stream, Communicator& world,
                                std::optional<double> loss_scale, bool usable) {
  sum_squares(stream);
  double squares = usable ? verdict_.read_squares(stream, store_.wait())
                          : std::numeric_limits<double>::quiet_NaN();
  const Stream host;
  world.all_reduce(host, Tensor(&squares, {1})).wait(host);
  const ClipRule rule{clip_, loss_scale.value_or(1.0)};
  const double norm = rule.norm(squares, 0.0);
  skip_ = !std::isfinite(norm);
  verdict_.decide(stream, rule.factor(norm));
  return norm;
}

LateNumbers Optimizer::late_gradient_norm(const Stream& stream, Communicator& all,
                                          std::optional<double> loss_scale, const Tensor& loss) {
  check(decides_on_device(), "a step that the host takes part in, decided on the device");
  sum_squares(stream);
  skip_ = false;
  return verdict_.decide(stream, all, loss, {clip_, loss_scale.value_or(1.0)});
}

std::optional<ElementNumbers> Optimizer::numbers(int block, const SteppedRun& run,
                                                 std::int64_t begin, std::int64_t step) const {
  if (numbers_.empty()) return {};
  const auto b = static_cast<std::size_t>(block), p = static_cast<std::size_t>(run.parameter);
  ElementNumbers numbers = numbers_[b][p];
  numbers.offset = begin - store_.blocks()[b].params[p].offset;
  for (ElementNumbers::Box& box : numbers.boxes)
    box.key = mix_key(box.key, static_cast<std::uint64_t>(step));
  return numbers;
}

void Optimizer::step(const Stream& stream, int index, int part, const StepOptions& options) {
  if (skip_) return;
  before_update_();
  const StateView state = state_of(index, part);
  AdamWOptions adamw_options;
  adamw_options.learning_rate = options.learning_rate;
  adamw_options.beta1 = options.beta1;
  adamw_options.beta2 = options.beta2;
  adamw_options.epsilon = config_.epsilon;
  if (config_.clip_value > 0.0) adamw_options.clip_value = config_.clip_value;
  adamw_options.step = options.step;
  for (const SteppedRun& run : runs_[static_cast<std::size_t>(index)]) {
    const FlatRange range = intersect(run.range, state.first.range);
    if (range.count() == 0) continue;
    adamw_options.weight_decay = run.decays ? config_.weight_decay : 0.0;
    adamw_options.stochastic = numbers(index, run, range.begin, options.step);
    const Tensor weights = store_.stepped_weights(index).at(range);
    const Tensor gradient = store_.gradients(index).at(range);
    const Tensor master = has_master() ? state.master.at(range) : Tensor{};
    const Tensor first = state.first.at(range), second = state.second.at(range);
    if (first.space() != gradient.space())
      host_step_->run(stream, master, weights, gradient, verdict_.host_factor(), first, second,
                      adamw_options);
    else
      adamw(stream, has_master() ? master : weights, has_master() ? weights : Tensor{}, gradient,
            verdict_.factor(), first, second, adamw_options);
  }
}

}  // namespace triax
