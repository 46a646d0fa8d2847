// SPDX-License-Identifier: Apache-2.0
#include "src/checkpoint/saved_tokenizer.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "io/checkpoint/tools/checkpoint_verify.hpp"
#include "io/hdf5/hdf5.hpp"
#include "kernels/base/check.hpp"
#include "src/text/tokenizer_files.hpp"

namespace triax {
namespace {

using nlohmann::json;

// Value at a pointer of the job's JSON; null where there is none.
json value_of(const std::string& job, const char* pointer) {
  const json root = json::parse(job, nullptr, false);
  const json::json_pointer at(pointer);
  return root.is_object() && root.contains(at) ? root[at] : json();
}

std::string text_of(const json& value) {
  return value.is_string() ? value.get<std::string>() : std::string();
}

Tensor bytes_of(const std::string& text) {
  // Tensors that are read alone have mutable memory, too.
  return {static_cast<void*>(const_cast<char*>(text.data())), DType::u8, {std::ssize(text)}};
}

std::vector<CheckpointTensor> datasets_of(const TokenizerFiles& files) {
  std::vector<CheckpointTensor> datasets;
  for (const auto& [name, bytes] : files.bytes)
    if (!bytes.empty())
      datasets.push_back({tokenizer_group + name, DType::u8, {std::ssize(bytes)}});
  return datasets;
}

bool is_checkpoint(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) && hdf5::begin_of_hdf5(path) >= 0;
}

}  // namespace

RunTokenizer run_tokenizer(TokenizerFiles files) {
  RunTokenizer tokenizer;
  tokenizer.name = files.place;
  if (!files.tokenizer.empty()) {
    const OpenedTokenizer opened = open_with_facts(files);
    tokenizer.hash = opened.tokenizer->fingerprint();
    tokenizer.format = opened.format;
    tokenizer.vocabulary = opened.tokenizer->vocabulary();
    tokenizer.end_token = opened.tokenizer->end_token().value_or(-1);
  }
  tokenizer.datasets = datasets_of(files);
  tokenizer.files = std::move(files);
  return tokenizer;
}

RunTokenizer named_run_tokenizer(const std::string& name) {
  if (name != "bytes") {
    RunTokenizer tokenizer = run_tokenizer(named_tokenizer_files(name));
    if (tokenizer.hash.empty()) open_with_facts(tokenizer.files);  // throws: it has no tokenizer
    tokenizer.name = name;
    return tokenizer;
  }
  const auto bytes = byte_tokenizer();
  return {.name = name,
          .hash = bytes->fingerprint(),
          .format = name,
          .vocabulary = bytes->vocabulary()};
}

RunTokenizer shared_tokenizer(const Ranks& ranks, RunTokenizer tokenizer) {
  if (ranks.size == 1) return tokenizer;
  json all = {{"name", tokenizer.name},
              {"hash", tokenizer.hash},
              {"format", tokenizer.format},
              {"vocabulary", tokenizer.vocabulary},
              {"end_token", tokenizer.end_token}};
  for (const CheckpointTensor& dataset : tokenizer.datasets)
    all["datasets"].push_back({dataset.name, dataset.shape.elements()});
  const std::string text =
      broadcast_text(ranks, all.dump(-1, ' ', false, json::error_handler_t::replace));
  if (ranks.rank == 0) return tokenizer;
  all = json::parse(text);
  RunTokenizer shared{all["name"], all["hash"], all["format"], all["vocabulary"], all["end_token"]};
  for (const json& dataset : all.value("datasets", json::array()))
    shared.datasets.push_back(
        {dataset[0].get<std::string>(), DType::u8, {dataset[1].get<std::int64_t>()}});
  return shared;
}

void write_tokenizer(const RunTokenizer& tokenizer, const Ranks& ranks, CheckpointWriter& writer) {
  if (ranks.rank != 0) return;
  for (const auto& [name, bytes] : tokenizer.files.bytes) {
    if (bytes.empty()) continue;
    const Tensor data = bytes_of(bytes);
    writer.write(tokenizer_group + name, hdf5::flat_range_boxes(data.shape(), 0, data.elements()),
                 data, Lifetime::finish);
  }
}

std::string tokenizer_text(const RunTokenizer& tokenizer) {
  if (tokenizer.files.tokenizer.empty()) return {};
  json text = {{"file", tokenizer.files.tokenizer}};
  if (!tokenizer.files.class_name.empty()) text["class"] = tokenizer.files.class_name;
  return text.dump(-1, ' ', false, json::error_handler_t::replace);
}

bool has_tokenizer(const CheckpointReader& reader) {
  return std::ranges::any_of(reader.tensors(), [](const CheckpointTensor& tensor) {
    return tensor.name.starts_with(tokenizer_group);
  });
}

TokenizerFiles saved_tokenizer_files(const CheckpointReader& reader) {
  TokenizerFiles files;
  files.place = reader.path();
  if (!has_tokenizer(reader)) return files;
  require_whole(reader.path(), MPI_COMM_NULL, tokenizer_group);
  for (const CheckpointTensor& tensor : reader.tensors()) {
    if (!tensor.name.starts_with(tokenizer_group)) continue;
    std::string& bytes = files.bytes[tensor.name.substr(std::string(tokenizer_group).size())];
    bytes.resize(static_cast<std::size_t>(tensor.shape.elements()));
    reader.read(tensor.name, hdf5::flat_range_boxes(tensor.shape, 0, tensor.shape.elements()),
                bytes_of(bytes));
  }
  const std::string& job = reader.header().job;
  const std::string file = text_of(value_of(job, "/triax/tokenizer/file"));
  files.tokenizer = files.find(file) != nullptr ? file : defining_file(files);
  files.class_name = text_of(value_of(job, "/triax/tokenizer/class"));
  return files;
}

RunTokenizer saved_tokenizer(const CheckpointReader& reader) {
  RunTokenizer tokenizer = run_tokenizer(saved_tokenizer_files(reader));
  tokenizer.name = reader.path();
  if (tokenizer.hash.empty())
    tokenizer.hash = text_of(value_of(reader.header().job, "/data/tokenizer_hash"));
  if (tokenizer.hash != byte_tokenizer()->fingerprint() || !tokenizer.format.empty())
    return tokenizer;
  return named_run_tokenizer("bytes");
}

TokenizerFiles named_tokenizer_files(const std::string& name) {
  return is_checkpoint(name) ? saved_tokenizer_files(CheckpointReader(name))
                             : read_tokenizer_files(name);
}

OpenedTokenizer open_named_tokenizer(const std::string& name) {
  return name == "bytes" ? open_with_facts(name) : open_with_facts(named_tokenizer_files(name));
}

}  // namespace triax
