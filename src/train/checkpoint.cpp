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

// Moves pieces between flat memory and a file, through a staging buffer where memory has them in
// another type or order.
class PieceMover {
 public:
  explicit PieceMover(const Stream& stream) : stream_(stream) {}

  // Calls move(tensor name, boxes, memory) for every piece within `range` of the block, which must
  // lie within the view, for which keep(piece) holds, part by part where it is staged; `to_memory`:
  // move fills the memory, else it reads it.
  template <class Keep, class Move>
  void each(const ParameterBlock& block, const FlatRange& range, const BlockView& view,
            bool to_memory, Keep&& keep, Move&& move) {
    // Files are written in the type of the memory, and read as float32: what must be rounded is
    // rounded here.
    const DType type = to_memory ? DType::f32 : view.data.dtype();
    for (const PlacedParameter& param : block.params) {
      const FlatRange here = intersect(param.range(), range);
      for (const Piece& piece : param.spec.pieces) {
        const PieceRange whole =
            intersect(piece, param.spec.shape, here.begin - param.offset, here.end - param.offset);
        if (whole.begin >= whole.end || !keep(piece)) continue;
        const auto run = side_by_side(whole, param.spec.shape);
        if (run && view.data.dtype() == type) {
          move(piece.name, boxes_of(whole),
               view.at({param.offset + run->begin, param.offset + run->end}));
          continue;
        }
        PieceRange part = whole;
        for (; part.begin < whole.end; part.begin = part.end) {
          part.end = std::min(whole.end, part.begin + staged_elements);
          staged(part, param, view, type, to_memory,
                 [&](const Tensor& memory) { move(piece.name, boxes_of(part), memory); });
        }
      }
    }
  }

 private:
  template <class Move>
  void staged(const PieceRange& part, const PlacedParameter& param, const BlockView& view,
              DType type, bool to_memory, Move&& move) {
    const std::int64_t elements = part.end - part.begin;
    staging_.resize(static_cast<std::size_t>(elements) * size_of(type));
    const Tensor all(static_cast<void*>(staging_.data()), type, {elements});
    if (to_memory) move(all);
    std::int64_t done = 0;
    for_each_run(part, param.spec.shape, [&](std::int64_t at, std::int64_t, std::int64_t count) {
      const std::int64_t begin = param.offset + at;
      const Tensor run = view.at({begin, begin + count});
      const Tensor staged = all.slice(0, done, count);
      convert(stream_, to_memory ? run : staged, to_memory ? staged : run);
      done += count;
    });
    if (!to_memory) move(all);
  }

  const Stream& stream_;
  std::vector<std::byte> staging_;
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

// Calls write(tensor, boxes, memory) for this rank's pieces. What is on a disk comes from there:
// that may fail on this rank alone.
template <class Write>
void write_state(const Stream& stream, ParameterStore& store, Optimizer* optimizer, Write&& write) {
  PieceMover mover(stream);
  for (int b = 0; b < static_cast<int>(store.blocks().size()); ++b) {
    const ParameterBlock& block = store.blocks()[static_cast<std::size_t>(b)];
    if (block.duplicate) continue;
    const auto save = [&](const char* group, const BlockView& view) {
      mover.each(
          block, intersect(block.own, view.range), view, false,
          [](const Piece& piece) { return piece.owner; },
          [&](const std::string& name, const std::vector<hdf5::Box>& boxes, const Tensor& data) {
            write(group + name, boxes, data);
          });
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
  snapshot.clear();
  write_state(stream, store, &optimizer,
              [&](const std::string& name, const std::vector<hdf5::Box>& boxes,
                  const Tensor& data) { snapshot.add(stream, name, boxes, data); });
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
    write_state(stream, store, optimizer,
                [&](const std::string& name, const std::vector<hdf5::Box>& boxes,
                    const Tensor& data) { writer.write(name, boxes, data); });
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
  PieceMover mover(stream);
  // A run goes on from what was stepped, whatever the types of both runs.
  const bool stepped_master = reader.contains(master_group + global_tensors(model).front().name);
  const char* const source = stepped_master ? master_group : weight_group;
  const bool moments = has_optimizer(reader, model);
  for (int b = 0; b < static_cast<int>(store.blocks().size()); ++b) {
    const ParameterBlock& block = store.blocks()[static_cast<std::size_t>(b)];
    const auto restore = [&](const char* group, const BlockView& view) {
      mover.each(
          block, view.range, view, true, [](const Piece&) { return true; },
          [&](const std::string& name, const std::vector<hdf5::Box>& boxes, const Tensor& data) {
            reader.read(group + name, boxes, data);
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
