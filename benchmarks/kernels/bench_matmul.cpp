// Matrix products at the shapes of a GPT-2 block (768 wide, 1024 rows) in every type: forward,
// input gradient, weight gradient. The fraction is of the float32 peak of one core.
#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <vector>

#include "benchmarks/support/machine.hpp"
#include "benchmarks/support/report.hpp"
#include "kernels/base/runtime.hpp"
#include "kernels/base/with_type.hpp"
#include "kernels/matmul.hpp"
#include "kernels/random.hpp"

namespace {

using namespace triax;

constexpr std::int64_t rows = 1024;

// Of activations and weights, and of the weight gradient.
struct Types {
  DType type;
  DType gradient;
  std::string text() const {
    return type == gradient ? std::string(name_of(type))
                            : fmt::format("{} into {}", name_of(type), name_of(gradient));
  }
};

void report(const std::string& name, double peak, const Tensor& c, const Tensor& a, const Tensor& b,
            const MatmulOptions& options) {
  const Stream stream;
  const auto timing = benchmark::time_median([&] { matmul(stream, c, a, b, options); });
  const double flops = 2.0 * static_cast<double>(c.elements() * a.size(1)) / timing.seconds;
  benchmark::print_result("matmul", name, timing,
                          {{"flops_per_second", flops}, {"peak_fraction", flops / peak}});
}

// A matrix of random numbers: products of zeros draw less power, and run at a higher clock.
class Matrix {
 public:
  Matrix(DType type, std::int64_t rows, std::int64_t columns)
      : memory_(static_cast<std::size_t>(rows * columns) * size_of(type)),
        view_(memory_.tensor(type, {rows, columns})) {
    std::vector<std::uint32_t> words(static_cast<std::size_t>(columns));
    with_type(type, [&]<class T>(Type<T>) {
      for (std::int64_t row = 0; row < rows; ++row) {
        random_words(words.data(), columns, 1, row * columns);
        std::transform(words.begin(), words.end(), view_.as<T>() + row * columns,
                       [](std::uint32_t word) { return T(uniform_from(word) - 0.5F); });
      }
    });
  }
  const Tensor& view() const { return view_; }

 private:
  Buffer memory_;
  Tensor view_;
};

// A layer whose weight is stored (outputs, inputs), or (inputs, outputs) as GPT-2's are.
void layer(std::string_view name, std::int64_t inputs, std::int64_t outputs, bool input_first,
           Types types, double peak) {
  const Matrix x(types.type, rows, inputs);
  const Matrix y(types.type, rows, outputs);
  const Matrix bias(types.type, 1, outputs);
  const std::int64_t first = input_first ? inputs : outputs;
  const std::int64_t second = input_first ? outputs : inputs;
  const Matrix weight(types.type, first, second);
  const Matrix gradient(types.gradient, first, second);
  const Tensor into_y = input_first ? weight.view() : weight.view().transposed();
  const auto title = [&](const char* product) {
    return fmt::format("{} {}, weight ({}), {}", name, product,
                       input_first ? "inputs, outputs" : "outputs, inputs", types.text());
  };
  report(title("forward"), peak, y.view(), x.view(), into_y, {.bias = bias.view().flat()});
  report(title("input gradient"), peak, x.view(), y.view(), into_y.transposed(), {});
  const Tensor& left = input_first ? x.view() : y.view();
  const Tensor& right = input_first ? y.view() : x.view();
  report(title("weight gradient"), peak, gradient.view(), left.transposed(), right,
         {.accumulate = true});
}

}  // namespace

int main() {
  const KernelRuntime runtime;
  const double peak = benchmark::measure_fma_peak();
  for (const Types types : {Types{DType::f32, DType::f32}, Types{DType::bf16, DType::bf16},
                            Types{DType::bf16, DType::f32}, Types{DType::f16, DType::f16}}) {
    for (const bool input_first : {true, false}) {
      layer("qkv 768 to 2304", 768, 2304, input_first, types, peak);
      layer("projection 768 to 768", 768, 768, input_first, types, peak);
      layer("up 768 to 3072", 768, 3072, input_first, types, peak);
      layer("down 3072 to 768", 3072, 768, input_first, types, peak);
    }
    layer("head 768 to 50304", 768, 50304, false, types, peak);
  }
}
