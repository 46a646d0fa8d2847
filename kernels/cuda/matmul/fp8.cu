// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/matmul/fp8.hpp"

#include "kernels/base/with_type.hpp"
#include "kernels/cuda/launch/pointwise.hpp"
#include "kernels/cuda/matmul/blas.hpp"
#include "kernels/cuda/matmul/float8_codes.hpp"
#include "kernels/cuda/norm/row_sum.hpp"

namespace triax::cuda {
namespace {

static_assert(max_sum_parts * sizeof(std::uint32_t) <= stream_scratch_bytes);

struct Larger {
  TRIAX_DEVICE std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const {
    return a > b ? a : b;
  }
};

// The largest value of a CUDA block, valid in its first thread.
TRIAX_DEVICE inline std::uint32_t largest_of_block(const Block& block, std::uint32_t value) {
  value = over_warp(block, value, Larger{});
  auto* slots = block.shared<std::uint32_t>();
  if (block.thread_x() % warp == 0) slots[block.thread_x() / warp] = value;
  block.sync();
  for (int w = 1; w < block.threads_x() / warp; ++w) value = Larger{}(value, slots[w]);
  return value;
}

// parts[b] = the largest magnitude in CUDA block b, as float bits. NaN compares as the largest.
template <class T, bool allowed>
struct LargestParts {
  static constexpr int max_threads = 256;
  std::uint32_t* parts;
  const T* x;
  std::int64_t n;
  std::int64_t blocks;

  TRIAX_DEVICE void operator()(const Block& block) const {
    std::uint32_t largest = 0;
    each_in_turn<allowed>(block, blocks, x, n, [&](float value) {
      largest = Larger{}(largest, std::bit_cast<std::uint32_t>(value) & 0x7fffffffU);
    });
    largest = largest_of_block(block, largest);
    if (block.thread_x() == 0) parts[block.index_x()] = largest;
  }
};

struct ScaleOfParts {
  static constexpr int max_threads = max_sum_parts;
  float* scales;
  const std::uint32_t* parts;
  std::int64_t count;
  Float8Format format;

  TRIAX_DEVICE void operator()(const Block& block) const {
    const std::uint32_t largest =
        largest_of_block(block, block.thread_x() < count ? parts[block.thread_x()] : 0U);
    if (block.thread_x() != 0) return;
    const float scale = scale_for(format, largest);
    scales[0] = 1.0F / scale;
    scales[1] = scale;
  }
};

template <class T>
struct RoundAll {
  T* to;
  const T* from;
  const float* scales;
  Float8Format format;

  template <int n>
  TRIAX_DEVICE void run(std::int64_t i) const {
    const float inverse = scales[0];
    const float scale = scales[1];
    float values[n];
    load<n>(values, from + i);
    TRIAX_UNROLL
    for (int j = 0; j < n; ++j) values[j] = round_to(format, values[j] * scale) * inverse;
    store<n>(to + i, values);
  }
};

// codes[0, n) = the fp8 codes of scale * values.
template <int n>
TRIAX_DEVICE inline void encode_values(std::uint8_t (&codes)[n], const float (&values)[n],
                                       Float8Format format, float scale) {
  static_assert(n == 1 || n % 2 == 0);
  TRIAX_UNROLL
  for (int j = 0; j < n; j += 2) {
    const float next = n == 1 ? 0.0F : values[j + 1 < n ? j + 1 : j];
    const std::uint16_t pair = encode_pair(format, values[j] * scale, next * scale);
    codes[j] = static_cast<std::uint8_t>(pair);
    if constexpr (n > 1) codes[j + 1] = static_cast<std::uint8_t>(pair >> 8);
  }
}

// to[0, n) = the fp8 codes of scale * values. If n is 16, `to` is aligned to 16.
template <int n>
TRIAX_DEVICE inline void store_codes(std::uint8_t* to, const float (&values)[n],
                                     Float8Format format, float scale) {
  std::uint8_t codes[n];
  encode_values(codes, values, format, scale);
  if constexpr (n == sizeof(Piece)) {
    Piece piece;
    std::memcpy(&piece, codes, sizeof piece);
    *reinterpret_cast<Piece*>(to) = piece;
  } else {
    TRIAX_UNROLL
    for (int j = 0; j < n; ++j) to[j] = codes[j];
  }
}

template <class T>
struct EncodeAll {
  std::uint8_t* to;
  const T* from;
  const float* scales;
  Float8Format format;

  template <int n>
  TRIAX_DEVICE void run(std::int64_t i) const {
    float values[n];
    load<n>(values, from + i);
    store_codes(to + i, values, format, scales[1]);
  }
};

// to (columns, rows) = the fp8 codes of from (rows, columns), one square tile per CUDA block,
// through shared memory.
// allowed: whole 16-byte accesses; otherwise elements are moved one by one.
template <class T, bool allowed>
struct EncodeTransposed {
  static constexpr int max_threads = 256;
  static constexpr int side = transposed_side;
  std::uint8_t* to;
  const T* from;
  const float* scales;
  std::int64_t rows;
  std::int64_t columns;
  Float8Format format;

  TRIAX_DEVICE void operator()(const Block& block) const {
    const std::int64_t row = block.index_x() * side;
    const std::int64_t column = block.index_y() * side;
    auto* tile = block.shared<std::uint8_t>();
    const float scale = scales[1];
    constexpr int pieces = side / wide<T>;  // per row
    static_assert(transposed_place(wide<T> - 1) == (wide<T> - 1) * side);
    for (int at = block.thread_x(); at < side * pieces; at += block.threads_x()) {
      const int r = at / pieces;
      const int c = at % pieces * wide<T>;
      if (row + r >= rows || column + c >= columns) continue;
      float values[wide<T>];
      load_piece<allowed>(values, from + (row + r) * columns + column + c, columns - column - c);
      std::uint8_t codes[wide<T>];
      encode_values(codes, values, format, scale);
      std::uint8_t* to =
          tile + transposed_place(c) + r;  // the next column lies `side` bytes further
      TRIAX_UNROLL
      for (int j = 0; j < wide<T>; ++j) to[j * side] = codes[j];
    }
    block.sync();
    constexpr int width = sizeof(Piece);
    for (int at = block.thread_x(); at < side * side / width; at += block.threads_x()) {
      const int c = at / (side / width);
      const int r = at % (side / width) * width;
      if (column + c >= columns || row + r >= rows) continue;
      write(to + (column + c) * rows + row + r, tile + transposed_place(c) + r, rows - row - r);
    }
  }

  // Writes a piece, or its first `count` elements.
  static TRIAX_DEVICE void write(std::uint8_t* out, const std::uint8_t* in, std::int64_t count) {
    if constexpr (allowed) {
      *reinterpret_cast<Piece*>(out) = *reinterpret_cast<const Piece*>(in);
    } else {
      const std::int64_t n = count < static_cast<std::int64_t>(sizeof(Piece))
                                 ? count
                                 : static_cast<std::int64_t>(sizeof(Piece));
      for (std::int64_t j = 0; j < n; ++j) out[j] = in[j];
    }
  }
};

template <class T>
void find_scale(const Stream& stream, float* scales, const T* x, std::int64_t n,
                Float8Format format) {
  auto* parts = static_cast<std::uint32_t*>(memory_of(stream, Kept::scratch).data());
  const LaunchShape shape = sum_shape(n, wide<T>);
  with_bool(aligned(x), [&]<bool allowed>(std::bool_constant<allowed>) {
    launch(stream, shape, LargestParts<T, allowed>{parts, x, n, shape.blocks_x});
  });
  launch(stream, parts_shape(), ScaleOfParts{scales, parts, shape.blocks_x, format});
}

template <class T>
void encode_transposed(const Stream& stream, std::uint8_t* to, const T* from, const float* scales,
                       const Shape& shape, Float8Format format) {
  const std::int64_t rows = shape[0];
  const std::int64_t columns = shape[1];
  const bool pieces = aligned(to) && aligned(from) && rows % 16 == 0 && columns % wide<T> == 0;
  with_bool(pieces, [&]<bool allowed>(std::bool_constant<allowed>) {
    launch(stream, transposed_shape(rows, columns),
           EncodeTransposed<T, allowed>{to, from, scales, rows, columns, format});
  });
}

// The codes of `matrix` (R, C), which is contiguous or the transposed view of a contiguous matrix.
Tensor codes_of(const Stream& stream, const Quantised& memory, const Tensor& matrix,
                Float8 format) {
  const Tensor codes(memory.memory.data(), DType::u8, matrix.shape(), MemorySpace::device);
  if (matrix.contiguous())
    cuda::fp8_quantise(stream, codes, memory.scales, matrix, format);
  else
    cuda::fp8_quantise(stream, codes.transposed(), memory.scales, matrix.transposed(), format);
  return codes;
}

}  // namespace

void fp8_quantise(const Stream& stream, const Tensor& to, const Tensor& scales, const Tensor& from,
                  Float8 format_name) {
  const Float8Format format = format_of(format_name);
  check(to.shape() == from.shape() && from.dtype() != DType::f16, "fp8 of {} {} into {}",
        name_of(from.dtype()), from.shape(), to.shape());
  check_space(to, "to");
  const std::int64_t n = from.elements();
  auto* factors = device_elements<float>(scales, 2, "scales");
  if (n == 0) return;
  with_type(from.dtype(), [&]<class T>(Type<T>) {
    const T* in = device_elements<T>(from, n, "from");
    find_scale(stream, factors, in, n, format);
    if (to.dtype() != DType::u8) {
      T* out = device_elements<T>(to, n, "to");
      pointwise<wide<T>>(stream, n, aligned(out) && aligned(in),
                         RoundAll<T>{out, in, factors, format});
    } else if (to.contiguous()) {
      auto* out = to.as<std::uint8_t>();
      pointwise<16>(stream, n, aligned(out) && aligned(in), EncodeAll<T>{out, in, factors, format});
    } else {
      check(to.transposed().contiguous(), "codes of {} with a stride", to.shape());
      encode_transposed(stream, to.as<std::uint8_t>(), in, factors, from.shape(), format);
    }
  });
}

bool fp8_multiply(const Stream& stream, const Tensor& c, const Tensor& a, const Tensor& b,
                  const Float8Operands& formats, const MatmulOptions& options,
                  const Quantised& a_memory, const Quantised& b_memory) {
  if (!can_multiply_codes(c, a.size(1), formats.a, formats.b, options.bias)) return false;
  const auto codes = [](const Quantised& memory, const Shape& shape) {
    return Tensor(memory.memory.data(), DType::u8, shape, MemorySpace::device);
  };
  const CodeOperands operands{codes(a_memory, a.shape()), codes(b_memory, b.transposed().shape()),
                              formats.a, formats.b};
  const BlasProduct product = code_product(c, operands, options);
  const BlasMemory memory{.d = c.data(),
                          .left = operands.b_transposed.data(),
                          .right = operands.a.data(),
                          .bias = options.bias.data(),
                          .left_scale = b_memory.scales.as<float>(),
                          .right_scale = a_memory.scales.as<float>()};
  if (!blas_has(stream, product, memory)) return false;
  codes_of(stream, a_memory, a, formats.a);
  codes_of(stream, b_memory, b.transposed(), formats.b);
  return blas_multiply(stream, product, memory);
}

}  // namespace triax::cuda
