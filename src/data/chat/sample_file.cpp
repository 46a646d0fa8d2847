// SPDX-License-Identifier: Apache-2.0
#include "src/data/chat/sample_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <filesystem>
#include <thread>

#include "io/documents/line_reader.hpp"
#include "io/files/mapped_file.hpp"
#include "io/files/output_file.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t batch_lines = 1024;

struct Line {
  std::string text;
  std::int64_t number = 0;
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

// Encoders of all threads, and the work of a batch.
class Workers {
 public:
  Workers(const ChatContext& context, std::string path, int threads) : path_(std::move(path)) {
    for (int i = 0; i < threads; ++i) encoders_.push_back(std::make_unique<SampleEncoder>(context));
  }

  std::vector<std::vector<ChatSample>> encode(const std::vector<Line>& lines) {
    std::vector<std::vector<ChatSample>> samples(lines.size());
    std::vector<std::exception_ptr> failures(lines.size());
    std::atomic<std::size_t> next = 0;
    const auto work = [&](SampleEncoder& encoder) {
      for (std::size_t i = next++; i < lines.size(); i = next++) try {
          samples[i] = encoded(encoder, path_, lines[i]);
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

  ChatCounts counts() const {
    ChatCounts all;
    for (const auto& encoder : encoders_) all += encoder->counts();
    return all;
  }

 private:
  std::string path_;
  std::vector<std::unique_ptr<SampleEncoder>> encoders_;
};

// The next lines that are not blank; none at the end.
std::vector<Line> next_lines(LineReader& reader, const std::string& path) {
  std::vector<Line> lines;
  LineReader::Line line;
  while (lines.size() < batch_lines && reader.next(line)) {
    if (line.too_long)
      throw Error(fmt::format("{}:{} is too long", path, line.number),
                  fmt::format("a line has at most {} bytes", LineReader::longest), "Shorten it");
    if (line.text.find_first_not_of(" \t\r") != line.text.npos)
      lines.push_back({std::string(line.text), line.number});
  }
  return lines;
}

}  // namespace

struct SampleFile::Spool {
  explicit Spool(const std::string& path) : file(path) {}
  MappedFile file;
};

SampleFile::SampleFile(const ChatContext& context, const std::string& path, std::string spool,
                       int threads)
    : file_{std::move(spool)} {
  Workers workers(context, path, std::max(threads, 1));
  OutputFile out(file_.path);
  LineReader reader(open_bytes(path, compression_of(path)), 0);
  std::int64_t at = 0;
  for (std::vector<Line> lines = next_lines(reader, path); !lines.empty();
       lines = next_lines(reader, path))
    for (const std::vector<ChatSample>& sample : workers.encode(lines))
      for (const ChatSample& row : sample) {
        lengths_.push_back(static_cast<std::int32_t>(row.ids.size()));
        begins_.push_back(at);
        out.append_values(std::span(row.ids));
        out.append_values(std::span(row.labels));
        at += 2 * std::ssize(row.ids);
      }
  out.close(OutputFile::Sync::does_not);
  counts_ = workers.counts();
  if (at > 0) spool_ = std::make_unique<Spool>(file_.path);
}

SampleFile::Removed::~Removed() {
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
}

SampleFile::~SampleFile() = default;

void SampleFile::read(std::size_t row, std::span<std::int32_t> ids,
                      std::span<std::int32_t> labels) const {
  const auto length = static_cast<std::size_t>(lengths_[row]) * sizeof(std::int32_t);
  const std::byte* const at =
      spool_->file.data() + static_cast<std::size_t>(begins_[row]) * sizeof(std::int32_t);
  std::memcpy(ids.data(), at, length);
  std::memcpy(labels.data(), at + length, length);
}

}  // namespace triax
