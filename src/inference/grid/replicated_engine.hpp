// SPDX-License-Identifier: Apache-2.0
#pragma once
// One engine of many replicas: each has the whole model, on ranks of its own.
#include <map>
#include <nlohmann/json.hpp>

#include "src/inference/engine/engine.hpp"
#include "src/inference/grid/message_line.hpp"

namespace triax {

/// On the leader of the first replica. A request goes to the replica with the fewest open ones; its
/// answer does not depend on which that is. All replicas step together.
class ReplicatedEngine : public Engine {
 public:
  /// `leaders`: of the replicas, this rank first. `own` and `leaders` outlive the engine.
  ReplicatedEngine(Engine& own, Communicator& leaders, WaitPolicy policy);

  std::int64_t context() const override { return own_.context(); }
  std::int64_t vocabulary() const override { return own_.vocabulary(); }
  void submit(GenerationRequest request) override;
  void cancel(std::uint64_t id) override;
  std::vector<GenerationOutput> step() override;
  EngineState state() const override;
  /// serve_replica() returns on the other leaders. The last call.
  void end();

 private:
  struct Replica {
    std::int64_t open = 0;
    nlohmann::json submitted = nlohmann::json::array(), cancelled = nlohmann::json::array();
    EngineState state = {};  // after its last step
    void cancel(std::uint64_t id);
  };
  bool idle() const;
  void closed(std::uint64_t id);
  std::vector<GenerationOutput> outputs_of(int replica);

  Engine& own_;
  Communicator& leaders_;
  MessageLine line_;
  Stream stream_;
  std::vector<Replica> replicas_;
  std::map<std::uint64_t, int> replica_of_;  // open requests
};

/// On the leaders of the other replicas: computes on `own` what the first one orders, until its
/// end().
void serve_replica(Engine& own, Communicator& leaders, WaitPolicy policy);

}  // namespace triax
