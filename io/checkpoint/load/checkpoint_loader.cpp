// SPDX-License-Identifier: Apache-2.0
#include "io/checkpoint/load/checkpoint_loader.hpp"

#include <algorithm>
#include <cstring>

#include "io/checkpoint/load/checkpoint_rounds.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

template <class From>
void convert(const std::byte* from, float* to, std::int64_t count) {
  From value;
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(&value, from + static_cast<std::size_t>(i) * sizeof value, sizeof value);
    to[i] = static_cast<float>(value);
  }
}

// Converts elements of `type` to float32.
void convert(const std::byte* from, DType type, float* to, std::int64_t count) {
  switch (type) {
    case DType::f64:
      return convert<double>(from, to, count);
    case DType::bf16:
      return convert<Bf16>(from, to, count);
    case DType::f16:
      return convert<F16>(from, to, count);
    default:
      check(false, "{} read as f32", name_of(type));
  }
}

}  // namespace

CheckpointLoader::CheckpointLoader(const CheckpointReader& reader, const Ranks& ranks,
                                   const LoaderOptions& options)
    : rounds_(std::make_unique<CheckpointRounds>(reader, ranks, options)) {}

CheckpointLoader::~CheckpointLoader() = default;

bool CheckpointLoader::has_checksums() const {
  return rounds_->blocks().has_checksums();
}

std::string CheckpointLoader::unshared() const {
  return rounds_->unshared();
}

std::int64_t CheckpointLoader::bytes_read() const {
  return rounds_->bytes_read();
}

void CheckpointLoader::want(const std::string& name, const std::vector<hdf5::Box>& boxes) {
  const CheckpointBlocks& blocks = rounds_->blocks();
  const std::size_t tensor = blocks.find(name);
  const std::int64_t first = blocks.first_of(tensor);
  for (const auto& [begin, count] : hdf5::runs_of(blocks.tensors()[tensor].shape, boxes))
    for (std::int64_t block = begin / blocks.elements();
         count > 0 && block <= (begin + count - 1) / blocks.elements(); ++block)
      rounds_->want(first + block);
}

void CheckpointLoader::read(const std::string& name, const std::vector<hdf5::Box>& boxes,
                            const Tensor& data) {
  check(hdf5::elements(boxes) == data.elements(), "{} elements of {} in boxes of {}",
        data.elements(), name, hdf5::elements(boxes));
  const CheckpointBlocks& blocks = rounds_->blocks();
  const std::size_t number = blocks.find(name);
  const auto& [_, type, shape] = blocks.tensors()[number];
  const bool same = type == data.dtype();
  check(same || data.dtype() == DType::f32, "{} read as {}", name_of(type), name_of(data.dtype()));
  check(data.contiguous() && data.space() == MemorySpace::host,
        "{} is read to contiguous host memory", name);
  const auto width = static_cast<std::int64_t>(size_of(type));
  const auto width_there = static_cast<std::int64_t>(size_of(data.dtype()));
  auto* to = static_cast<std::byte*>(data.data());
  std::int64_t block = -1;  // rows of a matrix are short: most lie in the chunk of the row before
  const std::byte* from = nullptr;
  for (const auto& [begin, count] : hdf5::runs_of(shape, boxes))
    for (std::int64_t at = begin; at < begin + count;) {
      if (const std::int64_t next = at / blocks.elements(); next != block) {
        block = next;
        from = rounds_->data_of(blocks.first_of(number) + block);
      }
      const std::int64_t end = std::min(begin + count, (block + 1) * blocks.elements());
      const std::byte* const run = from + (at - block * blocks.elements()) * width;
      if (same)
        std::memcpy(to, run, static_cast<std::size_t>((end - at) * width));
      else
        convert(run, type, reinterpret_cast<float*>(to), end - at);
      to += (end - at) * width_there;
      at = end;
    }
}

void CheckpointLoader::fail(const std::string& why) {
  rounds_->fail(why);
}

bool CheckpointLoader::failed() const {
  return rounds_->failed();
}

void CheckpointLoader::finish() {
  rounds_->finish();
}

}  // namespace triax
