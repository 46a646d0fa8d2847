// Matrix products at the shapes of a GPT-2 block (768 wide, 1024 rows): forward, input gradient,
// weight gradient.
#include <fmt/core.h>

#include "benchmarks/support/machine.hpp"
#include "benchmarks/support/report.hpp"
#include "kernels/base/runtime.hpp"
#include "kernels/matmul.hpp"

namespace {

using namespace triax;

constexpr std::int64_t rows = 1024;

void report(std::string_view name, double peak, const Tensor& c, const Tensor& a, const Tensor& b,
            const MatmulOptions& options) {
  const Stream stream;
  const auto timing = benchmark::time_median([&] { matmul(stream, c, a, b, options); });
  const double flops = 2.0 * static_cast<double>(c.elements() * a.size(1)) / timing.seconds;
  benchmark::print_result("matmul", name, timing,
                          {{"flops_per_second", flops}, {"peak_fraction", flops / peak}});
}

void layer(std::string_view name, std::int64_t inputs, std::int64_t outputs, double peak) {
  const auto bytes = [](std::int64_t m, std::int64_t n) {
    return static_cast<std::size_t>(m * n) * sizeof(float);
  };
  const Buffer x_memory(bytes(rows, inputs));
  const Buffer y_memory(bytes(rows, outputs));
  const Buffer weight_memory(bytes(outputs, inputs));
  const Buffer gradient_memory(bytes(outputs, inputs));
  const Buffer bias_memory(bytes(1, outputs));
  const Tensor x = x_memory.tensor(DType::f32, {rows, inputs});
  const Tensor y = y_memory.tensor(DType::f32, {rows, outputs});
  const Tensor weight = weight_memory.tensor(DType::f32, {outputs, inputs});
  const Tensor gradient = gradient_memory.tensor(DType::f32, {outputs, inputs});
  const Tensor bias = bias_memory.tensor(DType::f32, {outputs});
  report(fmt::format("{} forward", name), peak, y, x, weight.transposed(), {.bias = bias});
  report(fmt::format("{} input gradient", name), peak, x, y, weight, {});
  report(fmt::format("{} weight gradient", name), peak, gradient, y.transposed(), x,
         {.accumulate = true});
}

}  // namespace

int main() {
  const KernelRuntime runtime;
  const double peak = benchmark::measure_fma_peak();
  layer("qkv 768 to 2304", 768, 2304, peak);
  layer("projection 768 to 768", 768, 768, peak);
  layer("up 768 to 3072", 768, 3072, peak);
  layer("down 3072 to 768", 3072, 768, peak);
  layer("head 768 to 50257", 768, 50257, peak);
}
