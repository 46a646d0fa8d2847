// SPDX-License-Identifier: Apache-2.0
#include "src/comm/grid/process_grid_impl.hpp"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <utility>

#include "kernels/base/check.hpp"
#include "kernels/base/device/device_backend.hpp"
#include "kernels/base/process/host_name.hpp"
#include "src/comm/device/device_binding.hpp"
#include "src/comm/topology/topology.hpp"

namespace triax {

ProcessGrid::Impl::Impl(MPI_Comm user_world, const GridShape& grid_shape,
                        const std::vector<int>& node_of_rank, double timeout,
                        std::optional<MemorySpace> asked, const Settle& settle)
    : shape(grid_shape) {
  if (timeout > 0.0) watchdog.emplace(board, timeout);
  const WaitScope making(&board);
  int ranks = 0;
  check_mpi(MPI_Comm_size(user_world, &ranks), "MPI_Comm_size", place);
  check_world_size(shape, ranks);

  // The caller's communicator keeps its error handler; all communicators made from the copy inherit
  // this one.
  OwnedComm copy;
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Comm_idup(user_world, copy.address(), &request), "MPI_Comm_idup", place);
  wait(request, "MPI_Comm_idup");
  check_mpi(MPI_Comm_set_errhandler(copy.get(), MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler",
            place);

  check_mpi(MPI_Comm_idup(copy.get(), driver.address(), &request), "MPI_Comm_idup", place);
  wait(request, "MPI_Comm_idup");
  progress.add(driver);

  std::array<int, 3> sizes{};
  const std::array<int, 3> periodic{};
  std::transform(shape.order.begin(), shape.order.end(), sizes.begin(),
                 [&](Axis axis) { return shape.size(axis); });
  constexpr int reorder = 0;  // a rank stays where the launcher put it
  check_mpi(MPI_Cart_create(copy.get(), 3, sizes.data(), periodic.data(), reorder, grid.address()),
            "MPI_Cart_create", place);
  check_mpi(MPI_Comm_rank(grid.get(), &rank), "MPI_Comm_rank", place);
  for (const Axis axis : all_axes) coordinates[index_of(axis)] = shape.coordinate(rank, axis);
  place = fmt::format("rank {} (data {}, pipeline {}, tensor {}) on {}", rank, coordinates[0],
                      coordinates[1], coordinates[2], host_name());

  find_node(node_of_rank);
  world = communicator(std::exchange(*copy.address(), MPI_COMM_NULL), "all ranks", nullptr, 1);
  find_devices(asked);
  add_device(world, nullptr);
  if (settle) settle(cores, space);
  make_axes();
  make_embedding();
  agree_on_sharing();
  add_devices();
}

std::vector<std::int64_t> ProcessGrid::Impl::gather(std::int64_t value) const {
  std::vector<std::int64_t> values(static_cast<std::size_t>(shape.size()));
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(
      MPI_Iallgather(&value, 1, MPI_INT64_T, values.data(), 1, MPI_INT64_T, grid.get(), &request),
      "MPI_Iallgather", place);
  wait(request, "MPI_Iallgather");
  return values;
}

std::vector<int> ProcessGrid::Impl::gather(int value) const {
  std::vector<int> values;
  for (const std::int64_t each : gather(std::int64_t{value}))
    values.push_back(static_cast<int>(each));
  return values;
}

std::vector<int> ProcessGrid::Impl::members_of(MPI_Comm comm) const {
  if (comm == MPI_COMM_NULL) return {rank};
  OwnedGroup all;
  OwnedGroup some;
  check_mpi(MPI_Comm_group(grid.get(), all.address()), "MPI_Comm_group", place);
  check_mpi(MPI_Comm_group(comm, some.address()), "MPI_Comm_group", place);
  int count = 0;
  check_mpi(MPI_Group_size(some.get(), &count), "MPI_Group_size", place);
  std::vector<int> own(static_cast<std::size_t>(count));
  std::iota(own.begin(), own.end(), 0);
  std::vector<int> members(own.size());
  check_mpi(MPI_Group_translate_ranks(some.get(), count, own.data(), all.get(), members.data()),
            "MPI_Group_translate_ranks", place);
  return members;
}

void ProcessGrid::Impl::find_node(const std::vector<int>& node_of_rank) {
  check(node_of_rank.empty() || static_cast<int>(node_of_rank.size()) == shape.size(),
        "a node map of {} ranks for {}", node_of_rank.size(), shape.size());
  OwnedComm node;
  meet(grid.get());
  if (node_of_rank.empty())
    check_mpi(
        MPI_Comm_split_type(grid.get(), MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, node.address()),
        "MPI_Comm_split_type", place);
  else
    check_mpi(MPI_Comm_split(grid.get(), node_of_rank[static_cast<std::size_t>(rank)], rank,
                             node.address()),
              "MPI_Comm_split", place);
  check_mpi(MPI_Comm_rank(node.get(), &node_rank), "MPI_Comm_rank", place);
  check_mpi(MPI_Comm_size(node.get(), &node_size), "MPI_Comm_size", place);
  cores = share_of_cores(node.get());
  // The ranks of a node use the same wait policy, even if each is in its own cgroup.
  MPI_Request least = MPI_REQUEST_NULL;
  check_mpi(MPI_Iallreduce(MPI_IN_PLACE, &cores.of_node, 1, MPI_INT, MPI_MIN, node.get(), &least),
            "MPI_Iallreduce", place);
  wait(least, "MPI_Iallreduce");
  board.share(node.get(), rank, shape.size(), place);
  policy = triax::wait_policy(node_size, cores.of_node);

  // A node is identified by its first rank.
  int first = rank;
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Ibcast(&first, 1, MPI_INT, 0, node.get(), &request), "MPI_Ibcast", place);
  wait(request, "MPI_Ibcast");
  first_of_node = gather(first);
  check_tensor_inside_nodes(shape, first_of_node);
  nodes = 0;
  for (int r = 0; r < shape.size(); ++r) {
    const int first_there = first_of_node[static_cast<std::size_t>(r)];
    if (first_there == r) ++nodes;
    if (first_there == first) ranks_of_node.push_back(r);
  }
}

int ProcessGrid::Impl::choose_device(const std::vector<int>& counts) const {
  const int count = counts[static_cast<std::size_t>(rank)];
  std::vector<DevicePlace> places;
  for (int d = 0; d < count; ++d) places.push_back(device_backend::place(d));
  const std::vector<int> own = nearness(places);
  std::vector<std::vector<FoundDevice>> found(ranks_of_node.size());
  for (int d = 0; d < *std::ranges::max_element(counts); ++d) {
    const auto i = static_cast<std::size_t>(d);
    const std::vector<std::int64_t> parts = gather(d < count ? places[i].part : std::int64_t{0});
    const std::vector<int> near = gather(d < count ? own[i] : 0);
    for (std::size_t r = 0; r < found.size(); ++r) {
      const auto there = static_cast<std::size_t>(ranks_of_node[r]);
      if (d < counts[there]) found[r].push_back({parts[there], near[there]});
    }
  }
  return choose_devices(found)[static_cast<std::size_t>(node_rank)];
}

void ProcessGrid::Impl::find_devices(std::optional<MemorySpace> asked) {
  if (asked == MemorySpace::host) return;
  const std::vector<int> counts = gather(device_count());
  if (!compute_on_devices(asked, counts)) return;
  space = MemorySpace::device;
  bind_device(choose_device(counts));
  const DeviceFacts facts = device_facts();
  ranks_of_device = ranks_with_device(rank, gather(facts.place.part), first_of_node);
  const int found = distinct_devices(gather(facts.place.address), first_of_node);
  if (shape.size() > 1 && found == shape.size())
    device_messages = nccl_messages(*world.mpi, policy);
  if (!device_messages) device_messages = staged_messages(*world.mpi);
  devices = devices_text(shape.size(), found, facts.name);
  if (shape.size() > 1) devices += ": " + device_messages->description();
}

// The directory is named after rank 0's process, so that leftovers of an earlier run do not count.
void ProcessGrid::Impl::report_across_nodes(const std::string& directory) {
  if (!watchdog || !board.has_other_nodes()) return;
  namespace fs = std::filesystem;
  const std::string prefix = ".stall-";
  std::error_code error;
  if (rank == 0)
    for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
         entry.increment(error)) {
      std::error_code ignored;
      if (entry->path().filename().string().starts_with(prefix))
        fs::remove_all(entry->path(), ignored);
    }
  const ProcessName process = this_process();
  std::array<std::uint64_t, 2> name = {static_cast<std::uint64_t>(process.number), process.born};
  const WaitScope waiting(&board);
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Ibcast(name.data(), 2, MPI_UINT64_T, 0, grid.get(), &request), "MPI_Ibcast", place);
  wait(request, "MPI_Ibcast");
  watchdog->exchange_in(fmt::format("{}/{}{}-{}", directory, prefix, name[0], name[1]));
}

}  // namespace triax
