// SPDX-License-Identifier: Apache-2.0
// Restores the state of a run from a checkpoint.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <set>
#include <string>
#include <utility>

#include "io/checkpoint/checkpoint_reader.hpp"
#include "io/checkpoint/load/checkpoint_loader.hpp"
#include "src/checkpoint/checkpoint.hpp"
#include "src/checkpoint/held_slice.hpp"
#include "src/checkpoint/optimizer_states.hpp"
#include "src/checkpoint/state_slices.hpp"
#include "src/state/weights/initial_weights.hpp"

namespace triax {
namespace {

// Source and target of a rank's restore.
struct Restoring {
  const CheckpointReader& reader;
  ParameterStore& store;
  Optimizer* optimizer;
  std::set<std::string> held;  // tensors of the model that the file has: with adapters, theirs
  bool as_saved;               // weights from the saved ones, not from the master weights
  SavedWeights chosen;
  std::vector<bool> carried;  // by state of the optimizer: the file restores it

  // HDF5 group that a tensor's master weights, and its weights, are read from.
  std::string master(const std::string& tensor) const {
    return reader.contains(master_group + tensor) ? master_group : weight_group;
  }
  const StateKind& kind(std::size_t k) const { return optimizer->states()[k]; }
  std::string weights(const std::string& tensor) const {
    if (chosen == SavedWeights::average && reader.contains(average_group + tensor))
      return average_group;
    return as_saved ? weight_group : master(tensor);
  }
  // Group of a state of the optimizer; empty: the file lacks the tensor's, which starts from zero.
  std::string state(std::size_t k, const std::string& tensor) const {
    if (!carried[k]) return {};
    std::string group = state_group(kind(k));
    if (reader.contains(group + tensor)) return group;
    return kind(k).start == StateStart::weights ? master(tensor) : std::string();
  }
  bool lacks_state(std::size_t k, int b) const {
    return std::ranges::any_of(block(b).params, [&](const PlacedParameter& param) {
      return std::ranges::any_of(param.spec.pieces,
                                 [&](const Piece& piece) { return state(k, piece.name).empty(); });
    });
  }

  bool reads(const Piece& piece) const { return held.contains(piece.name); }
  const ParameterBlock& block(int b) const { return store.blocks()[static_cast<std::size_t>(b)]; }
  int blocks() const { return static_cast<int>(store.blocks().size()); }
};

// Announces to the loader everything that restore_state will read, in the same order. Does not
// access offloaded state.
void want_state(const Restoring& what, CheckpointLoader& loader) {
  NoWindows none;
  for (int b = 0; b < what.blocks(); ++b) {
    const ParameterBlock& block = what.block(b);
    const auto want = [&](const auto& group_of, const FlatRange& range) {
      each_part(
          block, range, {{}, range}, [&](const Piece& piece) { return what.reads(piece); },
          [&](const HeldSlice& part) {
            if (const std::string group = group_of(part.name()); !group.empty())
              loader.want(group + part.name(), boxes_of(part.range));
          });
    };
    const auto want_stepped = [&](const FlatRange& range) {
      if (what.optimizer->has_master())
        want([&](const std::string& tensor) { return what.master(tensor); }, range);
      for (std::size_t k = 0; k < what.carried.size(); ++k)
        if (has_state(what.kind(k), block))
          each_restored(block, what.kind(k), {{}, range}, none, [&](const HeldSlice& part) {
            if (const std::string group = what.state(k, part.name()); !group.empty())
              loader.want(group + part.name(), boxes_of(part.range));
          });
    };
    want([&](const std::string& tensor) { return what.weights(tensor); }, block.parameters);
    if (what.optimizer == nullptr) continue;
    want_stepped(what.optimizer->kept_state(b).range);
    for (int part = block.kept_parts; part < std::ssize(block.parts); ++part)
      want_stepped(block.parts[static_cast<std::size_t>(part)]);
  }
}

// Reads a piece. The loader delivers float32; 16-bit weights are rounded here.
void restore_piece(const Stream& stream, const std::string& group, const HeldSlice& held,
                   CheckpointLoader& loader, Staging& staging) {
  const std::string name = group + held.name();
  const auto run = held.host_run();
  if (run && held.type() == DType::f32) return loader.read(name, boxes_of(held.range), *run);
  each_staged(staging, held, DType::f32, [&](const HeldSlice& part, const Tensor& memory) {
    loader.read(name, boxes_of(part.range), memory);
    part.each_run(memory,
                  [&](const Tensor& to, const Tensor& from) { staging.put(stream, to, from); });
  });
}

void restore_state(const Stream& stream, const Restoring& what, CheckpointLoader& loader) {
  Staging staging(what.store.wait());
  PackedWindows windows(stream, what.store.wait());
  for (int b = 0; b < what.blocks(); ++b) {
    if (!what.block(b).saved) continue;  // stays, also where it is on a disk
    const auto piece_of = [&](const auto& group_of) {
      return [&, group_of](const HeldSlice& held) {
        if (const std::string group = group_of(held.name()); !group.empty())
          restore_piece(stream, group, held, loader, staging);
      };
    };
    const auto restore = [&](const auto& group_of, const BlockView& view) {
      each_part(
          what.block(b), view.range, view, [&](const Piece& piece) { return what.reads(piece); },
          piece_of(group_of));
    };
    what.store.visit_weights(stream, b, Access::replace, [&](const BlockView& weights) {
      restore([&](const std::string& tensor) { return what.weights(tensor); }, weights);
    });
    if (what.optimizer == nullptr) continue;
    what.optimizer->visit_state(stream, b, Access::replace, [&](const StateView& state) {
      if (what.optimizer->has_master())
        restore([&](const std::string& tensor) { return what.master(tensor); }, state.master);
      for (std::size_t k = 0; k < what.carried.size(); ++k) {
        if (!has_state(what.kind(k), what.block(b))) continue;
        const BlockView& view = state.states[k];
        if (what.lacks_state(k, b)) fill_zero(stream_for(view.data, stream), view.data);
        each_restored(
            what.block(b), what.kind(k), view, windows,
            piece_of([&what, k](const std::string& tensor) { return what.state(k, tensor); }));
      }
    });
  }
}

}  // namespace

void restore_checkpoint(const Stream& stream, const CheckpointReader& reader,
                        const ModelConfig& model, ParameterStore& store, Optimizer* optimizer,
                        const Ranks& ranks, std::span<std::byte> memory, SavedWeights weights) {
  // Weights are restored from the master weights if the file has them, whatever the types of both
  // runs. The saved weights are restored instead without an optimizer, and with stochastic rounding
  // if the type is unchanged.
  std::set<std::string> held;
  for (const GlobalTensor& tensor : global_tensors(model))
    if (tensor.adapter || !model.lora) held.insert(tensor.name);
  const std::string weight = weight_group + *held.begin();
  const bool as_saved = optimizer == nullptr || (optimizer->rounds_stochastically() &&
                                                 reader.tensor(weight).dtype == store.type());
  Restoring what{reader, store, optimizer, std::move(held), as_saved, weights, {}};
  if (optimizer != nullptr)
    what.carried = carried_states(saved_states(reader), optimizer->states());
  CheckpointLoader loader(reader, ranks, {.memory = memory});
  try {
    want_state(what, loader);
    restore_state(stream, what, loader);
  } catch (const std::exception& error) {
    if (loader.failed()) throw;
    loader.fail(error.what());  // the other ranks wait for this one
  }
  loader.finish();
  if (const std::string why = loader.unshared(); !why.empty())
    spdlog::warn(
        "{}: ranks of a node cannot open each other's memory through /proc ({}), so data that "
        "several need are sent as messages, which is slower. Run the ranks of a node in one "
        "container with its own /proc",
        reader.path(), why);
}

void restore_model(const Stream& stream, const CheckpointReader& reader, const ModelConfig& model,
                   ParameterStore& store, const Ranks& ranks, SavedWeights weights) {
  restore_checkpoint(stream, reader, model, store, nullptr, ranks, {}, weights);
  if (model.lora) agreed(ranks, [&] { load_base_weights(stream, store, model, model.weights); });
}

}  // namespace triax
