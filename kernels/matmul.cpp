#include "kernels/matmul.hpp"

#include <array>
#include <dnnl.hpp>
#include <unordered_map>

namespace triax {
namespace {

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

// What a compiled primitive depends on.
struct Key {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  Layout a;
  Layout b;
  std::int64_t c_row_stride = 0;
  bool accumulate = false;
  bool bias = false;
  bool operator==(const Key&) const = default;
};

struct KeyHash {
  std::size_t operator()(const Key& key) const {
    std::size_t hash = 0;
    for (std::int64_t value : {key.m, key.n, key.k, key.a.row_stride, key.a.column_stride,
                               key.b.row_stride, key.b.column_stride, key.c_row_stride,
                               std::int64_t{key.accumulate} * 2 + std::int64_t{key.bias}})
      hash = hash * 0x9e3779b97f4a7c15U + static_cast<std::size_t>(value) + (hash >> 29U);
    return hash;
  }
};

// The description of a product with or without a bias, which oneDNN 3 makes in one step and oneDNN
// 2 in two.
dnnl::matmul::primitive_desc describe(const dnnl::engine& engine,
                                      const dnnl::primitive_attr& attributes,
                                      const dnnl::memory::desc& a, const dnnl::memory::desc& b,
                                      const dnnl::memory::desc* bias, const dnnl::memory::desc& c) {
#if DNNL_VERSION_MAJOR >= 3
  if (bias != nullptr) return {engine, a, b, *bias, c, attributes};
  return {engine, a, b, c, attributes};
#else
  const auto operation =
      bias != nullptr ? dnnl::matmul::desc(a, b, *bias, c) : dnnl::matmul::desc(a, b, c);
  return {operation, attributes, engine};
#endif
}

// A compiled product with its arguments, so that a call sets pointers and nothing else. It calls
// oneDNN's C function, since the C++ one builds a list of arguments each time.
class Product {
 public:
  Product(const Key& key, const dnnl::engine& engine) {
    using Memory = dnnl::memory;
    constexpr auto f32 = Memory::data_type::f32;
    const Memory::desc a({key.m, key.k}, f32, {key.a.row_stride, key.a.column_stride});
    const Memory::desc b({key.k, key.n}, f32, {key.b.row_stride, key.b.column_stride});
    const Memory::desc c({key.m, key.n}, f32, {key.c_row_stride, 1});
    const Memory::desc bias({1, key.n}, f32, {key.n, 1});
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    if (key.accumulate) {
      dnnl::post_ops add_to_c;
      add_to_c.append_sum(1.0F);
      attributes.set_post_ops(add_to_c);
    }
    const auto compiled = describe(engine, attributes, a, b, key.bias ? &bias : nullptr, c);
    primitive_ = dnnl::matmul(compiled);
    memory_ = {Memory(a, engine, DNNL_MEMORY_NONE), Memory(b, engine, DNNL_MEMORY_NONE),
               Memory(c, engine, DNNL_MEMORY_NONE), Memory(compiled.scratchpad_desc(), engine),
               key.bias ? Memory(bias, engine, DNNL_MEMORY_NONE) : Memory()};
    constexpr std::array names{DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST, DNNL_ARG_SCRATCHPAD,
                               DNNL_ARG_BIAS};
    used_ = key.bias ? 5 : 4;
    for (std::size_t i = 0; i < static_cast<std::size_t>(used_); ++i)
      arguments_[i] = {names[i], memory_[i].get()};
  }

  void run(const dnnl::stream& stream, void* c, void* a, void* b, void* bias) {
    memory_[0].set_data_handle(a);
    memory_[1].set_data_handle(b);
    memory_[2].set_data_handle(c);
    if (bias != nullptr) memory_[4].set_data_handle(bias);
    dnnl::error::wrap_c_api(
        dnnl_primitive_execute(primitive_.get(), stream.get(), used_, arguments_.data()),
        "could not execute a matrix product");
  }

 private:
  dnnl::matmul primitive_;
  std::array<dnnl::memory, 5> memory_;  // a, b, c, scratchpad, bias
  std::array<dnnl_exec_arg_t, 5> arguments_{};
  int used_ = 0;
};

// The compiled products of a thread. A cache and not state: what it holds follows from the keys
// alone, and emptying it would change nothing but time. A thread its own, since a Product keeps the
// pointers of its call.
class Products {
 public:
  void run(const Key& key, void* c, void* a, void* b, void* bias) {
    auto found = products_.find(key);
    if (found == products_.end()) found = products_.emplace(key, Product(key, engine_)).first;
    found->second.run(stream_, c, a, b, bias);
  }

 private:
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  std::unordered_map<Key, Product, KeyHash> products_;
};

void check_arguments(const Tensor& c, const Tensor& a, const Tensor& b, const Tensor& bias) {
  check(c.rank() == 2 && a.rank() == 2 && b.rank() == 2, "matmul of {} and {} into {}", a.shape(),
        b.shape(), c.shape());
  check(a.size(1) == b.size(0) && c.size(0) == a.size(0) && c.size(1) == b.size(1),
        "matmul of {} and {} into {}", a.shape(), b.shape(), c.shape());
  for (const Tensor* t : {&c, &a, &b}) {
    check(t->dtype() == DType::f32, "matmul of {}", name_of(t->dtype()));
    check(t->space() == MemorySpace::host, "matmul on the host of memory elsewhere");
  }
  for (const Tensor* t : {&a, &b})
    check(t->elements() == 0 || t->size(0) == 1 || t->size(1) == 1 || t->stride(0) == 1 ||
              t->stride(1) == 1,
          "matmul of a view with strides {} and {}", t->stride(0), t->stride(1));
  check(c.size(1) <= 1 || c.stride(1) == 1, "matmul into columns {} apart", c.stride(1));
  if (bias.data() != nullptr)
    check(bias.dtype() == DType::f32 && bias.rank() == 1 && bias.size(0) == c.size(1) &&
              bias.contiguous(),
          "a bias of {} for {}", bias.shape(), c.shape());
}

// A sum over nothing: c (or zero) and the bias.
void empty_product(const Tensor& c, const MatmulOptions& options) {
  const float* bias = options.bias.empty() ? nullptr : options.bias.as<float>();
  for (std::int64_t row = 0; row < c.size(0); ++row) {
    float* out = c.as<float>() + row * c.stride(0);
    for (std::int64_t column = 0; column < c.size(1); ++column)
      out[column] =
          (options.accumulate ? out[column] : 0.0F) + (bias != nullptr ? bias[column] : 0.0F);
  }
}

}  // namespace

void matmul(const Stream& stream, const Tensor& c, const Tensor& a, const Tensor& b,
            const MatmulOptions& options) {
  check(stream.space() == MemorySpace::host, "matmul of the host on a stream elsewhere");
  check_arguments(c, a, b, options.bias);
  if (c.elements() == 0) return;
  if (a.size(1) == 0) return empty_product(c, options);
  const bool has_bias = !options.bias.empty();
  const Key key{.m = c.size(0),
                .n = c.size(1),
                .k = a.size(1),
                .a = layout_of(a),
                .b = layout_of(b),
                .c_row_stride = c.size(0) == 1 ? c.size(1) : c.stride(0),
                .accumulate = options.accumulate,
                .bias = has_bias};
  thread_local Products products;
  products.run(key, c.data(), a.data(), b.data(), has_bias ? options.bias.data() : nullptr);
}

}  // namespace triax
