#include "src/comm/process_grid.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "kernels/base/check.hpp"
#include "src/comm/mpi_communicator.hpp"
#include "src/comm/mpi_error.hpp"
#include "src/comm/owned_handle.hpp"
#include "src/comm/topology.hpp"
#include "src/comm/watchdog.hpp"

namespace triax {
namespace {

std::size_t index_of(Axis axis) {
  return static_cast<std::size_t>(axis);
}

std::string host_name() {
  std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
  int length = 0;
  if (MPI_Get_processor_name(name.data(), &length) != MPI_SUCCESS) return "an unnamed host";
  return {name.data(), static_cast<std::size_t>(length)};
}

// Ranks of one axis make a group; not all of the grid do, so that it is no meeting of theirs.
class GroupWait {
 public:
  explicit GroupWait(ProgressBoard& board) : board_(board) { board_.begin_wait({.group = 0}); }
  ~GroupWait() { board_.end_wait(); }
  GroupWait(const GroupWait&) = delete;
  GroupWait& operator=(const GroupWait&) = delete;

 private:
  ProgressBoard& board_;
};

}  // namespace

struct ProcessGrid::Impl {
  Impl(MPI_Comm user_world, const GridShape& grid_shape, const std::vector<int>& node_of_rank,
       double timeout);

  void find_node(const std::vector<int>& node_of_rank);
  void make_axes();
  void make_embedding();
  void report_across_nodes(const std::string& directory);
  // `members`: the ranks along `axis` that are with this one, itself among them, ascending.
  // Collective over the axis.
  std::unique_ptr<MpiCommunicator> subgroup(Axis axis, const std::vector<int>& members,
                                            const std::string& name);
  // part() or across(), made at the first call.
  Communicator& group(Axis axis, int parts, bool across);

  void wait(MPI_Request request, const char* call) const {
    check_mpi(wait_for(request, policy), call, place);
  }
  // MPI makes communicators by blocking calls only, which spin. Meeting first, without spinning,
  // keeps nobody spinning for a rank that comes late.
  void meet(MPI_Comm comm) const {
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Ibarrier(comm, &request), "MPI_Ibarrier", place);
    wait(request, "MPI_Ibarrier");
  }
  std::vector<int> gather(int value) const;
  std::vector<int> members_of(MPI_Comm comm) const;
  std::unique_ptr<MpiCommunicator> communicator(MPI_Comm comm, const std::string& name) {
    const int group = board.add_group(name, members_of(comm));
    return std::make_unique<MpiCommunicator>(comm, policy, fmt::format("{}, {}", place, name),
                                             &board, group);
  }

  GridShape shape;
  int rank = 0;
  std::array<int, 3> coordinates{};  // by Axis
  std::string place = "a rank of MPI_COMM_WORLD";
  WaitPolicy policy = WaitPolicy::yield;  // until the cores are known
  OwnedComm grid;                         // Cartesian
  ProgressBoard board;
  std::optional<Watchdog> watchdog;
  int node_rank = 0, node_size = 1, nodes = 1, node_cores = 1;
  std::vector<int> ranks_of_node;
  std::unique_ptr<MpiCommunicator> world;
  std::array<std::unique_ptr<MpiCommunicator>, 3> axes;  // by Axis
  std::unique_ptr<MpiCommunicator> embedding;
  struct Group {
    Axis axis;
    int parts;
    bool across;
    auto operator<=>(const Group&) const = default;
  };
  std::map<Group, std::unique_ptr<MpiCommunicator>> groups;  // within an axis
  std::vector<int> first_of_node;                            // by rank: the first rank of its node
};

ProcessGrid::Impl::Impl(MPI_Comm user_world, const GridShape& grid_shape,
                        const std::vector<int>& node_of_rank, double timeout)
    : shape(grid_shape) {
  if (timeout > 0.0) watchdog.emplace(board, timeout);
  const WaitScope making(&board);
  int ranks = 0;
  check_mpi(MPI_Comm_size(user_world, &ranks), "MPI_Comm_size", place);
  check_world_size(shape, ranks);

  // The caller's communicator keeps its error handler; what is made from the copy inherits this
  // one.
  OwnedComm copy;
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Comm_idup(user_world, copy.address(), &request), "MPI_Comm_idup", place);
  wait(request, "MPI_Comm_idup");
  MPI_Comm_set_errhandler(copy.get(), MPI_ERRORS_RETURN);

  std::array<int, 3> sizes{};
  const std::array<int, 3> periodic{};
  std::transform(shape.order.begin(), shape.order.end(), sizes.begin(),
                 [&](Axis axis) { return shape.size(axis); });
  constexpr int reorder = 0;  // a rank stands where the launcher put it
  check_mpi(MPI_Cart_create(copy.get(), 3, sizes.data(), periodic.data(), reorder, grid.address()),
            "MPI_Cart_create", place);
  check_mpi(MPI_Comm_rank(grid.get(), &rank), "MPI_Comm_rank", place);
  for (const Axis axis : all_axes) coordinates[index_of(axis)] = shape.coordinate(rank, axis);
  place = fmt::format("rank {} (data {}, pipeline {}, tensor {}) on {}", rank, coordinates[0],
                      coordinates[1], coordinates[2], host_name());

  find_node(node_of_rank);
  world = communicator(std::exchange(*copy.address(), MPI_COMM_NULL), "all ranks");
  make_axes();
  make_embedding();
}

std::vector<int> ProcessGrid::Impl::gather(int value) const {
  std::vector<int> values(static_cast<std::size_t>(shape.size()));
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Iallgather(&value, 1, MPI_INT, values.data(), 1, MPI_INT, grid.get(), &request),
            "MPI_Iallgather", place);
  wait(request, "MPI_Iallgather");
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
  MPI_Comm_rank(node.get(), &node_rank);
  MPI_Comm_size(node.get(), &node_size);
  node_cores = cores_of_node(node.get());
  board.share(node.get(), rank, shape.size(), place);
  policy = triax::wait_policy(node_size, node_cores);

  // A node is known by its first rank.
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
    axes[index_of(axis)] = communicator(comm, fmt::format("{} axis", name_of(axis)));
  }
}

std::unique_ptr<MpiCommunicator> ProcessGrid::Impl::subgroup(Axis axis,
                                                             const std::vector<int>& members,
                                                             const std::string& name) {
  const MPI_Comm whole = axes[index_of(axis)]->mpi();
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
  return communicator(comm, name);
}

Communicator& ProcessGrid::Impl::group(Axis axis, int parts, bool across) {
  const int ranks = shape.size(axis);
  check(parts >= 1 && ranks % parts == 0, "{} ranks of the {} axis in {} equal parts", ranks,
        name_of(axis), parts);
  if (parts == (across ? ranks : 1)) return *axes[index_of(axis)];
  std::unique_ptr<MpiCommunicator>& made = groups[{axis, parts, across}];
  if (made) return *made;
  const int run = ranks / parts;
  const int here = coordinates[index_of(axis)];
  std::vector<int> members;
  for (int r = 0; r < ranks; ++r)
    if (across ? r % run == here % run : r / run == here / run) members.push_back(r);
  const GroupWait waiting(board);
  made =
      subgroup(axis, members,
               fmt::format("{} axis {} {} parts", name_of(axis), across ? "across" : "in", parts));
  return *made;
}

void ProcessGrid::Impl::make_embedding() {
  const int stage = coordinates[index_of(Axis::pipeline)];
  const int last = shape.pipeline - 1;
  std::vector<int> members = {stage};
  if (last > 0 && (stage == 0 || stage == last)) members = {0, last};
  embedding = subgroup(Axis::pipeline, members, "embedding group");
}

ProcessGrid::ProcessGrid(MPI_Comm world, const GridShape& shape,
                         const std::vector<int>& node_of_rank, double timeout)
    : impl_(std::make_unique<Impl>(world, shape, node_of_rank, timeout)) {}
ProcessGrid::~ProcessGrid() = default;

// A name of its own: what an earlier run left behind must not count.
void ProcessGrid::Impl::report_across_nodes(const std::string& directory) {
  if (nodes == 1 || !watchdog) return;
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

ProgressBoard& ProcessGrid::board() {
  return impl_->board;
}
void ProcessGrid::report_across_nodes(const std::string& directory) {
  impl_->report_across_nodes(directory);
}
WaitWatch* ProcessGrid::watch() const {
  return &impl_->board;
}
const GridShape& ProcessGrid::shape() const {
  return impl_->shape;
}
int ProcessGrid::rank() const {
  return impl_->rank;
}
int ProcessGrid::size() const {
  return impl_->shape.size();
}
int ProcessGrid::data_rank() const {
  return impl_->coordinates[index_of(Axis::data)];
}
int ProcessGrid::pipeline_rank() const {
  return impl_->coordinates[index_of(Axis::pipeline)];
}
int ProcessGrid::tensor_rank() const {
  return impl_->coordinates[index_of(Axis::tensor)];
}
int ProcessGrid::node_rank() const {
  return impl_->node_rank;
}
int ProcessGrid::node_size() const {
  return impl_->node_size;
}
int ProcessGrid::nodes() const {
  return impl_->nodes;
}
const std::vector<int>& ProcessGrid::ranks_of_node() const {
  return impl_->ranks_of_node;
}
int ProcessGrid::node_cores() const {
  return impl_->node_cores;
}
WaitPolicy ProcessGrid::wait_policy() const {
  return impl_->policy;
}
std::string ProcessGrid::place() const {
  return impl_->place;
}
Communicator& ProcessGrid::world() {
  return *impl_->world;
}
Communicator& ProcessGrid::along(Axis axis) {
  return *impl_->axes[index_of(axis)];
}
Communicator& ProcessGrid::embedding() {
  return *impl_->embedding;
}
MPI_Comm ProcessGrid::mpi() const {
  return impl_->grid.get();
}

Communicator& ProcessGrid::part(Axis axis, int parts) {
  return impl_->group(axis, parts, false);
}
Communicator& ProcessGrid::across(Axis axis, int parts) {
  return impl_->group(axis, parts, true);
}

int ProcessGrid::run_within_node(Axis axis) const {
  return triax::run_within_node(impl_->shape, axis, impl_->first_of_node);
}

Traffic ProcessGrid::traffic(Axis axis) const {
  Traffic sum = impl_->axes[index_of(axis)]->traffic();
  if (axis == Axis::pipeline) sum += impl_->embedding->traffic();
  for (const auto& [group, communicator] : impl_->groups)
    if (group.axis == axis) sum += communicator->traffic();
  return sum;
}

}  // namespace triax
