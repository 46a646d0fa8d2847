// SPDX-License-Identifier: Apache-2.0
#include "io/checkpoint/checkpoint_integrity.hpp"

#include <algorithm>
#include <set>
#include <string_view>

#include "kernels/base/check.hpp"

namespace triax {
namespace {

constexpr const char* group = "/integrity";

// Lines "name=value" of the attributes, in the order of names, without empty texts.
struct AttributeLines {
  std::string text;
  void operator()(const char* name, std::int64_t value) {
    text += fmt::format("{}={}\n", name, value);
  }
  void operator()(const char* name, const std::string& value) {
    if (!value.empty()) text += fmt::format("{}={}\n", name, value);
  }
};

std::string hexadecimal(std::uint64_t value) {
  return fmt::format("{:016x}", value);
}

std::string header_checksum(const CheckpointHeader& header) {
  AttributeLines lines;
  for_each_attribute(header, lines);
  return hexadecimal(checksum_of(lines.text));
}

// Sum of the checksums of one line per tensor: independent of their order.
std::string tensors_checksum(const std::vector<CheckpointTensor>& tensors) {
  std::uint64_t sum = 0;
  for (const auto& [name, dtype, shape] : tensors)
    sum += checksum_of(fmt::format("{} {} {}\n", name, name_of(dtype), shape.text()));
  return hexadecimal(sum);
}

void expect(const hdf5::File& file, const std::string& path, const char* attribute,
            const std::string& value, const char* what, const std::string& more = {}) {
  const std::string written = file.string_attribute(group, attribute);
  if (written == value) return;
  throw Error(
      fmt::format("{} is damaged", path),
      fmt::format("{} have the checksum {}, but {} was written{}", what, value, written, more),
      "Use another checkpoint");
}

}  // namespace

TensorChecksums::TensorChecksums(const std::vector<CheckpointTensor>& tensors) {
  std::size_t end = 0;
  for (const CheckpointTensor& tensor : tensors) {
    const auto blocks =
        static_cast<std::size_t>(integrity_blocks(tensor.shape.elements(), integrity_block));
    places_.insert({tensor.name, {tensor.dtype, end, blocks}});
    end += blocks;
  }
  sums_.resize(end);
}

const TensorChecksums::Place& TensorChecksums::place(const std::string& name) const {
  const auto found = places_.find(name);
  check(found != places_.end(), "the checkpoint was made without {}", name);
  return found->second;
}

void TensorChecksums::add(const std::string& name, std::span<const DataSegment> segments) {
  const Place& to = place(name);
  const std::span<std::uint64_t> sums = std::span(sums_).subspan(to.begin, to.blocks);
  const std::uint64_t seed = checksum_seed(name);
  const auto width = static_cast<std::int64_t>(size_of(to.dtype));
  for (const DataSegment& segment : segments)
    add_checksums(sums, integrity_block, seed, segment.first,
                  Tensor(static_cast<void*>(const_cast<std::byte*>(segment.memory)), to.dtype,
                         {segment.bytes / width}));
}

std::span<const std::uint64_t> TensorChecksums::of(const std::string& name) const {
  const Place& from = place(name);
  return std::span(sums_).subspan(from.begin, from.blocks);
}

std::int64_t integrity_blocks(std::int64_t elements, std::int64_t block) {
  return (elements + block - 1) / block;
}

void create_integrity(hdf5::File& file, const CheckpointHeader& header,
                      const std::vector<CheckpointTensor>& tensors) {
  for (const CheckpointTensor& tensor : tensors)
    file.create_words(group + tensor.name,
                      integrity_blocks(tensor.shape.elements(), integrity_block));
  file.create_group(group);
  file.write_attribute(group, "algorithm", std::string(checksum_algorithm));
  file.write_attribute(group, "block_elements", integrity_block);
  file.write_attribute(group, "header", header_checksum(header));
  file.write_attribute(group, "tensors", tensors_checksum(tensors));
}

std::vector<CheckpointTensor> integrity_datasets(const std::vector<CheckpointTensor>& tensors) {
  std::vector<CheckpointTensor> datasets;
  for (const CheckpointTensor& tensor : tensors)
    datasets.push_back({group + tensor.name,
                        DType::i64,
                        {integrity_blocks(tensor.shape.elements(), integrity_block)}});
  return datasets;
}

void write_integrity(hdf5::File& file, const std::vector<CheckpointTensor>& tensors,
                     const TensorChecksums& sums) {
  for (const CheckpointTensor& tensor : tensors)
    file.write_words(group + tensor.name, sums.of(tensor.name));
}

void write_integrity(const CheckpointExtents& extents, SegmentWriter& writer,
                     const std::vector<CheckpointTensor>& tensors, const TensorChecksums& sums) {
  for (const CheckpointTensor& dataset : integrity_datasets(tensors)) {
    const auto words = sums.of(dataset.name.substr(std::string_view(group).size()));
    if (words.empty()) continue;
    writer.write(extents.segments(
                     dataset.name, {{{0}, dataset.shape}},
                     Tensor(const_cast<std::uint64_t*>(words.data()), DType::i64, dataset.shape)),
                 Lifetime::call);
  }
}

void check_header(const hdf5::File& file, const std::string& path, const CheckpointHeader& header) {
  expect(file, path, "header", header_checksum(header), "its attributes");
}

namespace {

// Finds the damaged entry: the first tensor without checksums or with a wrong number of them, or
// checksums without a tensor. Empty where all match.
std::string odd_one_out(const hdf5::File& file, const std::vector<CheckpointTensor>& tensors) {
  const std::int64_t block = file.integer_attribute(group, "block_elements");
  std::set<std::string> sums;
  for (const std::string& name : file.datasets(group))
    sums.insert(name.substr(std::string_view(group).size()));
  for (const auto& [name, dtype, shape] : tensors) {
    if (!sums.contains(name)) return fmt::format(", {} was not written", name);
    if (block > 0 &&
        file.shape(group + name).elements() != integrity_blocks(shape.elements(), block))
      return fmt::format(", {} was not written with the shape {}", name, shape.text());
    sums.erase(name);
  }
  return sums.empty() ? std::string() : fmt::format(", {} is missing", *sums.begin());
}

}  // namespace

void check_tensors(const hdf5::File& file, const std::string& path,
                   const std::vector<CheckpointTensor>& tensors) {
  const std::string sum = tensors_checksum(tensors);
  if (file.string_attribute(group, "tensors") == sum) return;
  std::string odd;
  try {
    odd = odd_one_out(file, tensors);
  } catch (const Error&) {  // the checksums are damaged too
  }
  expect(file, path, "tensors", sum, "names, types and shapes", odd);
}

std::int64_t read_integrity_block(const hdf5::File& file, const std::string& path) {
  const std::string algorithm = file.string_attribute(group, "algorithm");
  const std::int64_t block = file.integer_attribute(group, "block_elements");
  constexpr std::int64_t largest = std::int64_t{1} << 28;  // a reader allocates this many elements
  if (algorithm == checksum_algorithm && block >= 1 && block <= largest) return block;
  throw Error(fmt::format("cannot verify {}", path),
              fmt::format("unknown checksums: algorithm {}, block_elements {}", algorithm, block),
              "Use a newer triax, or another checkpoint where this one is damaged");
}

std::vector<std::uint64_t> read_integrity(const hdf5::File& file, const std::string& tensor) {
  return file.read_words(group + tensor);
}

}  // namespace triax
