// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/device/device_arena.hpp"

#include <fmt/ranges.h>

#include <algorithm>

namespace triax {
namespace {

std::string list_of(const std::vector<ArenaPart>& parts) {
  std::vector<std::string> lines;
  for (const ArenaPart& part : parts)
    if (part.bytes > 0)
      lines.push_back(
          fmt::format("{} {:.1f}", part.name, static_cast<double>(part.bytes) / (1024.0 * 1024.0)));
  return fmt::format("MiB: {}", fmt::join(lines, ", "));
}

std::size_t sum_of(const std::vector<ArenaPart>& parts) {
  std::int64_t sum = 0;
  for (const ArenaPart& part : parts) sum += DeviceArena::footprint(part.bytes);
  return static_cast<std::size_t>(sum);
}

Buffer take_all(const std::vector<ArenaPart>& parts) {
  try {
    return Buffer(sum_of(parts), MemorySpace::device);
  } catch (const Error& error) {
    throw Error(error.what(), "for " + list_of(parts));
  }
}

}  // namespace

DeviceArena::DeviceArena(const std::vector<ArenaPart>& parts) : memory_(take_all(parts)) {
  std::int64_t begin = 0;
  for (const ArenaPart& part : parts) {
    sections_.push_back({{part.name, footprint(part.bytes)}, begin, 0});
    begin += sections_.back().part.bytes;
  }
}

Tensor DeviceArena::take(std::string_view name, std::int64_t bytes) {
  const auto found = std::ranges::find_if(
      sections_, [&](const Section& section) { return section.part.name == name; });
  if (found == sections_.end())
    throw Error(fmt::format("the plan of the device's memory has no part \"{}\"", name));
  const std::int64_t left = found->part.bytes - found->taken;
  if (footprint(bytes) > left)
    throw Error(fmt::format("{} do not fit their part of the device's memory", name),
                fmt::format("{} bytes of {} are left, and {} were asked for", left,
                            found->part.bytes, footprint(bytes)),
                "The plan of the memory is wrong: please report it with the job file");
  auto* at = static_cast<char*>(memory_.data()) + found->begin + found->taken;
  found->taken += footprint(bytes);
  return {bytes > 0 ? at : nullptr, DType::u8, {bytes}, memory_.space()};
}

void DeviceArena::check_full() const {
  for (const Section& section : sections_)
    if (section.taken != section.part.bytes)
      throw Error(fmt::format("{} have taken {} bytes of the device's memory", section.part.name,
                              section.taken),
                  fmt::format("{} were planned for them", section.part.bytes),
                  "The plan of the memory is wrong: please report it with the job file");
}

Tensor Memory::tensor(DType dtype, const Shape& shape) const {
  Tensor view(data_, dtype, shape, space_);
  check(static_cast<std::size_t>(view.bytes()) <= bytes_, "view of {} bytes in memory of {}",
        view.bytes(), bytes_);
  return view;
}

Memory MemorySource::take(std::string_view part, std::size_t bytes) const {
  if (pinned) return Memory(Buffer::pinned(bytes));
  if (arena == nullptr) return Memory(Buffer(bytes, space));
  return Memory(arena->take(part, static_cast<std::int64_t>(bytes)));
}

}  // namespace triax
