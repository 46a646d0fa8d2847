// SPDX-License-Identifier: Apache-2.0
#include "src/serve/batch/batch.hpp"

#include <spdlog/spdlog.h>

#include <array>
#include <charconv>
#include <filesystem>
#include <optional>

#include "io/documents/byte_source.hpp"
#include "kernels/base/check.hpp"
#include "kernels/base/mpi/agree.hpp"
#include "src/inference/engine/option_keys.hpp"
#include "src/launch/job_end.hpp"
#include "src/launch/output_target.hpp"
#include "src/launch/run_requests.hpp"
#include "src/serve/batch/batch_record.hpp"
#include "src/serve/start/loaded_model.hpp"

namespace triax {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds report_period{30};

std::string absolute(const std::string& path) {
  std::error_code unknown;
  const fs::path whole = fs::weakly_canonical(path, unknown);
  return unknown ? path : whole.string();
}

// Facts that answers depend on. The number of ranks and the cuts are not among them.
ordered_json facts_of(const BatchArguments& arguments) {
  const EngineOptions& engine = arguments.settings.serve.engine;
  ordered_json facts = {
      {"input", absolute(arguments.input)},
      {"input_files", files_fingerprint(arguments.input)},
      {"part", fmt::format("{}/{}", arguments.part.part, arguments.part.parts)},
      {"model", absolute(arguments.model)},
      {"model_files", files_fingerprint(arguments.model)},
      {"tokenizer", arguments.tokenizer},
      {"weights", arguments.weights == SavedWeights::average ? "average" : "trained"},
      {"seed", arguments.seed},
      {"context", arguments.settings.serve.context},
      {"cache_dtype", engine.cache_dtype == DType::bf16 ? "bf16" : "f32"}};
  // auto and f32 give the same answers.
  facts["inference_weights"] = engine.weights == "f32" ? "auto" : engine.weights;
  return facts;
}

// Input, answers and requests to stop, on rank 0.
class Front {
 public:
  Front(const BatchArguments& arguments, std::chrono::system_clock::time_point started)
      : arguments_(arguments),
        bytes_(static_cast<std::int64_t>(fs::file_size(arguments.input))),
        source_(open_bytes(arguments.input, compression_of(arguments.input)), 0),
        target_(arguments.directory, OutputTarget::Kind::directory),
        record_(arguments.directory) {
    record_.begin(facts_of(arguments));
    files_.emplace(arguments.directory);
    if (complete()) return;
    requests_.leave_at(logged_leaving_time(arguments.settings.run, started));
    if (files_->counts().answers > 0)
      spdlog::info("{} lines have their answers already", files_->counts().answers);
  }

  bool complete() const { return record_.is_complete(); }

  BatchEnd run(const ServedModel& model, Engine& engine, std::int64_t replicas) {
    const std::int64_t at_once = arguments_.settings.serve.engine.sequences * replicas;
    BatchRun run(model, engine, source_, *files_,
                 {.part = arguments_.part,
                  .seed = arguments_.seed,
                  .created = record_.created(),
                  .most_open = 2 * at_once});
    const bool done = run.run([&] { return next(run); });
    report(run);
    if (!done) return BatchEnd::stopped;
    record_.complete();
    return BatchEnd::complete;
  }

  void say_end() const {
    const AnswerCounts& counts = files_->counts();
    spdlog::info("{} lines answered in {}", counts.answers, arguments_.directory);
    if (counts.errors > 0)
      spdlog::warn("{} of them could not be: see {}/errors.jsonl", counts.errors,
                   arguments_.directory);
  }

 private:
  BatchRun::Next next(const BatchRun& run) {
    const auto now = Clock::now();
    if (now - reported_ >= report_period) report(run);
    const double grace = arguments_.settings.serve.grace;
    const RunRequest request = requests_.take(end_by_ ? 0.0 : grace);
    if (!end_by_ && stops(request)) {
      end_by_ =
          now + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(grace));
      spdlog::info("stopping by {}: {} lines under way have {:.3g} s (serve.grace)",
                   source_of(request), run.open(), grace);
    } else if (end_by_ && (now >= *end_by_ || stops(request))) {
      return BatchRun::Next::leave;
    }
    return end_by_ ? BatchRun::Next::finish_open : BatchRun::Next::go_on;
  }

  void report(const BatchRun& run) {
    const auto now = Clock::now();
    const double seconds = std::chrono::duration<double>(now - reported_).count();
    const std::int64_t tokens = run.state().answer_tokens + run.state().prompt_tokens;
    const double read =
        bytes_ == 0 ? 1.0 : static_cast<double>(source_.taken()) / static_cast<double>(bytes_);
    spdlog::info("{} lines answered, {} with errors; {:.0f} % of the input read; {:.0f} tokens/s",
                 files_->counts().answers, files_->counts().errors, 100 * read,
                 static_cast<double>(tokens - tokens_) / seconds);
    reported_ = now;
    tokens_ = tokens;
  }

  const BatchArguments& arguments_;
  std::int64_t bytes_;  // of the input
  LineReader source_;
  OutputTarget target_;
  BatchRecord record_;
  std::optional<AnswerFiles> files_;
  RunRequests requests_;
  std::optional<Clock::time_point> end_by_;  // of lines under way
  Clock::time_point reported_ = Clock::now();
  std::int64_t tokens_ = 0;
};

bool on_all_ranks(ProcessGrid& grid, bool of_first) {
  std::array<std::int64_t, 1> value = {of_first ? 1 : 0};
  broadcast_numbers(Ranks(grid), value, 0);
  return value[0] != 0;
}

// Lines of the part of the input that a record is of; null: it cannot be read.
ordered_json count_lines(const BatchRecord& record) try {
  const std::string path = record.text("input");
  const BatchPart part = batch_part(record.text("part"));
  LineReader reader(open_bytes(path, compression_of(path)), 0);
  LineReader::Line line;
  std::int64_t lines = 0;
  while (reader.next(line))
    if (part.has(line.number) &&
        (line.too_long || line.text.find_first_not_of(" \t\r") != line.text.npos))
      ++lines;
  return lines;
} catch (const Error&) {
  return nullptr;
}

}  // namespace

BatchSettings batch_settings(const std::vector<std::string>& overrides) {
  const CommandKeys keys("triax batch",
                         {"serve.name", "serve.context", "serve.answers", "serve.grace",
                          "run.stop_before_end", "run.time_limit", engine_section},
                         overrides);
  BatchSettings settings;
  settings.serve.names = keys.texts("serve.name");
  settings.serve.context = keys.integer("serve.context");
  settings.serve.answers = keys.integer("serve.answers");
  settings.serve.grace = keys.seconds("serve.grace");
  settings.serve.engine = engine_options(keys);
  settings.serve.grid = keys.grid();
  settings.run.stop_before_end = keys.seconds("run.stop_before_end");
  settings.run.time_limit = keys.seconds("run.time_limit");
  return settings;
}

BatchPart batch_part(const std::string& text) {
  if (text.empty()) return {};
  BatchPart part{-1, -1};
  const char* const end = text.data() + text.size();
  const auto [slash, error] = std::from_chars(text.data(), end, part.part);
  if (error == std::errc() && slash != end && *slash == '/') {
    const auto [last, second] = std::from_chars(slash + 1, end, part.parts);
    if (second == std::errc() && last == end && part.part >= 0 && part.part < part.parts)
      return part;
  }
  throw UsageError(fmt::format("--part \"{}\" is no part of the input", text), {},
                   "Give I/N, from 0/N to N-1/N");
}

BatchEnd answer_batch(ProcessGrid& grid, const BatchArguments& arguments,
                      std::chrono::system_clock::time_point started,
                      const std::function<void()>& ready) {
  std::optional<Front> front;
  agreed(Ranks(grid), [&] {
    if (grid.rank() != 0) return;
    std::error_code absent;
    if (!fs::is_regular_file(arguments.input, absent))
      throw UsageError("cannot read " + arguments.input, "it is no file", "Correct IN.jsonl");
    front.emplace(arguments, started);
  });
  if (on_all_ranks(grid, front && front->complete())) {
    if (front) front->say_end();
    return BatchEnd::complete;
  }
  ready();
  LoadedModel model(grid, arguments.model, arguments.tokenizer, arguments.weights,
                    arguments.settings.serve);
  BatchEnd end = BatchEnd::stopped;
  model.with_engine(arguments.settings.serve.engine, [&](Engine& engine) {
    end = front->run(model.served(), engine, grid.shape().data);
  });
  if (front && end == BatchEnd::complete) front->say_end();
  return on_all_ranks(grid, end == BatchEnd::complete) ? BatchEnd::complete : BatchEnd::stopped;
}

ordered_json batch_status(const std::string& directory) {
  const BatchRecord record(directory);
  if (!record.exists())
    throw UsageError(directory + " has no batch", "there is no batch.json", "Correct --out");
  const AnswerCounts counts = answer_counts(directory);
  return {{"input", record.text("input")},
          {"lines", count_lines(record)},
          {"answered", counts.answers},
          {"errors", counts.errors},
          {"complete", record.is_complete()}};
}

std::string batch_status_text(const std::string& directory, const ordered_json& status) {
  const std::string of =
      status["lines"].is_null() ? std::string() : " of " + status["lines"].dump();
  return fmt::format("{}: {}{} lines answered, {} of them with errors{}", directory,
                     status["answered"].dump(), of, status["errors"].dump(),
                     status["complete"] == true ? ": complete" : "");
}

}  // namespace triax
