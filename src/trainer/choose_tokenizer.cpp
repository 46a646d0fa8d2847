// SPDX-License-Identifier: Apache-2.0
#include "src/trainer/choose_tokenizer.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "io/files/shell_word.hpp"
#include "io/tokens/token_facts.hpp"
#include "kernels/base/mpi/agree.hpp"
#include "src/data/chat/end_of_turn.hpp"
#include "src/launch/run_directory.hpp"
#include "src/text/template/chat_template.hpp"

namespace triax {
namespace {

constexpr int vocabulary_of_bytes = 256;
constexpr const char* generation_config_file = "generation_config.json";

// "gpt2/ (SHA-256 1a2b...)"
std::string shown(const std::string& name, const std::string& hash) {
  return fmt::format("{} (SHA-256 {})", name, hash);
}

// The tokenizer in the directory of model.from; without a hash where there is none that opens.
RunTokenizer tokenizer_of_model(const ModelConfig& model) {
  if (model.weights.empty() || model.vocabulary == vocabulary_of_bytes) return {};
  try {
    return run_tokenizer(named_tokenizer_files(model.weights));
  } catch (const Error& error) {
    spdlog::warn(
        "the tokenizer of model.from is not stored in checkpoints: {}. Set data.tokenizer to store "
        "one",
        error.what());
    return {};
  }
}

// Replaces the files, of which some are not the tokenizer's own.
void set_files(RunTokenizer& to, TokenizerFiles files) {
  RunTokenizer more = run_tokenizer(std::move(files));
  to.files.bytes = std::move(more.files.bytes);
  to.datasets = std::move(more.datasets);
}

// Adds what only the model's directory has, such as generation_config.json.
void add_files(RunTokenizer& to, const RunTokenizer& model) {
  TokenizerFiles files{.place = to.files.place, .tokenizer = {}, .bytes = to.files.bytes};
  for (const char* name : {generation_config_file, chat_template_file})
    if (const std::string* bytes = model.files.find(name); bytes != nullptr)
      files.bytes.emplace(name, *bytes);
  if (files.bytes.size() == to.files.bytes.size()) return;
  set_files(to, std::move(files));
}

// Adds the token to those at which generation stops (eos_token_id, a number or a list of them).
void add_end(TokenizerFiles& files, std::int32_t token) {
  std::string& text = files.bytes[generation_config_file];
  auto config = nlohmann::ordered_json::parse(text, nullptr, false);
  if (!config.is_object()) config = nlohmann::ordered_json::object();
  auto& ends = config["eos_token_id"];
  if (!ends.is_array())
    ends = ends.is_null() ? nlohmann::ordered_json::array() : nlohmann::ordered_json::array({ends});
  if (std::find(ends.begin(), ends.end(), token) == ends.end()) ends.push_back(token);
  text = config.dump(2) + "\n";
}

// The model learns this template: it goes where the model goes, and answers end as they do in it.
void set_chat_template(RunTokenizer& to, const std::string& name) {
  TokenizerFiles files{.place = to.files.place, .tokenizer = {}, .bytes = to.files.bytes};
  const OpenedTokenizer opened = open_with_facts(to.files);
  const auto end = end_of_turn(ChatTemplates(name, to.files), *opened.tokenizer);
  if (end && end != opened.tokenizer->end_token()) {
    if (opened.tokenizer->end_token()) add_end(files, *opened.tokenizer->end_token());
    add_end(files, *end);
    spdlog::info("data.template: answers end with {}, which is added to eos_token_id of {}",
                 opened.tokenizer->token(*end), generation_config_file);
  }
  files.bytes[chat_template_file] = chat_template_text(name);
  set_files(to, std::move(files));
}

// On rank 0 alone. `resumed`: the checkpoint; empty: none.
class Choice {
 public:
  Choice(const Config& config, std::string resumed)
      : config_(config), resumed_(std::move(resumed)) {}

  RunTokenizer make() {
    if (!resumed_.empty()) saved_ = saved_tokenizer(CheckpointReader(resumed_));
    const std::string& named = config_.data.tokenizer;
    RunTokenizer chosen = named == "auto" ? automatic() : given(named);
    check_expected(chosen);
    for (const auto* files : {&config_.data.train, &config_.data.valid})
      for (const std::string& file : *files) check_data(file, chosen);
    if (!chosen.hash.empty() && chosen.format.empty())
      spdlog::info(
          "the data's tokenizer is not stored in checkpoints (SHA-256 {}): set data.tokenizer to "
          "its directory to store it",
          chosen.hash);
    return chosen;
  }

 private:
  RunTokenizer automatic() {
    if (saved_ && !saved_->format.empty()) return *std::move(saved_);
    RunTokenizer model = tokenizer_of_model(config_.model);
    if (!saved_) return model;
    const bool other = !saved_->hash.empty() && saved_->hash != model.hash;
    return other || model.datasets.empty() ? *std::move(saved_) : model;
  }

  RunTokenizer given(const std::string& name) {
    RunTokenizer chosen = named_run_tokenizer(name);
    if (saved_ && !saved_->hash.empty() && saved_->hash != chosen.hash) changed(chosen);
    if (name == "bytes") return chosen;
    const RunTokenizer model = tokenizer_of_model(config_.model);
    if (!model.hash.empty() && model.hash != chosen.hash)
      spdlog::warn("data.tokenizer {} is not that of model.from: {}", shown(name, chosen.hash),
                   shown(model.name, model.hash));
    add_files(chosen, model);
    return chosen;
  }

  // The job says otherwise where it names the new tokenizer by its hash, too.
  void changed(const RunTokenizer& chosen) const {
    const std::string differ =
        fmt::format("data.tokenizer is {}, the checkpoint's is {}", shown(chosen.name, chosen.hash),
                    shown(saved_->name, saved_->hash));
    if (config_.data.tokenizer_hash == chosen.hash)
      return spdlog::warn("resumed with another tokenizer: {}", differ);
    throw UsageError(
        fmt::format("{} was not trained on tokens of data.tokenizer", resumed_), differ,
        fmt::format("Leave data.tokenizer out to go on with the checkpoint's. To train its weights "
                    "on other tokens, use --set data.tokenizer_hash={}",
                    chosen.hash));
  }

  void check_expected(RunTokenizer& chosen) const {
    const std::string& expected = config_.data.tokenizer_hash;
    if (expected.empty() || expected == chosen.hash) return;
    if (chosen.hash.empty()) {
      chosen.hash = expected;
      chosen.name = "the tokenizer of data.tokenizer_hash";
      return;
    }
    throw UsageError(
        fmt::format("the tokenizer is not that of data.tokenizer_hash, {}", expected),
        fmt::format("it is {}", shown(chosen.name, chosen.hash)),
        "Set data.tokenizer to the tokenizer of that hash, or leave data.tokenizer_hash out");
  }

  // Hash of the tokenizer that made a data file; empty: the file does not say. The shards of a set
  // have one file of facts.
  std::string hash_of(const std::string& file) {
    const std::string side = facts_path(file);
    if (const auto known = hashes_.find(side); known != hashes_.end()) return known->second;
    try {
      const std::optional<TokenFacts> facts = token_facts(file);
      const bool in_side = facts && facts->in_side_file;
      std::string hash = facts ? facts->tokenizer : std::string();
      if (in_side) hashes_.emplace(side, hash);
      return hash;
    } catch (const Error&) {
      return {};  // the file is damaged, or no token file: its reader says so
    }
  }

  void check_data(const std::string& file, RunTokenizer& chosen) {
    const std::string hash = hash_of(file);
    if (hash.empty() || hash == chosen.hash) return;
    if (chosen.hash.empty()) {
      chosen.hash = hash;
      chosen.name = "the tokenizer of " + file;
      return;
    }
    throw UsageError(
        fmt::format("{} was made by another tokenizer than the run's", file),
        fmt::format("its tokenizer has SHA-256 {}; the run's is {}", hash,
                    shown(chosen.name, chosen.hash)),
        fmt::format("Make the file again with the run's (triax data tokenize --tokenizer {}), or "
                    "set data.tokenizer to the one that made it",
                    chosen.format.empty() ? "DIR" : shell_word(chosen.name)));
  }

  const Config& config_;
  std::string resumed_;
  std::optional<RunTokenizer> saved_;
  std::map<std::string, std::string> hashes_;  // by the file of facts
};

}  // namespace

RunTokenizer choose_tokenizer(ProcessGrid& grid, const Config& config,
                              const std::string& chat_template) {
  std::string resumed;
  agreed(grid, [&] {
    if (grid.rank() == 0) resumed = resume_file(config.checkpoint);
  });
  RunTokenizer chosen;
  try {
    agreed(grid, [&] {
      if (grid.rank() != 0) return;
      chosen = Choice(config, resumed).make();
      if (!chat_template.empty() && !chosen.format.empty())
        set_chat_template(chosen, chat_template);
    });
  } catch (const UsageError&) {
    throw;
  } catch (const Error&) {
    // Names a checkpoint that is whole, if it is the resumed one that is damaged.
    resumed = broadcast_text(grid, resumed);
    if (!resumed.empty()) check_whole(grid, resumed, config.checkpoint.directory);
    throw;
  }
  return shared_tokenizer(grid, std::move(chosen));
}

std::string with_tokenizer_hash(const std::string& job, const std::string& hash) {
  if (hash.empty()) return job;
  auto root = nlohmann::ordered_json::parse(job);
  root["data"]["tokenizer_hash"] = hash;
  return root.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace triax
