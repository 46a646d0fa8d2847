// SPDX-License-Identifier: Apache-2.0
#include "src/comm/device/nccl_communicator.hpp"

#include <algorithm>

#include "kernels/base/device/device_backend.hpp"
#include "src/comm/interface/message_checks.hpp"

namespace triax {
namespace {

void check_contiguous(const Tensor& tensor) {
  check(tensor.contiguous(), "a message of a tensor {} that is not contiguous", tensor.shape());
}

std::size_t count_of(const Tensor& tensor) {
  return static_cast<std::size_t>(tensor.elements());
}

ncclDataType_t type_of(DType type) {
  switch (type) {
    case DType::f32:
      return ncclFloat32;
    case DType::f64:
      return ncclFloat64;
    case DType::bf16:
      return ncclBfloat16;
    case DType::f16:
      return ncclFloat16;
    case DType::i32:
      return ncclInt32;
    case DType::i64:
      return ncclInt64;
    case DType::u8:
      return ncclUint8;
    default:
      throw Error(fmt::format("NCCL has no type {}", name_of(type)));
  }
}

ncclRedOp_t reduction_of(ReduceOp op) {
  return op == ReduceOp::sum ? ncclSum : op == ReduceOp::max ? ncclMax : ncclMin;
}

}  // namespace

NcclCommunicator::NcclCommunicator(ncclComm_t comm, const DeviceGroup& group,
                                   NcclProgress& progress)
    : comm_(comm),
      host_(group.host),
      progress_(progress),
      board_(group.board),
      board_group_(group.board_group),
      where_(group.where),
      stream_(MemorySpace::device) {
  device_backend::raise_priority(
      stream_.handle());  // other ranks wait for messages, so they run first
  progress_.note_on(board_);
  if (comm_ != nullptr) progress_.add(comm_, where_);
}

NcclCommunicator::~NcclCommunicator() {
  progress_.end(comm_);
}

template <class Enqueue>
Request NcclCommunicator::start(const Stream& stream, const char* name, CallKind kind,
                                std::uint64_t bytes, const Enqueue& enqueue) {
  check(!exchanging_, "a collective within an exchange, {}", where_);
  progress_.note();
  progress_.check_usable();
  const std::size_t index = progress_.take();
  NcclProgress::Call& call = progress_.at(index);
  call.message = board_.start(board_group_, kind, bytes);
  launch(stream, call, name, enqueue);
  begin_under_way(index);
  return Request(this, index);
}

// NCCL connects ranks at their first message and blocks the caller meanwhile, so the watchdog must
// see that as a wait.
template <class Enqueue>
void NcclCommunicator::launch(const Stream& stream, NcclProgress::Call& call, const char* name,
                              const Enqueue& enqueue) {
  call.begin.record(stream);
  stream_.wait(call.begin);
  const BoardWait waiting(&board_, call.message);
  check_nccl(enqueue(static_cast<cudaStream_t>(device_backend::native_stream(stream_.handle()))),
             name, where_);
}

void NcclCommunicator::begin_under_way(std::size_t index) {
  NcclProgress::Call& call = progress_.at(index);
  call.end.record(stream_);
  call.board = &board_;
  progress_.begun(index);
}

bool NcclCommunicator::begun(std::uintptr_t handle) const {
  return std::ranges::find(exchange_, handle, &PeerMessage::call) == exchange_.end();
}

void NcclCommunicator::wait(std::uintptr_t handle, const Stream& stream) {
  check(begun(handle), "a message is waited for within its exchange, {}", where_);
  NcclProgress::Call& call = progress_.at(handle);
  stream.wait(call.end);
  call.waited = true;
}

bool NcclCommunicator::test(std::uintptr_t handle) {
  NcclProgress::Call& call = progress_.at(handle);
  if (!begun(handle) || !call.end.done()) return false;
  call.waited = true;
  progress_.note();
  return true;
}

Request NcclCommunicator::all_reduce(const Stream& stream, const Tensor& data, ReduceOp op) {
  if (on_host(data)) return host_.all_reduce(stream, data, op);
  check_contiguous(data);
  if (size() == 1 || data.elements() == 0) return {};
  traffic_ += ring::all_reduce(size(), byte_count(data));
  return start(stream, "ncclAllReduce", CallKind::all_reduce, byte_count(data),
               [&](cudaStream_t on) {
                 return ncclAllReduce(data.data(), data.data(), count_of(data),
                                      type_of(data.dtype()), reduction_of(op), comm_, on);
               });
}

Request NcclCommunicator::reduce_scatter(const Stream& stream, const Tensor& output,
                                         const Tensor& input) {
  if (on_host(input)) return host_.reduce_scatter(stream, output, input);
  check_contiguous(output);
  check_contiguous(input);
  check(output.space() == input.space(), "a reduce-scatter between memories");
  check(output.elements() * size() == input.elements(), "{} is not one of {} parts of {}",
        output.shape(), size(), input.shape());
  if (input.elements() == 0) return {};
  if (size() == 1) {
    copy(stream, output, input);
    return {};
  }
  traffic_ += ring::reduce_scatter(size(), byte_count(input));
  return start(stream, "ncclReduceScatter", CallKind::reduce_scatter, byte_count(input),
               [&](cudaStream_t on) {
                 return ncclReduceScatter(input.data(), output.data(), count_of(output),
                                          type_of(input.dtype()), ncclSum, comm_, on);
               });
}

Request NcclCommunicator::all_gather(const Stream& stream, const Tensor& output,
                                     const Tensor& input) {
  if (on_host(output)) return host_.all_gather(stream, output, input);
  check_contiguous(output);
  check_contiguous(input);
  check(output.space() == input.space(), "an all-gather between memories");
  check(input.elements() * size() == output.elements(), "{} is not one of {} parts of {}",
        input.shape(), size(), output.shape());
  if (output.elements() == 0) return {};
  if (size() == 1) {
    copy(stream, output, input);
    return {};
  }
  traffic_ += ring::all_gather(size(), byte_count(output));
  return start(stream, "ncclAllGather", CallKind::all_gather, byte_count(output),
               [&](cudaStream_t on) {
                 return ncclAllGather(input.data(), output.data(), count_of(input),
                                      type_of(input.dtype()), comm_, on);
               });
}

// Each rank broadcasts its slice: ncclAllGather supports only contiguous output.
Request NcclCommunicator::all_gather_run(const Stream& stream, const Tensor& whole,
                                         std::int64_t begin, std::int64_t count) {
  if (on_host(whole)) return host_.all_gather_run(stream, whole, begin, count);
  check_contiguous(whole);
  const std::int64_t part = check_run(whole, size(), begin, count);
  if (size() == 1 || count == 0) return {};
  const auto bytes = static_cast<std::uint64_t>(size() * count) * size_of(whole.dtype());
  traffic_ += ring::all_gather(size(), bytes);
  return start(stream, "ncclBroadcast", CallKind::all_gather, bytes, [&](cudaStream_t on) {
    ncclResult_t result = ncclGroupStart();
    for (int r = 0; r < size() && result == ncclSuccess; ++r) {
      const Tensor run = whole.flat().slice(0, r * part + begin, count);
      result =
          ncclBroadcast(run.data(), run.data(), count_of(run), type_of(run.dtype()), r, comm_, on);
    }
    const ncclResult_t end = ncclGroupEnd();
    return result != ncclSuccess ? result : end;
  });
}

Request NcclCommunicator::broadcast(const Stream& stream, const Tensor& data, int root) {
  if (on_host(data)) return host_.broadcast(stream, data, root);
  check_contiguous(data);
  if (size() == 1 || data.elements() == 0) return {};
  traffic_ += ring::broadcast(size(), byte_count(data));
  return start(stream, "ncclBroadcast", CallKind::broadcast, byte_count(data),
               [&](cudaStream_t on) {
                 return ncclBroadcast(data.data(), data.data(), count_of(data),
                                      type_of(data.dtype()), root, comm_, on);
               });
}

Request NcclCommunicator::send(const Stream& stream, const Tensor& data, int to, int tag) {
  if (on_host(data)) return host_.send(stream, data, to, tag);
  if (data.elements() == 0) return {};
  traffic_ += ring::send(byte_count(data));
  return add(stream, CallKind::send, data, to, tag);
}

Request NcclCommunicator::receive(const Stream& stream, const Tensor& data, int from, int tag) {
  if (on_host(data)) return host_.receive(stream, data, from, tag);
  if (data.elements() == 0) return {};
  return add(stream, CallKind::receive, data, from, tag);
}

Request NcclCommunicator::add(const Stream& stream, CallKind kind, const Tensor& data, int peer,
                              int tag) {
  check_contiguous(data);
  check(peer >= 0 && peer < size() && peer != rank(), "a message between ranks {} and {} of {}",
        rank(), peer, size());
  progress_.note();
  progress_.check_usable();
  const std::size_t index = progress_.take();
  progress_.at(index).message =
      board_.peer_message(board_group_, kind, byte_count(data), peer, tag);
  exchange_.push_back({index, kind, data, peer});
  if (!exchanging_) end_exchange(stream);
  return Request(this, index);
}

void NcclCommunicator::begin_exchange() {
  check(!exchanging_, "an exchange within another, {}", where_);
  exchanging_ = true;
}

void NcclCommunicator::end_exchange(const Stream& stream) {
  exchanging_ = false;
  if (exchange_.empty()) return;
  progress_.check_usable();
  launch(stream, progress_.at(exchange_.front().call), "ncclSend and ncclRecv",
         [this](cudaStream_t on) { return enqueue_exchange(on); });
  for (const PeerMessage& message : exchange_) begin_under_way(message.call);
  exchange_.clear();
}

ncclResult_t NcclCommunicator::enqueue_exchange(cudaStream_t on) const {
  ncclResult_t result = ncclGroupStart();
  for (const auto& [call, kind, data, peer] : exchange_) {
    if (result != ncclSuccess) break;
    const ncclDataType_t type = type_of(data.dtype());
    result = kind == CallKind::send ? ncclSend(data.data(), count_of(data), type, peer, comm_, on)
                                    : ncclRecv(data.data(), count_of(data), type, peer, comm_, on);
  }
  const ncclResult_t end = ncclGroupEnd();
  return result != ncclSuccess ? result : end;
}

}  // namespace triax
