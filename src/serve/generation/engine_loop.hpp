// SPDX-License-Identifier: Apache-2.0
#pragma once
// The thread that drives the engine, and the queue through which others reach it.
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "src/inference/engine/engine.hpp"

namespace triax {

/// Outcome of a step, and of the requests before it.
struct StepReport {
  std::vector<GenerationOutput> outputs;
  std::vector<std::pair<std::uint64_t, std::string>> refused;  // id, why
  EngineState state;
};

class EngineLoop {
 public:
  using Report = std::function<void(StepReport report)>;

  /// `report` is called by run() after each step. `engine` outlives the loop.
  EngineLoop(Engine& engine, Report report) : engine_(engine), report_(std::move(report)) {}

  // From any thread. Requests are obeyed in their order, before the next step.
  void submit(GenerationRequest request) { put(std::move(request)); }
  void cancel(std::uint64_t id) { put(id); }
  void stop();

  /// Computes steps until stop(), and sleeps while there is no request. What the engine throws ends
  /// it.
  void run();

 private:
  using Order = std::variant<GenerationRequest, std::uint64_t>;
  void put(Order order);
  // Waits for orders unless the engine has work. False: it is time to stop.
  bool take(bool busy, std::vector<Order>& orders);
  void obey(Order& order, StepReport& report);

  Engine& engine_;
  Report report_;
  std::mutex mutex_;  // of the members below
  std::condition_variable changed_;
  std::vector<Order> orders_;
  bool stop_ = false;
};

}  // namespace triax
