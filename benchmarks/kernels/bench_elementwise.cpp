// The operations between the matrix products, on tensors beyond the caches: what counts is memory
// traffic. Bytes are those that must move (each operand read or written once), as STREAM counts its
// triad.
#include <functional>
#include <string_view>

#include "benchmarks/support/machine.hpp"
#include "benchmarks/support/report.hpp"
#include "kernels/adamw.hpp"
#include "kernels/base/runtime.hpp"
#include "kernels/cross_entropy.hpp"
#include "kernels/dropout.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/embedding.hpp"
#include "kernels/gelu.hpp"
#include "kernels/layernorm.hpp"
#include "kernels/norm.hpp"
#include "kernels/random.hpp"
#include "kernels/rmsnorm.hpp"
#include "kernels/rope.hpp"
#include "kernels/swiglu.hpp"

namespace {

using namespace triax;

constexpr std::int64_t rows = 32768;
constexpr std::int64_t columns = 768;
constexpr std::int64_t vocabulary = 50257;
constexpr std::int64_t logit_rows = 512;
constexpr std::int64_t head_size = 64;
constexpr std::int64_t sequence = 1024;

// Float32 memory with a shape.
class Array {
 public:
  explicit Array(const Shape& shape)
      : buffer_(static_cast<std::size_t>(shape.elements()) * sizeof(float)),
        view_(buffer_.tensor(DType::f32, shape)) {
    fill_normal(Stream(), view_, 1, 0, 0.0F, 1.0F);
  }
  operator const Tensor&() const { return view_; }
  const Tensor& view() const { return view_; }

 private:
  Buffer buffer_;
  Tensor view_;
};

class Reporter {
 public:
  /// `moves`: float32 elements that the operation reads and writes.
  void operator()(std::string_view name, std::int64_t moves,
                  const std::function<void()>& body) const {
    const auto timing = benchmark::time_median(body);
    const double rate = static_cast<double>(moves) * sizeof(float) / timing.seconds;
    benchmark::print_result("elementwise", name, timing,
                            {{"bytes_per_second", rate}, {"peak_fraction", rate / triad_}});
  }

 private:
  double triad_ = benchmark::measure_triad_bandwidth();
};

void pointwise(const Reporter& report, const Array& x, const Array& y, const Array& z,
               const Array& w) {
  const Stream stream;
  const std::int64_t n = rows * columns;
  const Array bias({columns});
  report("residual_forward", 3 * n, [&] { residual_forward(stream, y, x, z, bias); });
  report("add", 3 * n, [&] { add(stream, y, x); });
  report("scale", 2 * n, [&] { scale(stream, y, 1.0F); });
  report("gelu_forward", 2 * n, [&] { gelu_forward(stream, y, x); });
  report("gelu_backward", 4 * n, [&] { gelu_backward(stream, w, y, z, x); });
  report("dropout", 2 * n, [&] { dropout(stream, y, x, {0.1F, 7}, 0); });
  const Tensor gated = x.view().reshape({rows / 2, 2 * columns});
  const Tensor dgated = w.view().reshape({rows / 2, 2 * columns});
  const Tensor half = y.view().slice(0, 0, rows / 2);
  const Tensor dhalf = z.view().slice(0, 0, rows / 2);
  report("swiglu_forward", 3 * n / 2, [&] { swiglu_forward(stream, half, gated); });
  report("swiglu_backward", 3 * n, [&] { swiglu_backward(stream, dgated, half, dhalf, gated); });
  const Array table({2, sequence, head_size / 2});
  rope_table(stream, table, 10000.0);
  const Tensor heads =
      y.view().reshape({rows / sequence, sequence, columns / head_size, head_size});
  report("rope_forward", 2 * n, [&] { rope_forward(stream, heads, table); });
}

void norms(const Reporter& report, const Array& x, const Array& y, const Array& dx) {
  const Stream stream;
  const std::int64_t n = rows * columns;
  const Array weight({columns});
  const Array bias({columns});
  const Array dweight({columns});
  const Array dbias({columns});
  const Buffer memory(layernorm_scratch_bytes(rows, columns));
  Arena scratch(memory);
  report("layernorm_forward", 2 * n, [&] { layernorm_forward(stream, y, x, weight, bias, 1e-5F); });
  report("layernorm_backward", 4 * n, [&] {
    layernorm_backward(stream, dx, dweight, dbias, y, dx, x, weight, 1e-5F, false, scratch);
  });
  report("rmsnorm_forward", 2 * n, [&] { rmsnorm_forward(stream, y, x, weight, 1e-5F); });
  report("rmsnorm_backward", 4 * n,
         [&] { rmsnorm_backward(stream, dx, dweight, y, dx, x, weight, 1e-5F, false, scratch); });
  report("bias_backward", n, [&] { bias_backward(stream, dbias, y, false, scratch); });
}

void optimizer(const Reporter& report, const Array& p, const Array& g, const Array& m,
               const Array& v) {
  const Stream stream;
  const std::int64_t n = rows * columns;
  fill_constant(stream, v, 1.0F);  // squares are not negative
  report("adamw", 7 * n,
         [&] { adamw(stream, p, g, m, v, {.learning_rate = 1e-5, .weight_decay = 0.1}); });
  report("sum_of_squares", n, [&] { sum_of_squares(stream, g); });
  report("fill_normal", n, [&] { fill_normal(stream, g, 3, 0, 0.0F, 0.02F); });
}

void tokens(const Reporter& report, const Array& y, const Array& dy) {
  const Stream stream;
  const Array weight({vocabulary, columns});
  const Buffer memory(rows * sizeof(std::int32_t));
  const Tensor ids = memory.tensor(DType::i32, {rows});
  for (std::int64_t r = 0; r < rows; ++r)
    ids.as<std::int32_t>()[r] =
        static_cast<std::int32_t>(philox(1, static_cast<std::uint64_t>(r))[0] % vocabulary);
  report("embedding_forward", 2 * rows * columns,
         [&] { embedding_forward(stream, y, ids, weight, 0); });
  report("embedding_backward", 3 * rows * columns,
         [&] { embedding_backward(stream, weight, ids, dy, 0, true); });

  const Array logits({logit_rows, vocabulary});
  const Array stats({1, logit_rows, 3});
  const Array loss({logit_rows});
  const Array lse({logit_rows});
  const Tensor labels = ids.slice(0, 0, logit_rows);
  report("cross_entropy_stats", logit_rows * vocabulary, [&] {
    cross_entropy_stats(stream, stats.view().reshape({logit_rows, 3}), logits, labels, 0,
                        vocabulary);
  });
  cross_entropy_loss(stream, loss, lse, stats, labels);
  report("cross_entropy_backward", 2 * logit_rows * vocabulary,
         [&] { cross_entropy_backward(stream, logits, lse, labels, 0, vocabulary, 1.0F); });
}

}  // namespace

int main() {
  const KernelRuntime runtime;
  const Reporter report;
  const Shape shape = {rows, columns};
  const Array a(shape);
  const Array b(shape);
  const Array c(shape);
  const Array d(shape);
  pointwise(report, a, b, c, d);
  norms(report, a, b, c);
  tokens(report, b, c);
  optimizer(report, a, b, c, d);
}
