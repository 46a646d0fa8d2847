// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fake_nccl.hpp"

#include <nccl.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/base/process/quiet_thread.hpp"
#include "tests/support/fake_nccl_comm.hpp"

namespace triax::test {
namespace {

// Process-wide state: the communicators, and a thread that stands for the GPU's own progress.
class Library {
 public:
  static Library& of_process() {
    static Library library;
    return library;
  }

  SharedMemory::Name make_place() {
    place_ = SharedMemory::make("triax-fake-nccl-id", sizeof(FakeMeetingPlace));
    check(place_.error() == 0, "no memory for an id of the fake NCCL");
    return place_.name();
  }
  void add(const std::shared_ptr<FakeComm>& comm) {
    const std::lock_guard lock(mutex_);
    comms_.push_back(comm);
  }
  void remove(const std::shared_ptr<FakeComm>& comm) {
    const std::lock_guard lock(mutex_);
    std::erase(comms_, comm);
  }
  void break_links() {
    const std::lock_guard lock(mutex_);
    for (const auto& comm : comms_) comm->fail(ncclRemoteError);
  }
  int communicators() {
    const std::lock_guard lock(mutex_);
    return static_cast<int>(comms_.size());
  }

  // Calls inside a group start at its end.
  void begin(std::function<void()> call) {
    if (depth_ > 0)
      group_.push_back(std::move(call));
    else
      call();
  }
  // Sends and receives of a group start together.
  void begin(const std::shared_ptr<FakeComm>& comm, const FakePeerCall& call, void* stream) {
    if (depth_ == 0) return comm->enqueue(std::vector{call}, stream);
    auto same = std::ranges::find(exchanges_, comm, &Exchange::comm);
    if (same == exchanges_.end())
      same = exchanges_.insert(same, {.comm = comm, .calls = {}, .stream = stream});
    same->calls.push_back(call);
  }
  void start_group() { ++depth_; }
  bool end_group() {
    if (depth_ == 0) return false;
    if (--depth_ > 0) return true;
    for (const auto& call : std::exchange(group_, {})) call();
    for (Exchange& each : std::exchange(exchanges_, {}))
      each.comm->enqueue(std::move(each.calls), each.stream);
    return true;
  }

  int version = 0;

 private:
  Library() : thread_(start_quiet_thread([this] { serve(); })) {
    LaunchOrder::of_process();  // constructed before this object, so destroyed after its thread has
                                // ended
  }
  ~Library() {
    over_ = true;
    thread_.join();
  }

  void serve() {
    while (!over_) {
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      std::vector<std::shared_ptr<FakeComm>> comms;
      {
        const std::lock_guard lock(mutex_);
        comms = comms_;
      }
      for (const auto& comm : comms) comm->serve();
    }
  }

  struct Exchange {
    std::shared_ptr<FakeComm> comm;
    std::vector<FakePeerCall> calls;
    void* stream;
  };

  SharedMemory place_;
  int depth_ = 0;
  std::vector<Exchange> exchanges_;  // of the current group
  std::vector<std::function<void()>> group_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<FakeComm>> comms_;
  std::atomic<bool> over_{false};
  std::thread thread_;
};

}  // namespace

void break_nccl_links() {
  Library::of_process().break_links();
}
void set_nccl_version(int version) {
  Library::of_process().version = version;
}
int nccl_communicators() {
  return Library::of_process().communicators();
}

}  // namespace triax::test

struct ncclComm {
  std::shared_ptr<triax::test::FakeComm> fake;
};

namespace {

using triax::SharedMemory;
using triax::test::FakeCall;
using triax::test::FakeComm;
using triax::test::FakeRanks;
using triax::test::FakeSlot;
using triax::test::Library;

ncclComm_t made(const SharedMemory::Name& place, int rank, int size) {
  auto fake = std::make_shared<FakeComm>(place, rank, size);
  Library::of_process().add(fake);
  return new ncclComm{std::move(fake)};
}

ncclResult_t begin(ncclComm_t comm, const FakeCall& call, const void* from, bool has_input,
                   std::size_t parts, void* to, cudaStream_t stream) {
  if (comm == nullptr || stream == nullptr) return ncclInvalidArgument;
  const std::size_t bytes = has_input ? parts * call.count * triax::test::bytes_of(call.type) : 0;
  Library::of_process().begin(
      [=, fake = comm->fake] { fake->enqueue(call, from, bytes, to, stream); });
  return ncclSuccess;
}

ncclResult_t begin(ncclComm_t comm, bool send, int peer, int type, std::uint64_t count,
                   void* memory, cudaStream_t stream) {
  if (comm == nullptr || stream == nullptr) return ncclInvalidArgument;
  const FakeRanks& ranks = comm->fake->ranks();
  if (peer < 0 || peer >= ranks.size() || peer == ranks.rank()) return ncclInvalidArgument;
  Library::of_process().begin(
      comm->fake, {send, peer, type, count, count * triax::test::bytes_of(type), memory}, stream);
  return ncclSuccess;
}

}  // namespace

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  const int set = Library::of_process().version;
  *version = set != 0 ? set : 22809;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  const SharedMemory::Name name = Library::of_process().make_place();
  static_assert(sizeof name <= sizeof id->internal);
  std::memcpy(id->internal, name.data(), sizeof name);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
  SharedMemory::Name name{};
  std::memcpy(name.data(), id.internal, sizeof name);
  *comm = made(name, rank, ranks);
  return ncclSuccess;
}

// For each color, the rank with the least key (and among those the least rank) makes the meeting
// place.
ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* result, ncclConfig_t*) {
  const FakeRanks& ranks = comm->fake->ranks();
  FakeSlot& own = ranks.own();
  own.color = color;
  own.key = key;
  ranks.meet();
  std::vector<std::pair<int, int>> members;  // (key, rank)
  for (int r = 0; r < ranks.size(); ++r)
    if (ranks.of(r).color == color) members.emplace_back(ranks.of(r).key, r);
  std::ranges::sort(members);
  const bool in_one = color != NCCL_SPLIT_NOCOLOR;
  if (in_one && members.front().second == ranks.rank())
    own.made = Library::of_process().make_place();
  ranks.meet();
  *result = nullptr;
  if (in_one) {
    const auto place = ranks.of(members.front().second).made;
    const auto self = std::ranges::find(members, ranks.rank(), &std::pair<int, int>::second);
    *result =
        made(place, static_cast<int>(self - members.begin()), static_cast<int>(members.size()));
  }
  ranks.meet();
  return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  comm->fake->ranks().meet();
  Library::of_process().remove(comm->fake);
  delete comm;
  return ncclSuccess;
}

// Like NCCL's: only this communicator's kernels are released at once. Destruction waits for them,
// at the end of a group if inside one.
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  comm->fake->abort();
  Library::of_process().begin([comm] {
    comm->fake->finish();
    Library::of_process().remove(comm->fake);
    delete comm;
  });
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclInvalidArgument:
      return "invalid argument";
    case ncclInvalidUsage:
      return "invalid usage";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    default:
      return "another error";
  }
}

const char* ncclGetLastError(ncclComm_t) {
  return "the fake NCCL says no more";
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  *error = comm->fake->error();
  return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return begin(comm, {FakeCall::Kind::all_reduce, type, op, 0, count}, from, true, 1, to, stream);
}

ncclResult_t ncclReduceScatter(const void* from, void* to, size_t count, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  const auto parts = static_cast<std::size_t>(comm->fake->ranks().size());
  return begin(comm, {FakeCall::Kind::reduce_scatter, type, op, 0, count}, from, true, parts, to,
               stream);
}

ncclResult_t ncclAllGather(const void* from, void* to, size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
  return begin(comm, {FakeCall::Kind::all_gather, type, 0, 0, count}, from, true, 1, to, stream);
}

ncclResult_t ncclBroadcast(const void* from, void* to, size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream) {
  const bool sends = comm->fake->ranks().rank() == root;
  return begin(comm, {FakeCall::Kind::broadcast, type, 0, root, count}, from, sends, 1, to, stream);
}

ncclResult_t ncclSend(const void* from, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  return begin(comm, true, peer, type, count, const_cast<void*>(from), stream);
}

ncclResult_t ncclRecv(void* to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return begin(comm, false, peer, type, count, to, stream);
}

ncclResult_t ncclGroupStart() {
  Library::of_process().start_group();
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  return Library::of_process().end_group() ? ncclSuccess : ncclInvalidUsage;
}

}  // extern "C"
