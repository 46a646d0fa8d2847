// SPDX-License-Identifier: Apache-2.0
#include "tests/support/emulator/emulator.hpp"

#include <ucontext.h>

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "kernels/base/check.hpp"
#include "tests/support/emulator/fiber_switch.hpp"

namespace triax::cuda {
namespace emulator {
namespace {

// Threads that wait until all of them have arrived.
struct Barrier {
  int size = 0;
  int arrived = 0;
  std::uint64_t passed = 0;
};

// A copy to shared memory that no thread has waited for yet. from == nullptr: zeros.
struct Copy {
  void* to;
  const void* from;
  std::size_t bytes;
};

// Saved position of a stack: only the registers that __builtin_setjmp needs. setjmp of the C
// library costs as much as a thread's work between two barriers.
using Jump = std::array<void*, 5>;

// A fiber runs one thread after another, block by block, for all launches, because creating one
// takes system calls.
struct Fiber {
  Machine* machine = nullptr;  // whose thread it runs now
  ucontext_t context{};        // first entry
  Jump place{};                // where it continues
  bool begun = false;
  std::unique_ptr<char[]> stack = std::make_unique_for_overwrite<char[]>(stack_bytes);
  void* kept = nullptr;  // for leave_stack
  Block block;
  std::vector<Copy> copies;
  bool running = false;
  unsigned exchanges = 0;
  const Barrier* waits = nullptr;  // waits until it has been passed more than `passed` times
  std::uint64_t passed = 0;
};

// Values that the lanes of a warp exchange. Two buffers take turns: a fast lane may write one while
// a slow lane still reads the other, but never the same one.
struct Warp {
  Barrier barrier{.size = warp};
  std::array<std::array<std::uint64_t, warp>, 2> words{};
  std::array<void*, warp> lanes{};  // arguments of together()
};

}  // namespace

class Machine {
 public:
  using Thread = void (*)(const void*, const Block&);

  Machine(const LaunchShape& shape, Thread thread, const void* body)
      : shape_(shape),
        thread_(thread),
        body_(body),
        fibers_(fibers(static_cast<std::size_t>(shape.threads_x * shape.threads_y))),
        shared_(shape.shared_bytes / sizeof(std::uint64_t) + 2) {}

  void run_block(std::int64_t x, std::int64_t y) {
    constexpr std::uint64_t not_a_number = 0x7ff7ffff7ff7ffff;  // NaN as two floats and as a double
    std::fill(shared_.begin(), shared_.end(), not_a_number);
    block_ = {.size = static_cast<int>(fibers_.size())};
    warps_.assign(fibers_.size() / warp, Warp{});
    for (std::size_t i = 0; i < fibers_.size(); ++i) start(fibers_[i], static_cast<int>(i), x, y);
    while (round()) {
    }
  }

  void sync() { pass(block_); }

  std::uint64_t exchange(int thread, std::uint64_t word, int mask) {
    Warp& of = warps_[static_cast<std::size_t>(thread / warp)];
    auto& words = of.words[fibers_[static_cast<std::size_t>(thread)].exchanges++ % 2];
    words[static_cast<std::size_t>(thread % warp)] = word;
    pass(of.barrier);
    return words[static_cast<std::size_t>((thread % warp) ^ mask)];
  }

  // The last lane to arrive does the work for all.
  void together(int thread, void* mine, void (*work)(void* const*)) {
    Warp& of = warps_[static_cast<std::size_t>(thread / warp)];
    of.lanes[static_cast<std::size_t>(thread % warp)] = mine;
    if (of.barrier.arrived + 1 == warp) work(of.lanes.data());
    pass(of.barrier);
  }

  void begin_copy(int thread, const Copy& copy) {
    for (const void* end : {static_cast<const void*>(copy.to), copy.from})
      check(reinterpret_cast<std::uintptr_t>(end) % copy.bytes == 0, "a copy of {} bytes at {}",
            copy.bytes, end);
    fibers_[static_cast<std::size_t>(thread)].copies.push_back(copy);
  }

  void finish_copies(int thread) {
    auto& copies = fibers_[static_cast<std::size_t>(thread)].copies;
    for (const Copy& copy : copies) {
      if (copy.from != nullptr)
        std::memcpy(copy.to, copy.from, copy.bytes);
      else
        std::memset(copy.to, 0, copy.bytes);
    }
    copies.clear();
  }

 private:
  static std::span<Fiber> fibers(std::size_t count) {
    thread_local std::deque<std::vector<Fiber>> sizes;  // a deque, so that elements stay in place
    for (std::vector<Fiber>& made : sizes)
      if (made.size() == count) return made;
    return sizes.emplace_back(count);
  }

  void start(Fiber& fiber, int thread, std::int64_t x, std::int64_t y) {
    void* shared = shared_.data();
    if (reinterpret_cast<std::uintptr_t>(shared) % 16 != 0) shared = shared_.data() + 1;
    fiber.block.machine_ = this;
    fiber.block.shape_ = shape_;
    fiber.block.index_x_ = x;
    fiber.block.index_y_ = y;
    fiber.block.thread_ = thread;
    fiber.block.shared_ = shared;
    if (fiber.running) fiber.begun = false;  // an error ended its last block
    fiber.running = true;
    fiber.machine = this;
    fiber.exchanges = 0;
    fiber.waits = nullptr;
    fiber.copies.clear();
    if (fiber.begun) return;
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = stack_bytes;
    const auto self = reinterpret_cast<std::uintptr_t>(&fiber);
    makecontext(&fiber.context, reinterpret_cast<void (*)()>(&Machine::enter), 2,
                static_cast<unsigned>(self), static_cast<unsigned>(self >> 32U));
  }

  // makecontext passes only ints, so the address comes in two halves.
  static void enter(unsigned low, unsigned high) {
    const auto address = static_cast<std::uintptr_t>(low) | static_cast<std::uintptr_t>(high)
                                                                << 32U;
    Fiber& fiber = *reinterpret_cast<Fiber*>(address);
    fiber.machine->scheduler_stack_ = enter_stack(nullptr);
    while (true) {
      fiber.machine->thread_(fiber.machine->body_, fiber.block);
      fiber.running = false;
      fiber.machine->moved_ = true;
      give_way(fiber);
    }
  }

  // GCC's manual forbids a jump from the function that called __builtin_setjmp.
  [[gnu::noinline, noreturn]] static void jump(Jump& to) { __builtin_longjmp(to.data(), 1); }

  // Continues a fiber until it waits or ends. A jump leaves the signal mask alone, which
  // swapcontext sets by a system call.
  [[gnu::noinline]] void resume(Fiber& fiber) {
    current_ = &fiber;
    if (__builtin_setjmp(scheduler_.data()) != 0) {
      enter_stack(scheduler_kept_);
      return;
    }
    leave_stack(&scheduler_kept_, {fiber.stack.get(), stack_bytes});
    if (fiber.begun) jump(fiber.place);
    fiber.begun = true;
    setcontext(&fiber.context);
  }
  // Returns to the scheduler. Another Machine may continue the fiber.
  [[gnu::noinline]] static void give_way(Fiber& fiber) {
    if (__builtin_setjmp(fiber.place.data()) == 0) {
      leave_stack(&fiber.kept, fiber.machine->scheduler_stack_);
      jump(fiber.machine->scheduler_);
    }
    fiber.machine->scheduler_stack_ = enter_stack(fiber.kept);
  }

  // Runs every thread until it waits. Returns false when all have ended.
  bool round() {
    moved_ = false;
    bool running = false;
    for (Fiber& fiber : fibers_) {
      if (!fiber.running) continue;
      if (fiber.waits != nullptr && fiber.waits->passed == fiber.passed) {
        running = true;
        continue;
      }
      resume(fiber);
      running = running || fiber.running;
    }
    check(moved_ || !running, "threads of an emulated block wait for others that do not come");
    return running;
  }

  void pass(Barrier& barrier) {
    const std::uint64_t before = barrier.passed;
    Fiber* self = current_;
    if (++barrier.arrived == barrier.size) {
      barrier.arrived = 0;
      ++barrier.passed;
      moved_ = true;
    }
    if (barrier.passed != before) return;
    self->waits = &barrier;
    self->passed = before;
    give_way(*self);
    self->waits = nullptr;
  }

  const LaunchShape& shape_;
  Thread thread_;
  const void* body_;
  std::span<Fiber> fibers_;
  std::vector<std::uint64_t> shared_;
  std::vector<Warp> warps_;
  Barrier block_;
  Jump scheduler_{};
  StackBounds scheduler_stack_;
  void* scheduler_kept_ = nullptr;  // for leave_stack
  Fiber* current_ = nullptr;
  bool moved_ = false;  // a thread ended or passed a barrier in this round
};

void run(const LaunchShape& shape, Machine::Thread thread, const void* body) {
  Machine machine(shape, thread, body);
  for (std::int64_t y = 0; y < shape.blocks_y; ++y)
    for (std::int64_t x = 0; x < shape.blocks_x; ++x) machine.run_block(x, y);
}

}  // namespace emulator

void Block::sync() const {
  machine_->sync();
}

void Block::together(void* mine, void (*work)(void* const* lanes)) const {
  machine_->together(thread_, mine, work);
}

void Block::begin_copy(void* to, const void* from, int bytes, bool present) const {
  machine_->begin_copy(thread_, {to, present ? from : nullptr, static_cast<std::size_t>(bytes)});
}

void Block::finish_copies() const {
  machine_->finish_copies(thread_);
}

std::uint64_t Block::exchange(std::uint64_t word, int mask) const {
  return machine_->exchange(thread_, word, mask);
}

}  // namespace triax::cuda
