// SPDX-License-Identifier: Apache-2.0
#include "src/serve/batch/answer_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "io/documents/line_reader.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

namespace fs = std::filesystem;

constexpr const char* index_name = "index.tsv";
constexpr const char* errors_name = "errors.jsonl";

std::string shard_name(std::int64_t number) {
  return fmt::format("answers-{:05}.jsonl", number);
}

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw Error(path + " is damaged", why, "Give another --out and begin again");
}

std::int64_t number_of(std::string_view text, const std::string& path) {
  std::int64_t number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0)
    refuse(path, fmt::format("\"{}\" is no number", text));
  return number;
}

std::int64_t bytes_of(const std::string& path) {
  std::error_code absent;
  const auto bytes = fs::file_size(path, absent);
  return absent ? 0 : static_cast<std::int64_t>(bytes);
}

// Whole lines of a file from `begin` on. Returns the offset behind the last.
template <class OnLine>
std::int64_t read_lines(const std::string& path, std::int64_t begin, const OnLine& on_line) {
  const std::int64_t bytes = bytes_of(path);
  if (bytes <= begin) return bytes;
  LineReader reader(open_plain(path, begin), begin);
  LineReader::Line line;
  std::int64_t end = begin;
  while (reader.next(line)) {
    const std::int64_t behind = line.offset + std::ssize(line.text) + 1;
    if (line.too_long || behind > bytes || !on_line(line)) break;
    end = behind;
  }
  return end;
}

// The line of the input that an answer is of; 0: it is no whole answer.
std::int64_t answered_line(std::string_view text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return 0;
  const auto found = json.find("line");
  return found != json.end() && found->is_number_unsigned() ? found->get<std::int64_t>() : 0;
}

}  // namespace

AnswerFiles::Row AnswerFiles::row_of(std::string_view text, const std::string& path) {
  std::vector<std::string_view> fields;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t tab = std::min(text.find('\t', at), text.size());
    fields.push_back(text.substr(at, tab - at));
    at = tab + 1;
  }
  if (fields.size() != 4 || fields[1].empty()) refuse(path, fmt::format("a row is \"{}\"", text));
  return {number_of(fields[0], path), std::string(fields[1]), number_of(fields[2], path),
          number_of(fields[3], path)};
}

void AnswerFiles::note(const Row& row) {
  const auto at = static_cast<std::size_t>(row.number);
  if (answered_.size() <= at) answered_.resize(std::max(at + 1, 2 * answered_.size()));
  answered_[at] = true;
  ++counts_.answers;
  if (row.file == errors_name) ++counts_.errors;
  std::int64_t& end = ends_[row.file];
  end = std::max(end, row.offset + row.bytes);
}

void AnswerFiles::read_index() {
  const std::string name = path(index_name);
  const std::int64_t end = read_lines(name, 0, [&](const LineReader::Line& line) {
    note(row_of(line.text, name));
    return true;
  });
  index_ = std::make_unique<AppendFile>(name);
  index_->cut(end);
}

// Enters answers that are in a file and not in the index, and cuts off what is none.
void AnswerFiles::recover(const std::string& file) {
  const std::int64_t known = ends_[file];
  if (bytes_of(path(file)) < known)
    refuse(path(file), fmt::format("it has {} bytes, of {} in {}", bytes_of(path(file)), known,
                                   path(index_name)));
  const std::int64_t end = read_lines(path(file), known, [&](const LineReader::Line& line) {
    const std::int64_t number = answered_line(line.text);
    if (number < 1 || has(number)) return false;
    const Row row{number, file, line.offset, std::ssize(line.text) + 1};
    rows_ += fmt::format("{}\t{}\t{}\t{}\n", row.number, row.file, row.offset, row.bytes);
    note(row);
    return true;
  });
  AppendFile whole(path(file));
  whole.cut(end);
  whole.sync();
}

AnswerFiles::AnswerFiles(std::string directory, std::int64_t shard_bytes)
    : directory_(std::move(directory)), shard_bytes_(shard_bytes) {
  read_index();
  while (fs::exists(path(shard_name(next_)))) recover(shard_name(next_++));
  if (fs::exists(path(errors_name))) recover(errors_name);
  for (const auto& [file, end] : ends_)
    if (bytes_of(path(file)) < end) refuse(path(file), "it is missing");
  if (next_ > 0 && bytes_of(path(shard_name(next_ - 1))) < shard_bytes_)
    answers_ = std::make_unique<AppendFile>(path(shard_ = shard_name(next_ - 1)));
  commit();
}

bool AnswerFiles::has(std::int64_t number) const {
  const auto at = static_cast<std::size_t>(number);
  return at < answered_.size() && answered_[at];
}

AppendFile& AnswerFiles::file_for(bool error) {
  if (error) {
    if (!errors_) errors_ = std::make_unique<AppendFile>(path(errors_name));
    return *errors_;
  }
  if (answers_ && answers_->bytes() >= shard_bytes_) commit();
  if (!answers_ || answers_->bytes() >= shard_bytes_)
    answers_ = std::make_unique<AppendFile>(path(shard_ = shard_name(next_++)));
  return *answers_;
}

void AnswerFiles::add(std::int64_t number, bool error, std::string_view json) {
  check(!has(number), "line {} is answered twice", number);
  AppendFile& file = file_for(error);
  const Row row{number, error ? errors_name : shard_, file.bytes(), std::ssize(json) + 1};
  file.append(std::string(json) + "\n");
  rows_ += fmt::format("{}\t{}\t{}\t{}\n", row.number, row.file, row.offset, row.bytes);
  note(row);
}

void AnswerFiles::commit() {
  if (rows_.empty()) return;
  if (answers_) answers_->sync();
  if (errors_) errors_->sync();
  index_->append(rows_);
  index_->sync();
  rows_.clear();
}

AnswerCounts answer_counts(const std::string& directory) {
  AnswerCounts counts;
  const std::string suffix = std::string("\t") + errors_name + "\t";
  read_lines(directory + "/" + index_name, 0, [&](const LineReader::Line& line) {
    ++counts.answers;
    if (line.text.find(suffix) != line.text.npos) ++counts.errors;
    return true;
  });
  return counts;
}

}  // namespace triax
