// SPDX-License-Identifier: Apache-2.0
#pragma once
// Simulates refused system calls (seccomp).
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace triax::test {

/// Selects calls by an argument: its value has a bit of `has` or, where `has` is 0, equals
/// `equals`. number: index of the argument; -1: all calls.
struct RefusedArgument {
  int number = -1;
  std::uint32_t has = 0, equals = 0;
};

/// Runs `body` in a new thread. In it, and in threads that it starts, system call `call` fails with
/// `error`.
inline void with_refused(std::uint32_t call, const RefusedArgument& argument, int error,
                         const std::function<void()>& body) {
  std::thread([&] {
    constexpr std::uint16_t load = BPF_LD | BPF_W | BPF_ABS;
    const bool any = argument.number < 0;
    const std::uint8_t to_allow = any ? 1 : 3;
    std::vector<sock_filter> filter = {
        {load, 0, 0, offsetof(seccomp_data, nr)},
        {BPF_JMP | BPF_JEQ | BPF_K, 0, to_allow, call},
    };
    if (!any) {
      const auto at = static_cast<std::uint32_t>(argument.number) * sizeof(std::uint64_t);
      filter.push_back({load, 0, 0, static_cast<std::uint32_t>(offsetof(seccomp_data, args) + at)});
      if (argument.has != 0)
        filter.push_back({BPF_JMP | BPF_JSET | BPF_K, 0, 1, argument.has});
      else
        filter.push_back({BPF_JMP | BPF_JEQ | BPF_K, 0, 1, argument.equals});
    }
    filter.push_back(
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error)});
    filter.push_back({BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW});
    const sock_fprog program = {static_cast<unsigned short>(filter.size()), filter.data()};
    ASSERT_EQ(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    ASSERT_EQ(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
    body();
  }).join();
}

}  // namespace triax::test
