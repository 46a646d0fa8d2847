// SPDX-License-Identifier: Apache-2.0
// Operations between the matrix products, on tensors larger than the caches, where memory traffic
// counts. Bytes are those that must move (each operand read or written once), as STREAM counts its
// triad; operations that write where they read can exceed it (support/machine). The argument
// "device" runs them on a GPU, where a copy is the limit.
#include <functional>
#include <set>
#include <string_view>

#include "benchmarks/support/node_memory.hpp"
#include "benchmarks/support/place.hpp"
#include "kernels/activation/elementwise.hpp"
#include "kernels/activation/geglu.hpp"
#include "kernels/activation/gelu.hpp"
#include "kernels/activation/swiglu.hpp"
#include "kernels/attention/rope.hpp"
#include "kernels/embedding/embedding.hpp"
#include "kernels/loss/cross_entropy.hpp"
#include "kernels/loss/soft_cap.hpp"
#include "kernels/norm/layernorm.hpp"
#include "kernels/norm/qk_norm.hpp"
#include "kernels/norm/rmsnorm.hpp"
#include "kernels/optimizer/adamw.hpp"
#include "kernels/optimizer/grad_norm.hpp"
#include "kernels/optimizer/quantized/adamw_8bit.hpp"
#include "kernels/random/dropout.hpp"
#include "kernels/random/random.hpp"
#include "kernels/reference/rope.hpp"

namespace {

using namespace triax;
using benchmark::RandomArray;

constexpr std::int64_t columns = 768;
constexpr std::int64_t vocabulary = 50257;
constexpr std::int64_t stored_vocabulary =
    50272;  // columns of a row of logits, padded like the model's
constexpr std::int64_t head_size = 64;
constexpr std::int64_t sequence = 1024;

// Number of rows, in whole sequences, that exceed the caches.
std::int64_t rows_beyond_caches(const benchmark::Place& place, DType dtype) {
  if (place.device()) return 262144;
  const std::int64_t of_sequence = sequence * columns * static_cast<std::int64_t>(size_of(dtype));
  return (place.bytes_beyond_caches() + of_sequence - 1) / of_sequence * sequence;
}

// Reports under the name of the operation and the type of activations and weights.
class Reporter {
 public:
  Reporter(const benchmark::Place& where, DType dtype, const benchmark::Limit& bandwidth)
      : place(where),
        rows(rows_beyond_caches(where, dtype)),
        dtype_(dtype),
        bandwidth_(bandwidth) {}
  const benchmark::Place& place;
  const std::int64_t rows;
  DType dtype() const { return dtype_; }
  RandomArray array(const Shape& shape) const { return {place, dtype_, shape}; }
  RandomArray floats(const Shape& shape) const { return {place, DType::f32, shape}; }

  /// moves: elements of the type that the operation reads and writes. float_moves: further ones
  /// that are always float32.
  void operator()(std::string_view name, std::int64_t moves, const std::function<void()>& body,
                  std::int64_t float_moves = 0) const {
    const auto timing = place.time(body);
    const double bytes = static_cast<double>(moves) * static_cast<double>(size_of(dtype_)) +
                         static_cast<double>(float_moves) * sizeof(float);
    place.report("elementwise", fmt::format("{} {}", name, name_of(dtype_)), timing,
                 {"bytes_per_second", bytes / timing.seconds}, bandwidth_);
  }

 private:
  DType dtype_;
  benchmark::Limit bandwidth_;
};

void pointwise(const Reporter& report, const RandomArray& x, const RandomArray& y,
               const RandomArray& z, const RandomArray& w) {
  const Stream& stream = report.place.stream();
  const std::int64_t rows = report.rows;
  const std::int64_t n = rows * columns;
  const RandomArray bias = report.array({columns});
  report("residual_forward", 3 * n, [&] { residual_forward(stream, y, x, z, bias); });
  report("accumulate", 3 * n, [&] { accumulate(stream, y, x); });
  report("gelu_forward", 2 * n, [&] { gelu_forward(stream, y, x); });
  report("gelu_backward", 4 * n, [&] { gelu_backward(stream, w, y, z, x); });
  report("gelu_erf_forward", 2 * n, [&] { gelu_forward(stream, y, x, Gelu::erf); });
  report("gelu_erf_backward", 4 * n, [&] { gelu_backward(stream, w, y, z, x, Gelu::erf); });
  report("dropout", 2 * n, [&] { dropout(stream, y, x, {0.1F, 7}, 0); });
  const Tensor gated = x.view().reshape({rows / 2, 2 * columns});
  const Tensor dgated = w.view().reshape({rows / 2, 2 * columns});
  const Tensor half = y.view().slice(0, 0, rows / 2);
  const Tensor dhalf = z.view().slice(0, 0, rows / 2);
  report("swiglu_forward", 3 * n / 2, [&] { swiglu_forward(stream, half, gated); });
  report("swiglu_backward", 3 * n, [&] { swiglu_backward(stream, dgated, half, dhalf, gated); });
  report("geglu_forward", 3 * n / 2, [&] { geglu_forward(stream, half, gated); });
  report("geglu_backward", 3 * n, [&] { geglu_backward(stream, dgated, half, dhalf, gated); });
  const RandomArray table = report.floats({2, sequence, head_size / 2});
  rope_table(stream, table, reference::rope_frequencies(10000.0, head_size));
  const Tensor heads =
      y.view().reshape({rows / sequence, sequence, columns / head_size, head_size});
  report("rope_forward", 2 * n, [&] { rope_forward(stream, heads, table); });
}

void norms(const Reporter& report, const RandomArray& x, const RandomArray& y,
           const RandomArray& dx) {
  const Stream& stream = report.place.stream();
  const std::int64_t rows = report.rows;
  const std::int64_t n = rows * columns;
  const RandomArray weight = report.array({columns});
  const RandomArray bias = report.array({columns});
  const RandomArray dweight = report.floats({columns});
  const RandomArray dbias = report.floats({columns});
  const Buffer memory(layernorm_scratch_bytes(rows, columns, report.place.space()),
                      report.place.space());
  Arena scratch(memory);
  report("layernorm_forward", 2 * n, [&] { layernorm_forward(stream, y, x, weight, bias, 1e-5F); });
  report("layernorm_backward", 4 * n, [&] {
    layernorm_backward(stream, dx, dweight, dbias, y, dx, x, weight, 1e-5F, false, scratch);
  });
  report("residual_layernorm_forward", 4 * n,
         [&] { residual_layernorm_forward(stream, y, dx, x, dx, bias, weight, bias, 1e-5F); });
  report("rmsnorm_forward", 2 * n, [&] { rmsnorm_forward(stream, y, x, weight, 1e-5F); });
  report("residual_rmsnorm_forward", 4 * n,
         [&] { residual_rmsnorm_forward(stream, y, dx, x, dx, bias, weight, 1e-5F); });
  report("rmsnorm_backward", 4 * n,
         [&] { rmsnorm_backward(stream, dx, dweight, y, dx, x, weight, 1e-5F, false, scratch); });
  report("bias_backward", n, [&] { bias_backward(stream, dbias, y, false, scratch); });
}

void qk_norms(const Reporter& report, const RandomArray& x, const RandomArray& y) {
  const Stream& stream = report.place.stream();
  const std::int64_t rows = report.rows, groups = columns / head_size;
  const std::int64_t n = rows * columns;
  const Shape shape = {rows, groups, head_size};
  const Tensor of_x = x.view().reshape(shape), of_y = y.view().reshape(shape);
  const RandomArray weight = report.array({head_size});
  const RandomArray dweight = report.floats({head_size});
  const RandomArray sums = report.floats({rows, groups}), dots = report.floats({rows, groups});
  const Buffer memory(qk_norm_scratch_bytes(rows, groups, head_size, report.place.space()),
                      report.place.space());
  Arena scratch(memory);
  report(
      "qk_norm_sums", n, [&] { qk_norm_sums(stream, sums, of_x); }, rows * groups);
  report(
      "qk_norm_forward", 2 * n,
      [&] { qk_norm_forward(stream, of_y, of_x, weight, sums, head_size, 1e-6F, 0.0F); },
      rows * groups);
  report(
      "qk_norm_gradient_sums", 2 * n,
      [&] { qk_norm_gradient_sums(stream, dots, of_y, of_x, weight, 0.0F); }, rows * groups);
  report(
      "qk_norm_backward", 3 * n,
      [&] {
        qk_norm_backward(stream, of_y, dweight, of_y, of_x, weight, sums, dots, head_size, 1e-6F,
                         0.0F, false, scratch);
      },
      2 * rows * groups);
}

// The gradient has the type. The parameter and its moments are float32; for other types there is a
// copy of the weights in the type.
void optimizer(const Reporter& report, const RandomArray& g, const RandomArray& copy) {
  const Stream& stream = report.place.stream();
  const std::int64_t rows = report.rows;
  const std::int64_t n = rows * columns;
  const RandomArray p = report.floats({rows, columns});
  const RandomArray m = report.floats({rows, columns});
  const RandomArray v = report.floats({rows, columns});
  fill_constant(stream, v, 1.0F);  // squares are not negative
  const bool master = report.dtype() != DType::f32;
  const Tensor weights = master ? copy.view() : Tensor{};
  const Buffer clip(sizeof(float), report.place.space());
  const Tensor factor = clip.tensor(DType::f32, {1});
  fill_constant(stream, factor, 1.0F);
  const AdamWOptions options{.learning_rate = 1e-5, .weight_decay = 0.1};
  report(
      "adamw", master ? 2 * n : n, [&] { adamw(stream, p, weights, g, factor, m, v, options); },
      6 * n);
  const auto bytes = static_cast<std::size_t>(packed_bytes(n));
  const Buffer cells(2 * bytes, report.place.space());
  const Tensor both = cells.tensor(DType::u8, {2 * packed_bytes(n)});
  fill_zero(stream, both);
  const Tensor m8 = both.slice(0, 0, packed_bytes(n)),
               v8 = both.slice(0, packed_bytes(n), packed_bytes(n));
  const std::int64_t packed_floats = packed_bytes(n);  // 4 transfers of a byte
  report(
      "adamw_8bit", master ? 2 * n : n,
      [&] { adamw_8bit(stream, p, weights, g, factor, m8, v8, options); }, 2 * n + packed_floats);
  const Buffer squares(sizeof(double), report.place.space());
  const Tensor sum = squares.tensor(DType::f64, {1});
  report("add_sum_of_squares", n, [&] { add_sum_of_squares(stream, sum, g); });
  report("fill_normal", n, [&] { fill_normal(stream, g, 3, 0, 0.0F, 0.02F); });
  report(
      "convert", n, [&] { convert(stream, g, p); }, n);
  report(
      "accumulate_in_f32", n, [&] { accumulate(stream, p, g); }, 2 * n);
}

void tokens(const Reporter& report, const RandomArray& y, const RandomArray& dy) {
  const Stream& stream = report.place.stream();
  const std::int64_t rows = report.rows;
  const RandomArray weight = report.array({vocabulary, columns});
  const Buffer host_ids(static_cast<std::size_t>(rows) * sizeof(std::int32_t));
  const Tensor made = host_ids.tensor(DType::i32, {rows});
  for (std::int64_t r = 0; r < rows; ++r)
    made.as<std::int32_t>()[r] =
        static_cast<std::int32_t>(philox(1, static_cast<std::uint64_t>(r))[0] % vocabulary);
  const Buffer id_memory(host_ids.bytes(), report.place.space());
  const Tensor ids = id_memory.tensor(DType::i32, {rows});
  copy(stream, ids, made);
  report("embedding_forward", 2 * rows * columns,
         [&] { embedding_forward(stream, y, ids, weight, 0); });
  const Buffer memory(embedding_scratch_bytes({rows, columns}, vocabulary, report.place.space()),
                      report.place.space());
  Arena scratch(memory);
  // Table rows that occur several times stay in the caches.
  const auto* const id = made.as<std::int32_t>();
  const auto distinct = static_cast<std::int64_t>(std::set(id, id + rows).size());
  report("embedding_backward", (rows + 2 * distinct) * columns,
         [&] { embedding_backward(stream, weight, ids, dy, 0, true, scratch); });
  report("position_backward", rows * columns,
         [&] { position_backward(stream, weight, dy, 0, sequence, true); });

  const std::int64_t logit_rows = rows / 64;
  const RandomArray logits = report.array({logit_rows, stored_vocabulary});
  const RandomArray stats = report.floats({1, logit_rows, 3});
  const RandomArray loss = report.floats({logit_rows});
  const RandomArray lse = report.floats({logit_rows});
  const Tensor labels = ids.slice(0, 0, logit_rows);
  report("cross_entropy_stats", logit_rows * vocabulary, [&] {
    cross_entropy_stats(stream, stats.view().reshape({logit_rows, 3}), logits, labels, 0,
                        vocabulary);
  });
  cross_entropy_loss(stream, loss, lse, stats, labels);
  report("cross_entropy_backward", 2 * logit_rows * vocabulary,
         [&] { cross_entropy_backward(stream, logits, lse, labels, 0, vocabulary, 1.0F); });
  report("cross_entropy", 2 * logit_rows * vocabulary,
         [&] { cross_entropy(stream, loss, logits, labels, vocabulary, 1.0F); });
  report("cross_entropy_capped", 2 * logit_rows * vocabulary, [&] {
    cross_entropy(stream, loss, logits, labels, vocabulary, 1.0F,
                  {.soft_cap = 30.0F, .z_coefficient = 1e-4F});
  });
  report("soft_cap", 2 * logit_rows * stored_vocabulary, [&] { soft_cap(stream, logits, 30.0F); });
}

void run(const benchmark::Place& place) {
  const benchmark::Limit bandwidth = place.memory_bandwidth();
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    const Reporter report(place, dtype, bandwidth);
    // Four tensors of the type, and the optimizer's three.
    const auto bytes = static_cast<double>(report.rows * columns);
    if (!place.device())
      benchmark::require_memory(fmt::format("tensors of {} beyond the caches", name_of(dtype)),
                                bytes * (4.0 * static_cast<double>(size_of(dtype)) + 3.0 * 4.0), 1);
    const Shape shape = {report.rows, columns};
    const RandomArray a = report.array(shape);
    const RandomArray b = report.array(shape);
    const RandomArray c = report.array(shape);
    const RandomArray d = report.array(shape);
    pointwise(report, a, b, c, d);
    norms(report, a, b, c);
    qk_norms(report, a, b);
    tokens(report, b, c);
    optimizer(report, a, b);
  }
}

}  // namespace

int main(int argc, char** argv) {
  return triax::benchmark::run_at_place(argc, argv,
                                        "Elementwise, norm, classifier and optimizer kernels", run);
}
