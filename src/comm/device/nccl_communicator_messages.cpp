// SPDX-License-Identifier: Apache-2.0
// Creation of NCCL communicators and the check of its version. One communicator of all ranks is
// made, and split for the axes and for the first and last stage; each takes some GPU memory.
#include <array>
#include <cstdlib>
#include <cstring>
#include <string>

#include "src/comm/device/nccl_communicator.hpp"
#include "src/comm/host/mpi_communicator.hpp"

namespace triax {
namespace {

constexpr const char* ordered_launches = "NCCL_LAUNCH_ORDER_IMPLICIT";

std::string version_text(int version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

// UsageError on all ranks alike if the oldest version of any rank is too old: before 2.26, kernels
// of two groups may start in different orders on different ranks and wait for each other for ever.
void check_version(MpiCommunicator& world) {
  std::int32_t version = 0;
  check_nccl(ncclGetVersion(&version), "ncclGetVersion", "all ranks");
  const Stream host;
  world.all_reduce(host, Tensor(&version, {1}), ReduceOp::min).wait(host);
  constexpr int least = 22600;
  if (version < least)
    throw UsageError(
        fmt::format("NCCL {} is too old", version_text(version)),
        fmt::format("before {}, messages of two groups of ranks can deadlock", version_text(least)),
        fmt::format(
            "Load NCCL {} or newer, build triax without NCCL (messages between GPUs then go "
            "through host memory and MPI), or set run.device to cpu",
            version_text(least)));
}

// The communicator of all ranks, from which those of the groups are split.
ncclComm_t connect(MpiCommunicator& world) {
  ncclUniqueId id{};
  if (world.rank() == 0) check_nccl(ncclGetUniqueId(&id), "ncclGetUniqueId", "all ranks");
  const Stream host;
  const Tensor bytes(static_cast<void*>(&id), DType::u8, {std::int64_t{sizeof id}});
  world.broadcast(host, bytes, 0).wait(host);
  world.barrier(host).wait(host);  // every rank has the id before any connects
  ncclComm_t comm = nullptr;
  check_nccl(ncclCommInitRank(&comm, world.size(), id, world.rank()), "ncclCommInitRank",
             "all ranks");
  return comm;
}

class NcclMessages final : public DeviceMessages {
 public:
  NcclMessages(MpiCommunicator& world, WaitPolicy policy) : progress_(policy, *world.progress()) {
    // Kernels of all communicators start in the order in which the host issued them, which is the
    // same on all ranks. On independent streams two groups could start in different orders and
    // deadlock.
    ::setenv(ordered_launches, "1", 0);
    check_version(world);
  }

  std::unique_ptr<Communicator> make(const DeviceGroup& group) override {
    ncclComm_t comm = group.parent == nullptr ? connect(group.mpi) : split(group);
    return std::make_unique<NcclCommunicator>(comm, group, progress_);
  }
  void drain(const Event& event) override { progress_.drain(event); }
  std::string description() const override {
    int version = 0;
    check_nccl(ncclGetVersion(&version), "ncclGetVersion", "all ranks");
    const char* const ordered = std::getenv(ordered_launches);
    const bool warn = ordered != nullptr && std::strcmp(ordered, "0") == 0;
    return fmt::format("messages by NCCL {}{}", version_text(version),
                       warn ? fmt::format(". Unset {}, which is 0: messages of two groups of ranks "
                                          "can deadlock",
                                          ordered_launches)
                            : "");
  }
  bool staged() const override { return false; }
  std::int64_t host_bytes() const override { return 0; }

 private:
  // Null in a group of one rank.
  static ncclComm_t split(const DeviceGroup& group) {
    const auto* const parent = dynamic_cast<const NcclCommunicator*>(group.parent);
    check(parent != nullptr, "a group of ranks that NCCL does not have is cut: {}", group.where);
    ncclComm_t comm = nullptr;
    const int color = group.host.size() > 1 ? group.color : NCCL_SPLIT_NOCOLOR;
    if (parent->comm() != nullptr)
      check_nccl(ncclCommSplit(parent->comm(), color, group.host.rank(), &comm, nullptr),
                 "ncclCommSplit", group.where);
    return comm;
  }

  NcclProgress progress_;
};

}  // namespace

bool has_nccl() {
  return true;
}

std::unique_ptr<DeviceMessages> nccl_messages(MpiCommunicator& world, WaitPolicy policy) {
  return std::make_unique<NcclMessages>(world, policy);
}

}  // namespace triax
