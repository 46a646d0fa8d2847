#include "io/checkpoint_loader.hpp"

#include <algorithm>
#include <cstring>

#include "io/checkpoint_rounds.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

template <class From, class To>
void convert(const std::byte* from, To* to, std::int64_t count) {
  From value;
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(&value, from + static_cast<std::size_t>(i) * sizeof value, sizeof value);
    to[i] = static_cast<To>(value);
  }
}

// Consecutive elements.
void copy(const std::byte* from, DType type, const Tensor& to) {
  const std::int64_t count = to.elements();
  if (type == to.dtype()) {
    std::memcpy(to.data(), from, static_cast<std::size_t>(to.bytes()));
    return;
  }
  check(to.dtype() == DType::f32, "{} read as {}", name_of(type), name_of(to.dtype()));
  auto* const floats = to.as<float>();
  switch (type) {
    case DType::f64:
      return convert<double>(from, floats, count);
    case DType::bf16:
      return convert<Bf16>(from, floats, count);
    case DType::f16:
      return convert<F16>(from, floats, count);
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
  const CheckpointTensor& tensor = blocks.tensors()[number];
  const std::size_t width_of = size_of(tensor.dtype);
  const Tensor all = data.flat();
  std::int64_t done = 0;
  for (const auto& [begin, count] : hdf5::runs_of(tensor.shape, boxes))
    for (std::int64_t at = begin; at < begin + count;) {
      const std::int64_t block = at / blocks.elements();
      const std::int64_t end = std::min(begin + count, (block + 1) * blocks.elements());
      const std::byte* const from = rounds_->data_of(blocks.first_of(number) + block);
      copy(from + static_cast<std::size_t>(at - block * blocks.elements()) * width_of, tensor.dtype,
           all.slice(0, done, end - at));
      done += end - at;
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
