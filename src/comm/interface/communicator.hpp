// SPDX-License-Identifier: Apache-2.0
#pragma once
// Messages within one group of ranks. Every call returns at once with a Request; the caller waits.
#include <cstdint>
#include <utility>

#include "kernels/base/device/device.hpp"
#include "src/comm/interface/traffic.hpp"

namespace triax {

enum class ReduceOp : std::uint8_t { sum, max, min };

class Communicator;

/// A message under way. Wait for it before its tensors are touched and before the Request is
/// destroyed. Streams order messages as they order kernels: a message starts after the work its
/// stream held when the call was made, and wait(stream) holds that stream until the message is
/// complete.
class Request {
 public:
  Request() = default;
  Request(Communicator* communicator, std::uintptr_t handle)
      : owner_(communicator), handle_(handle) {}
  Request(Request&& other) noexcept
      : owner_(std::exchange(other.owner_, nullptr)), handle_(other.handle_) {}
  Request& operator=(Request&& other) noexcept {
    std::swap(owner_, other.owner_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  /// Work issued to `stream` from here on runs after the message is complete. On a host stream the
  /// caller blocks until then.
  void wait(const Stream& stream);
  /// True if the message is complete. Also makes progress on it.
  bool test();
  bool pending() const { return owner_ != nullptr; }

 private:
  Communicator* owner_ = nullptr;
  std::uintptr_t handle_ = 0;
};

/// Messages within one group of ranks. A message starts in the order of the stream it is issued on
/// (on the host: at once). A group of size 1 copies locally or does nothing, so callers need no
/// special case. Tensors are contiguous. All ranks of the group make the same collective calls in
/// the same order.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// In place: data = reduction of `data` over all ranks, bit for bit the same on every rank.
  virtual Request all_reduce(const Stream& stream, const Tensor& data,
                             ReduceOp op = ReduceOp::sum) = 0;
  /// output = shard `rank` of the sum of `input` over all ranks. input: size() * n elements;
  /// output: n elements, apart from input or the rank's own shard of it (in place). The rest of
  /// input is undefined afterwards.
  virtual Request reduce_scatter(const Stream& stream, const Tensor& output,
                                 const Tensor& input) = 0;
  /// output = the inputs of all ranks in rank order. input: n elements, apart from output or the
  /// rank's own shard of it (in place); output: size() * n elements.
  virtual Request all_gather(const Stream& stream, const Tensor& output, const Tensor& input) = 0;
  /// In-place all-gather of a slice: `whole` holds size() equal shards; elements [begin, begin +
  /// count) of every shard are gathered.
  virtual Request all_gather_run(const Stream& stream, const Tensor& whole, std::int64_t begin,
                                 std::int64_t count) = 0;
  virtual Request broadcast(const Stream& stream, const Tensor& data, int root) = 0;
  /// Point to point. A receive matches the send with the same tag; sends with one tag arrive in
  /// order. Error if the message that arrives differs in bytes from `data`. NCCL ignores the tag:
  /// sends and receives match by order alone and must have the same number of bytes.
  virtual Request send(const Stream& stream, const Tensor& data, int to, int tag) = 0;
  virtual Request receive(const Stream& stream, const Tensor& data, int from, int tag) = 0;
  /// An exchange: sends and receives issued between the two calls start together in end_exchange(),
  /// and their Requests can be waited for from then on. Nothing else may be started in between.
  /// With NCCL, a message whose peer is late does not block the others of its exchange. Other
  /// backends never block there, so both calls do nothing.
  virtual void begin_exchange() {}
  virtual void end_exchange(const Stream&) {}
  virtual Request barrier(const Stream& stream) = 0;

  /// Messages and bytes sent since the start; zero in a group of one.
  virtual Traffic traffic() const = 0;

 protected:
  friend class Request;
  virtual void wait(std::uintptr_t handle, const Stream& stream) = 0;
  virtual bool test(std::uintptr_t handle) = 0;
};

inline void Request::wait(const Stream& stream) {
  if (Communicator* owner = std::exchange(owner_, nullptr)) owner->wait(handle_, stream);
}

inline bool Request::test() {
  if (owner_ && owner_->test(handle_)) owner_ = nullptr;
  return owner_ == nullptr;
}

}  // namespace triax
