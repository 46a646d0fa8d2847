// SPDX-License-Identifier: Apache-2.0
#include "src/serve/generation/engine_loop.hpp"

#include "kernels/base/check.hpp"

namespace triax {

void EngineLoop::put(Order order) {
  {
    const std::lock_guard lock(mutex_);
    orders_.push_back(std::move(order));
  }
  changed_.notify_one();
}

void EngineLoop::stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_one();
}

bool EngineLoop::take(bool busy, std::vector<Order>& orders) {
  std::unique_lock lock(mutex_);
  if (!busy) changed_.wait(lock, [&] { return stop_ || !orders_.empty(); });
  orders.clear();
  orders.swap(orders_);
  return !stop_;
}

void EngineLoop::obey(Order& order, StepReport& report) {
  if (const auto* id = std::get_if<std::uint64_t>(&order)) return engine_.cancel(*id);
  auto& request = std::get<GenerationRequest>(order);
  const std::uint64_t id = request.id;
  try {
    engine_.submit(std::move(request));
  } catch (const UsageError& error) {
    report.refused.emplace_back(id, error.what());
  }
}

void EngineLoop::run() {
  std::vector<Order> orders;
  bool busy = false;
  while (take(busy, orders)) {
    StepReport report;
    for (Order& order : orders) obey(order, report);
    report.outputs = engine_.step();
    report.state = engine_.state();
    busy = report.state.waiting + report.state.running > 0;
    report_(std::move(report));
  }
}

}  // namespace triax
