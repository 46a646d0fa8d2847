// SPDX-License-Identifier: Apache-2.0
// Communicators of a ProcessGrid's groups: by MPI, through shared memory, and on devices.
#include <malloc.h>

#include <algorithm>
#include <utility>

#include "kernels/base/check.hpp"
#include "src/comm/grid/process_grid_impl.hpp"
#include "src/comm/host/hierarchical_exchange.hpp"
#include "src/comm/host/node_choice.hpp"

namespace triax {

ProcessGrid::Impl::Group ProcessGrid::Impl::communicator(MPI_Comm comm, const std::string& name,
                                                         MessageClock* clock, int run) {
  const std::vector<int> members = members_of(comm);
  const int number = board.add_group(name, members);
  const GroupRecord record{&board, number, &progress, clock};
  Group group;
  group.number = number;
  group.name = name;
  group.mpi =
      std::make_unique<MpiCommunicator>(comm, policy, fmt::format("{}, {}", place, name), record);
  add_node(group, run, record);
  return group;
}

void ProcessGrid::Impl::add_node(Group& group, int run, const GroupRecord& record) {
  const int size = group.mpi->size();
  if (size == 1 || run == 1 || !all_share) return;
  if (device_messages && !device_messages->staged())
    return;  // NCCL sends large messages from GPU to GPU
  const std::string where = fmt::format("{}, {}", place, group.name);
  std::unique_ptr<Exchange> exchange;
  if (run == size) {
    exchange = std::make_unique<NodeExchange>(group.mpi->mpi(), where);
  } else {
    meet(group.mpi->mpi());
    exchange = std::make_unique<HierarchicalExchange>(group.mpi->mpi(), run, policy, where);
  }
  if (exchange->usable()) {
    group.node =
        std::make_unique<NodeCommunicator>(*group.mpi, std::move(exchange), policy, record);
    return;
  }
  // Other groups of its kind may share memory, and would sum in another order.
  if (sharing_agreed)
    throw Error(fmt::format("{}: its ranks cannot share memory", where), exchange->refusal(),
                "Other groups of this job can. Free memory, and set the same limits on all nodes");
  if (not_shared.empty()) not_shared = fmt::format("{}: {}", where, exchange->refusal());
}

void ProcessGrid::Impl::agree_on_sharing() {
  sharing_agreed = true;
  const std::vector<int> lengths = gather(static_cast<int>(not_shared.size()));
  const auto first = std::ranges::find_if(lengths, [](int length) { return length > 0; });
  all_share = first == lengths.end();
  if (all_share) return;
  not_shared.resize(static_cast<std::size_t>(*first));
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Ibcast(not_shared.data(), *first, MPI_CHAR,
                       static_cast<int>(first - lengths.begin()), grid.get(), &request),
            "MPI_Ibcast", place);
  wait(request, "MPI_Ibcast");
  for (Group& group : axes) group.node.reset();
  embedding.node.reset();
}

std::vector<const ProcessGrid::Impl::Group*> ProcessGrid::Impl::sharing_groups() const {
  std::vector<const Group*> sharing;
  const auto add = [&](const Group& group) {
    if (group.node) sharing.push_back(&group);
  };
  for (const Group& group : axes) add(group);
  add(embedding);
  for (const auto& [part, group] : groups) add(group);
  return sharing;
}

void ProcessGrid::Impl::choose_messages(std::span<std::byte> memory) {
  const std::vector<const Group*> sharing = sharing_groups();
  Buffer own;  // mapped pages, which go back to the system when freed
  if (!sharing.empty() && memory.size() < least_trial_bytes) {
    own = Buffer(least_trial_bytes);
    memory = {static_cast<std::byte*>(own.data()), own.bytes()};
  }
  for (const Group* group : sharing) choose_sizes(*group->mpi, *group->node, policy, memory);
#ifdef __GLIBC__
  malloc_trim(
      0);  // freed memory stays with the process otherwise (MpiSession), and nothing needs it
#endif
}

std::vector<std::string> ProcessGrid::Impl::shared_messages() const {
  std::vector<std::string> lines;
  const auto sizes = [](const NodeSizes::Range& of) {
    if (of == NodeSizes::none) return std::string("of no size");
    if (of.to == NodeSizes::Range::unlimited) return fmt::format("from {} KiB on", of.from >> 10);
    return fmt::format("from {} to {} KiB", of.from >> 10, of.to >> 10);
  };
  for (const Group* group : sharing_groups()) {
    const NodeSizes& of = group->node->sizes();
    const int sharing = group->node->ranks_sharing();
    lines.push_back(fmt::format(
        "messages of the {}: sums {} and gathers {} go through memory that {}", group->name,
        sizes(of.sums), sizes(of.gathers),
        sharing == group->node->size()
            ? fmt::format("its {} ranks share", sharing)
            : fmt::format("{} ranks of each node share, and by messages between nodes", sharing)));
  }
  return lines;
}

void ProcessGrid::Impl::add_device(Group& group, Communicator* parent) {
  if (!device_messages) return;
  const int color = members_of(group.mpi->mpi()).front();
  group.device = device_messages->make({group.host(), *group.mpi, parent, color, board,
                                        group.number, fmt::format("{}, {}", place, group.name)});
}

void ProcessGrid::Impl::add_devices() {
  for (Group& axis : axes) add_device(axis, world.device.get());
  add_device(embedding, world.device.get());
}

void ProcessGrid::Impl::make_axes() {
  for (const Axis axis : all_axes) {
    MPI_Comm comm = MPI_COMM_NULL;  // a group of one needs none
    if (shape.size(axis) > 1) {
      std::array<int, 3> remains{};
      std::transform(shape.order.begin(), shape.order.end(), remains.begin(),
                     [&](Axis a) { return a == axis ? 1 : 0; });
      meet(grid.get());
      check_mpi(MPI_Cart_sub(grid.get(), remains.data(), &comm), "MPI_Cart_sub", place);
    }
    axes[index_of(axis)] =
        communicator(comm, fmt::format("{} axis", name_of(axis)), &clocks[index_of(axis)],
                     triax::run_within_node(shape, axis, first_of_node));
  }
}

ProcessGrid::Impl::Group ProcessGrid::Impl::subgroup(Axis axis, const std::vector<int>& members,
                                                     const std::string& name, int run) {
  const Group& along = axes[index_of(axis)];
  const MPI_Comm whole = along.mpi->mpi();
  MPI_Comm comm = MPI_COMM_NULL;  // a group of one needs none
  if (whole != MPI_COMM_NULL) meet(whole);
  if (members.size() > 1) {
    OwnedGroup all;
    OwnedGroup some;
    check_mpi(MPI_Comm_group(whole, all.address()), "MPI_Comm_group", place);
    check_mpi(
        MPI_Group_incl(all.get(), static_cast<int>(members.size()), members.data(), some.address()),
        "MPI_Group_incl", place);
    constexpr int tag = 0;
    check_mpi(MPI_Comm_create_group(whole, some.get(), tag, &comm), "MPI_Comm_create_group", place);
  }
  return communicator(comm, name, &clocks[index_of(axis)], run);
}

Communicator& ProcessGrid::Impl::group(Axis axis, int parts, bool across) {
  const int ranks = shape.size(axis);
  check(parts >= 1 && ranks % parts == 0, "{} ranks of the {} axis in {} equal parts", ranks,
        name_of(axis), parts);
  if (parts == (across ? ranks : 1)) return axes[index_of(axis)].messages();
  Group& made = groups[{axis, parts, across}];
  if (made.mpi) return made.messages();
  const int run = ranks / parts;
  const int here = coordinates[index_of(axis)];
  std::vector<int> members;
  for (int r = 0; r < ranks; ++r)
    if (across ? r % run == here % run : r / run == here / run) members.push_back(r);
  const int sharing = triax::run_within_node(shape, axis, first_of_node);
  // Only ranks of one axis make it, so it is not noted as a meeting of the whole grid.
  const BoardWait waiting(&board, {.group = 0});
  made =
      subgroup(axis, members,
               fmt::format("{} axis {} {} parts", name_of(axis), across ? "across" : "in", parts),
               across ? run_of_groups(sharing, run, parts) : run_of_groups(sharing, 1, run));
  add_device(made, &axes[index_of(axis)].messages());
  return made.messages();
}

void ProcessGrid::Impl::make_embedding() {
  const int stage = coordinates[index_of(Axis::pipeline)];
  const int last = shape.pipeline - 1;
  std::vector<int> members = {stage};
  if (last > 0 && (stage == 0 || stage == last)) members = {0, last};
  const bool on_a_node =
      triax::run_within_node(shape, Axis::pipeline, first_of_node) == shape.pipeline;
  embedding = subgroup(Axis::pipeline, members, "embedding group", on_a_node ? 2 : 1);
}

}  // namespace triax
