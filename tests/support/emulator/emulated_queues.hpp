#pragma once
// The streams of the emulated device. Their work is done by whoever waits for it, as late as can
// be; of some of them, where a test asks for that, as early as can be.
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
  std::function<bool()> ready;  // none: at once
  std::function<void()> work;   // none: nothing
};

struct Queue : std::enable_shared_from_this<Queue> {
  explicit Queue(bool is_early) : early(is_early) {}
  const bool early;  // its work is done as soon as can be
  std::array<std::shared_ptr<void>, kept_count> kept;
  std::deque<Task> work;
  std::uint64_t done = 0;  // of all that ever was put there
  std::uint64_t end() const { return done + work.size(); }
};

struct Point {
  std::shared_ptr<Queue> queue;
  std::uint64_t position = 0;
};

// Of the streams of a process, by their order. Where nobody asks, none is early.
// TRIAX_TEST_SCHEDULE, a number, makes about half of them so, another half for each number: a
// stream that overwrites what another has yet to read is found where it is early and the other is
// not.
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

// One a process, as a GPU's context is.
class Device {
 public:
  static Device& of_process() {
    static Device device;
    return device;
  }

  // For a stream: what it has to do is done when it is gone, too.
  std::shared_ptr<void> make_queue() {
    const std::lock_guard lock(mutex_);
    auto queue = std::make_shared<Queue>(schedule_.next_is_early());
    queues_.push_back(queue);
    return {queue.get(), [queue](void*) { const auto kept = std::exchange(queue->kept, {}); }};
  }

  // Where the work ends then.
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

  // False where some of the work up to there is not ready.
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
  // As run_all(); what fails is kept for who waits next, as an error of a GPU is. Work that is
  // under way must not free memory: nor may a GPU's.
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
  // Copies from and to other memory of the host do not return before they have read or written it.
  // Of reading that is no promise of CUDA's, whose driver may do so.
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
  std::vector<std::shared_ptr<Queue>> queues_;  // of streams, and of those that left work
  std::exception_ptr failure_;                  // that nobody has heard of
};

}  // namespace triax::cuda::emulator
