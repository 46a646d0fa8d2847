// SPDX-License-Identifier: Apache-2.0
#include "src/huggingface/huggingface_export.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <filesystem>
#include <set>
#include <thread>
#include <vector>

#include "io/checkpoint/checkpoint_reader.hpp"
#include "io/checkpoint/tensor_pieces.hpp"
#include "io/checkpoint/tools/checkpoint_verify.hpp"
#include "io/files/durable.hpp"
#include "io/files/mapped_file.hpp"
#include "io/safetensors/safetensors.hpp"
#include "io/safetensors/safetensors_writer.hpp"
#include "kernels/base/mpi/agree.hpp"
#include "src/checkpoint/checkpoint.hpp"
#include "src/checkpoint/saved_tokenizer.hpp"
#include "src/config/model/huggingface.hpp"
#include "src/huggingface/convert_weights.hpp"
#include "src/launch/output_target.hpp"
#include "src/model/stage/stage.hpp"
#include "src/text/tokenizer_files.hpp"

namespace triax {
namespace {

namespace fs = std::filesystem;

constexpr const char* config_name = "config.json";

// Whether `name` is a weights file or the index of a model, or the ".tmp" file of one.
bool is_weights(std::string name) {
  if (name.ends_with(".tmp")) name.resize(name.size() - 4);
  return name == safetensors_index_name ||
         (name.starts_with("model") && name.ends_with(".safetensors"));
}

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory))
    names.push_back(entry.path().filename().string());
  return names;
}

// Removes the ".tmp" files of a killed export. Called on the rank that holds the OutputTarget.
void remove_left(const std::string& directory) {
  for (const std::string& name : names_in(directory)) {
    if (!name.ends_with(".tmp")) continue;
    const std::string whole = name.substr(0, name.size() - 4);
    if (is_weights(name) || whole == config_name || is_tokenizer_file(whole))
      fs::remove(fs::path(directory) / name);
  }
}

// UsageError if the directory holds a model and `replace` is false.
void require_no_model(const std::string& directory, bool replace) {
  for (const std::string& name : names_in(directory))
    if (!replace && !name.ends_with(".tmp") && (is_weights(name) || name == config_name))
      throw UsageError(fmt::format("{} holds a model", directory), fmt::format("there is {}", name),
                       "Give another directory, or --force");
}

// Files of the checkpoint's tokenizer that an export has, on rank 0.
class TokenizerExport {
 public:
  TokenizerExport(const CheckpointReader& reader, std::string directory)
      : directory_(std::move(directory)), files_(saved_tokenizer_files(reader)) {
    files_.bytes.erase(config_name);  // the model's own is written
  }

  /// UsageError if the directory has a file of another tokenizer and `replace` is false.
  void require_no_other(bool replace) const {
    if (replace) return;
    for (const auto& [name, bytes] : files_.bytes)
      if (const std::string path = path_of(name);
          fs::exists(fs::symlink_status(path)) && !holds(path, bytes))
        throw UsageError(fmt::format("{} has a tokenizer that is not the checkpoint's", directory_),
                         fmt::format("{} differs", name), "Give another directory, or --force");
  }
  /// Writes the files, and removes those of a tokenizer that is replaced.
  void write(bool replace) const {
    if (files_.bytes.empty()) return;
    for (const std::string& name : names_in(directory_))
      if (replace && is_tokenizer_file(name) && files_.find(name) == nullptr)
        fs::remove(path_of(name));
    for (const auto& [name, bytes] : files_.bytes) write_durably(path_of(name), bytes);
  }
  std::int64_t count() const { return std::ssize(files_.bytes); }

 private:
  std::string path_of(const std::string& name) const {
    return (fs::path(directory_) / name).string();
  }
  static bool holds(const std::string& path, const std::string& bytes) {
    std::error_code ignored;
    if (fs::file_size(path, ignored) != bytes.size() || ignored) return false;
    const MappedFile file(path);
    return std::string_view(reinterpret_cast<const char*>(file.data()), file.size()) == bytes;
  }

  std::string directory_;
  TokenizerFiles files_;
};

// Tensors of an export, and their files.
class Export {
 public:
  /// `reader` of the file `checkpoint` outlives the object.
  Export(const CheckpointReader& reader, const std::string& checkpoint,
         const ExportOptions& options)
      : reader_(reader),
        model_(model_from_huggingface(reader_.header().model, "the checkpoint's model")) {
    for (const CheckpointTensor& tensor : reader_.tensors()) types_[tensor.name] = tensor.dtype;
    const std::vector<GlobalTensor> tensors = global_tensors(model_);
    for (const GlobalTensor& tensor : tensors) require(checkpoint, weight_group, tensor);
    const DType stored = types_.at(weight_group + tensors.front().name);
    type_ = options.type.value_or(stored);
    converts_ = type_ != stored;
    std::vector<SafetensorsTensor> out;
    for (const GlobalTensor& tensor : tensors) {
      require(checkpoint, group_of(tensor.name), tensor);
      groups_.insert(group_of(tensor.name));
      out.push_back({tensor.name, type_, tensor.shape});
    }
    shards_ = cut_into_shards(out, options.shard_bytes);
  }

  const std::vector<SafetensorsShard>& shards() const { return shards_; }
  std::string config() const { return huggingface_config(model_, type_); }
  /// HDF5 group of the checkpoint that a tensor is read from: that of the master weights if the
  /// type differs from the saved weights', where the checkpoint has one (not of a frozen tensor).
  std::string group_of(const std::string& tensor) const {
    return converts_ && types_.contains(master_group + tensor) ? master_group : weight_group;
  }
  const std::set<std::string>& groups() const { return groups_; }

  ExportSummary summary() const {
    ExportSummary sum{.files = std::ssize(shards_), .type = type_};
    for (const SafetensorsShard& shard : shards_)
      for (const SafetensorsTensor& tensor : shard.tensors) {
        ++sum.tensors;
        sum.bytes += tensor.bytes();
      }
    return sum;
  }

  // Writes one file, tensor by tensor in pieces. A piece is read in the type of the checkpoint, so
  // that unconverted values keep their bits.
  void write(const SafetensorsShard& shard, SafetensorsWriter& writer) {
    for (const SafetensorsTensor& tensor : shard.tensors) {
      const std::string name = group_of(tensor.name) + tensor.name;
      const DType stored = types_.at(name);
      for (std::int64_t begin = 0; begin < tensor.shape.elements(); begin += piece_elements) {
        const std::int64_t end = std::min(begin + piece_elements, tensor.shape.elements());
        const Tensor from = staging(stored_, stored, end - begin);
        reader_.read(name, hdf5::flat_range_boxes(tensor.shape, begin, end), from);
        const bool same = stored == type_;
        const Tensor to = same ? from : staging(converted_, type_, end - begin);
        if (!same) convert_weights(tensor.name, to, from);
        writer.write(tensor.name, begin, to);
      }
    }
    writer.finish();
  }

 private:
  void require(const std::string& file, const std::string& group, const GlobalTensor& tensor) {
    const std::string name = group + tensor.name;
    if (!types_.contains(name) || reader_.shape(name) != tensor.shape)
      throw Error(fmt::format("{} has no tensor {} of shape {}", file, name, tensor.shape.text()),
                  "its attribute `model` asks for one", "Use another checkpoint of the run");
  }
  static Tensor staging(std::vector<std::byte>& memory, DType type, std::int64_t elements) {
    memory.resize(static_cast<std::size_t>(elements) * size_of(type));
    return {static_cast<void*>(memory.data()), type, {elements}};
  }

  const CheckpointReader& reader_;
  ModelConfig model_;
  std::map<std::string, DType> types_;  // of the checkpoint's tensors
  DType type_ = DType::f32;
  bool converts_ = false;  // to another type than that of the saved weights
  std::set<std::string> groups_;
  std::vector<SafetensorsShard> shards_;
  std::vector<std::byte> stored_, converted_;
};

// Bytes of a file; 0 if it is absent.
std::uint64_t bytes_of(const std::string& directory, const SafetensorsShard& shard) {
  std::error_code absent;
  const auto bytes = fs::file_size(fs::path(directory) / shard.file, absent);
  return absent ? 0 : bytes;
}

// Bytes of every file as seen by the rank that wrote it. Collective.
std::vector<std::uint64_t> bytes_written(const Export& weights, const std::string& directory,
                                         const Ranks& ranks) {
  std::vector<std::uint64_t> bytes(weights.shards().size());
  for (auto i = static_cast<std::size_t>(ranks.rank); i < bytes.size();
       i += static_cast<std::size_t>(ranks.size))
    bytes[i] = bytes_of(directory, weights.shards()[i]);
  sum_over_ranks(ranks, bytes);
  return bytes;
}

// Waits until this rank sees the files of all ranks: some file systems show them late, and never if
// each node has a directory of its own under this name. One rank only.
void require_all_here(const Export& weights, const std::string& directory,
                      const std::vector<std::uint64_t>& written) {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::seconds(10);
  for (std::size_t i = 0; i < written.size(); ++i) {
    const SafetensorsShard& shard = weights.shards()[i];
    while (bytes_of(directory, shard) != written[i] && Clock::now() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    if (bytes_of(directory, shard) != written[i])
      throw Error(fmt::format("rank 0 does not see {} in {}, which another rank has written there",
                              shard.file, directory),
                  "the nodes do not share that directory",
                  "Name one that all nodes share, or export with one process");
  }
}

// Writes the index and config.json, and removes the other files of a replaced model. One rank only,
// after all files have their final names.
void complete(const Export& weights, const TokenizerExport& tokenizer, const std::string& directory,
              bool replace) {
  std::set<std::string> ours;
  for (const SafetensorsShard& shard : weights.shards()) ours.insert(shard.file);
  for (const std::string& name : names_in(directory))
    if (replace && is_weights(name) && !ours.contains(name)) fs::remove(fs::path(directory) / name);
  if (weights.shards().size() > 1)
    write_durably((fs::path(directory) / safetensors_index_name).string(),
                  safetensors_index(weights.shards()));
  tokenizer.write(replace);
  write_durably((fs::path(directory) / config_name).string(), weights.config());
}

}  // namespace

ExportSummary export_huggingface(const std::string& checkpoint, const std::string& directory,
                                 const ExportOptions& options, const Ranks& ranks) {
  const int rank = ranks.rank;
  const int size = ranks.size;
  std::optional<OutputTarget> target;  // rank 0's
  agreed(ranks, [&] {
    if (rank != 0) return;
    target.emplace(directory, OutputTarget::Kind::directory);
    remove_left(directory);
    require_no_model(directory, options.replace);
  });
  const CheckpointReader reader(checkpoint, ranks);
  std::optional<Export> weights;
  std::optional<TokenizerExport> tokenizer;  // rank 0's
  agreed(ranks, [&] {
    weights.emplace(reader, checkpoint, options);
    if (rank != 0) return;
    tokenizer.emplace(reader, directory);
    tokenizer->require_no_other(options.replace);
  });
  ExportSummary sum = weights->summary();
  if (tokenizer) sum.tokenizer_files = tokenizer->count();
  agreed(ranks, [&] {
    if (rank == 0) require_room(directory, sum.bytes);
  });
  if (options.verify)
    for (const std::string& group : weights->groups())
      sum.verified = require_whole(checkpoint, ranks, group);
  std::deque<SafetensorsWriter> files;
  agreed(ranks, [&] {
    for (std::size_t i = static_cast<std::size_t>(rank); i < weights->shards().size();
         i += static_cast<std::size_t>(size)) {
      const SafetensorsShard& shard = weights->shards()[i];
      files.emplace_back((fs::path(directory) / shard.file).string(), shard.tensors);
      weights->write(shard, files.back());
    }
  });
  agreed(ranks, [&] {
    if (rank != 0) return;
    require_no_model(directory,
                     options.replace);  // another process may have written a model meanwhile
    fs::remove(fs::path(directory) / config_name);
  });
  agreed(ranks, [&] {
    for (SafetensorsWriter& file : files)
      file.publish(options.replace ? Existing::replaced : Existing::kept);
  });
  const std::vector<std::uint64_t> written = bytes_written(*weights, directory, ranks);
  agreed(ranks, [&] {
    if (rank != 0) return;
    require_all_here(*weights, directory, written);
    complete(*weights, *tokenizer, directory, options.replace);
  });
  return sum;
}

}  // namespace triax
