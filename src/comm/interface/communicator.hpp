#pragma once
// Messages within one group of ranks. Every call returns at once with a Request; the caller waits.
#include <cstdint>
#include <utility>

#include "kernels/base/device/device.hpp"
#include "src/comm/interface/traffic.hpp"

namespace triax {

enum class ReduceOp : std::uint8_t { sum, max, min };

class Communicator;

/// One message under way. It must be waited for before its tensors are touched or the Request goes.
/// Streams order messages as they order kernels: a message begins after the work that its stream
/// held when it was started, and wait(stream) lets that stream go on only when it is complete.
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
  /// Work issued to `stream` from here on runs when the message is complete. On a host stream the
  /// caller blocks until then.
  void wait(const Stream& stream);
  /// True when complete; drives progress.
  bool test();
  bool pending() const { return owner_ != nullptr; }

 private:
  Communicator* owner_ = nullptr;
  std::uintptr_t handle_ = 0;
};

/// A group of ranks of one axis. Messages begin in the order of the stream they are started on (on
/// the host: at once). Size 1 is a local copy or nothing, so callers need no special
/// case. Tensors are contiguous. All ranks of the group make the same collective calls in the same
/// order.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// data = reduction over ranks of data, in place; the same bits on every rank.
  virtual Request all_reduce(const Stream& stream, const Tensor& data,
                             ReduceOp op = ReduceOp::sum) = 0;
  /// output = part `rank` of the sum of input. input: size() * n elements, output: n; output may be
  /// the rank's own part of input (in place). What else is left in input is undefined.
  virtual Request reduce_scatter(const Stream& stream, const Tensor& output,
                                 const Tensor& input) = 0;
  /// output = the inputs of all ranks in order. input: n elements, output: size() * n; input may be
  /// the rank's own part of output (in place).
  virtual Request all_gather(const Stream& stream, const Tensor& output, const Tensor& input) = 0;
  /// Of `whole`, size() equal parts of which every rank has its own, the elements [begin, begin +
  /// count) of each part: in place.
  virtual Request all_gather_run(const Stream& stream, const Tensor& whole, std::int64_t begin,
                                 std::int64_t count) = 0;
  virtual Request broadcast(const Stream& stream, const Tensor& data, int root) = 0;
  /// Point to point; a receive matches the send with the same tag, and sends of one tag arrive in
  /// order. An Error where the message that arrives has not the bytes of `data`. By NCCL they match
  /// by their order alone, whatever the tag, and must have the same bytes.
  virtual Request send(const Stream& stream, const Tensor& data, int to, int tag) = 0;
  virtual Request receive(const Stream& stream, const Tensor& data, int from, int tag) = 0;
  /// Sends and receives between the two begin together, at the end, and their Requests can be
  /// waited for from then on; nothing else is started there. By NCCL one that waits for its other
  /// end does not hold up the others of its exchange; elsewhere none does anyway, and there is
  /// nothing to do.
  virtual void begin_exchange() {}
  virtual void end_exchange(const Stream&) {}
  virtual Request barrier(const Stream& stream) = 0;

  /// What was sent since the start; nothing in a group of one.
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
