// SPDX-License-Identifier: Apache-2.0
#include "src/huggingface/huggingface_export.hpp"

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "io/checkpoint/checkpoint_reader.hpp"
#include "io/checkpoint/tools/checkpoint_verify.hpp"
#include "kernels/base/mpi/agree.hpp"
#include "src/checkpoint/adapter_base.hpp"
#include "src/checkpoint/optimizer_states.hpp"
#include "src/checkpoint/saved_tokenizer.hpp"
#include "src/huggingface/adapter_folder.hpp"
#include "src/huggingface/model_directory.hpp"
#include "src/model/stage/stage.hpp"

namespace triax {
namespace {

// The weights of a checkpoint: those of /model, or of /master where another type is wanted and the
// checkpoint has one (not of a frozen tensor).
class CheckpointWeights : public WeightSource {
 public:
  /// `reader` of the file `checkpoint` outlives the object.
  CheckpointWeights(const CheckpointReader& reader, const std::string& checkpoint,
                    const ModelConfig& model, const ExportOptions& options)
      : reader_(reader), average_(options.weights == SavedWeights::average) {
    for (const CheckpointTensor& tensor : reader_.tensors()) types_[tensor.name] = tensor;
    const std::vector<GlobalTensor> tensors = global_tensors(model);
    for (const GlobalTensor& tensor : tensors) require(checkpoint, weight_group, tensor);
    const DType stored = types_.at(weight_group + tensors.front().name).dtype;
    out_ = options.type.value_or(stored);
    converts_ = out_ != stored;
    for (const GlobalTensor& tensor : tensors) {
      require(checkpoint, group_of(tensor.name), tensor);
      groups_.insert(group_of(tensor.name));
    }
  }

  DType out() const { return out_; }
  const std::set<std::string>& groups() const { return groups_; }
  DType type(const std::string& tensor) const override {
    return types_.at(group_of(tensor) + tensor).dtype;
  }
  void read(const std::string& tensor, std::int64_t begin, const Tensor& out) override {
    const std::string name = group_of(tensor) + tensor;
    reader_.read(name, hdf5::flat_range_boxes(types_.at(name).shape, begin, begin + out.elements()),
                 out);
  }

 private:
  std::string group_of(const std::string& tensor) const {
    if (average_ && types_.contains(average_group + tensor)) return average_group;
    return converts_ && types_.contains(master_group + tensor) ? master_group : weight_group;
  }
  void require(const std::string& file, const std::string& group, const GlobalTensor& tensor) {
    const std::string name = group + tensor.name;
    if (!types_.contains(name) || types_.at(name).shape != tensor.shape)
      throw Error(fmt::format("{} has no tensor {} of shape {}", file, name, tensor.shape.text()),
                  "its attribute `model` asks for one", "Use another checkpoint of the run");
  }

  const CheckpointReader& reader_;
  bool average_;
  std::map<std::string, CheckpointTensor> types_;
  DType out_ = DType::f32;
  bool converts_ = false;  // to another type than that of the saved weights
  std::set<std::string> groups_;
};

ModelToWrite open_checkpoint(const CheckpointReader& reader, const std::string& checkpoint,
                             const ExportOptions& options, const Ranks& ranks) {
  if (options.weights == SavedWeights::average) require_average(reader);
  const ModelConfig model = model_of(reader.header());
  ModelToWrite made{.model = base_of(model)};
  std::set<std::string> groups;
  if (model.lora) {
    check_base(reader.header(), checkpoint, model.weights);
    made = merged_model(model, adapter_of_checkpoint(reader, checkpoint, model, options.weights),
                        options.type);
    groups = {weight_group};
  } else {
    auto weights = std::make_unique<CheckpointWeights>(reader, checkpoint, model, options);
    made.type = weights->out();
    groups = weights->groups();
    made.weights = std::move(weights);
  }
  if (ranks.rank == 0) made.tokenizer = saved_tokenizer_files(reader);
  made.verify = [checkpoint, ranks, groups] {
    bool whole = false;
    for (const std::string& group : groups) whole = require_whole(checkpoint, ranks, group);
    return whole;
  };
  return made;
}

}  // namespace

ExportSummary export_huggingface(const std::string& checkpoint, const std::string& directory,
                                 const ExportOptions& options, const Ranks& ranks) {
  std::optional<CheckpointReader> reader;
  return write_model(
      directory, options, ranks, [&] { reader.emplace(checkpoint, ranks); },
      [&] { return open_checkpoint(*reader, checkpoint, options, ranks); });
}

}  // namespace triax
