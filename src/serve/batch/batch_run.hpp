// SPDX-License-Identifier: Apache-2.0
#pragma once
// The requests of a batch under way, between the lines of the input and the engine.
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "io/documents/line_reader.hpp"
#include "src/inference/engine/engine.hpp"
#include "src/serve/batch/answer_files.hpp"
#include "src/serve/batch/batch_line.hpp"
#include "src/serve/generation/open_generation.hpp"

namespace triax {

/// Every `parts`-th line of the input, from line `part` + 1 on.
struct BatchPart {
  std::int64_t part = 0, parts = 1;
  bool has(std::int64_t number) const { return (number - 1) % parts == part; }
};

struct BatchOptions {
  BatchPart part = {};
  std::uint64_t seed = 0;
  std::int64_t created = 0;      // of the answers: seconds since 1970
  std::int64_t most_open = 512;  // answers that the engine has at once
};

class BatchRun {
 public:
  using Clock = std::chrono::steady_clock;

  /// References outlive it. `input`: from its first line on.
  BatchRun(const ServedModel& model, Engine& engine, LineReader& input, AnswerFiles& files,
           const BatchOptions& options)
      : model_(model), engine_(engine), input_(input), files_(files), options_(options) {}

  enum class Next : std::uint8_t { go_on, finish_open, leave };
  /// Answers the lines that have no answer yet, as the engine has room for them, and writes each
  /// answer as soon as it is there. `next` is asked before each step: no line is begun any more, or
  /// not even the open ones are finished. Returns whether all lines have their answers. At the end
  /// all is on the disk.
  bool run(const std::function<Next()>& next);

  std::size_t open() const { return open_.size(); }
  const EngineState& state() const { return metrics_.engine; }

 private:
  struct KeptReply;
  struct Open {
    std::int64_t number;  // of the line
    std::string custom_id;
    std::shared_ptr<KeptReply> reply;
    std::unique_ptr<OpenGeneration> generation;
  };
  using Opens = std::map<std::uint64_t, Open>;  // by the first id of its answers

  void fill();
  void begin(const LineReader::Line& line);
  void submit(const BatchLine& line);
  void take(const GenerationOutput& output);
  void close(Opens::iterator open);
  void write(std::int64_t number, const std::string& custom_id, const HttpReply& reply);

  const ServedModel& model_;
  Engine& engine_;
  LineReader& input_;
  AnswerFiles& files_;
  BatchOptions options_;
  Metrics metrics_;
  Opens open_;
  std::uint64_t next_id_ = 1;
  std::int64_t open_answers_ = 0;
  bool ended_ = false;  // the input
  Clock::time_point committed_ = Clock::now();
};

}  // namespace triax
