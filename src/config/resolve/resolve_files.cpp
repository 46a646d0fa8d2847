// SPDX-License-Identifier: Apache-2.0
// Files of a job: data, tokenizer, checkpoints, and where they were.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "src/config/resolve/paths.hpp"
#include "src/config/resolve/resolve.hpp"
#include "src/config/resolve/sources.hpp"
#include "src/config/rope_kinds.hpp"
#include "src/config/row_slice.hpp"
#include "src/config/source/absolute_path.hpp"
#include "src/config/source/file_look.hpp"
#include "src/config/source/find_input.hpp"
#include "src/config/source/pattern.hpp"
#include "src/model/families/families.hpp"

namespace triax {
namespace {
namespace fs = std::filesystem;
using nlohmann::json;

// job.json names the run's directory as it was at the start. If the run was moved, a run from that
// file would start anew in the old location: refused until --set run.directory names the new one. A
// copy used as a template is valid while the original directory exists.
void check_moved(Settings& s, ErrorList& missing) {
  const std::string key = "run.directory";
  if (!s.has("triax") || !s.sound({key})) return;
  const Origin origin = s.at(key).origin;
  if (origin.file != s.at("triax").origin.file) return;  // named anew
  const fs::path named = s.string(key);
  const std::string here = absolute_path((fs::path(origin.file).parent_path() / ".").string());
  const FileLook job = look_at(named / "job.json");
  std::error_code absent;
  if (job.there || !job.problem.empty() || fs::equivalent(named, here, absent)) return;
  s.error(
      missing, key,
      fmt::format(
          "there is no run in {0} any more, the directory of the run that wrote {1}. If the run "
          "was moved to {2}, use --set run.directory={2}; for a new run, set another directory",
          named.string(), origin.file, here));
}

// Token files are known by extension, or by a zero byte in the first 64 bytes, which every token
// format has and no text has. Paths that are not regular files are left to their reader.
bool is_token_file(const std::string& path) {
  if (std::error_code unknown; !fs::is_regular_file(path, unknown)) return true;
  const auto extension = fs::path(path).extension();
  if (extension == ".bin" || extension == ".h5" || extension == ".hdf5" || extension == ".idx")
    return true;
  std::array<char, 64> head{};
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), head.size());
  return std::string_view(head.data(), static_cast<std::size_t>(file.gcount())).find('\0') !=
         std::string_view::npos;
}

// Weights from elsewhere were trained on a tokenizer's tokens, not on bytes.
void check_tokens_of_weights(const Settings& s, const ModelConfig& m, const std::string& text,
                             ErrorList& errors) {
  if (m.weights.empty() || m.vocabulary == 256 || s.string("data.tokenizer") == "bytes") return;
  errors.add(
      s.at("data.train").origin,
      fmt::format(
          "data.tokenizer: missing: {0} would be read as bytes, but the {1} tokens of model.from "
          "belong to another tokenizer. Make token files of it (triax data tokenize {0} "
          "--tokenizer {2} --out PREFIX), or set data.tokenizer to \"bytes\" if the model was "
          "trained on bytes",
          text, m.vocabulary, m.weights));
}

// Makes the path of data.tokenizer absolute; an error where it does not exist.
void find_tokenizer(Settings& s, const std::string& job_file, ErrorList& missing) {
  const std::string key = "data.tokenizer", prefix = "gpt2:";
  const std::string name = s.string(key);
  if (name == "auto" || name == "bytes") return;
  const bool gpt2 = name.starts_with(prefix);
  const std::string path = gpt2 ? name.substr(prefix.size()) : name;
  const std::string found =
      named_input(s, key, path, job_file,
                  fmt::format("no such file or directory: {}. Set it to a tokenizer's directory or "
                              "file, or to \"bytes\"",
                              path),
                  missing);
  if (!found.empty()) s.resolve(key, (gpt2 ? prefix : "") + absolute_path(found), s.at(key).source);
}

// Text is read as bytes, tokens 0 to 255; token files bring their own vocabulary.
void check_tokenizer(Settings& s, const ModelConfig& m, const std::vector<std::string>& files,
                     ErrorList& errors) {
  const auto text = std::ranges::find_if_not(files, is_token_file);
  if (text == files.end()) return;
  if (const auto name = s.string("data.tokenizer"); name != "auto" && name != "bytes")
    return s.error(errors, "data.tokenizer",
                   fmt::format("{0} is text, which a run reads as bytes. Make token files of it "
                               "(triax data tokenize {0} --tokenizer {1} --out PREFIX), or set the "
                               "key to \"bytes\"",
                               *text, name));
  if (!s.sound({"model"})) return;
  check_tokens_of_weights(s, m, *text, errors);
  if (m.vocabulary < 256)
    s.error(errors, "model.vocab_size",
            fmt::format(
                "{} is less than the 256 tokens of data.tokenizer \"bytes\", with which {} would "
                "be read. Set it to at least 256, or name token files (llm.c, Megatron, HDF5)",
                m.vocabulary, *text));
}

// Rounding at random numbers the elements of each tensor, in a few boxes of it.
void check_rounding(Settings& s, const ModelConfig& m, ErrorList& errors) {
  const std::string rounding = "optimizer.params.stochastic_rounding";
  if (!s.sound({"model", rounding}) || !s.has(rounding) || !s.boolean(rounding)) return;
  if (family_of(m).block.qkv != QkvLayout::heads) return;
  s.error(errors, rounding,
          fmt::format("is not built yet for {}, which keeps queries, keys and values of a head "
                      "together. Leave it out",
                      m.architecture));
}

// Some rotary positions depend on the length of sequences, which a run keeps.
void warn_of_length(Settings& s, const ModelConfig& m) {
  const std::string length = "data.seq_length";
  if (!s.sound({"model", length})) return;
  const std::string effect = rope_effect_of_length(m, s.integer(length));
  if (!effect.empty())
    s.warn("model.rope_scaling.rope_type", fmt::format("\"{}\": {}", m.rope_scaling.type, effect));
}

}  // namespace

std::string named_input(Settings& settings, const std::string& key, const std::string& path,
                        const std::string& job_file, const std::string& absent,
                        ErrorList& missing) {
  const Origin origin = settings.at(key).origin;
  const auto [found, problem] = find_input(path, origin.line > 0 ? origin.file : job_file);
  if (found.empty()) settings.error(missing, key, problem.empty() ? absent : problem);
  return found;
}

namespace {

// Training and validation may then read other lines of the same files.
bool slices_are_apart(const Settings& s) {
  const auto slice = [&](const char* key) {
    return s.has(key) && s.sound({key}) ? row_slice(s.string(key)) : std::nullopt;
  };
  const auto train = slice("data.train_rows"), valid = slice("data.valid_rows");
  return train && valid && are_apart(*train, *valid);
}

}  // namespace

void resolve_files(Settings& s, const ModelConfig& m, const std::string& job_file,
                   ErrorList& errors, ErrorList& missing) {
  if (s.is_auto("data.seq_length"))
    s.resolve("data.seq_length", std::min(1024, std::max(1, m.positions)));
  else if (const auto length = s.integer("data.seq_length");
           s.sound({"model"}) && length > longest_sequence(m))
    s.error(errors, "data.seq_length",
            fmt::format(
                "{0} is more than the model's {1} positions. Set it to at most {1}, or to \"auto\"",
                length, m.positions));
  check_rounding(s, m, errors);
  warn_of_length(s, m);
  json sources = train_files(s, job_file, errors, missing);
  std::vector<std::string> valid_patterns;
  if (s.has("data.valid"))
    valid_patterns =
        data_files(s, "data.valid", s.at("data.valid").value, job_file, errors, missing);
  const auto train = names_of_patterns(patterns_of_sources(sources));
  const auto valid = names_of_patterns(valid_patterns);
  if ((!s.has("data.train") || train.empty()) && s.sound({"data.train"}))
    s.error(errors, "data.train",
            "missing. Name a file, a pattern (\"corpus/*.bin\") or a list of them");
  warn_of_repeated(s, train, slices_are_apart(s) ? std::vector<std::string>{} : valid);
  auto files = train;
  files.insert(files.end(), valid.begin(), valid.end());
  find_tokenizer(s, job_file, missing);
  check_conversation(s, job_file, errors, missing);
  if (!reads_conversations(s)) check_tokenizer(s, m, files, errors);
  if (s.number("run.eval_interval") > 0.0 && valid.empty() && s.sound({"data.valid"}) &&
      !s.has("data.validation_fraction"))
    s.error(errors, "run.eval_interval",
            "nothing to validate on. Name data.valid, or set run.eval_interval to 0");
  if (s.has("data.train")) s.resolve("data.train", std::move(sources), s.at("data.train").source);
  if (s.has("data.valid"))
    s.resolve("data.valid", std::move(valid_patterns), s.at("data.valid").source);
  check_moved(s, missing);
  if (s.is_auto("checkpoint.directory"))
    s.resolve("checkpoint.directory",
              (fs::path(s.string("run.directory")) / "checkpoints").string());
}

void check_resume(Settings& s, ErrorList& missing, ErrorList& no_checkpoint) {
  const auto resume = s.string("checkpoint.resume");
  if (s.table().find("checkpoint.resume")->is_word(resume)) return;
  const FileLook look = look_at(resume);
  if (!look.problem.empty()) return s.error(missing, "checkpoint.resume", look.problem);
  if (look.directory)
    return s.error(
        missing, "checkpoint.resume",
        resume + " is a directory. Name a file in it, or set checkpoint.directory to it");
  if (look.there) return;
  s.error(no_checkpoint, "checkpoint.resume",
          "no such file: " + resume + ". Set it to auto, never, must or a checkpoint file");
}

}  // namespace triax
