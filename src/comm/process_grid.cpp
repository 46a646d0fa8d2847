#include "src/comm/process_grid.hpp"

#include "src/comm/process_grid_impl.hpp"

namespace triax {

ProcessGrid::ProcessGrid(MPI_Comm world, const GridShape& shape,
                         const std::vector<int>& node_of_rank, double timeout)
    : impl_(std::make_unique<Impl>(world, shape, node_of_rank, timeout)) {}
ProcessGrid::~ProcessGrid() = default;

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
