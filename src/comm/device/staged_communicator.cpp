// SPDX-License-Identifier: Apache-2.0
#include "src/comm/device/staged_communicator.hpp"

#include <algorithm>
#include <utility>

#include "src/comm/device/device_messages.hpp"
#include "src/comm/interface/message_checks.hpp"

namespace triax {
namespace {

class StagedMessages final : public DeviceMessages {
 public:
  explicit StagedMessages(MpiCommunicator& world)
      : world_(world), memory_(false, [&world](const Event& event) { world.drain(event); }) {}
  std::unique_ptr<Communicator> make(const DeviceGroup& group) override {
    return std::make_unique<StagedCommunicator>(group.host, group.mpi, memory_);
  }
  void drain(const Event& event) override { world_.drain(event); }
  std::string description() const override { return "messages go through host memory and MPI"; }
  bool staged() const override { return true; }
  std::int64_t host_bytes() const override { return memory_.bytes(); }

 private:
  MpiCommunicator& world_;
  StagingMemory memory_;
};

}  // namespace

std::unique_ptr<DeviceMessages> staged_messages(MpiCommunicator& world) {
  return std::make_unique<StagedMessages>(world);
}

std::size_t StagedCommunicator::begin(const Stream& stream, DType type, std::int64_t elements,
                                      const Target& target) {
  const auto free = std::find_if(messages_.begin(), messages_.end(),
                                 [](const Message& message) { return message.piece < 0; });
  const auto index = static_cast<std::size_t>(free - messages_.begin());
  if (free == messages_.end()) messages_.emplace_back();
  Message& message = of(index);
  message.piece = memory_.take(static_cast<std::size_t>(elements) * size_of(type));
  mpi_.drain(memory_.busy(message.piece));
  message.staged = memory_.memory(message.piece).tensor(type, {elements});
  message.target = target;
  message.begun.record(stream);
  return index;
}

Request StagedCommunicator::started(std::size_t message, Request request) {
  of(message).request = std::move(request);
  return Request(this, message);
}

Request StagedCommunicator::all_reduce(const Stream& stream, const Tensor& data, ReduceOp op) {
  if (on_host(data)) return host_.all_reduce(stream, data, op);
  if (size() == 1 || data.elements() == 0) return {};
  const std::int64_t n = data.elements();
  const std::size_t message = begin(stream, data.dtype(), n, {data.flat(), 1, 0, n});
  copy(stream, of(message).staged, data);
  return started(message, host_.all_reduce(stream, of(message).staged, op));
}

Request StagedCommunicator::reduce_scatter(const Stream& stream, const Tensor& output,
                                           const Tensor& input) {
  if (on_host(input)) return host_.reduce_scatter(stream, output, input);
  if (input.elements() == 0) return {};
  if (size() == 1) {
    copy(stream, output, input);
    return {};
  }
  const std::int64_t n = output.elements();
  const std::size_t message =
      begin(stream, input.dtype(), input.elements(), {output.flat(), 1, 0, n});
  const Tensor all = of(message).staged;
  copy(stream, all, input);
  of(message).staged = all.slice(0, rank() * n, n);
  return started(message, host_.reduce_scatter(stream, of(message).staged, all));
}

Request StagedCommunicator::all_gather(const Stream& stream, const Tensor& output,
                                       const Tensor& input) {
  if (on_host(output)) return host_.all_gather(stream, output, input);
  if (output.elements() == 0) return {};
  if (size() == 1) {
    copy(stream, output, input);
    return {};
  }
  const std::int64_t n = output.elements();
  const std::size_t message = begin(stream, output.dtype(), n, {output.flat(), 1, 0, n});
  const Tensor own = of(message).staged.slice(0, rank() * input.elements(), input.elements());
  copy(stream, own, input);
  return started(message, host_.all_gather(stream, of(message).staged, own));
}

Request StagedCommunicator::all_gather_run(const Stream& stream, const Tensor& whole,
                                           std::int64_t run, std::int64_t count) {
  if (on_host(whole)) return host_.all_gather_run(stream, whole, run, count);
  const std::int64_t part = check_run(whole, size(), run, count);
  if (size() == 1 || count == 0) return {};
  const std::size_t message =
      begin(stream, whole.dtype(), size() * count, {whole.flat(), size(), run, count});
  const Tensor own = of(message).staged.slice(0, rank() * count, count);
  copy(stream, own, whole.flat().slice(0, rank() * part + run, count));
  return started(message, host_.all_gather(stream, of(message).staged, own));
}

Request StagedCommunicator::broadcast(const Stream& stream, const Tensor& data, int root) {
  if (on_host(data)) return host_.broadcast(stream, data, root);
  if (size() == 1 || data.elements() == 0) return {};
  const std::int64_t n = data.elements();
  const std::size_t message = begin(stream, data.dtype(), n, {data.flat(), 1, 0, n});
  if (rank() == root) copy(stream, of(message).staged, data);
  return started(message, host_.broadcast(stream, of(message).staged, root));
}

Request StagedCommunicator::send(const Stream& stream, const Tensor& data, int to, int tag) {
  if (on_host(data)) return host_.send(stream, data, to, tag);
  const std::size_t message = begin(stream, data.dtype(), data.elements(), {});
  copy(stream, of(message).staged, data);
  return started(message, host_.send(stream, of(message).staged, to, tag));
}

Request StagedCommunicator::receive(const Stream& stream, const Tensor& data, int from, int tag) {
  if (on_host(data)) return host_.receive(stream, data, from, tag);
  const std::int64_t n = data.elements();
  const std::size_t message = begin(stream, data.dtype(), n, {data.flat(), 1, 0, n});
  const Stream host;  // a receive sends no device data, so it waits for no stream
  return started(message, host_.receive(host, of(message).staged, from, tag));
}

void StagedCommunicator::wait(std::uintptr_t handle, const Stream& stream) {
  Message& message = of(handle);
  message.request.wait(stream);
  const Target& target = message.target;
  if (!target.whole.empty()) {
    stream.wait(message.begun);  // earlier work that uses the target memory
    const std::int64_t part = target.whole.elements() / target.parts;
    for (std::int64_t p = 0; p < target.parts; ++p)
      copy(stream, target.whole.slice(0, p * part + target.begin, target.count),
           message.staged.slice(0, p * target.count, target.count));
    memory_.busy(message.piece).record(stream);
  }
  memory_.release(std::exchange(message.piece, -1));
}

bool StagedCommunicator::test(std::uintptr_t handle) {
  of(handle).request.test();
  return false;
}

}  // namespace triax
