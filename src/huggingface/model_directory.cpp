// SPDX-License-Identifier: Apache-2.0
#include "src/huggingface/model_directory.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <filesystem>
#include <map>
#include <set>
#include <thread>
#include <vector>

#include "io/files/durable.hpp"
#include "io/files/mapped_file.hpp"
#include "io/safetensors/safetensors.hpp"
#include "io/safetensors/safetensors_writer.hpp"
#include "kernels/base/mpi/agree.hpp"
#include "src/config/model/huggingface.hpp"
#include "src/launch/output_target.hpp"
#include "src/model/stage/stage.hpp"
#include "src/state/weights/adapter_weights.hpp"
#include "src/text/tokenizer_files.hpp"

namespace triax {
namespace {

namespace fs = std::filesystem;

constexpr const char* config_name = "config.json";

// Whether `name` is a file of an adapter, which transformers would put on the model beside it.
bool is_adapter(const std::string& name) {
  return name == adapter_config_name || name == adapter_weights_name;
}

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
    if (!replace && !name.ends_with(".tmp") &&
        (is_weights(name) || name == config_name || is_adapter(name)))
      throw UsageError(fmt::format("{} holds a model", directory), fmt::format("there is {}", name),
                       "Give another directory, or --force");
}

// Files of the model's tokenizer that an export has, on rank 0.
class TokenizerExport {
 public:
  TokenizerExport(TokenizerFiles files, std::string directory)
      : directory_(std::move(directory)), files_(std::move(files)) {
    files_.bytes.erase(config_name);  // the model's own is written
  }

  /// UsageError if the directory has a file of another tokenizer and `replace` is false.
  void require_no_other(bool replace) const {
    if (replace) return;
    for (const auto& [name, bytes] : files_.bytes)
      if (const std::string path = path_of(name);
          fs::exists(fs::symlink_status(path)) && !holds(path, bytes))
        throw UsageError(fmt::format("{} has a tokenizer that is not the model's", directory_),
                         fmt::format("{} differs", name), "Give another directory, or --force");
  }
  /// Writes the files, and removes those of a tokenizer that is replaced.
  void write(bool replace) const {
    if (files_.bytes.empty()) return;
    for (const std::string& name : names_in(directory_))
      if (replace && is_tokenizer_file(name) && files_.find(name) == nullptr)
        fs::remove(path_of(name));
    for (const auto& [name, bytes] : files_.bytes) {
      fs::create_directories(fs::path(path_of(name)).parent_path());  // of more chat templates
      write_durably(path_of(name), bytes);
    }
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

// Tensors of an export, and their files. What a tensor of the model is stored as lies in one file.
class Export {
 public:
  Export(ModelToWrite to_write, const ExportOptions& options) : what_(std::move(to_write)) {
    if (!what_.encoding) what_.encoding = std::make_unique<PlainEncoding>(what_.type);
    std::vector<SafetensorsTensor> wholes;  // each of the bytes of one tensor's stored ones
    for (const GlobalTensor& tensor : global_tensors(what_.model)) {
      std::int64_t bytes = 0;
      for (const SafetensorsTensor& stored : what_.encoding->stored(tensor))
        bytes += stored.bytes();
      wholes.push_back({tensor.name, DType::u8, {bytes}});
      tensors_.emplace(tensor.name, tensor);
    }
    shards_ = cut_into_shards(wholes, options.shard_bytes);
    for (SafetensorsShard& shard : shards_) {
      std::vector<std::string>& names = names_[shard.file];
      std::vector<SafetensorsTensor> all;
      for (const SafetensorsTensor& whole : shard.tensors) {
        names.push_back(whole.name);
        const auto stored = what_.encoding->stored(tensors_.at(whole.name));
        all.insert(all.end(), stored.begin(), stored.end());
      }
      shard.tensors = all;
    }
  }

  const std::vector<SafetensorsShard>& shards() const { return shards_; }
  std::string config() const {
    return what_.encoding->config(huggingface_config(what_.model, what_.type));
  }
  const TokenizerFiles& tokenizer() const { return what_.tokenizer; }
  bool verify() const { return what_.verify(); }

  ExportSummary summary() const {
    ExportSummary sum{
        .files = std::ssize(shards_), .tensors = std::ssize(tensors_), .type = what_.type};
    for (const SafetensorsShard& shard : shards_)
      for (const SafetensorsTensor& tensor : shard.tensors) sum.bytes += tensor.bytes();
    return sum;
  }

  // Writes one file, tensor by tensor in pieces.
  void write(const SafetensorsShard& shard, SafetensorsWriter& writer) {
    for (const std::string& name : names_.at(shard.file))
      what_.encoding->write(tensors_.at(name), *what_.weights, writer);
    writer.finish();
  }

 private:
  ModelToWrite what_;
  std::map<std::string, GlobalTensor> tensors_;
  std::vector<SafetensorsShard> shards_;
  std::map<std::string, std::vector<std::string>> names_;  // of the model's tensors, by file
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
    if (replace && (is_adapter(name) || (is_weights(name) && !ours.contains(name))))
      fs::remove(fs::path(directory) / name);
  if (weights.shards().size() > 1)
    write_durably((fs::path(directory) / safetensors_index_name).string(),
                  safetensors_index(weights.shards()));
  tokenizer.write(replace);
  write_durably((fs::path(directory) / config_name).string(), weights.config());
}

}  // namespace

ExportSummary write_model(const std::string& directory, const ExportOptions& options,
                          const Ranks& ranks, const std::function<void()>& prepare,
                          const std::function<ModelToWrite()>& open) {
  const int rank = ranks.rank;
  const int size = ranks.size;
  std::optional<OutputTarget> target;  // rank 0's
  agreed(ranks, [&] {
    if (rank != 0) return;
    target.emplace(directory, OutputTarget::Kind::directory);
    remove_left(directory);
    require_no_model(directory, options.replace);
  });
  prepare();
  std::optional<Export> weights;
  std::optional<TokenizerExport> tokenizer;  // rank 0's
  agreed(ranks, [&] {
    weights.emplace(open(), options);
    if (rank != 0) return;
    tokenizer.emplace(weights->tokenizer(), directory);
    tokenizer->require_no_other(options.replace);
  });
  ExportSummary sum = weights->summary();
  if (tokenizer) sum.tokenizer_files = tokenizer->count();
  agreed(ranks, [&] {
    if (rank == 0) require_room(directory, sum.bytes);
  });
  if (options.verify) sum.verified = weights->verify();
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
