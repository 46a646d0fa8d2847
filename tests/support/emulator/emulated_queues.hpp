// SPDX-License-Identifier: Apache-2.0
#pragma once
// Streams of the emulated device. Whoever waits for work, or frees device or pinned memory, runs
// it: as late as possible. Work outlives its stream. On request, some streams run their work as
// early as possible instead.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/base/process/say.hpp"
#include "kernels/base/splitmix.hpp"
#include "kernels/cuda/launch/stream.hpp"
#include "tests/support/emulator/emulated_device.hpp"
#include "tests/support/emulator/emulated_memory.hpp"

namespace triax::cuda::emulator {

[[noreturn]] inline void give_up(std::string_view why) {
  say("the emulated device: {}\n", why);
  std::abort();
}

struct Task {
  std::function<bool()> ready;  // null: ready at once
  std::function<void()> work;   // null: nothing
};

struct Queue : std::enable_shared_from_this<Queue> {
  explicit Queue(bool is_early) : early(is_early) {}
  const bool early;  // runs its work as early as possible
  std::array<std::shared_ptr<void>, kept_count> kept;
  std::deque<Task> work;
  std::uint64_t done = 0;  // number of tasks finished since the stream was made
  std::uint64_t end() const { return done + work.size(); }
};

struct Point {
  std::shared_ptr<Queue> queue;
  std::uint64_t position = 0;
};

// Decides which streams of a process are early, by the order in which they are made. By default
// none is. TRIAX_TEST_SCHEDULE=N makes about half of them early, a different half for each N. A
// stream that overwrites data before another stream has read it is found when the first is early
// and the second is not.
class Schedule {
 public:
  Schedule() {
    if (const char* const asked = std::getenv("TRIAX_TEST_SCHEDULE"))
      number_ = std::strtoull(asked, nullptr, 10);
  }
  bool next_is_early() {
    ++streams_;
    return number_ && (splitmix64(splitmix64(*number_) + streams_) & 1U) != 0;
  }

 private:
  std::optional<std::uint64_t> number_;
  std::uint64_t streams_ = 0;
};

// One per process, like a GPU's context.
class Device {
 public:
  static Device& of_process() {
    static Device device;
    return device;
  }

  // A stream's queue. Its work is still done after the stream is gone.
  std::shared_ptr<void> make_queue() {
    const std::lock_guard lock(mutex_);
    auto queue = std::make_shared<Queue>(schedule_.next_is_early());
    queues_.push_back(queue);
    return {queue.get(), [queue](void*) { const auto kept = std::exchange(queue->kept, {}); }};
  }

  // Returns the position of the end of `work` in the queue.
  std::uint64_t put(Queue& queue, std::function<void()> work, std::function<bool()> ready = {}) {
    const std::lock_guard lock(mutex_);
    queue.work.push_back({std::move(ready), std::move(work)});
    const std::uint64_t end = queue.end();
    if (queue.early && !memory_.open()) {
      const auto held = queue.shared_from_this();
      keep_failure([&] { return run(queue, end); });
    }
    return end;
  }

  std::uint64_t end(const Queue& queue) {
    const std::lock_guard lock(mutex_);
    return queue.end();
  }

  // Returns false if some work up to `position` is not ready.
  bool run(Queue& queue, std::uint64_t position) {
    const std::lock_guard lock(mutex_);
    std::optional<DeviceMemory::Open> open;
    while (queue.done < position && !queue.work.empty()) {
      if (const auto& ready = queue.work.front().ready; ready && !ready()) return false;
      const Task task = std::move(queue.work.front());
      queue.work.pop_front();
      ++queue.done;
      if (!task.work) continue;
      if (!open) open.emplace(memory_);
      task.work();
    }
    return true;
  }
  bool run(const Point& point) { return !point.queue || run(*point.queue, point.position); }

  bool run_all() {
    const std::lock_guard lock(mutex_);
    bool done = true;
    for (const auto& queue : queues_) done &= run(*queue, queue->end());
    std::erase_if(queues_,
                  [](const auto& queue) { return queue.use_count() == 1 && queue->work.empty(); });
    return done;
  }
  // run_all(), but failures are kept for the next wait, as a GPU does. Running work must not free
  // device memory: on a GPU it must not either.
  bool run_all_and_keep_failure() {
    const std::lock_guard lock(mutex_);
    if (memory_.open()) give_up("work of the device frees memory of the device, or pinned memory");
    return keep_failure([this] { return run_all(); });
  }
  void throw_failure() {
    const std::lock_guard lock(mutex_);
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

  void* allocate(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    return memory_.allocate(bytes);
  }
  void release(void* memory) {
    if (memory == nullptr) return;
    const std::lock_guard lock(mutex_);
    memory_.release(memory);
  }
  std::size_t free_bytes() {
    const std::lock_guard lock(mutex_);
    return memory_.free_bytes();
  }
  void pin(void* memory, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    memory_.pin(memory, bytes);
  }
  void unpin(void* memory) {
    const std::lock_guard lock(mutex_);
    memory_.unpin(memory);
  }
  // Whether a copy from or to this host memory blocks. For reads CUDA does not promise it, but its
  // driver may do so.
  bool waits_for(const void* memory) {
    const std::lock_guard lock(mutex_);
    return !memory_.owns(memory) && !memory_.pinned(memory);
  }

 private:
  template <class Run>
  bool keep_failure(const Run& run) {
    try {
      return run();
    } catch (const std::exception&) {
      if (!failure_) failure_ = std::current_exception();
      return false;
    }
  }

  std::recursive_mutex mutex_;
  Schedule schedule_;
  DeviceMemory memory_;
  std::vector<std::shared_ptr<Queue>> queues_;  // of live streams, and of dead ones with work left
  std::exception_ptr failure_;                  // not yet reported
};

}  // namespace triax::cuda::emulator
