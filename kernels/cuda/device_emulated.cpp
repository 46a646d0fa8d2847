// A device for tests without one: the work of its streams is done by whoever waits for it, as late
// as can be.
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/base/check.hpp"
#include "kernels/base/device_backend.hpp"
#include "kernels/base/say.hpp"
#include "kernels/base/wait.hpp"
#include "kernels/cuda/emulated_device.hpp"
#include "kernels/cuda/emulated_memory.hpp"
#include "kernels/cuda/launch_shape.hpp"
#include "kernels/cuda/stream.hpp"

namespace triax::cuda::emulator {
namespace {

[[noreturn]] void give_up(std::string_view why) {
  say("the emulated device: {}\n", why);
  std::abort();
}

struct Task {
  std::function<bool()> ready;  // none: at once
  std::function<void()> work;   // none: nothing
};

struct Queue : std::enable_shared_from_this<Queue> {
  std::array<std::shared_ptr<void>, kept_count> kept;
  std::deque<Task> work;
  std::uint64_t done = 0;  // of all that ever was put there
  std::uint64_t end() const { return done + work.size(); }
};

struct Point {
  std::shared_ptr<Queue> queue;
  std::uint64_t position = 0;
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
    auto queue = std::make_shared<Queue>();
    queues_.push_back(queue);
    return {queue.get(), [queue](void*) { const auto kept = std::exchange(queue->kept, {}); }};
  }

  // Where the work ends then.
  std::uint64_t put(Queue& queue, std::function<void()> work, std::function<bool()> ready = {}) {
    const std::lock_guard lock(mutex_);
    queue.work.push_back({std::move(ready), std::move(work)});
    return queue.end();
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
    try {
      return run_all();
    } catch (const std::exception&) {
      if (!failure_) failure_ = std::current_exception();
      return false;
    }
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
  std::recursive_mutex mutex_;
  DeviceMemory memory_;
  std::vector<std::shared_ptr<Queue>> queues_;  // of streams, and of those that left work
  std::exception_ptr failure_;                  // that nobody has heard of
};

Queue& queue_of(void* stream) {
  return *static_cast<Queue*>(stream);
}

// Until run() says that it is done: others are waited for.
template <class Run>
void finish(const Run& run) {
  for (Patience patience(WaitPolicy::yield); !run(); patience.pause()) {
  }
}

// Before memory goes.
void finish_all() noexcept {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  finish([&] {
    if (Clock::now() - begin > std::chrono::minutes(1))
      give_up("memory goes, and some work never becomes ready");
    return Device::of_process().run_all_and_keep_failure();
  });
}

}  // namespace

void enqueue(const Stream& stream, std::function<void()> work) {
  if (stream.space() == MemorySpace::host) return work();
  Device::of_process().put(queue_of(stream.handle()), std::move(work));
}

std::function<bool()> enqueue_when(void* stream, std::function<bool()> ready,
                                   std::function<void()> work) {
  Queue& queue = queue_of(stream);
  const std::uint64_t end = Device::of_process().put(queue, std::move(work), std::move(ready));
  return [of = queue.weak_from_this(), end] {
    const std::shared_ptr<Queue> known = of.lock();
    return !known || Device::of_process().run(*known, end);
  };
}

}  // namespace triax::cuda::emulator

namespace triax::cuda {

void* native_stream(const Stream& stream) {
  return stream.handle();
}

std::size_t shared_memory_of(const Stream&) {
  return shared_limit;
}

std::shared_ptr<void>& kept_by(const Stream& stream, Kept what) {
  return emulator::queue_of(stream.handle()).kept[static_cast<std::size_t>(what)];
}

}  // namespace triax::cuda

namespace triax::device_backend {

using cuda::emulator::Device;
using cuda::emulator::DeviceMemory;
using cuda::emulator::finish;
using cuda::emulator::finish_all;
using cuda::emulator::Point;
using cuda::emulator::queue_of;

int count() {
  return 1;
}
void bind(int index) {
  check(index == 0, "there is one emulated device, not {}", index + 1);
}
// Ranks share one, or each has its own, as the test asks.
DevicePlace place(int) {
  const char* const asked = std::getenv("TRIAX_TEST_DEVICES");
  const std::int64_t own = asked != nullptr && asked == std::string_view("own") ? getpid() : 0;
  return {own, own};
}
DeviceFacts facts() {
  return {"emulated device", place(0), static_cast<std::int64_t>(DeviceMemory::capacity),
          static_cast<std::int64_t>(Device::of_process().free_bytes())};
}
Handle make_stream() {
  return Device::of_process().make_queue();
}
void raise_priority(void*) {}
void synchronize_stream(void* stream) {
  auto& queue = queue_of(stream);
  const Point now{queue.shared_from_this(), Device::of_process().end(queue)};
  finish([&] { return Device::of_process().run(now); });
  Device::of_process().throw_failure();
}
void attach_thread(void*) {}
void* native_stream(void* stream) {
  return stream;
}
Handle make_event() {
  return std::make_shared<Point>();
}
void record(void* event, void* stream) {
  Point& point = *static_cast<Point*>(event);
  point.queue = queue_of(stream).shared_from_this();
  point.position = Device::of_process().end(*point.queue);
}
void wait(void* stream, void* event) {
  const auto before = [point = *static_cast<Point*>(event)] {
    return Device::of_process().run(point);
  };
  Device::of_process().put(queue_of(stream), {}, before);
}
bool done(void* event) {
  return Device::of_process().run(*static_cast<Point*>(event));
}
void synchronize_event(void* event) {
  finish([event] { return done(event); });
  Device::of_process().throw_failure();
}

void* allocate(std::size_t bytes) {
  return Device::of_process().allocate(bytes);
}
void release(void* memory) noexcept {
  finish_all();
  Device::of_process().release(memory);
}
void pin(void* memory, std::size_t bytes) {
  Device::of_process().pin(memory, bytes);
}
void unpin(void* memory) noexcept {
  finish_all();
  Device::of_process().unpin(memory);
}

void copy(void* stream, void* to, const void* from, std::size_t bytes) {
  Device& device = Device::of_process();
  device.put(queue_of(stream), [=] { std::memmove(to, from, bytes); });
  if (device.waits_for(to) || device.waits_for(from)) synchronize_stream(stream);
}
void fill_zero(void* stream, void* memory, std::size_t bytes) {
  Device::of_process().put(queue_of(stream), [=] { std::memset(memory, 0, bytes); });
}

}  // namespace triax::device_backend
