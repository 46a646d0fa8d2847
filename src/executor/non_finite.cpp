// SPDX-License-Identifier: Apache-2.0
#include "src/executor/non_finite.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/base/mpi/agree.hpp"
#include "kernels/optimizer/grad_norm.hpp"

namespace triax {
namespace {

constexpr std::int64_t most_layers = 1 << 20;  // of a chunk
constexpr std::int64_t backward_begin = std::int64_t{1} << 60;

std::int64_t place(int chunk, int layer) {
  return chunk * most_layers + layer;
}

// Whether the weights of a bucket on this rank are finite. The bytes of packed ones are no numbers.
bool finite_block(const FiniteTest& finite, const Stream& stream, const ParameterBlock& block,
                  const BlockView& weights) {
  const auto packed = [](const PlacedParameter& param) { return param.spec.packed != nullptr; };
  if (std::ranges::none_of(block.params, packed)) return finite(stream, weights.data);
  return std::ranges::all_of(block.params, [&](const PlacedParameter& param) {
    const FlatRange here = intersect(param.range(), weights.range);
    return packed(param) || here.count() == 0 || finite(stream, weights.at(here));
  });
}

}  // namespace

bool FiniteTest::operator()(const Stream& stream, const Tensor& values) const {
  if (values.data() == nullptr) return true;
  if (values.space() == MemorySpace::host) {  // as offloaded state is in a run on a device
    double sum = 0.0;
    add_sum_of_squares(Stream{}, Tensor(&sum, {1}), values);
    return std::isfinite(sum);
  }
  sum_.clear(stream);
  add_sum_of_squares(stream, sum_.tensor(), values);
  grid_.drain(stream);
  return std::isfinite(sum_.read(stream));
}

void NonFiniteSearch::found(std::int64_t order, const std::string& what) {
  if (order >= order_) return;
  order_ = order;
  what_ = what;
}

void NonFiniteSearch::forward(const Stream& stream, int chunk, int layer, const std::string& name,
                              const Tensor& values) {
  if (!finite_(stream, values)) found(place(chunk, layer), "the output of " + name);
}

void NonFiniteSearch::backward(const Stream& stream, int chunk, int layer, const std::string& name,
                               const Tensor& values) {
  if (!finite_(stream, values))
    found(backward_begin - place(chunk, layer), "the gradient of the input of " + name);
}

void NonFiniteSearch::loss(double value, int chunk, int layer) {
  if (!std::isfinite(value)) found(place(chunk, layer), "the loss of the head");
}

std::string NonFiniteSearch::first(ProcessGrid& grid) const {
  const Stream host;
  std::int64_t order = order_;
  grid.world().all_reduce(host, Tensor(&order, DType::i64, {1}), ReduceOp::min).wait(host);
  if (order == none) return "no layer's output nor gradient: the gradient of a parameter";
  std::int64_t rank = order == order_ ? grid.rank() : grid.size();
  grid.world().all_reduce(host, Tensor(&rank, DType::i64, {1}), ReduceOp::min).wait(host);
  return broadcast_text(grid, fmt::format("{}, on {}", what_, grid.place()),
                        static_cast<int>(rank));
}

bool finite_weights(const FiniteTest& finite, const Stream& stream, ParameterStore& store,
                    ProcessGrid& grid) {
  std::int64_t bad = 0;
  for (int b = 0; b < std::ssize(store.blocks()); ++b)
    store.visit_weights(stream, b, Access::read, [&](const BlockView& weights) {
      const ParameterBlock& block = store.blocks()[static_cast<std::size_t>(b)];
      if (!finite_block(finite, stream, block, weights)) bad = 1;
    });
  const Stream host;
  grid.world().all_reduce(host, Tensor(&bad, DType::i64, {1})).wait(host);
  return bad == 0;
}

}  // namespace triax
