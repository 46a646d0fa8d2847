#include "src/train/checkpoint.hpp"

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "kernels/elementwise.hpp"
#include "src/config/load.hpp"

namespace triax {
namespace {

constexpr const char* first_moment_group = "/optimizer/exp_avg/";
constexpr const char* second_moment_group = "/optimizer/exp_avg_sq/";

// The boxes of a global tensor that a run of a piece's elements covers.
std::vector<hdf5::Box> boxes_of(const PieceRange& range) {
  std::array<std::int64_t, Shape::max_rank> offset{};
  for (int d = 0; d < range.piece->begin.rank(); ++d)
    offset[static_cast<std::size_t>(d)] = range.piece->begin[d];
  return hdf5::shifted(hdf5::flat_range_boxes(range.piece->extent, range.begin, range.end), offset);
}

// Where the elements of a range lie in the local tensor, if side by side.
std::optional<FlatRange> side_by_side(const PieceRange& range, const Shape& local) {
  std::optional<FlatRange> all;
  bool gaps = false;
  for_each_run(range, local, [&](std::int64_t at, std::int64_t, std::int64_t count) {
    gaps |= all && all->end != at;
    all = {all ? all->begin : at, at + count};
  });
  return gaps ? std::nullopt : all;
}

// A part of a piece, and the view of its block that has it.
struct HeldPart {
  PieceRange range;
  const PlacedParameter* param;
  BlockView view;

  const std::string& name() const { return range.piece->name; }
  std::int64_t elements() const { return range.end - range.begin; }
  // The memory, where it is one run.
  std::optional<Tensor> one_run() const {
    const auto run = side_by_side(range, param->spec.shape);
    if (!run) return std::nullopt;
    return view.at({param->offset + run->begin, param->offset + run->end});
  }
  // visit(memory, flat) for each run of it, and the same elements of `flat`, (elements).
  template <class Visit>
  void each_run(const Tensor& flat, Visit&& visit) const {
    std::int64_t done = 0;
    for_each_run(range, param->spec.shape, [&](std::int64_t at, std::int64_t, std::int64_t count) {
      const std::int64_t begin = param->offset + at;
      visit(view.at({begin, begin + count}), flat.slice(0, done, count));
      done += count;
    });
  }
  void copy_to(const Stream& stream, const Tensor& to) const {
    each_run(to, [&](const Tensor& run, const Tensor& part) { copy(stream, part, run); });
  }
};

// Calls visit(HeldPart) for every piece for which keep(piece) holds, as far as it lies within
// `range` of the block, which must lie within the view.
template <class Keep, class Visit>
void each_part(const ParameterBlock& block, const FlatRange& range, const BlockView& view,
               Keep&& keep, Visit&& visit) {
  for (const PlacedParameter& param : block.params) {
    const FlatRange here = intersect(param.range(), range);
    for (const Piece& piece : param.spec.pieces) {
      const PieceRange whole =
          intersect(piece, param.spec.shape, here.begin - param.offset, here.end - param.offset);
      if (whole.begin < whole.end && keep(piece)) visit(HeldPart{whole, &param, view});
    }
  }
}

// Memory through which goes what the state has in another order or type than a file.
class Staging {
 public:
  // Cuts `whole` into parts that fit, and calls move(part, memory, (elements of the part)).
  template <class Move>
  void each(const HeldPart& whole, DType type, Move&& move) {
    HeldPart part = whole;
    for (; part.range.begin < whole.range.end; part.range.begin = part.range.end) {
      part.range.end = std::min(whole.range.end, part.range.begin + staged_elements);
      memory_.resize(static_cast<std::size_t>(part.elements()) * size_of(type));
      move(part, Tensor(static_cast<void*>(memory_.data()), type, {part.elements()}));
    }
  }

 private:
  std::vector<std::byte> memory_;
};

// Keys of config.json that may change when a run is resumed: they shape no tensor and no trained
// function.
bool may_change(const std::string& key) {
  return key.ends_with("pdrop") || key.ends_with("dropout") || key == "initializer_range" ||
         key.ends_with("_token_id");
}

// Tensors of the same names and shapes may still be another model: heads, epsilons, RoPE.
void check_same_config(const CheckpointReader& reader, const ModelConfig& model) {
  if (reader.header().model.empty()) return;
  const auto saved = nlohmann::json::parse(
      huggingface_config(model_from_huggingface(reader.header().model, "the checkpoint's model")));
  const auto wanted = nlohmann::json::parse(huggingface_config(model));
  std::string differences;
  for (const auto& [key, value] : wanted.items())
    if (!may_change(key) && saved.value(key, nlohmann::json()) != value)
      differences += fmt::format("{}{} {} there, {} in the job", differences.empty() ? "" : "; ",
                                 key, saved.value(key, nlohmann::json()).dump(), value.dump());
  if (!differences.empty())
    throw Error("the checkpoint holds another model", differences,
                "Use the model section that it was written with, or set checkpoint.resume to "
                "\"never\"");
}

void check_same_model(const CheckpointReader& reader, const ModelConfig& model) {
  for (const GlobalTensor& tensor : global_tensors(model)) {
    const std::string name = weight_group + tensor.name;
    if (!reader.contains(name))
      throw Error(
          fmt::format("the checkpoint has no tensor {}", name), "it holds another model",
          "Point checkpoint.resume or checkpoint.directory at a checkpoint of this model, or set "
          "checkpoint.resume to \"never\"");
    if (const Shape shape = reader.shape(name); shape != tensor.shape)
      throw Error(fmt::format("tensor {} of the checkpoint has shape {}, the job's model has {}",
                              name, shape.text(), tensor.shape.text()),
                  "it holds another model",
                  "Use the model section that the checkpoint was written with");
  }
  check_same_config(reader, model);
}

// Calls visit(tensor, HeldPart) for all that this rank saves. What is on a disk comes from there,
// and is in memory until visit returns: that may fail on this rank alone.
template <class Visit>
void each_saved(const Stream& stream, ParameterStore& store, Optimizer* optimizer, Visit&& visit) {
  for (int b = 0; b < static_cast<int>(store.blocks().size()); ++b) {
    const ParameterBlock& block = store.blocks()[static_cast<std::size_t>(b)];
    if (block.duplicate) continue;
    const auto save = [&](const char* group, const BlockView& view) {
      each_part(
          block, intersect(block.own, view.range), view,
          [](const Piece& piece) { return piece.owner; },
          [&](const HeldPart& part) { visit(group + part.name(), part); });
    };
    store.visit_weights(stream, b, Access::read,
                        [&](const BlockView& weights) { save(weight_group, weights); });
    if (optimizer == nullptr) continue;
    optimizer->visit_state(stream, b, Access::read, [&](const StateView& state) {
      if (optimizer->has_master()) save(master_group, state.master);
      save(first_moment_group, state.first);
      save(second_moment_group, state.second);
    });
  }
}

// Files are written in the type of the memory.
void write_state(const Stream& stream, ParameterStore& store, Optimizer* optimizer,
                 CheckpointWriter& writer) {
  Staging staging;
  each_saved(stream, store, optimizer, [&](const std::string& name, const HeldPart& held) {
    if (const auto run = held.one_run()) return writer.write(name, boxes_of(held.range), *run);
    staging.each(held, held.view.data.dtype(), [&](const HeldPart& part, const Tensor& memory) {
      part.copy_to(stream, memory);
      writer.write(name, boxes_of(part.range), memory);
    });
  });
}

}  // namespace

std::int64_t staging_bytes(const std::vector<ParameterBlock>& blocks, DType type) {
  std::int64_t most = 0;
  for (const ParameterBlock& block : blocks)
    for (const PlacedParameter& param : block.params)
      for (const Piece& piece : param.spec.pieces) {
        const std::int64_t elements = piece.extent.elements();
        if (elements > most &&
            (type != DType::f32 || !side_by_side({&piece, 0, elements}, param.spec.shape)))
          most = elements;
      }
  return std::min(most, staged_elements) * std::int64_t{sizeof(float)};
}

std::int64_t snapshot_bytes(const std::vector<ParameterBlock>& blocks, DType type) {
  const std::int64_t floats = type == DType::f32 ? 2 : 3;  // moments, and the master weights
  const std::int64_t state = static_cast<std::int64_t>(size_of(type)) + floats * 4;
  std::int64_t bytes = 0;
  for (const ParameterBlock& block : blocks) {
    if (block.duplicate) continue;
    bytes += block.own.count() * state;  // padding too: as much on every data rank
    for (const PlacedParameter& param : block.params)
      bytes += std::ssize(param.spec.pieces) * (1 + floats) * CheckpointSnapshot::footprint(1);
  }
  return bytes;
}

void take_snapshot(const Stream& stream, ParameterStore& store, Optimizer& optimizer,
                   CheckpointSnapshot& snapshot) {
  const bool stays = store.offload() == nullptr && optimizer.offload() == nullptr;
  snapshot.clear();
  each_saved(stream, store, &optimizer, [&](const std::string& name, const HeldPart& part) {
    if (const auto run = part.one_run())
      snapshot.add(name, boxes_of(part.range), *run);
    else
      snapshot.add(name, boxes_of(part.range), part.view.data.dtype(),
                   [part](const Stream& copies, const Tensor& to) { part.copy_to(copies, to); });
    if (!stays) snapshot.copy(stream);
  });
}

std::vector<CheckpointTensor> checkpoint_tensors(const ModelConfig& model,
                                                 const ParameterStore& store,
                                                 const Optimizer* optimizer) {
  std::vector<CheckpointTensor> tensors;
  const auto add = [&](const char* group, DType type) {
    for (const GlobalTensor& tensor : global_tensors(model))
      tensors.push_back({group + tensor.name, type, tensor.shape});
  };
  add(weight_group, store.type());
  if (optimizer != nullptr) {
    if (optimizer->has_master()) add(master_group, DType::f32);
    add(first_moment_group, DType::f32);
    add(second_moment_group, DType::f32);
  }
  return tensors;
}

void save_checkpoint(const Stream& stream, const std::string& path, const CheckpointHeader& header,
                     const ModelConfig& model, ParameterStore& store, Optimizer* optimizer,
                     const ProcessGrid& grid, const CheckpointOptions& options) {
  CheckpointWriter writer(path, grid, options);
  writer.create(header, checkpoint_tensors(model, store, optimizer));
  try {
    write_state(stream, store, optimizer, writer);
  } catch (const Error& error) {
    writer.fail(error.what());  // the other ranks are on their way to publish()
  }
  writer.publish();
}

CheckpointOptions checkpoint_options(const CheckpointConfig& config) {
  CheckpointOptions options;
  options.files = config.files;
  options.collective = config.collective;
  options.hints = {config.striping_factor, config.striping_unit, config.alignment};
  return options;
}

bool has_optimizer(const CheckpointReader& reader, const ModelConfig& model) {
  return reader.contains(first_moment_group + global_tensors(model).front().name);
}

void restore_checkpoint(const Stream& stream, const CheckpointReader& reader,
                        const ModelConfig& model, ParameterStore& store, Optimizer* optimizer) {
  check_same_model(reader, model);
  Staging staging;
  // A run goes on from what was stepped, whatever the types of both runs.
  const bool stepped_master = reader.contains(master_group + global_tensors(model).front().name);
  const char* const source = stepped_master ? master_group : weight_group;
  const bool moments = has_optimizer(reader, model);
  for (int b = 0; b < static_cast<int>(store.blocks().size()); ++b) {
    const ParameterBlock& block = store.blocks()[static_cast<std::size_t>(b)];
    // Files are read as float32: what must be rounded is rounded here.
    const auto restore = [&](const char* group, const BlockView& view) {
      each_part(
          block, view.range, view, [](const Piece&) { return true; },
          [&](const HeldPart& held) {
            const std::string name = group + held.name();
            const auto run = held.one_run();
            if (run && view.data.dtype() == DType::f32)
              return reader.read(name, boxes_of(held.range), *run);
            staging.each(held, DType::f32, [&](const HeldPart& part, const Tensor& memory) {
              reader.read(name, boxes_of(part.range), memory);
              part.each_run(
                  memory, [&](const Tensor& to, const Tensor& from) { convert(stream, to, from); });
            });
          });
    };
    store.visit_weights(stream, b, Access::replace, [&](const BlockView& weights) {
      restore(optimizer == nullptr ? weight_group : source, weights);
    });
    if (optimizer == nullptr) continue;
    optimizer->visit_state(stream, b, Access::replace, [&](const StateView& state) {
      if (optimizer->has_master()) restore(source, state.master);
      for (const auto& [group, view] : {std::pair{first_moment_group, state.first},
                                        std::pair{second_moment_group, state.second}})
        if (moments)
          restore(group, view);
        else
          fill_zero(stream, view.data);
    });
  }
}

}  // namespace triax
