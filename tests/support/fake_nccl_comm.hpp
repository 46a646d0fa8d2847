// SPDX-License-Identifier: Apache-2.0
#pragma once
// A communicator of the fake NCCL, and its collectives.
#include <nccl.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "kernels/base/float16.hpp"
#include "kernels/base/wait.hpp"
#include "tests/support/emulator/emulated_device.hpp"
#include "tests/support/fake_nccl_exchange.hpp"
#include "tests/support/fake_nccl_order.hpp"
#include "tests/support/fake_nccl_ranks.hpp"

namespace triax::test {

inline std::size_t bytes_of(int type) {
  switch (type) {
    case ncclFloat64:
    case ncclInt64:
      return 8;
    case ncclFloat32:
    case ncclInt32:
      return 4;
    case ncclBfloat16:
    case ncclFloat16:
      return 2;
    default:
      return 1;
  }
}

// to[i] = the reduction of element first + i of all ranks' inputs, in rank order.
template <class T, class Wide>
void reduce(const FakeRanks& ranks, int op, T* to, std::uint64_t first, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    Wide total{};
    for (int r = 0; r < ranks.size(); ++r) {
      const auto term =
          static_cast<Wide>(reinterpret_cast<const T*>(ranks.of(r).data.data())[first + i]);
      total = r == 0          ? term
              : op == ncclSum ? static_cast<Wide>(total + term)
              : op == ncclMax ? std::max(total, term)
                              : std::min(total, term);
    }
    to[i] = static_cast<T>(total);
  }
}

inline void reduce(const FakeRanks& ranks, const FakeCall& call, void* to, std::uint64_t first) {
  const auto run = [&]<class T, class Wide>(T*, Wide) {
    reduce<T, Wide>(ranks, call.op, static_cast<T*>(to), first, call.count);
  };
  switch (call.type) {
    case ncclFloat64:
      return run(static_cast<double*>(to), 0.0);
    case ncclInt64:
      return run(static_cast<std::int64_t*>(to), std::int64_t{0});
    case ncclFloat32:
      return run(static_cast<float*>(to), 0.0F);
    case ncclInt32:
      return run(static_cast<std::int32_t*>(to), std::int32_t{0});
    case ncclBfloat16:
      return run(static_cast<Bf16*>(to), 0.0F);
    case ncclFloat16:
      return run(static_cast<F16*>(to), 0.0F);
    default:
      return run(static_cast<std::uint8_t*>(to), std::uint8_t{0});
  }
}

// A communicator as this process sees it. Its collectives are work of streams, which keep it alive.
class FakeComm : public std::enable_shared_from_this<FakeComm> {
 public:
  FakeComm(const SharedMemory::Name& place, int rank, int size) : ranks_(place, rank, size) {}

  const FakeRanks& ranks() const { return ranks_; }
  ncclResult_t error() const { return error_; }
  void fail(ncclResult_t error) { error_ = error; }
  void abort() { aborted_ = true; }
  // Returns when everything it has started is complete.
  void finish() {
    const auto begin = std::chrono::steady_clock::now();
    for (Patience patience(WaitPolicy::yield); !advance_all(); patience.pause())
      check(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20),
            "the fake NCCL would wait for ever for kernels of a communicator that it aborts");
  }

  // Publishes `input` bytes at `from` once all ranks have taken the previous inputs, and writes the
  // output once all ranks have published theirs.
  void enqueue(const FakeCall& call, const void* from, std::size_t input, void* to, void* stream) {
    check(input <= FakeSlot::data_bytes, "the fake NCCL has no room for {} bytes", input);
    const std::uint64_t number = ++begun_, order = order_.next();
    const auto self = shared_from_this();
    cuda::emulator::enqueue_when(
        stream, [self, number, order] { return self->may_begin(order) && self->room(number); },
        [self, call, from, input, number] { self->put(call, from, input, number); });
    auto advance = cuda::emulator::enqueue_when(
        stream, [self, number] { return self->all_put(number); },
        [self, call, to, number] { self->take(call, to, number); });
    order_.begun(order, advance);
    const std::lock_guard lock(mutex_);
    under_way_.emplace_back(number, std::move(advance));
  }

  // A group of sends and receives.
  void enqueue(std::vector<FakePeerCall> calls, void* stream) {
    for (FakePeerCall& call : calls) {
      check(call.bytes <= FakeSlot::message_bytes && ranks_.size() <= int{FakeSlot::most_peers},
            "the fake NCCL has no room for a message of {} bytes between {} ranks", call.bytes,
            ranks_.size());
      call.number = ++(call.send ? sends_ : receives_)[static_cast<std::size_t>(call.peer)];
    }
    const auto exchange = std::make_shared<FakeExchange>(ranks_, std::move(calls));
    const std::uint64_t order = order_.next();
    const auto self = shared_from_this();
    cuda::emulator::enqueue_when(
        stream, [self, order] { return self->may_begin(order); },
        [self, exchange] {
          if (!self->aborted_) exchange->begin();
        });
    auto advance = cuda::emulator::enqueue_when(
        stream, [self, exchange] { return self->complete(*exchange); },
        [self, exchange] {
          if (!self->aborted_) exchange->take();
        });
    order_.begun(order, advance);
    const std::lock_guard lock(mutex_);
    exchanges_.emplace_back(exchange, std::move(advance));
  }

  // Runs the operations that other ranks wait for.
  void serve() {
    serve_collectives();
    while (awaited_exchange() && advance_exchange()) {
    }
  }

 private:
  bool advance_all() {
    std::vector<std::function<bool()>> all;
    {
      const std::lock_guard lock(mutex_);
      for (const auto& each : under_way_) all.push_back(each.second);
      for (const auto& each : exchanges_) all.push_back(each.second);
    }
    return std::ranges::all_of(all, [](const auto& advance) { return advance(); });
  }
  void serve_collectives() {
    std::uint64_t wanted = 0;
    ranks_.all([&](const FakeSlot& each) {
      wanted = std::max(wanted, each.wanted.load());
      return true;
    });
    for (;;) {
      std::function<bool()> advance;
      {
        const std::lock_guard lock(mutex_);
        if (under_way_.empty() || under_way_.front().first > wanted) return;
        advance = under_way_.front().second;
      }
      if (!advance()) return;
      const std::lock_guard lock(mutex_);
      under_way_.pop_front();
    }
  }
  bool awaited_exchange() {
    const std::lock_guard lock(mutex_);
    return std::ranges::any_of(exchanges_, [](const auto& each) { return each.first->awaited(); });
  }
  // Advances the oldest exchange.
  bool advance_exchange() {
    std::function<bool()> advance;
    {
      const std::lock_guard lock(mutex_);
      advance = exchanges_.front().second;
    }
    if (!advance()) return false;
    const std::lock_guard lock(mutex_);
    exchanges_.pop_front();
    return true;
  }

  bool may_begin(std::uint64_t order) {
    return aborted_ || (error_ == ncclSuccess && order_.come_to(order));
  }
  bool complete(const FakeExchange& exchange) {
    if (aborted_) return true;
    if (error_ != ncclSuccess || !exchange.complete()) return false;
    if (!exchange.matches()) fail(ncclInvalidUsage);
    return error_ == ncclSuccess;
  }

  // Whether every rank has done `number` operations. If not, records that this rank waits for them.
  bool awaited(std::uint64_t number, std::atomic<std::uint64_t> FakeSlot::*done) {
    if (aborted_) return true;
    if (error_ != ncclSuccess) return false;
    if (ranks_.all([&](const FakeSlot& each) { return each.*done >= number; })) return true;
    FakeSlot& own = ranks_.own();
    own.wanted = std::max(own.wanted.load(), number);
    return false;
  }
  bool room(std::uint64_t number) { return awaited(number - 1, &FakeSlot::taken); }
  bool all_put(std::uint64_t number) {
    return awaited(number, &FakeSlot::put) && (aborted_ || all_match());
  }
  bool all_match() {
    for (int r = 0; r < ranks_.size(); ++r)
      if (ranks_.of(r).call != ranks_.own().call) {
        fail(ncclInvalidUsage);
        return false;
      }
    return true;
  }

  void put(const FakeCall& call, const void* from, std::size_t bytes, std::uint64_t number) {
    if (aborted_) return;
    FakeSlot& own = ranks_.own();
    own.call = call;
    if (bytes > 0) std::memcpy(own.data.data(), from, bytes);
    own.put = number;
  }

  void take(const FakeCall& call, void* to, std::uint64_t number) {
    if (aborted_) return;
    const std::size_t bytes = call.count * bytes_of(call.type);
    switch (call.kind) {
      case FakeCall::Kind::all_reduce:
        reduce(ranks_, call, to, 0);
        break;
      case FakeCall::Kind::reduce_scatter:
        reduce(ranks_, call, to, static_cast<std::uint64_t>(ranks_.rank()) * call.count);
        break;
      case FakeCall::Kind::all_gather:
        for (int r = 0; r < ranks_.size(); ++r)
          std::memcpy(static_cast<std::byte*>(to) + static_cast<std::size_t>(r) * bytes,
                      ranks_.of(r).data.data(), bytes);
        break;
      case FakeCall::Kind::broadcast:
        std::memcpy(to, ranks_.of(call.root).data.data(), bytes);
    }
    ranks_.own().taken = number;
  }

  FakeRanks ranks_;
  std::atomic<ncclResult_t> error_{ncclSuccess};
  std::atomic<bool> aborted_{false};
  LaunchOrder& order_ = LaunchOrder::of_process();
  std::uint64_t begun_ = 0;
  std::array<std::uint64_t, FakeSlot::most_peers> sends_{}, receives_{};
  std::mutex mutex_;  // guards what follows
  std::deque<std::pair<std::shared_ptr<FakeExchange>, std::function<bool()>>> exchanges_;
  std::deque<std::pair<std::uint64_t, std::function<bool()>>> under_way_;
};

}  // namespace triax::test
