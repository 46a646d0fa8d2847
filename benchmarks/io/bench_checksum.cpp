// SPDX-License-Identifier: Apache-2.0
// Checksums of a checkpoint's tensors on one core, from memory and from the cache. Prints one JSON
// line per case; peak_fraction is relative to reading the same memory (a sum of its words).
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "benchmarks/support/arguments.hpp"
#include "benchmarks/support/report.hpp"
#include "io/files/checksum.hpp"
#include "kernels/base/tensor.hpp"

namespace {

using triax::DType;
using triax::Tensor;

constexpr std::int64_t block = std::int64_t{1} << 20;

void compare(const std::string& name, DType dtype, std::int64_t bytes) {
  std::vector<std::uint64_t> memory(static_cast<std::size_t>(bytes / 8), 0x3f80123456789abcU);
  const std::int64_t elements = bytes / static_cast<std::int64_t>(triax::size_of(dtype));
  const Tensor data(static_cast<void*>(memory.data()), dtype, {elements});
  std::vector<std::uint64_t> sums(static_cast<std::size_t>((elements + block - 1) / block));
  volatile std::uint64_t sink = 0;
  const auto read = triax::benchmark::time_median([&] {
    std::uint64_t sum = 0;
    for (const std::uint64_t word : memory) sum += word;
    sink = sum;
  });
  const auto hash = triax::benchmark::time_median(
      [&] { triax::add_checksums(sums, block, triax::checksum_seed(name), 0, data); });
  triax::benchmark::print_result(
      "checksum", fmt::format("{} {} bytes={}", name, triax::name_of(dtype), bytes), hash,
      {{"bytes_per_second", static_cast<double>(bytes) / hash.seconds},
       {"peak_fraction", read.seconds / hash.seconds}});
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "Checksums of a checkpoint's tensors on one core, from memory and from the cache: one JSON "
      "line a case."};
  if (const auto status = triax::benchmark::refused(app, argc, argv)) return *status;
  try {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      compare("memory", dtype, std::int64_t{256} << 20);
      compare("cache", dtype, std::int64_t{256} << 10);
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 3;
  }
}
