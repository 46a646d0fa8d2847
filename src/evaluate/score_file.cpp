// SPDX-License-Identifier: Apache-2.0
#include "src/evaluate/score_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "io/documents/line_reader.hpp"
#include "io/files/durable.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

constexpr std::string_view begin_of_header = R"({"evaluation":)";

[[noreturn]] void fail(const std::string& what, int number, const std::string& remedy) {
  throw Error(what, std::strerror(number), remedy);  // NOLINT(concurrency-mt-unsafe)
}

// Bytes of the whole lines of a file; `visit` gets each with its number, from 0.
std::int64_t whole_lines(const std::string& path,
                         const std::function<void(std::int64_t, std::string_view)>& visit) {
  LineReader lines(open_plain(path, 0), 0);
  LineReader::Line line;
  std::int64_t end = 0;
  while (lines.next(line)) {
    // A line that a kill cut has no end, or (on some file systems) zeros for its last bytes.
    if (lines.offset() - line.offset == std::ssize(line.text) || line.too_long ||
        !nlohmann::json::accept(line.text))
      break;
    visit(line.number - 1, line.text);
    end = lines.offset();
  }
  return end;
}

}  // namespace

ScoreFile::ScoreFile(std::string path, const nlohmann::ordered_json& header)
    : path_(std::move(path)),
      lock_(path_ + ".lock", "another evaluation writes " + path_, "Give another file to --scores",
            FileLock::usual_patience, FileLock::Leaves::nothing),
      fd_(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
  if (fd_ < 0)
    fail(path_ + " cannot be opened", errno, "Give --scores a file in a directory that is there");
  take_over(header.dump() + "\n");
}

ScoreFile::~ScoreFile() {
  ::close(fd_);
}

// Keeps the whole lines of a file with this header; else writes the header alone.
void ScoreFile::take_over(const std::string& header) {
  refuse_other_file();
  bool same = false;
  bytes_ = whole_lines(path_, [&](std::int64_t number, std::string_view line) {
    if (number == 0) same = std::string(line) + "\n" == header;
  });
  if (!same && bytes_ > 0) begun_anew_ = "its scores are of another model, other files or options";
  if (!same) bytes_ = 0;
  if (::ftruncate(fd_, bytes_) != 0) fail(path_ + " cannot be cut", errno, {});
  if (same) return;
  write(header);
  sync_path(directory_of(path_));
}

void ScoreFile::refuse_other_file() const {
  std::array<char, begin_of_header.size()> begin{};
  const ssize_t count = ::pread(fd_, begin.data(), begin.size(), 0);
  if (count < 0) fail(path_ + " cannot be read", errno, "Give --scores another file");
  const std::string_view found(begin.data(), static_cast<std::size_t>(count));
  if (!begin_of_header.starts_with(found))
    throw UsageError(path_ + " exists and is no file of scores", "it would be overwritten",
                     "Give --scores another name");
}

void ScoreFile::read(const std::function<void(const nlohmann::ordered_json&)>& visit) const {
  whole_lines(path_, [&](std::int64_t number, std::string_view line) {
    if (number > 0) visit(nlohmann::ordered_json::parse(line));
  });
}

void ScoreFile::append(const std::vector<nlohmann::ordered_json>& scores) {
  std::string text;
  for (const nlohmann::ordered_json& score : scores) text += score.dump() + "\n";
  write(text);
}

void ScoreFile::write(const std::string& text) {
  const int written = write_all(fd_, std::as_bytes(std::span(text)), bytes_);
  if (const int number = written != 0 ? written : ::fdatasync(fd_) != 0 ? errno : 0; number != 0)
    fail(path_ + " cannot be written", number,
         "Free space; run the same command again, which goes on from here");
}

}  // namespace triax
