// SPDX-License-Identifier: Apache-2.0
#include "src/serve/batch/batch_run.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "kernels/base/check.hpp"

namespace triax {
namespace {

constexpr std::chrono::seconds commit_period{1};

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r") == text.npos;
}

}  // namespace

// The way back of a request whose reply is written to a file.
struct BatchRun::KeptReply : HttpExchange {
  std::optional<HttpReply> kept;
  void reply(HttpReply reply) override { kept = std::move(reply); }
  void begin(const HttpReply&) override {}
  void write(std::string_view) override {}
  void end() override {}
};

void BatchRun::write(std::int64_t number, const std::string& custom_id, const HttpReply& reply) {
  files_.add(number, reply.status != 200, answer_json(number, custom_id, reply));
}

void BatchRun::submit(const BatchLine& line) {
  const std::string id = fmt::format("batch_req_{}", line.number);
  auto reply = std::make_shared<KeptReply>();
  auto generation =
      std::make_unique<OpenGeneration>(model_, read_asked(line.url, line.body, model_), reply,
                                       ReplyName{id, options_.created}, metrics_);
  const std::uint64_t first = next_id_;
  for (GenerationRequest& request : generation->requests(first)) try {
      engine_.submit(std::move(request));
      ++next_id_;
    } catch (const UsageError&) {
      for (std::uint64_t submitted = first; submitted < next_id_; ++submitted)
        engine_.cancel(submitted);
      throw;
    }
  open_answers_ += static_cast<std::int64_t>(generation->answers());
  open_.emplace(first, Open{line.number, line.custom_id, std::move(reply), std::move(generation)});
}

void BatchRun::begin(const LineReader::Line& text) {
  std::optional<ApiError> refusal;
  BatchLine line{.number = text.number, .custom_id = fmt::format("line-{}", text.number)};
  try {
    if (text.too_long)
      throw bad_request(fmt::format("the line has more than {} bytes", LineReader::longest));
    line = read_batch_line(text.number, text.text, options_.seed);
    if (line.error) throw ApiError(*line.error);
    return submit(line);
  } catch (const ApiError& error) {
    refusal = error;
  } catch (const UsageError& error) {
    refusal = bad_request(error.what());
  }
  write(line.number, line.custom_id, error_reply(*refusal));
}

void BatchRun::fill() {
  LineReader::Line line;
  while (!ended_ && open_answers_ < options_.most_open) {
    ended_ = !input_.next(line);
    if (ended_ || !options_.part.has(line.number) || files_.has(line.number)) continue;
    if (line.too_long || !is_blank(line.text)) begin(line);
  }
}

void BatchRun::take(const GenerationOutput& output) {
  auto found = open_.upper_bound(output.id);
  if (found == open_.begin()) return;
  --found;
  OpenGeneration& generation = *found->second.generation;
  const std::size_t index = output.id - found->first;
  if (index >= generation.answers()) return;  // its line is closed
  if (generation.add(index, output)) engine_.cancel(output.id);
  if (generation.done()) close(found);
}

void BatchRun::close(Opens::iterator open) {
  const Open& closed = open->second;
  const std::size_t answers = closed.generation->answers();
  for (std::size_t i = 0; i < answers; ++i)
    if (!closed.generation->answer_done(i)) engine_.cancel(open->first + i);
  check(closed.reply->kept.has_value(), "line {} ended without a reply", closed.number);
  write(closed.number, closed.custom_id, *closed.reply->kept);
  open_answers_ -= static_cast<std::int64_t>(answers);
  open_.erase(open);
}

bool BatchRun::run(const std::function<Next()>& next) {
  for (;;) {
    const Next wanted = next();
    if (wanted == Next::leave) break;
    if (wanted == Next::go_on) fill();
    if (open_.empty()) break;
    for (const GenerationOutput& output : engine_.step()) take(output);
    metrics_.engine = engine_.state();
    if (Clock::now() - committed_ < commit_period) continue;
    files_.commit();
    committed_ = Clock::now();
  }
  files_.commit();
  return ended_ && open_.empty();
}

}  // namespace triax
