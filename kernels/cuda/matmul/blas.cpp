// SPDX-License-Identifier: Apache-2.0
// Matrix products by cuBLASLt.
#include "kernels/cuda/matmul/blas.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <unordered_map>

#include "kernels/cuda/launch/kernel_times.hpp"
#include "kernels/cuda/launch/moment.hpp"
#include "kernels/cuda/matmul/blas_plan.hpp"
#include "kernels/cuda/matmul/blas_trials.hpp"

namespace triax::cuda {
namespace {

using Library = Owned<cublasLtHandle_t, cublasLtDestroy>;

// Number of an fp8 format for the hash, 0 for none.
std::int64_t number_of(const std::optional<Float8>& codes) {
  return codes ? 1 + static_cast<std::int64_t>(*codes) : 0;
}

// Hash of a key of chosen_, which never accumulates.
struct ProductHash {
  std::size_t operator()(const BlasProduct& x) const {
    std::size_t hash = 0;
    const auto flags = number_of(x.left.codes) * 256 + number_of(x.right.codes) * 64 +
                       static_cast<std::int64_t>(x.epilogue) * 8 +
                       std::int64_t{x.left.transposed} * 2 + std::int64_t{x.right.transposed};
    for (const std::int64_t value :
         {x.rows, x.columns, x.depth, x.left.stride, x.right.stride, x.d.stride,
          std::int64_t{x.left.alignment}, std::int64_t{x.right.alignment},
          std::int64_t{x.d.alignment}, std::int64_t(x.type), std::int64_t(x.d_type), x.aux_stride,
          std::int64_t{x.bias_alignment}, flags})
      hash = hash * 0x9e3779b97f4a7c15U + static_cast<std::size_t>(value) + (hash >> 29U);
    return hash;
  }
};

// A plan and the algorithm in use: the heuristic's first until trials have found a faster one. It
// serves d = left right and d += left right, whose sums are the same.
struct Chosen {
  BlasPlan plan;
  std::size_t algorithm = 0;
  int trials_left = 0;
};

// Products below this size take about as long as a launch, whatever the algorithm.
bool worth_trials(const BlasProduct& x) {
  constexpr double least_flops = 1e9;
  return 2.0 * static_cast<double>(x.rows) * static_cast<double>(x.columns) *
             static_cast<double>(x.depth) >=
         least_flops;
}

bool trials_wanted() {
  const char* wanted = std::getenv("TRIAX_CUBLAS_TRIALS");
  return wanted == nullptr || std::string_view(wanted) != "off";
}

class Products {
 public:
  /// first: the product it is created for, for error messages.
  Products(const Memory& workspace, const BlasProduct& first)
      : workspace_(workspace.tensor(DType::u8, {static_cast<std::int64_t>(workspace.bytes())})) {
    check_blas(cublasLtCreate(library_.out()), "cublasLtCreate", first);
  }

  bool has(const BlasProduct& x, const BlasMemory& memory) {
    return !chosen_for(x, memory).plan.algorithms.empty();
  }

  bool run(const Stream& stream, const BlasProduct& x, const BlasMemory& memory) {
    Chosen& chosen = chosen_for(x, memory);
    if (chosen.plan.algorithms.empty()) return false;
    set_pointers(chosen.plan, x, memory);
    // A product onto d cannot be repeated; one whose aux is d overwrites what it reads.
    const bool can_repeat = !x.accumulate && memory.aux != memory.d;
    if (chosen.trials_left > 0 && can_repeat) try_algorithms(stream, chosen, x, memory);
    const KernelTimer timer(stream, chosen.plan.names[x.accumulate ? 1 : 0].c_str());
    check_blas(multiply(stream, chosen.plan, chosen.algorithm, x, memory), "cublasLtMatmul", x);
    return true;
  }

 private:
  cublasStatus_t multiply(const Stream& stream, const BlasPlan& plan, std::size_t algorithm,
                          const BlasProduct& x, const BlasMemory& memory) const {
    const float one = 1.0F;
    const float beta = x.accumulate ? 1.0F : 0.0F;
    return cublasLtMatmul(library_.get(), plan.description.get(), &one, memory.left,
                          plan.left.get(), memory.right, plan.right.get(), &beta, memory.d,
                          plan.d.get(), memory.d, plan.d.get(), &plan.algorithms[algorithm],
                          workspace_.data(), blas_workspace_bytes,
                          static_cast<cudaStream_t>(native_stream(stream)));
  }

  Chosen& chosen_for(const BlasProduct& x, const BlasMemory& memory) {
    BlasProduct key = x;
    key.accumulate = false;
    const auto found = chosen_.find(key);
    if (found != chosen_.end()) return found->second;
    Chosen chosen{make_plan(library_.get(), x, memory)};
    if (with_trials_ && worth_trials(x) && chosen.plan.algorithms.size() > 1)
      chosen.trials_left = most_trials;
    return chosen_.emplace(key, std::move(chosen)).first->second;
  }

  // Computes the product at hand by each algorithm, and keeps the fastest of those that give the
  // first's bits. Products that tell little (of zeros) are tried again with the next ones.
  void try_algorithms(const Stream& stream, Chosen& chosen, const BlasProduct& x,
                      const BlasMemory& memory) {
    --chosen.trials_left;
    std::vector<AlgorithmTrial> trials;
    for (std::size_t i = 0; i < chosen.plan.algorithms.size(); ++i) {
      if (multiply(stream, chosen.plan, i, x, memory) != CUBLAS_STATUS_SUCCESS) {
        if (i == 0) return;  // the caller's product fails in the same way, and says so
        continue;
      }
      const MatrixBits bits = bits_of(stream, x, memory);
      if (i == 0 && !bits_tell(bits, x.rows * x.columns)) return;
      if (i == 0 || bits == trials[0].bits) trials.push_back({i, bits});
    }
    chosen.trials_left = 0;
    time(stream, chosen.plan, trials, x, memory);
    chosen.algorithm = fastest(trials);
  }

  // Sets the milliseconds of each trial, the sum of a few rounds in turns: a GPU lowers its clocks
  // under load, which then meets all alike.
  void time(const Stream& stream, const BlasPlan& plan, std::span<AlgorithmTrial> trials,
            const BlasProduct& x, const BlasMemory& memory) const {
    constexpr std::size_t rounds = 5;
    auto* const native = static_cast<cudaStream_t>(native_stream(stream));
    std::vector<Moment> moments(rounds * trials.size() + 1);
    // A product before the first moment: none of those timed waits for its launch.
    multiply(stream, plan, trials[0].algorithm, x, memory);
    moments[0].record(native);
    for (std::size_t i = 1; i < moments.size(); ++i) {
      multiply(stream, plan, trials[(i - 1) % trials.size()].algorithm, x, memory);
      moments[i].record(native);
    }
    stream.synchronize();
    for (std::size_t i = 1; i < moments.size(); ++i)
      trials[(i - 1) % trials.size()].milliseconds +=
          milliseconds_between(moments[i - 1], moments[i]);
  }

  // Bits of all that the product writes.
  static MatrixBits bits_of(const Stream& stream, const BlasProduct& x, const BlasMemory& memory) {
    const auto bits = [&](void* data, std::int64_t stride) {
      return matrix_bits(
          stream,
          Tensor(data, x.d_type, {x.columns, stride}, MemorySpace::device).slice(1, 0, x.rows));
    };
    MatrixBits all = bits(memory.d, x.d.stride);
    if (x.epilogue == BlasEpilogue::gelu || x.epilogue == BlasEpilogue::gelu_bias)
      all += bits(memory.aux, x.aux_stride);
    return all;
  }

  static constexpr int most_trials = 4;
  bool with_trials_ = trials_wanted();
  Library library_;
  Tensor workspace_;  // memory of the stream
  std::unordered_map<BlasProduct, Chosen, ProductHash> chosen_;
};

Products& products_of(const Stream& stream, const BlasProduct& product) {
  return kept_by<Products>(stream, Kept::blas, memory_of(stream, Kept::workspace), product);
}

}  // namespace

bool blas_has(const Stream& stream, const BlasProduct& product, const BlasMemory& memory) {
  return products_of(stream, product).has(product, memory);
}

bool blas_multiply(const Stream& stream, const BlasProduct& product, const BlasMemory& memory) {
  return products_of(stream, product).run(stream, product, memory);
}

}  // namespace triax::cuda
