// SPDX-License-Identifier: Apache-2.0
#include "tests/support/emulator/emulated_memory.hpp"

#include <sys/mman.h>

#include <cstdint>

#include "kernels/base/check.hpp"

namespace triax::cuda::emulator {
namespace {

constexpr std::size_t page = 4096;

}  // namespace

DeviceMemory::DeviceMemory()
    : region_(static_cast<char*>(
          mmap(nullptr, capacity, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))) {
  check(region_ != MAP_FAILED, "no room for the memory of an emulated device");
}

DeviceMemory::Open::Open(DeviceMemory& memory) : memory_(memory) {
  if (memory_.open_++ == 0) memory_.protect(PROT_READ | PROT_WRITE);
}

DeviceMemory::Open::~Open() {
  if (--memory_.open_ == 0) memory_.protect(PROT_NONE);
}

void DeviceMemory::protect(int access) {
  if (used_.empty()) return;
  const auto& [begin, size] = *used_.rbegin();
  mprotect(region_, begin + size, access);
}

// First fit.
void* DeviceMemory::allocate(std::size_t bytes) {
  const std::size_t size = (bytes + page - 1) / page * page;
  std::size_t at = 0;
  for (const auto& [begin, length] : used_) {
    if (begin - at >= size) break;
    at = begin + length;
  }
  check(at + size <= capacity, "out of memory for an emulated device");
  used_.emplace(at, size);
  taken_ += size;
  if (open_ > 0) check(mprotect(region_ + at, size, PROT_READ | PROT_WRITE) == 0, "mprotect");
  return region_ + at;
}

void DeviceMemory::release(void* memory) {
  const auto found = used_.find(static_cast<std::size_t>(static_cast<char*>(memory) - region_));
  madvise(memory, found->second, MADV_DONTNEED);  // reads as zero when allocated again
  taken_ -= found->second;
  used_.erase(found);
}

bool DeviceMemory::owns(const void* memory) const {
  const auto* at = static_cast<const char*>(memory);
  return at >= region_ && at < region_ + capacity;
}

void DeviceMemory::pin(void* memory, std::size_t bytes) {
  check(reinterpret_cast<std::uintptr_t>(memory) % page == 0 && bytes % page == 0,
        "memory that is locked shares a page with other memory");
  pinned_.emplace(static_cast<char*>(memory), bytes);
}

void DeviceMemory::unpin(void* memory) {
  pinned_.erase(static_cast<char*>(memory));
}

bool DeviceMemory::pinned(const void* memory) const {
  const auto* at = static_cast<const char*>(memory);
  for (const auto& [begin, bytes] : pinned_)
    if (at >= begin && at < begin + bytes) return true;
  return false;
}

}  // namespace triax::cuda::emulator
