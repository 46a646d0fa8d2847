// SPDX-License-Identifier: Apache-2.0
// Matrix products at the shapes of transformer blocks in every type: forward, input gradient,
// weight gradient. On the host GPT-2's (768 wide, 1024 rows), and in float32 a large square one,
// which has work for all cores of a node; on a GPU (argument "device") GPT-2's and Llama 8B's. The
// fraction is relative to Place::product_rate.
#include <fmt/core.h>

#include <string>

#include "benchmarks/support/place.hpp"
#include "kernels/matmul/matmul.hpp"

namespace {

using namespace triax;
using benchmark::RandomArray;

// Types of activations and weights, and of the weight gradient.
struct Types {
  DType type;
  DType gradient;
  std::string text() const {
    return type == gradient ? std::string(name_of(type))
                            : fmt::format("{} into {}", name_of(type), name_of(gradient));
  }
};

struct Layer {
  std::string_view name;
  std::int64_t inputs, outputs;
};

class Benchmark {
 public:
  Benchmark(const benchmark::Place& place, std::int64_t rows, Types types)
      : place_(place), rows_(rows), types_(types), peak_(place.product_rate(types.type)) {}

  void run_large() const {
    const benchmark::Measured large = place_.large_product(types_.type);
    place_.report("matmul", fmt::format("a large square product, {}", types_.text()),
                  {large.seconds, 0.0}, {"flops_per_second", large.per_second()}, peak_);
  }

  // The weight is stored as (outputs, inputs), or as (inputs, outputs) like GPT-2's.
  void run(const Layer& layer, bool input_first) const {
    const auto [name, inputs, outputs] = layer;
    const RandomArray x(place_, types_.type, {rows_, inputs});
    const RandomArray y(place_, types_.type, {rows_, outputs});
    const RandomArray bias(place_, types_.type, {outputs});
    const std::int64_t first = input_first ? inputs : outputs;
    const std::int64_t second = input_first ? outputs : inputs;
    const RandomArray weight(place_, types_.type, {first, second});
    const RandomArray gradient(place_, types_.gradient, {first, second});
    const Tensor into_y = input_first ? weight.view() : weight.view().transposed();
    const auto title = [&, name = name](const char* product) {
      return fmt::format("{} {}, {} rows, weight ({}), {}", name, product, rows_,
                         input_first ? "inputs, outputs" : "outputs, inputs", types_.text());
    };
    report(title("forward"), y, x, into_y, {.bias = bias});
    report(title("input gradient"), x, y, into_y.transposed(), {});
    const Tensor& left = input_first ? x : y;
    const Tensor& right = input_first ? y : x;
    report(title("weight gradient"), gradient, left.transposed(), right, {.accumulate = true});
  }

 private:
  void report(const std::string& name, const Tensor& c, const Tensor& a, const Tensor& b,
              const MatmulOptions& options) const {
    const auto timing = place_.time([&] { matmul(place_.stream(), c, a, b, options); });
    const double flops = 2.0 * static_cast<double>(c.elements() * a.size(1)) / timing.seconds;
    place_.report("matmul", name, timing, {"flops_per_second", flops}, peak_);
  }

  const benchmark::Place& place_;
  std::int64_t rows_;
  Types types_;
  benchmark::Limit peak_;
};

void run(const benchmark::Place& place) {
  const std::int64_t rows = place.device() ? 16384 : 1024;
  for (const Types types : {Types{DType::f32, DType::f32}, Types{DType::bf16, DType::bf16},
                            Types{DType::bf16, DType::f32}, Types{DType::f16, DType::f16}}) {
    const Benchmark benchmark(place, rows, types);
    if (!place.device() && types.type == DType::f32) benchmark.run_large();
    for (const bool input_first : {true, false})
      for (const Layer& layer :
           {Layer{"qkv 768 to 2304", 768, 2304}, Layer{"projection 768 to 768", 768, 768},
            Layer{"up 768 to 3072", 768, 3072}, Layer{"down 3072 to 768", 3072, 768}})
        benchmark.run(layer, input_first);
    benchmark.run({"head 768 to 50304", 768, 50304}, false);
    if (!place.device()) continue;
    for (const Layer& layer :
         {Layer{"qkv 4096 to 6144", 4096, 6144}, Layer{"projection 4096 to 4096", 4096, 4096},
          Layer{"gate and up 4096 to 28672", 4096, 28672},
          Layer{"down 14336 to 4096", 14336, 4096}})
      benchmark.run(layer, false);
  }
}

}  // namespace

int main(int argc, char** argv) {
  return triax::benchmark::run_at_place(argc, argv, "Matrix products of transformer layers", run);
}
