// SPDX-License-Identifier: Apache-2.0
// Engine of threads that call pread(2) and pwrite(2): it works on every system, but needs one
// thread per block in flight.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <thread>
#include <vector>

#include "io/direct/block_engine.hpp"
#include "kernels/base/check.hpp"
#include "kernels/base/process/quiet_thread.hpp"

namespace triax {
namespace {

constexpr int max_threads = 8;

class ThreadEngine final : public BlockEngine {
 public:
  // Where the system gives fewer threads than wanted, the engine works with those.
  ThreadEngine(int file, BlockQueue& queue, int depth) : file_(file), queue_(&queue) {
    const int wanted = std::min(depth, max_threads);
    threads_.reserve(static_cast<std::size_t>(wanted));
    try {
      for (int i = 0; i < wanted; ++i) threads_.push_back(start_quiet_thread([this] { run(); }));
    } catch (const std::system_error& error) {
      if (threads_.empty())
        throw Error("cannot start a thread that moves blocks of a file", error.what(),
                    "Raise the limits on processes and on addresses (ulimit -u, ulimit -v)");
    }
  }
  ~ThreadEngine() override {
    queue_->stop();
    for (std::thread& thread : threads_) thread.join();
  }
  ThreadEngine(const ThreadEngine&) = delete;
  ThreadEngine& operator=(const ThreadEngine&) = delete;

  void wake() override {}  // the threads wait for the queue itself
  std::string description() const override {
    return fmt::format("{} threads with pread and pwrite", threads_.size());
  }

 private:
  void run() {
    for (Block block; queue_->wait_and_take(block);)
      while (queue_->finish(block, transfer(block))) {
      }
  }

  std::int64_t transfer(const Block& block) const {
    const auto bytes = static_cast<std::size_t>(block.bytes);
    const ssize_t result = block.direction == Direction::read
                               ? ::pread(file_, block.data, bytes, block.offset)
                               : ::pwrite(file_, block.data, bytes, block.offset);
    return result < 0 ? -errno : result;
  }

  const int file_;
  BlockQueue* const queue_;
  std::vector<std::thread> threads_;
};

}  // namespace

std::unique_ptr<BlockEngine> make_thread_engine(int file, BlockQueue& queue, int depth) {
  return std::make_unique<ThreadEngine>(file, queue, depth);
}

}  // namespace triax
