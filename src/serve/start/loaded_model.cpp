// SPDX-License-Identifier: Apache-2.0
#include "src/serve/start/loaded_model.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "kernels/base/check.hpp"
#include "kernels/base/mpi/agree.hpp"
#include "src/config/rope_kinds.hpp"
#include "src/inference/end_tokens.hpp"
#include "src/inference/engine/cache_size.hpp"
#include "src/inference/engine/paged_engine.hpp"
#include "src/inference/engine/sequential_engine.hpp"
#include "src/inference/grid/grid_engine.hpp"
#include "src/inference/held_weights.hpp"
#include "src/inference/model_files.hpp"
#include "src/inference/model_tokenizer.hpp"
#include "src/serve/answer/token_spelling.hpp"
#include "src/serve/api/chat_request.hpp"
#include "src/text/template/chat_template.hpp"

namespace triax {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::int64_t usual_context = 8192;  // tokens, where serve.context says nothing

std::string config_text(const ModelFiles& files) {
  if (!files.is_directory()) return CheckpointReader(files.path()).header().model;
  std::ifstream file(files.path() + "/config.json");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::int64_t context_of(const ModelFiles& files, std::int64_t wanted) {
  const std::int64_t most = longest_sequence(files.model());
  if (wanted > most)
    throw UsageError(fmt::format("serve.context {} is too long", wanted),
                     fmt::format("the model has {} positions", most), "Lower it");
  return wanted > 0 ? wanted : std::min(files.trained_length(), usual_context);
}

std::vector<std::string> names_of(const ServeSettings& settings, const std::string& path) {
  if (!settings.names.empty()) return settings.names;
  fs::path name = fs::path(path).lexically_normal();
  if (!name.has_filename()) name = name.parent_path();
  return {name.extension() == ".h5" ? name.stem().string() : name.filename().string()};
}

std::int64_t now_in_seconds() {
  using std::chrono::duration_cast;
  return duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

TokenChoice default_choice(const TokenizerFiles& files) {
  constexpr const char* name = "generation_config.json";
  TokenChoice choice;
  const std::string* text = files.find(name);
  if (text == nullptr) return choice;
  const json config = json::parse(*text, nullptr, false);
  if (!config.is_object())
    throw UsageError(files.path(name) + " is no JSON object", {}, "Fetch the model again");
  const auto number = [&](const char* key, double otherwise) {
    const auto found = config.find(key);
    return found != config.end() && found->is_number() ? found->get<double>() : otherwise;
  };
  choice.temperature = number("temperature", choice.temperature);
  choice.top_k = static_cast<int>(number("top_k", choice.top_k));
  choice.top_p = number("top_p", choice.top_p);
  choice.min_p = number("min_p", choice.min_p);
  choice.repetition_penalty = number("repetition_penalty", choice.repetition_penalty);
  return choice;
}

namespace {

// Chat is refused where the template cannot be read; all else is served.
std::shared_ptr<const ChatTemplates> templates_of(const TokenizerFiles& files) {
  try {
    auto templates = std::make_shared<const ChatTemplates>(files);
    return templates->empty() ? nullptr : templates;
  } catch (const UsageError& error) {
    spdlog::warn("no /v1/chat/completions: {}", error.what());
    return nullptr;
  }
}

ServedModel served_model(const ModelFiles& files, const std::string& tokenizer,
                         const ServeSettings& settings, std::int64_t context) {
  const ModelTokenizer own = model_tokenizer(files.path(), tokenizer);
  ServedModel served;
  served.names = names_of(settings, files.path());
  served.created = now_in_seconds();
  served.context = context;
  served.vocabulary = files.model().vocabulary;
  served.tokenizer = own.tokenizer;
  served.end_tokens = end_tokens(config_text(files), own.files, *own.tokenizer, served.vocabulary);
  served.templates = templates_of(own.files);
  served.special_tokens = special_tokens_of(*own.tokenizer);
  served.choice = default_choice(own.files);
  served.choice.tokens = own.tokenizer->vocabulary();  // the model may have rows beyond them
  served.most_answers = settings.answers;
  return served;
}

}  // namespace

LoadedModel::LoadedModel(ProcessGrid& grid, const std::string& path, const std::string& tokenizer,
                         SavedWeights weights, const ServeSettings& settings)
    : path_(path), tokenizer_(tokenizer) {
  const Ranks ranks(grid);
  const ModelFiles files(path, ranks);
  for (const std::string& warning : files.warnings()) spdlog::warn("{}", warning);
  std::int64_t context = 0;
  HeldWeights held;
  agreed(ranks, [&] {
    context = context_of(files, settings.context);
    if (grid.rank() == 0) served_ = served_model(files, tokenizer, settings, context);
    held = held_weights(settings.engine.weights, files, weights, grid.space(), true);
  });
  if (!held.note.empty()) spdlog::info("{}", held.note);
  if (const std::string effect = rope_effect_of_length(files.model(), context); !effect.empty())
    spdlog::info("rotary positions: {}", effect);
  model_.emplace(
      files.model(), grid, context,
      [&](const Stream& stream, const ModelConfig& of, ParameterStore& store) {
        files.load(stream, of, store, ranks, weights);
      },
      held);
}

// Each replica chooses its tokens itself: its first rank reads the tokenizer where it needs it.
TokenBytes LoadedModel::token_bytes() const {
  return [this] {
    return all_token_bytes(served_.tokenizer ? *served_.tokenizer
                                             : *model_tokenizer(path_, tokenizer_).tokenizer);
  };
}

void LoadedModel::with_engine(const EngineOptions& options,
                              const std::function<void(Engine&)>& body) {
  ProcessGrid& grid = model_->grid();
  if (grid.space() == MemorySpace::host || grid.size() > 1)
    return triax::with_engine(*model_, options, body, token_bytes());
  Generator generator(*model_);
  SequentialEngine engine(generator, token_bytes());
  body(engine);
}

}  // namespace triax
