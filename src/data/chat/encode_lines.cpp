// SPDX-License-Identifier: Apache-2.0
#include "src/data/chat/encode_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <memory>
#include <thread>

#include "io/documents/line_reader.hpp"
#include "io/files/sha256.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t batch_lines = 1024;

struct Line {
  std::string text;
  std::int64_t number = 0;
};

struct EncodedLine {
  bool valid = false;
  std::vector<ChatSample> rows;
};

// The rows of a line. Errors name the line.
std::vector<ChatSample> encoded(SampleEncoder& encoder, const std::string& path, const Line& line) {
  const std::string place = fmt::format("{}:{}", path, line.number);
  ordered_json json;
  try {
    json = ordered_json::parse(line.text);
  } catch (const ordered_json::exception& error) {
    throw Error(place + " is not JSON", error.what(), "Repair the line");
  }
  try {
    return encoder.encode(json);
  } catch (const Error& error) {
    throw Error(place + ": " + error.what());
  }
}

// Encoders of one thread: the lines of each side are counted apart.
class SideEncoders {
 public:
  SideEncoders(const ChatContext& context, double fraction) : train_(context), fraction_(fraction) {
    if (fraction > 0.0) valid_ = std::make_unique<SampleEncoder>(context);
  }

  EncodedLine encode(const std::string& path, const Line& line) {
    const bool valid = valid_ != nullptr && is_validation_line(line.text, fraction_);
    return {valid, encoded(valid ? *valid_ : train_, path, line)};
  }

  void add_counts(const SampleSides& sides) const {
    sides.train.add_counts(train_.counts());
    if (valid_) sides.valid->add_counts(valid_->counts());
  }

 private:
  SampleEncoder train_;
  std::unique_ptr<SampleEncoder> valid_;
  double fraction_;
};

// Encoders of all threads, and the work of a batch.
class Workers {
 public:
  Workers(const ChatContext& context, std::string path, int threads, double fraction)
      : path_(std::move(path)) {
    for (int i = 0; i < threads; ++i)
      encoders_.push_back(std::make_unique<SideEncoders>(context, fraction));
  }

  std::vector<EncodedLine> encode(const std::vector<Line>& lines) {
    std::vector<EncodedLine> samples(lines.size());
    std::vector<std::exception_ptr> failures(lines.size());
    std::atomic<std::size_t> next = 0;
    const auto work = [&](SideEncoders& encoder) {
      for (std::size_t i = next++; i < lines.size(); i = next++) try {
          samples[i] = encoder.encode(path_, lines[i]);
        } catch (...) {
          failures[i] = std::current_exception();
        }
    };
    {
      std::vector<std::jthread> threads;
      for (std::size_t i = 1; i < encoders_.size(); ++i)
        threads.emplace_back(work, std::ref(*encoders_[i]));
      work(*encoders_.front());
    }
    for (const std::exception_ptr& failure : failures)
      if (failure) std::rethrow_exception(failure);
    return samples;
  }

  void add_counts(const SampleSides& sides) const {
    for (const auto& encoder : encoders_) encoder->add_counts(sides);
  }

 private:
  std::string path_;
  std::vector<std::unique_ptr<SideEncoders>> encoders_;
};

// The lines of a file that are not blank.
class FileLines {
 public:
  explicit FileLines(const std::string& path)
      : path_(path), reader_(open_bytes(path, compression_of(path)), 0) {}

  // False at the end. The text is valid until the next call.
  bool next(LineReader::Line& line) {
    while (reader_.next(line)) {
      if (line.too_long)
        throw Error(fmt::format("{}:{} is too long", path_, line.number),
                    fmt::format("a line has at most {} bytes", LineReader::longest), "Shorten it");
      if (line.text.ends_with('\r')) line.text.remove_suffix(1);
      if (line.text.find_first_not_of(" \t\r") != line.text.npos) return true;
    }
    return false;
  }

 private:
  std::string path_;
  LineReader reader_;
};

// The next lines within the range, of which `at` lines are behind; none at the end.
std::vector<Line> next_lines(FileLines& file, const RowRange& range, std::int64_t& at) {
  std::vector<Line> lines;
  LineReader::Line line;
  while (lines.size() < batch_lines && at < range.end && file.next(line))
    if (at++ >= range.begin) lines.push_back({std::string(line.text), line.number});
  return lines;
}

}  // namespace

bool is_validation_line(std::string_view line, double fraction) {
  const std::string digits = sha256_of(line).substr(0, 16);
  const auto number = static_cast<double>(std::stoull(digits, nullptr, 16));
  return number < std::ldexp(fraction, 64);
}

std::int64_t count_lines(std::span<const std::string> paths) {
  std::int64_t count = 0;
  for (const std::string& path : paths) {
    FileLines file(path);
    for (LineReader::Line line; file.next(line);) ++count;
  }
  return count;
}

void encode_lines(const ChatContext& context, std::span<const std::string> paths,
                  const RowRange& range, int threads, const SampleSides& sides) {
  std::int64_t at = 0;
  for (const std::string& path : paths) {
    if (at >= range.end) break;
    Workers workers(context, path, std::max(threads, 1), sides.validation_fraction);
    FileLines file(path);
    for (std::vector<Line> lines = next_lines(file, range, at); !lines.empty();
         lines = next_lines(file, range, at))
      for (const EncodedLine& line : workers.encode(lines))
        for (const ChatSample& row : line.rows) (line.valid ? *sides.valid : sides.train).add(row);
    workers.add_counts(sides);
  }
}

}  // namespace triax
