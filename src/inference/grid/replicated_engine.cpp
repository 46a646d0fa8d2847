// SPDX-License-Identifier: Apache-2.0
#include "src/inference/grid/replicated_engine.hpp"

#include <algorithm>

#include "src/inference/engine/request_check.hpp"
#include "src/inference/grid/request_message.hpp"

namespace triax {
namespace {

using nlohmann::json;

constexpr int size_tag = 2, output_tag = 3;

Tensor view(std::vector<std::int32_t>& numbers) {
  return {numbers.data(), {std::ssize(numbers)}};
}

}  // namespace

ReplicatedEngine::ReplicatedEngine(Engine& own, Communicator& leaders, WaitPolicy policy)
    : own_(own),
      leaders_(leaders),
      line_(leaders, policy, 1),
      stream_(MemorySpace::host),
      replicas_(static_cast<std::size_t>(leaders.size())) {}

void ReplicatedEngine::submit(GenerationRequest request) {
  check_request(request, context(), vocabulary());
  if (replica_of_.contains(request.id))
    throw UsageError(fmt::format("request {} is open already", request.id), {}, "Number it anew");
  const auto least = std::ranges::min_element(replicas_, {}, &Replica::open);
  const auto number = static_cast<int>(least - replicas_.begin());
  replica_of_[request.id] = number;
  ++least->open;
  if (number == 0)
    own_.submit(std::move(request));
  else
    least->submitted.push_back(json_of(request));
}

void ReplicatedEngine::Replica::cancel(std::uint64_t id) {
  for (std::size_t i = 0; i < submitted.size(); ++i)
    if (submitted[i]["id"] == id) {  // the replica never learns of it
      submitted.erase(i);
      return;
    }
  cancelled.push_back(id);
}

void ReplicatedEngine::closed(std::uint64_t id) {
  const auto found = replica_of_.find(id);
  --replicas_[static_cast<std::size_t>(found->second)].open;
  replica_of_.erase(found);
}

void ReplicatedEngine::cancel(std::uint64_t id) {
  const auto found = replica_of_.find(id);
  if (found == replica_of_.end()) return;
  if (found->second == 0)
    own_.cancel(id);
  else
    replicas_[static_cast<std::size_t>(found->second)].cancel(id);
  closed(id);
}

std::vector<GenerationOutput> ReplicatedEngine::outputs_of(int replica) {
  std::vector<std::int32_t> size(1);
  leaders_.receive(stream_, view(size), replica, size_tag).wait(stream_);
  std::vector<std::int32_t> numbers(static_cast<std::size_t>(size[0]));
  leaders_.receive(stream_, view(numbers), replica, output_tag).wait(stream_);
  const json message = unpacked(numbers);
  replicas_[static_cast<std::size_t>(replica)].state = state_of(message["state"]);
  std::vector<GenerationOutput> outputs;
  for (const json& output : message["outputs"])
    // A request that was cancelled after the step had its orders has no output.
    if (replica_of_.contains(output["id"])) outputs.push_back(output_of(output));
  return outputs;
}

// Cancelled requests whose last steps are under way take further steps to leave.
bool ReplicatedEngine::idle() const {
  const EngineState all = state();
  return all.waiting == 0 && all.running == 0 &&
         std::ranges::all_of(replicas_,
                             [](const Replica& replica) { return replica.cancelled.empty(); });
}

std::vector<GenerationOutput> ReplicatedEngine::step() {
  if (replica_of_.empty() && idle()) return {};
  json orders = json::array();
  for (Replica& replica : replicas_)
    orders.push_back({{"submit", std::exchange(replica.submitted, json::array())},
                      {"cancel", std::exchange(replica.cancelled, json::array())}});
  line_.send(packed(orders));
  std::vector<GenerationOutput> outputs = own_.step();
  for (int replica = 1; replica < leaders_.size(); ++replica)
    for (GenerationOutput& output : outputs_of(replica)) outputs.push_back(std::move(output));
  for (const GenerationOutput& output : outputs)
    if (output.finished) closed(output.id);
  return outputs;
}

EngineState ReplicatedEngine::state() const {
  EngineState sum = own_.state();
  for (std::size_t i = 1; i < replicas_.size(); ++i) {
    const Replica& replica = replicas_[i];
    sum.waiting += replica.state.waiting + std::ssize(replica.submitted);
    sum.running += replica.state.running;
    sum.prompt_tokens += replica.state.prompt_tokens;
    sum.answer_tokens += replica.state.answer_tokens;
    sum.preemptions += replica.state.preemptions;
    sum.prefix_hit_tokens += replica.state.prefix_hit_tokens;
    sum.cache_blocks += replica.state.cache_blocks;
    sum.free_cache_blocks += replica.state.free_cache_blocks;
    sum.accepted_tokens += replica.state.accepted_tokens;
    sum.steps = std::max(sum.steps, replica.state.steps);
  }
  return sum;
}

void ReplicatedEngine::end() {
  line_.send(packed(nullptr));
}

void serve_replica(Engine& own, Communicator& leaders, WaitPolicy policy) {
  const Stream stream(MemorySpace::host);
  MessageLine line(leaders, policy, 1);
  for (;;) {
    const json orders = unpacked(line.receive());
    if (orders.is_null()) return;
    const json& mine = orders[static_cast<std::size_t>(leaders.rank())];
    for (const json& id : mine["cancel"]) own.cancel(id);
    for (const json& request : mine["submit"]) own.submit(request_of(request));
    json outputs = json::array();
    for (const GenerationOutput& output : own.step()) outputs.push_back(json_of(output));
    std::vector<std::int32_t> message =
        packed({{"outputs", std::move(outputs)}, {"state", json_of(own.state())}});
    std::vector<std::int32_t> size = {static_cast<std::int32_t>(message.size())};
    leaders.send(stream, view(size), 0, size_tag).wait(stream);
    leaders.send(stream, view(message), 0, output_tag).wait(stream);
  }
}

}  // namespace triax
