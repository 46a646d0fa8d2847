// SPDX-License-Identifier: Apache-2.0
// Restores the state of a run from a checkpoint.
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "io/checkpoint/checkpoint_reader.hpp"
#include "io/checkpoint/load/checkpoint_loader.hpp"
#include "src/checkpoint/checkpoint.hpp"
#include "src/checkpoint/held_slice.hpp"
#include "src/checkpoint/optimizer_states.hpp"
#include "src/checkpoint/state_slices.hpp"
#include "src/config/model/huggingface.hpp"

namespace triax {
namespace {

// Keys of rotary positions. They may change to extend the context of a trained model. (Learned
// positions are a tensor of n_positions rows and may not.)
bool turns_positions(const std::string& key) {
  return key == "max_position_embeddings" || key == "original_max_position_embeddings" ||
         key == "rope_theta" || key == "rope_scaling" || key == "rope_parameters" ||
         key == "rope_local_base_freq" || key == "rotary_emb_base";
}

// Keys of config.json that may change when a run is resumed: they change no tensor's shape and,
// except for rotary positions, not the trained function.
bool may_change(const std::string& key) {
  return key.ends_with("pdrop") || key.ends_with("dropout") || key == "initializer_range" ||
         key.ends_with("_token_id") || turns_positions(key);
}

// Calls visit(key, value in the checkpoint, value in the job) for each key of config.json that
// differs.
template <class Visit>
void each_difference(const CheckpointHeader& header, const ModelConfig& model, Visit&& visit) {
  if (header.model.empty()) return;
  const auto saved = nlohmann::json::parse(
      huggingface_config(model_from_huggingface(header.model, "the checkpoint's model")));
  const auto wanted = nlohmann::json::parse(huggingface_config(model));
  auto both = saved;
  both.update(wanted);
  for (const auto& [key, _] : both.items()) {
    const auto value = wanted.value(key, nlohmann::json());
    if (const auto there = saved.value(key, nlohmann::json()); there != value)
      visit(key, there.dump(), value.dump());
  }
}

using Texts = std::vector<std::string>;

// Tensors of the same names and shapes may still be another model: heads, epsilons.
Texts other_keys(const CheckpointHeader& header, const ModelConfig& model) {
  Texts texts;
  Texts family;
  each_difference(
      header, model,
      [&](const std::string& key, const std::string& there, const std::string& here) {
        if (may_change(key)) return;
        Texts& to = key == "model_type" ? family : texts;
        to.push_back(fmt::format("{} is {} in the checkpoint, {} in the job", key, there, here));
      });
  return family.empty() ? texts : family;  // between families every key differs
}

// Trainability in the run that wrote the file, from its job. An import holds no job.
Trainability trained_there(const CheckpointHeader& header) {
  const auto job = nlohmann::json::parse(header.job, nullptr, false);
  const auto patterns = [&](const char* key) {
    Texts list;
    if (!job.is_object() || !job.contains(key)) return list;
    const auto& value = job[key];
    if (value.is_string()) list.push_back(value.get<std::string>());
    if (value.is_array()) list = value.get<Texts>();
    return list;
  };
  return {patterns("freeze"), patterns("train_only")};
}

// Adds one text per tensor of `group` that the file lacks or has in another shape. The file has
// only the weights of a tensor that was frozen in the run that wrote it.
void add_other_tensors(Texts& texts, const CheckpointReader& reader, const ModelConfig& model,
                       const std::string& group) {
  const Trainability there = trained_there(reader.header());
  for (const GlobalTensor& tensor : global_tensors(model)) {
    if (group != weight_group && !is_trained(there, tensor.name)) continue;
    const std::string name = group + tensor.name;
    if (!reader.contains(name))
      texts.push_back(fmt::format("the checkpoint has no tensor {}", name));
    else if (const Shape shape = reader.shape(name); shape != tensor.shape)
      texts.push_back(fmt::format("tensor {} has shape {} in the checkpoint, {} in the job", name,
                                  shape.text(), tensor.shape.text()));
  }
}

// Whether the file has any tensor of the group. Master weights and states of frozen tensors are
// absent.
bool has_group(const CheckpointReader& reader, const ModelConfig& model, const char* group) {
  return std::ranges::any_of(global_tensors(model), [&](const GlobalTensor& tensor) {
    return reader.contains(group + tensor.name);
  });
}

// Source and target of a rank's restore.
struct Restoring {
  const CheckpointReader& reader;
  ParameterStore& store;
  Optimizer* optimizer;
  bool as_saved;              // weights from the saved ones, not from the master weights
  std::vector<bool> carried;  // by state of the optimizer: the file restores it

  // HDF5 group that a tensor's master weights, and its weights, are read from.
  std::string master(const std::string& tensor) const {
    return reader.contains(master_group + tensor) ? master_group : weight_group;
  }
  const StateKind& kind(std::size_t k) const { return optimizer->states()[k]; }
  std::string weights(const std::string& tensor) const {
    return as_saved ? weight_group : master(tensor);
  }
  // Group of a state of the optimizer; empty: the file lacks the tensor's, which starts from zero.
  std::string state(std::size_t k, const std::string& tensor) const {
    if (!carried[k]) return {};
    std::string group = state_group(kind(k).name);
    return reader.contains(group + tensor) ? group : std::string();
  }
  bool lacks_state(std::size_t k, int b) const {
    return std::ranges::any_of(block(b).params, [&](const PlacedParameter& param) {
      return std::ranges::any_of(param.spec.pieces,
                                 [&](const Piece& piece) { return state(k, piece.name).empty(); });
    });
  }

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
          block, range, {{}, range}, [](const Piece&) { return true; },
          [&](const HeldSlice& part) {
            if (const std::string group = group_of(part.name()); !group.empty())
              loader.want(group + part.name(), boxes_of(part.range));
          });
    };
    const auto want_stepped = [&](const FlatRange& range) {
      if (what.optimizer->has_master())
        want([&](const std::string& tensor) { return what.master(tensor); }, range);
      for (std::size_t k = 0; k < what.carried.size(); ++k)
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
    const auto piece_of = [&](const auto& group_of) {
      return [&, group_of](const HeldSlice& held) {
        if (const std::string group = group_of(held.name()); !group.empty())
          restore_piece(stream, group, held, loader, staging);
      };
    };
    const auto restore = [&](const auto& group_of, const BlockView& view) {
      each_part(
          what.block(b), view.range, view, [](const Piece&) { return true; }, piece_of(group_of));
    };
    what.store.visit_weights(stream, b, Access::replace, [&](const BlockView& weights) {
      restore([&](const std::string& tensor) { return what.weights(tensor); }, weights);
    });
    if (what.optimizer == nullptr) continue;
    what.optimizer->visit_state(stream, b, Access::replace, [&](const StateView& state) {
      if (what.optimizer->has_master())
        restore([&](const std::string& tensor) { return what.master(tensor); }, state.master);
      for (std::size_t k = 0; k < what.carried.size(); ++k) {
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

std::string newly_trained(const CheckpointReader& reader, const ModelConfig& model) {
  if (saved_states(reader).empty()) return {};
  const Trainability there = trained_there(reader.header());
  const auto count = std::ranges::count_if(global_tensors(model), [&](const GlobalTensor& tensor) {
    return tensor.trained && !is_trained(there, tensor.name);
  });
  if (count == 0) return {};
  return fmt::format(
      "{} tensors were frozen in the checkpoint and are trained now: their optimizer states start "
      "from zero",
      count);
}

std::vector<std::string> model_changes(const CheckpointHeader& header, const ModelConfig& model) {
  std::vector<std::string> lines;
  each_difference(
      header, model,
      [&](const std::string& key, const std::string& there, const std::string& here) {
        if (!may_change(key) || key == "initializer_range") return;
        lines.push_back(fmt::format("resumed with another model.{}: {} in the checkpoint, {} now",
                                    key, there, here));
      });
  return lines;
}

void check_same_model(const CheckpointReader& reader, const ModelConfig& model,
                      const Ranks& ranks) {
  agreed(ranks, [&] {
    Texts texts = other_keys(reader.header(), model);
    const bool other = !texts.empty() || reader.header().model.empty();
    Texts tensors;
    add_other_tensors(tensors, reader, model, weight_group);
    if (has_group(reader, model, master_group))
      add_other_tensors(tensors, reader, model, master_group);
    for (const std::string& state : saved_states(reader))
      add_other_tensors(tensors, reader, model, state_group(state));
    constexpr std::size_t shown = 3;
    for (std::size_t n = 0; n < std::min(shown, tensors.size()); ++n) texts.push_back(tensors[n]);
    if (tensors.size() > shown)
      texts.push_back(fmt::format("{} more tensors", tensors.size() - shown));
    if (texts.empty()) return;
    const std::string why = fmt::format("{}", fmt::join(texts, "; "));
    if (!other)
      throw Error(reader.path() + " lacks tensors of the model that it names", why,
                  "Resume an earlier checkpoint");
    throw UsageError(fmt::format("the checkpoint {} holds another model", reader.path()), why,
                     "Use the model section that it was written with, name a checkpoint of this "
                     "model in checkpoint.resume or checkpoint.directory, or set checkpoint.resume "
                     "to \"never\"");
  });
}

void restore_checkpoint(const Stream& stream, const CheckpointReader& reader,
                        const ModelConfig& model, ParameterStore& store, Optimizer* optimizer,
                        const Ranks& ranks, std::span<std::byte> memory) {
  // Weights are restored from the master weights if the file has them, whatever the types of both
  // runs. The saved weights are restored instead without an optimizer, and with stochastic rounding
  // if the type is unchanged.
  const std::string weight = weight_group + global_tensors(model).front().name;
  const bool as_saved = optimizer == nullptr || (optimizer->rounds_stochastically() &&
                                                 reader.tensor(weight).dtype == store.type());
  Restoring what{reader, store, optimizer, as_saved, {}};
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

}  // namespace triax
