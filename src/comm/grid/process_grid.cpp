// SPDX-License-Identifier: Apache-2.0
#include "src/comm/grid/process_grid.hpp"

#include <algorithm>

#include "src/comm/grid/process_grid_impl.hpp"

namespace triax {

ProcessGrid::ProcessGrid(MPI_Comm world, const GridShape& shape,
                         const std::vector<int>& node_of_rank, double timeout,
                         std::optional<MemorySpace> space, const Settle& settle)
    : impl_(std::make_unique<Impl>(world, shape, node_of_rank, timeout, space, settle)) {}
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
  return impl_->cores.of_node;
}
const CoreShare& ProcessGrid::cores() const {
  return impl_->cores;
}
MemorySpace ProcessGrid::space() const {
  return impl_->space;
}
std::string ProcessGrid::devices() const {
  return impl_->devices;
}
const std::vector<int>& ProcessGrid::ranks_of_device() const {
  return impl_->ranks_of_device;
}
void ProcessGrid::drain(const Stream& stream) {
  Event now;
  now.record(stream);
  drain(now);
}
void ProcessGrid::drain(const Event& event) {
  if (impl_->device_messages)
    impl_->device_messages->drain(event);
  else
    event.synchronize();
}
bool ProcessGrid::stages_messages() const {
  return impl_->device_messages && impl_->device_messages->staged();
}
std::int64_t ProcessGrid::staging_bytes() const {
  return impl_->device_messages ? impl_->device_messages->host_bytes() : 0;
}
WaitPolicy ProcessGrid::wait_policy() const {
  return impl_->policy;
}
std::string ProcessGrid::place() const {
  return impl_->place;
}
Communicator& ProcessGrid::world() {
  return *impl_->world.mpi;
}
Communicator& ProcessGrid::everywhere() {
  return impl_->world.messages();
}
Communicator& ProcessGrid::along(Axis axis) {
  return impl_->axes[index_of(axis)].messages();
}
Communicator& ProcessGrid::embedding() {
  return impl_->embedding.messages();
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

MessageTimes ProcessGrid::message_times(Axis axis) const {
  return impl_->clocks[index_of(axis)].times();
}

bool ProcessGrid::has_messages() const {
  return !std::ranges::all_of(impl_->clocks, &MessageClock::idle);
}
void ProcessGrid::choose_messages(std::span<std::byte> memory) {
  impl_->choose_messages(memory);
}
std::vector<std::string> ProcessGrid::shared_messages() const {
  return impl_->shared_messages();
}
int ProcessGrid::ranks_sharing(Axis axis) const {
  return impl_->all_share ? run_within_node(axis) : 1;
}
const std::string& ProcessGrid::not_shared() const {
  return impl_->not_shared;
}

int ProcessGrid::run_within_node(Axis axis) const {
  return triax::run_within_node(impl_->shape, axis, impl_->first_of_node);
}

Traffic ProcessGrid::traffic(Axis axis) const {
  Traffic sum = impl_->axes[index_of(axis)].messages().traffic();
  if (axis == Axis::pipeline) sum += impl_->embedding.messages().traffic();
  for (const auto& [place, group] : impl_->groups)
    if (place.axis == axis) sum += group.messages().traffic();
  return sum;
}

}  // namespace triax
