// SPDX-License-Identifier: Apache-2.0
#pragma once
// A product in cuBLASLt's terms, with the algorithms that its heuristic names.
#include <cublasLt.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda/matmul/blas.hpp"

namespace triax::cuda {

/// Throws an Error that names the product and the library's status, unless it is success.
void check_blas(cublasStatus_t status, const char* call, const BlasProduct& product);

/// Owner of a cuBLASLt object, with the function that destroys it.
template <class Handle, cublasStatus_t (*destroy)(Handle)>
class Owned {
 public:
  Owned() = default;
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned() {
    if (handle_ != nullptr) destroy(handle_);  // a destructor cannot report a failure
  }
  Handle* out() { return &handle_; }
  Handle get() const { return handle_; }

 private:
  Handle handle_ = nullptr;
};

using Description = Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using Layout = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using Preference = Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;
using Library = Owned<cublasLtHandle_t, cublasLtDestroy>;

/// A product's description for the library. algorithms: those of its heuristic, the one that it
/// prefers first; empty if it has none for fp8 or for an epilogue beyond a bias.
struct BlasPlan {
  Description description;
  Layout left, right, d;
  std::vector<cublasLtMatmulAlgo_t> algorithms;
  std::array<std::string, 2> names;  // in the kernel times: of d = and of d += left right
};

/// Most algorithms that the heuristic is asked for; cuBLASLt 13.1 names no more.
inline constexpr int most_algorithms = 8;

BlasPlan make_plan(cublasLtHandle_t library, const BlasProduct& product, const BlasMemory& memory);

/// Sets the addresses that a description holds: bias, aux and scales.
void set_pointers(const BlasPlan& plan, const BlasProduct& product, const BlasMemory& memory);

}  // namespace triax::cuda
