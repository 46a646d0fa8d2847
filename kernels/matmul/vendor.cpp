// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <dnnl.hpp>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "kernels/isa/processor.hpp"
#include "kernels/matmul/product.hpp"
#include "kernels/matmul/tile_gemm_bf16.hpp"

namespace triax::gemm {
namespace {

using Memory = dnnl::memory;

// Strides of a matrix as oneDNN wants them: where a dimension has one element its stride says
// nothing, but oneDNN refuses one that would let rows overlap.
struct Layout {
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 0;
  bool operator==(const Layout&) const = default;
};

Layout layout_of(const Tensor& matrix) {
  Layout layout{matrix.stride(0), matrix.stride(1)};
  if (matrix.size(1) == 1) layout.column_stride = layout.row_stride == 1 ? matrix.size(0) : 1;
  if (matrix.size(0) == 1) layout.row_stride = layout.column_stride == 1 ? matrix.size(1) : 1;
  return layout;
}

// Everything that a compiled primitive depends on.
struct Key {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  Layout a;
  Layout b;
  std::int64_t c_row_stride = 0;
  DType type = DType::f32;  // of a and b
  DType c_type = DType::f32;
  DType bias_type = DType::f32;
  bool accumulate = false;
  bool bias = false;
  bool operator==(const Key&) const = default;
  // The small members as one number.
  std::int64_t kind() const {
    std::int64_t number = 0;
    for (DType each : {type, c_type, bias_type}) number = number * 8 + std::int64_t(each);
    return number * 4 + std::int64_t{accumulate} * 2 + std::int64_t{bias};
  }
};

struct KeyHash {
  std::size_t operator()(const Key& key) const {
    std::size_t hash = 0;
    for (std::int64_t value : {key.m, key.n, key.k, key.a.row_stride, key.a.column_stride,
                               key.b.row_stride, key.b.column_stride, key.c_row_stride, key.kind()})
      hash = hash * 0x9e3779b97f4a7c15U + static_cast<std::size_t>(value) + (hash >> 29U);
    return hash;
  }
};

Key key_of(const Operands& x) {
  const bool bias = !x.bias.empty();
  return {.m = x.c.size(0),
          .n = x.c.size(1),
          .k = x.a.size(1),
          .a = layout_of(x.a),
          .b = layout_of(x.b),
          .c_row_stride = x.c.size(0) == 1 ? x.c.size(1) : x.c.stride(0),
          .type = x.a.dtype(),
          .c_type = x.c.dtype(),
          .bias_type = bias ? x.bias.dtype() : DType::f32,
          .accumulate = x.accumulate,
          .bias = bias};
}

Memory::data_type vendor_type(DType type) {
  switch (type) {
    case DType::bf16:
      return Memory::data_type::bf16;
    case DType::f16:
      return Memory::data_type::f16;
    default:
      return Memory::data_type::f32;
  }
}

using Description = dnnl::matmul::primitive_desc;

// Whether products of this kind are faster by oneDNN's older way, which packs both operands, than
// by its first choice, which takes them as they lie.
//
// Measured with oneDNN 2.6 on one core of a Xeon with AMX, GFLOP/s of the first choice and of the
// other, m x k x n: float32 1024x768x2304 144, 169; 1024x768x3072 80, 176 (rows of b that are
// multiples of 4 KiB apart meet in one set of the cache). Where a is transposed the other way has
// none for narrow ones (1536x2048x384 193, 159; 384x2048x1536 187, 180) and is better from 640
// columns and 512 rows on (768x1024x768 200, 203, and within a step 178, 203). Products of bf16 by
// AMX gain at depths of 2048 and more, alone, and nothing within a step. On Zen 4 the first choice
// is within 5% of what packed operands reach.
bool better_packed(const Key& key) {
  const bool transposed = key.a.column_stride != 1;
  const bool wide =
      transposed ? key.m >= 512 && key.n >= narrow_columns : key.m >= 32 && key.n >= 128;
  return wide && key.type == DType::f32 && detail::processor_is_intel();
}

// Memory descriptions of a product; `bias` is null if it has none.
struct Shapes {
  Memory::desc a, b, c;
  const Memory::desc* bias;
};

// Empty where oneDNN has no such product. oneDNN 3 describes one in one step and oneDNN 2 in two,
// the first of which has to live while the second's other choices are walked through.
Description describe(const Key& key, const Shapes& of, const dnnl::engine& engine,
                     const dnnl::primitive_attr& attributes) {
  constexpr bool may_be_empty = true;
#if DNNL_VERSION_MAJOR >= 3
  const auto first_choice = [&]() -> Description {
    if (of.bias != nullptr) return {engine, of.a, of.b, *of.bias, of.c, attributes, may_be_empty};
    return {engine, of.a, of.b, of.c, attributes, may_be_empty};
  };
#else
  const auto operation = of.bias != nullptr ? dnnl::matmul::desc(of.a, of.b, *of.bias, of.c)
                                            : dnnl::matmul::desc(of.a, of.b, of.c);
  const auto first_choice = [&]() -> Description {
    return {operation, attributes, engine, may_be_empty};
  };
#endif
  Description first = first_choice();
  if (!first || !better_packed(key)) return first;
  Description other = first_choice();
  while (other.next_impl())
    if (std::string_view(other.impl_info_str()).starts_with("gemm")) return other;
  return first;
}

Description describe(const Key& key, const dnnl::engine& engine) {
  const auto type = vendor_type(key.type);
  const Memory::desc a({key.m, key.k}, type, {key.a.row_stride, key.a.column_stride});
  const Memory::desc b({key.k, key.n}, type, {key.b.row_stride, key.b.column_stride});
  const Memory::desc c({key.m, key.n}, vendor_type(key.c_type), {key.c_row_stride, 1});
  const Memory::desc bias({1, key.n}, vendor_type(key.bias_type), {key.n, 1});
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  // Independent of ONEDNN_DEFAULT_FPMATH_MODE in a node's environment.
  attributes.set_fpmath_mode(dnnl::fpmath_mode::strict);
  if (key.accumulate) {
    dnnl::post_ops add_to_c;
    add_to_c.append_sum(1.0F);
    attributes.set_post_ops(add_to_c);
  }
  return describe(key, {a, b, c, key.bias ? &bias : nullptr}, engine, attributes);
}

// A compiled product with its arguments, so that a call sets pointers and nothing else. It calls
// oneDNN's C function, since the C++ one builds a list of arguments each time.
class Product {
 public:
  Product(const Description& description, bool bias, const dnnl::engine& engine)
      : primitive_(description), used_(bias ? 5 : 4) {
    const auto place = [&](const Memory::desc& what) {
      return Memory(what, engine, DNNL_MEMORY_NONE);
    };
    memory_ = {place(description.src_desc()), place(description.weights_desc()),
               place(description.dst_desc()), Memory(description.scratchpad_desc(), engine),
               bias ? place(description.bias_desc()) : Memory()};
    constexpr std::array names{DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST, DNNL_ARG_SCRATCHPAD,
                               DNNL_ARG_BIAS};
    for (std::size_t i = 0; i < static_cast<std::size_t>(used_); ++i)
      arguments_[i] = {names[i], memory_[i].get()};
  }

  void run(const dnnl::stream& stream, const Operands& x) {
    memory_[0].set_data_handle(x.a.data());
    memory_[1].set_data_handle(x.b.data());
    memory_[2].set_data_handle(x.c.data());
    if (used_ == 5) memory_[4].set_data_handle(x.bias.data());
    dnnl::error::wrap_c_api(
        dnnl_primitive_execute(primitive_.get(), stream.get(), used_, arguments_.data()),
        "could not execute a matrix product");
  }

 private:
  dnnl::matmul primitive_;
  std::array<Memory, 5> memory_;  // a, b, c, scratchpad, bias
  std::array<dnnl_exec_arg_t, 5> arguments_{};
  int used_;
};

// Compared with oneDNN's products of bf16: pairs reach 83 GFLOP/s and float32 160 on a Xeon without
// AMX; shifts and sums reach 39 and float32 105 on Zen 4 limited to AVX-512, which has no pairs.
bool widening_is_faster() {
#ifdef __x86_64__
  return !pair_products_pay();
#else
  return false;
#endif
}

// Compiled products of a thread, empty where oneDNN has none. A cache: its contents follow from the
// keys, and emptying it changes only the time. One per thread, since a Product keeps the pointers
// of its call.
class Products {
 public:
  bool run(const Operands& x) {
    const Key key = key_of(x);
    auto found = products_.find(key);
    if (found == products_.end()) found = products_.emplace(key, compile(key)).first;
    if (!found->second) return false;
    found->second->run(stream_, x);
    return true;
  }

  bool has(const Operands& x) const { return compile(key_of(x)).has_value(); }

 private:
  std::optional<Product> compile(const Key& key) const {
    if (key.type == DType::bf16 && widening_is_faster()) return {};
    const Description description = describe(key, engine_);
    if (!description) return {};
    // Plain loops, of oneDNN's own reference: widening to float32 is much faster.
    if (key.type != DType::f32 && std::string_view(description.impl_info_str()).starts_with("ref"))
      return {};
    return Product(description, key.bias, engine_);
  }

  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  std::unordered_map<Key, std::optional<Product>, KeyHash> products_;
};

}  // namespace

bool vendor_multiplies(DType type) {
  alignas(std::max_align_t) std::array<std::byte, std::size_t{16} * 16 * sizeof(float)> memory{};
  const Tensor square(static_cast<void*>(memory.data()), type, {16, 16});
  return Products().has({.c = square, .a = square, .b = square});
}

bool vendor_product(const Operands& x) {
  thread_local Products products;
  return products.run(x);
}

}  // namespace triax::gemm
