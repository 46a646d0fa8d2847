// SPDX-License-Identifier: Apache-2.0
#include "src/state/optimizer/optimizer.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/optimizer/grad_norm.hpp"
#include "kernels/optimizer/weight_average.hpp"
#include "kernels/random/random.hpp"
#include "src/state/optimizer/optimizer_layout.hpp"
#include "src/state/optimizer/packed_states.hpp"

namespace triax {

Optimizer::Optimizer(ParameterStore& store, const OptimizerConfig& config, double gradient_clipping,
                     const StateBuffers& stored)
    : store_(store),
      config_(complete(config)),
      rule_(optimizer_rule(config_.type)),
      states_(states_of(config_)),
      average_(weight_average_of(config_)),
      clip_(gradient_clipping),
      verdict_(store.memory()) {
  keep_in_memory();
  if (steps_on_host(store.blocks(), store.space()))
    host_step_ = std::make_unique<HostStep>(store.type(), store.gradient_type(), store.wait());
  make_store(stored);
  if (Orthogonalizer::bytes_of(store.blocks()) > 0)
    orthogonalizer_ = std::make_unique<Orthogonalizer>(store, config_, *rule_.matrices);
  lay_out_runs();
  for (const ParameterBlock& block : store.blocks()) {
    if (config_.stochastic_rounding && has_master()) {
      auto& numbers = numbers_.emplace_back();
      for (const PlacedParameter& param : block.params)
        numbers.push_back(
            element_numbers(param.spec, mix_key(*config_.stochastic_rounding, "rounding")));
    }
    counted_.push_back(counted_ranges(block));
  }
}

void Optimizer::lay_out_runs() {
  const bool apart = (config_.stochastic_rounding && has_master()) || has_packed(states_);
  runs_.clear();
  for (const ParameterBlock& block : store_.blocks())
    runs_.push_back(stepped_runs(block, config_, apart, tensor_starts_));
}

void Optimizer::set_starts(const Starts& states, TensorStarts tensors) {
  starts_ = states;
  tensor_starts_ = std::move(tensors);
  lay_out_runs();
}

// The states of a bucket lie one after another, those of bucket after bucket.
void Optimizer::keep_in_memory() {
  const std::vector<ParameterBlock>& blocks = store_.blocks();
  kept_.resize(blocks.size());
  const auto keep = [&](StateMemory& memory, const MemorySource& source, bool host) {
    std::int64_t total = 0, state_bytes = 0;
    for (const ParameterBlock& block : blocks) {
      if (block.host_state != host) continue;
      const std::int64_t count = kept_state_range(block).count();
      total += count;
      state_bytes += bytes_of(states_, block, count);
    }
    memory.states = source.take("moments", static_cast<std::size_t>(state_bytes));
    if (has_master())
      memory.master =
          source.take("master weights", static_cast<std::size_t>(total) * sizeof(float));
    const Tensor states = memory.states.tensor(DType::u8, {state_bytes});
    const Tensor masters = has_master() ? memory.master.tensor(DType::f32, {total}) : Tensor{};
    std::int64_t at = 0, byte = 0;
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      if (blocks[b].host_state != host) continue;
      StateView& kept = kept_[b];
      kept.range = kept_state_range(blocks[b]);
      const std::int64_t count = kept.range.count();
      for (std::size_t s = 0; s < states_.size(); ++s) {
        const DType type = states_[s].type;
        const std::int64_t elements = state_elements(states_[s], blocks[b], count);
        kept.states[s] = {typed(states, byte, type, elements), kept.range};
        byte += elements * static_cast<std::int64_t>(size_of(type));
      }
      if (has_master()) kept.master = {masters.slice(0, at, count), kept.range};
      at += count;
    }
  };
  keep(memory_, store_.memory(), false);
  keep(host_memory_, MemorySpace::host, true);
}

void Optimizer::make_store(const StateBuffers& stored) {
  StoredState state = stored_state(store_.blocks(), states_, has_master());
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
  is.host_moments = bytes(host_memory_.states);
  is.host_master = bytes(host_memory_.master);
  is.moments = bytes(memory_.states) + is.host_moments;
  is.master = bytes(memory_.master) + is.host_master;
  if (orthogonalizer_) is.orthogonalization = orthogonalizer_->bytes();
  if (host_step_) is.host_step = HostStep::bytes_of(store_.type(), store_.gradient_type());
  if (!offload_) return is;
  is.buffers = offload_->bytes().buffers;
  set_stored(is, offload_->datasets());
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
  StateView view;
  view.range = range;
  std::size_t kinds = 0;
  for (std::size_t s = 0; s < states_.size(); ++s)
    if (has_state(states_[s], block)) view.states[s] = run(kinds++);
  if (has_master()) view.master = run(kinds);
  return view;
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

UpdateTensors Optimizer::tensors_of(int block, const StateView& state, int parameter,
                                    const FlatRange& range) const {
  const Tensor weights = store_.stepped_weights(block).at(range);
  UpdateTensors tensors;
  tensors.parameter = has_master() ? state.master.at(range) : weights;
  if (has_master()) tensors.weights = weights;
  tensors.gradient = store_.gradients(block).at(range);
  const ParameterBlock& of = store_.blocks()[static_cast<std::size_t>(block)];
  for (std::size_t s = 0; s < states_.size(); ++s)
    tensors.states[s] = state_at(states_[s], of, parameter, state.states[s], range);
  return tensors;
}

// State is where it was offloaded to, and so is the step.
bool Optimizer::on_host(const UpdateTensors& tensors) const {
  const auto kept =
      std::ranges::find_if(tensors.states, [](const Tensor& t) { return !t.empty(); });
  const Tensor& state = kept == tensors.states.end() ? tensors.parameter : *kept;
  return state.space() != tensors.gradient.space();
}

void Optimizer::update(const Stream& stream, const Tensor& direction, const UpdateTensors& tensors,
                       const UpdateStep& step) const {
  if (direction.empty())
    rule_.update(stream, tensors, step);
  else
    rule_.matrices->update(stream, direction, tensors, step);
  if (average_ && step.step % average_->interval == 0)
    weight_average(stream, tensors.states[states_.size() - 1], tensors.parameter, tensors.factor,
                   average_->decay);
}

template <class Visit>
void Optimizer::each_run(int index, int part, const StepOptions& options, Visit&& visit) {
  const StateView state = state_of(index, part);
  UpdateStep step{config_, 0.0, 0.0, options.beta1, options.beta2, options.step, {}, {}};
  for (const SteppedRun& run : runs_[static_cast<std::size_t>(index)]) {
    const FlatRange range = intersect(run.range, state.range);
    if (range.count() == 0) continue;
    step.learning_rate = options.learning_rate * run.options.rate;
    step.weight_decay = run.options.weight_decay;
    std::ranges::transform(starts_, step.updates.begin(), [&](std::int64_t start) {
      return options.step - std::max(start, run.options.start);
    });
    step.stochastic = numbers(index, run, range.begin, options.step);
    visit(range, tensors_of(index, state, run.parameter, range), step);
  }
}

void Optimizer::momentum(const Stream& stream, int index, int part, const StepOptions& options) {
  if (skip_) return;
  before_update_();
  each_run(index, part, options,
           [&](const FlatRange& range, UpdateTensors tensors, const UpdateStep& step) {
             tensors.factor = verdict_.factor();
             rule_.matrices->momentum(stream, orthogonalizer_->direction(range), tensors, step);
           });
}

void Optimizer::gather_direction(const Stream& stream, int index) {
  if (!skip_) orthogonalizer_->gather(stream, index);
}

void Optimizer::orthogonalize(const Stream& stream, int index) {
  if (!skip_) orthogonalizer_->orthogonalize(stream, index);
}

void Optimizer::broadcast_direction(const Stream& stream, int index) {
  if (!skip_) orthogonalizer_->broadcast(stream, index);
}

void Optimizer::step(const Stream& stream, int index, int part, const StepOptions& options) {
  if (skip_) return;
  before_update_();
  const bool matrices = store_.blocks()[static_cast<std::size_t>(index)].matrices;
  each_run(index, part, options,
           [&](const FlatRange& range, UpdateTensors tensors, const UpdateStep& step) {
             if (!on_host(tensors)) {
               tensors.factor = verdict_.factor();
               return update(stream, matrices ? orthogonalizer_->direction(range) : Tensor{},
                             tensors, step);
             }
             check(!matrices, "matrices of a device that the host steps");
             tensors.factor = verdict_.host_factor();
             host_step_->run(stream, tensors,
                             [&](const UpdateTensors& portion, std::int64_t offset) {
                               UpdateStep of_portion = step;
                               if (of_portion.stochastic) of_portion.stochastic->offset += offset;
                               update(Stream(), {}, portion, of_portion);
                             });
           });
}

}  // namespace triax
