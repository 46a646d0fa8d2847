// SPDX-License-Identifier: Apache-2.0
#include "src/data/chat/sample_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "io/hdf5/hdf5.hpp"
#include "io/tokens/token_reader.hpp"

namespace triax {
namespace {

constexpr std::int64_t block_tokens = std::int64_t{1} << 20;

constexpr const char* row_length = "row_length";
constexpr const char* rows_of_a_sample = "rows_per_sample";

// Rows [first, first + count) at the front of ids and labels, which are filled up. Adds the first
// token of each document to `documents`.
void fill_rows(const SampleFile& samples, const SampleRows& rows, const RowForm& form,
               std::int64_t first, std::int64_t count, std::vector<std::int32_t>& ids,
               std::vector<std::int32_t>& labels, std::vector<std::int64_t>& documents) {
  ids.assign(static_cast<std::size_t>(count * form.length), form.fill);
  labels.assign(ids.size(), ignored_label);
  for (std::int64_t row = 0; row < count; ++row) {
    std::int64_t at = row * form.length;
    const auto begins = [&] { documents.push_back(first * form.length + at); };
    for (const std::int32_t sample : rows.row(first + row)) {
      const auto number = static_cast<std::size_t>(sample);
      begins();
      samples.read(number, std::span(ids).subspan(static_cast<std::size_t>(at)),
                   std::span(labels).subspan(static_cast<std::size_t>(at)));
      at += samples.lengths()[number];
    }
    if (at < (row + 1) * form.length) begins();
  }
}

template <class Number>
void write_numbers(hdf5::File& file, const char* name, std::int64_t all, std::int64_t begin,
                   std::vector<Number>& numbers) {
  file.write(name, hdf5::flat_range_boxes({all}, begin, begin + std::ssize(numbers)),
             Tensor(numbers.data(), {std::ssize(numbers)}));
}

}  // namespace

void write_rows(const SampleFile& samples, const SampleRows& rows, const RowForm& form,
                const std::string& path) {
  const std::string working = path + ".tmp";
  const std::int64_t tokens = rows.size() * form.length + (form.last ? 1 : 0);
  {
    hdf5::File file(working, hdf5::File::Mode::create);
    for (const char* name : {"/tokens", "/labels"}) file.create_dataset(name, DType::i32, {tokens});
    file.write_attribute("/", row_length, form.length);
    file.write_attribute("/", rows_of_a_sample, std::int64_t{form.rows_per_sample});
    std::vector<std::int32_t> ids, labels;
    std::vector<std::int64_t> documents;
    const auto write = [&](std::int64_t begin) {
      write_numbers(file, "/tokens", tokens, begin, ids);
      write_numbers(file, "/labels", tokens, begin, labels);
    };
    const std::int64_t block = std::max<std::int64_t>(1, block_tokens / form.length);
    for (std::int64_t first = 0; first < rows.size(); first += block) {
      fill_rows(samples, rows, form, first, std::min(block, rows.size() - first), ids, labels,
                documents);
      write(first * form.length);
    }
    if (form.last) {
      ids.assign(1, form.fill);
      labels.assign(1, ignored_label);
      write(tokens - 1);
      documents.push_back(tokens - 1);
    }
    documents.push_back(tokens);
    if (form.documents) {
      file.create_dataset("/documents", DType::i64, {std::ssize(documents)});
      write_numbers(file, "/documents", std::ssize(documents), 0, documents);
    }
  }
  std::filesystem::rename(working, path);
}

void check_row_form(const std::string& file, std::int64_t length, int rows_per_sample) {
  if (hdf5::begin_of_hdf5(file) < 0) return;
  const hdf5::File opened(file, hdf5::File::Mode::read);
  if (!opened.has_attribute("/", row_length) || !opened.has_attribute("/", rows_of_a_sample))
    return;
  const std::int64_t rows = opened.integer_attribute("/", rows_of_a_sample);
  const std::int64_t there = opened.integer_attribute("/", row_length);
  if (rows == rows_per_sample && (rows == 1 || there == length)) return;
  const auto text = [](std::int64_t count, std::int64_t tokens) {
    return fmt::format("{} of {} tokens", count == 1 ? "samples" : "pairs of answers", tokens);
  };
  throw UsageError(fmt::format("{} was prepared for another job", file),
                   fmt::format("it holds {}, and the job reads {}", text(rows, there),
                               text(rows_per_sample, length)),
                   "Name the JSON lines that it was made from, or set data.format, loss.type and "
                   "data.seq_length to what the file was made for");
}

}  // namespace triax
