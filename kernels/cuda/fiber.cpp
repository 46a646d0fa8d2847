#include "kernels/cuda/fiber.hpp"

#include <cstdint>

namespace triax::cuda::emulator {
namespace {

constexpr std::size_t stack_bytes = 65536;

}  // namespace
}  // namespace triax::cuda::emulator

#ifdef TRIAX_UCONTEXT

namespace triax::cuda::emulator {
namespace {

// makecontext passes ints alone: addresses come in halves.
void start(unsigned entry_low, unsigned entry_high, unsigned low, unsigned high) {
  const auto join = [](unsigned l, unsigned h) {
    return static_cast<std::uintptr_t>(l) | static_cast<std::uintptr_t>(h) << 32U;
  };
  reinterpret_cast<void (*)(void*)>(join(entry_low, entry_high))(
      reinterpret_cast<void*>(join(low, high)));
}

}  // namespace

void FiberContext::begin(void (*entry)(void*), void* argument) {
  if (!stack_) stack_ = std::make_unique_for_overwrite<char[]>(stack_bytes);
  getcontext(context_.get());
  context_->uc_stack.ss_sp = stack_.get();
  context_->uc_stack.ss_size = stack_bytes;
  context_->uc_link = nullptr;
  const auto code = reinterpret_cast<std::uintptr_t>(entry);
  const auto data = reinterpret_cast<std::uintptr_t>(argument);
  makecontext(context_.get(), reinterpret_cast<void (*)()>(&start), 4, static_cast<unsigned>(code),
              static_cast<unsigned>(code >> 32U), static_cast<unsigned>(data),
              static_cast<unsigned>(data >> 32U));
}

void FiberContext::switch_to(FiberContext& to) {
  swapcontext(context_.get(), to.context_.get());
}

}  // namespace triax::cuda::emulator

#else

// What the System V ABI has a callee keep goes to the stack; the other stack gives its own back.
// A new fiber begins with its argument and its code in registers that are kept.
extern "C" {
void triax_switch_fiber(void** save, void* to);
void triax_start_fiber();
}
asm(R"(
  .text
  .globl triax_switch_fiber
  .hidden triax_switch_fiber
  .type triax_switch_fiber, @function
triax_switch_fiber:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size triax_switch_fiber, .-triax_switch_fiber

  .globl triax_start_fiber
  .hidden triax_start_fiber
  .type triax_start_fiber, @function
triax_start_fiber:
  movq %r12, %rdi
  call *%rbx
  ud2
  .size triax_start_fiber, .-triax_start_fiber
)");

namespace triax::cuda::emulator {

void FiberContext::begin(void (*entry)(void*), void* argument) {
  if (!stack_) stack_ = std::make_unique_for_overwrite<char[]>(stack_bytes);
  // As triax_switch_fiber left it: six registers, from r15 up, and where to return to. The stack is
  // aligned to 16 bytes where triax_start_fiber begins to call.
  auto end = reinterpret_cast<std::uintptr_t>(stack_.get()) + stack_bytes;
  auto** at = reinterpret_cast<void**>(end / 16 * 16);
  *--at = nullptr;
  *--at = nullptr;
  *--at = reinterpret_cast<void*>(&triax_start_fiber);
  *--at = nullptr;                         // rbp
  *--at = reinterpret_cast<void*>(entry);  // rbx
  *--at = argument;                        // r12
  for (int kept = 13; kept <= 15; ++kept) *--at = nullptr;
  top_ = at;
}

void FiberContext::switch_to(FiberContext& to) {
  triax_switch_fiber(&top_, to.top_);
}

}  // namespace triax::cuda::emulator

#endif
