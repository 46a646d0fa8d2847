// SPDX-License-Identifier: Apache-2.0
#include "src/inference/grid/step_control.hpp"

#include "kernels/base/check.hpp"

namespace triax {
namespace {

constexpr std::int64_t sizes = 5, of_chunk = 3;

template <class T>
void append(std::vector<std::int32_t>& to, const std::vector<T>& numbers) {
  to.insert(to.end(), numbers.begin(), numbers.end());
}

}  // namespace

std::vector<std::int32_t> numbers_of(const StepBatch& batch) {
  const auto number = [](std::int64_t n) { return static_cast<std::int32_t>(n); };
  std::vector<std::int32_t> numbers = {
      number(batch.rows()), number(std::ssize(batch.chunks)), number(std::ssize(batch.tables)),
      number(std::ssize(batch.logit_rows)), number(std::ssize(batch.hidden_rows))};
  append(numbers, batch.tokens);
  for (const StepChunk& chunk : batch.chunks)
    for (const std::int64_t n : {chunk.rows, chunk.past, chunk.table}) numbers.push_back(number(n));
  append(numbers, batch.tables);
  append(numbers, batch.logit_rows);
  append(numbers, batch.hidden_rows);
  return numbers;
}

std::optional<StepBatch> batch_of(std::span<const std::int32_t> numbers) {
  if (numbers.empty()) return {};
  check(std::ssize(numbers) >= sizes, "a step of {} numbers", numbers.size());
  const std::int64_t rows = numbers[0], chunks = numbers[1], tables = numbers[2],
                     logit_rows = numbers[3], hidden_rows = numbers[4];
  check(std::ssize(numbers) == sizes + rows + of_chunk * chunks + tables + logit_rows + hidden_rows,
        "a step of {} numbers", numbers.size());
  const std::int32_t* at = numbers.data() + sizes;
  StepBatch batch;
  batch.tokens.assign(at, at + rows);
  at += rows;
  for (std::int64_t i = 0; i < chunks; ++i, at += of_chunk) {
    batch.chunks.push_back({at[0], at[1], at[2]});
    for (std::int32_t row = 0; row < at[0]; ++row) batch.positions.push_back(at[1] + row);
  }
  batch.tables.assign(at, at + tables);
  at += tables;
  batch.logit_rows.assign(at, at + logit_rows);
  batch.hidden_rows.assign(at + logit_rows, at + logit_rows + hidden_rows);
  return batch;
}

StepControl::StepControl(ProcessGrid& grid)
    : grid_(grid),
      stages_(grid.pipeline(), grid.wait_policy(), static_cast<std::size_t>(grid.shape().pipeline)),
      tensor_(grid.tensor(), grid.wait_policy(), static_cast<std::size_t>(grid.shape().pipeline)) {}

void StepControl::send(const std::vector<std::int32_t>& numbers) {
  stages_.send(numbers);
  tensor_.send(numbers);
}

void StepControl::announce(const StepBatch& batch) {
  send(numbers_of(batch));
}

void StepControl::end() {
  send({});
}

std::optional<StepBatch> StepControl::next() {
  if (grid_.tensor_rank() != 0) return batch_of(tensor_.receive());
  const std::vector<std::int32_t> numbers = stages_.receive();
  tensor_.send(numbers);
  return batch_of(numbers);
}

}  // namespace triax
