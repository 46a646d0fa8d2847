// SPDX-License-Identifier: Apache-2.0
#pragma once
// Construction of a ProcessGrid: communicators, nodes and devices. Included by process_grid*.cpp
// only.
#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/base/mpi/mpi_error.hpp"
#include "src/comm/device/device_messages.hpp"
#include "src/comm/grid/process_grid.hpp"
#include "src/comm/host/mpi_communicator.hpp"
#include "src/comm/host/node_communicator.hpp"
#include "src/comm/mpi/mpi_driver.hpp"
#include "src/comm/mpi/owned_handle.hpp"
#include "src/comm/watchdog/watchdog.hpp"

namespace triax {

inline std::size_t index_of(Axis axis) {
  return static_cast<std::size_t>(axis);
}

struct ProcessGrid::Impl {
  // A group of ranks: its communicators for host memory and, if tensors are on a device, for device
  // memory.
  struct Group {
    std::unique_ptr<MpiCommunicator> mpi;
    std::unique_ptr<NodeCommunicator> node;  // if ranks of a node share memory
    std::unique_ptr<Communicator> device;
    int number = 0;    // on the board
    std::string name;  // "data axis"
    Communicator& host() const { return node ? static_cast<Communicator&>(*node) : *mpi; }
    Communicator& messages() const { return device ? *device : host(); }
  };

  Impl(MPI_Comm user_world, const GridShape& grid_shape, const std::vector<int>& node_of_rank,
       double timeout, std::optional<MemorySpace> asked, const Settle& settle);

  void find_node(const std::vector<int>& node_of_rank);
  void find_devices(std::optional<MemorySpace> asked);
  // Number of this rank's GPU, where rank r finds counts[r] GPUs. Collective.
  int choose_device(const std::vector<int>& counts) const;
  void make_axes();
  void make_embedding();
  // Decides for all groups at once whether ranks share memory; device communicators are made after
  // that.
  void agree_on_sharing();
  void add_devices();
  void report_across_nodes(const std::string& directory);
  // `members`: the group's ranks along `axis`, this one included, ascending. `run`: consecutive
  // members that share a node. Collective over the axis.
  Group subgroup(Axis axis, const std::vector<int>& members, const std::string& name, int run);
  // part() or across(), created at the first call.
  Communicator& group(Axis axis, int parts, bool across);

  void wait(MPI_Request request, const char* call) const {
    check_mpi(wait_for(request, policy), call, place);
  }
  // MPI creates communicators by blocking calls that spin. Meeting first, without spinning, keeps
  // the others from spinning for a rank that is late.
  void meet(MPI_Comm comm) const {
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Ibarrier(comm, &request), "MPI_Ibarrier", place);
    wait(request, "MPI_Ibarrier");
  }
  std::vector<int> gather(int value) const;
  std::vector<std::int64_t> gather(std::int64_t value) const;
  std::vector<int> members_of(MPI_Comm comm) const;
  // Communicators for host memory. `clock`: of the group's axis; null: none. `run`: as in
  // add_node().
  Group communicator(MPI_Comm comm, const std::string& name, MessageClock* clock, int run);
  // Adds shared memory to `group`, used by every `run` consecutive ranks. `run` must be the same
  // for all groups of a kind, since it fixes the order of a sum: values replicated over tensor
  // ranks are summed by each of them in its own data group, and must stay equal bit for bit.
  void add_node(Group& group, int run, const GroupRecord& record);
  // This rank's groups that share memory, in the order in which all ranks made them.
  std::vector<const Group*> sharing_groups() const;
  void choose_messages(std::span<std::byte> memory);
  std::vector<std::string> shared_messages() const;
  // Adds a communicator for device memory if tensors are on a device. `parent`: communicator that
  // contains these ranks, all of which make such groups; null: all ranks.
  void add_device(Group& group, Communicator* parent);

  GridShape shape;
  int rank = 0;
  std::array<int, 3> coordinates{};  // by Axis
  std::string place = "a rank of MPI_COMM_WORLD";
  WaitPolicy policy = WaitPolicy::yield;  // until the cores are known
  OwnedComm grid;                         // Cartesian communicator
  MpiDriver driver{place};
  MessageProgress progress;
  std::array<MessageClock, 3> clocks;  // by Axis
  std::string not_shared;       // why ranks of a node share no memory; empty: nothing hinders them
  bool all_share = true;        // true if that holds on every node
  bool sharing_agreed = false;  // agree_on_sharing() has run
  ProgressBoard board;
  std::optional<Watchdog> watchdog;
  int node_rank = 0, node_size = 1, nodes = 1;
  CoreShare cores;
  std::vector<int> ranks_of_node;
  MemorySpace space = MemorySpace::host;
  std::string devices = "the CPU";
  std::vector<int> ranks_of_device;
  std::unique_ptr<DeviceMessages> device_messages;  // null: tensors are on the host
  Group world;
  std::array<Group, 3> axes;  // by Axis
  Group embedding;
  struct Part {
    Axis axis;
    int parts;
    bool across;
    auto operator<=>(const Part&) const = default;
  };
  std::map<Part, Group> groups;    // subgroups of an axis
  std::vector<int> first_of_node;  // by rank: the first rank of its node
};

}  // namespace triax
