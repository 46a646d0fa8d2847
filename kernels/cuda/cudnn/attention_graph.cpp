// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/cudnn/attention_graph.hpp"

#include <optional>

namespace triax::cuda {
namespace {

using Four = std::array<std::int64_t, 4>;

Four row_major(const Four& sizes) {
  return {sizes[1] * sizes[2] * sizes[3], sizes[2] * sizes[3], sizes[3], 1};
}

// A tensor of the graph: the index of its descriptor, and the shape that the next operation needs.
struct Value {
  std::size_t part;
  cudnnDataType_t type;
  Four sizes;
  Four strides;
};

class Builder {
 public:
  Builder(const CudnnLibrary& library, const AttentionProblem& problem)
      : library_(library),
        n_(problem),
        type_(problem.type == DType::bf16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_HALF),
        scores_{problem.batch, problem.heads, problem.length, problem.length},
        rows_{problem.batch, problem.heads, problem.length, 1} {}

  void forward();
  void backward();
  AttentionGraph finish(cudnnHandle_t handle);

 private:
  Value tensor(std::int64_t id, cudnnDataType_t type, const Four& sizes, const Four& strides,
               bool inside, bool number) {
    CudnnDescriptor made(library_, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    made.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id)
        .set(CUDNN_ATTR_TENSOR_DATA_TYPE, type)
        .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, std::int64_t{16})
        .set_all(CUDNN_ATTR_TENSOR_DIMENSIONS, std::span<const std::int64_t>(sizes))
        .set_all(CUDNN_ATTR_TENSOR_STRIDES, std::span<const std::int64_t>(strides))
        .set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, inside)
        .set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, number);
    made.finish();
    parts_.push_back(std::move(made));
    return {parts_.size() - 1, type, sizes, strides};
  }
  // A virtual tensor: its values never leave the engine.
  Value inside(cudnnDataType_t type, const Four& sizes) {
    return inside(type, sizes, row_major(sizes));
  }
  Value inside(cudnnDataType_t type, const Four& sizes, const Four& strides) {
    return tensor(next_++, type, sizes, strides, true, false);
  }
  // A (B, heads, T, D) tensor in memory.
  Value heads(AttentionOperand of, const AttentionStrides& by, std::int64_t heads) {
    return tensor(static_cast<std::int64_t>(of), type_, {n_.batch, heads, n_.length, n_.head_size},
                  {by.batch, by.head, by.row, 1}, false, false);
  }
  // The same as a (B, heads, D, T) tensor.
  Value turned_heads(AttentionOperand of, const AttentionStrides& by) {
    return tensor(static_cast<std::int64_t>(of), type_,
                  {n_.batch, n_.key_heads, n_.head_size, n_.length}, {by.batch, by.head, 1, by.row},
                  false, false);
  }
  Value row_numbers(AttentionOperand of, const AttentionStrides& by) {
    return tensor(static_cast<std::int64_t>(of), CUDNN_DATA_FLOAT, rows_,
                  {by.batch, by.head, by.row, 1}, false, false);
  }
  Value number(AttentionOperand of) {
    return tensor(static_cast<std::int64_t>(of), CUDNN_DATA_FLOAT, {1, 1, 1, 1}, {1, 1, 1, 1},
                  false, true);
  }

  CudnnDescriptor& operation(cudnnBackendDescriptorType_t type) {
    return operations_.emplace_back(library_, type);
  }
  const CudnnDescriptor& part(const Value& value) const { return parts_[value.part]; }

  // y = mode(x, b), or a selection between x and b by the mask t.
  Value apply(cudnnPointwiseMode_t mode, const Value& x, const Value* b, const Value* t, Value y,
              std::optional<std::int64_t> axis = {}) {
    CudnnDescriptor what(library_, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    const bool logical = mode == CUDNN_POINTWISE_CMP_GE;
    what.set(CUDNN_ATTR_POINTWISE_MODE, mode)
        .set(CUDNN_ATTR_POINTWISE_MATH_PREC, logical ? CUDNN_DATA_BOOLEAN : CUDNN_DATA_FLOAT);
    if (axis) what.set(CUDNN_ATTR_POINTWISE_AXIS, *axis);
    what.finish();
    CudnnDescriptor& done = operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    done.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, what)
        .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, part(x));
    if (b != nullptr) done.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, part(*b));
    if (t != nullptr) done.set(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, part(*t));
    done.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, part(y));
    done.finish();
    parts_.push_back(std::move(what));
    return y;
  }
  // Applies `mode` with a virtual result of x's sizes.
  Value apply(cudnnPointwiseMode_t mode, const Value& x) {
    return apply(mode, x, nullptr, nullptr, inside(CUDNN_DATA_FLOAT, x.sizes));
  }
  Value apply(cudnnPointwiseMode_t mode, const Value& x, const Value& b) {
    return apply(mode, x, &b, nullptr, inside(CUDNN_DATA_FLOAT, x.sizes));
  }

  Value reduce(cudnnReduceTensorOp_t how, const Value& x, Value y) {
    CudnnDescriptor what(library_, CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    what.set(CUDNN_ATTR_REDUCTION_OPERATOR, how)
        .set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_DATA_FLOAT)
        .finish();
    operation(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR)
        .set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, what)
        .set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, part(x))
        .set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, part(y))
        .finish();
    parts_.push_back(std::move(what));
    return y;
  }

  Value multiply(const Value& a, const Value& b, Value c) {
    CudnnDescriptor what(library_, CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    what.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_DATA_FLOAT).finish();
    operation(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR)
        .set(CUDNN_ATTR_OPERATION_MATMUL_DESC, what)
        .set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, part(a))
        .set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, part(b))
        .set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, part(c))
        .finish();
    parts_.push_back(std::move(what));
    return c;
  }

  // Swaps the last two dimensions.
  Value turn(const Value& x, cudnnDataType_t type) {
    const Four sizes = {x.sizes[0], x.sizes[1], x.sizes[3], x.sizes[2]};
    const Value y = inside(type, sizes, {x.strides[0], x.strides[1], x.strides[3], x.strides[2]});
    operation(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR)
        .set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, part(x))
        .set(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, part(y))
        .finish();
    return y;
  }

  // Sets scores to -infinity where the key comes after the query.
  Value mask(const Value& scores) {
    const Value masked = number(AttentionOperand::masked);
    const auto index = [&](std::int64_t axis) {
      return apply(CUDNN_POINTWISE_GEN_INDEX, scores, nullptr, nullptr,
                   inside(CUDNN_DATA_INT32, scores_), axis);
    };
    const Value row = index(2);
    const Value column = index(3);
    const Value seen =
        apply(CUDNN_POINTWISE_CMP_GE, row, &column, nullptr, inside(CUDNN_DATA_BOOLEAN, scores_));
    return apply(CUDNN_POINTWISE_BINARY_SELECT, scores, &masked, &seen,
                 inside(CUDNN_DATA_FLOAT, scores_));
  }

  // Gradient of keys or values. For grouped queries the products of all query heads of a key head
  // are summed.
  void key_gradient(const Value& turned, const Value& b, AttentionOperand of,
                    const AttentionStrides& by) {
    const Value gradient = heads(of, by, n_.key_heads);
    if (n_.heads == n_.key_heads) {
      multiply(turned, b, gradient);
      return;
    }
    const Value each =
        multiply(turned, b, inside(type_, {n_.batch, n_.heads, n_.length, n_.head_size}));
    reduce(CUDNN_REDUCE_TENSOR_ADD, each, gradient);
  }

  const CudnnLibrary& library_;
  const AttentionProblem& n_;
  cudnnDataType_t type_;
  Four scores_, rows_;
  std::int64_t next_ = static_cast<std::int64_t>(AttentionOperand::one) + 1;
  std::vector<CudnnDescriptor> parts_, operations_;
};

void Builder::forward() {
  const Value q = heads(AttentionOperand::q, n_.q, n_.heads);
  const Value k = turned_heads(AttentionOperand::k, n_.k);
  const Value v = heads(AttentionOperand::v, n_.v, n_.key_heads);
  const Value scale = number(AttentionOperand::scale);
  const Value scores = multiply(q, k, inside(CUDNN_DATA_FLOAT, scores_));
  const Value seen = mask(apply(CUDNN_POINTWISE_MUL, scores, scale));
  const Value largest = reduce(CUDNN_REDUCE_TENSOR_MAX, seen, inside(CUDNN_DATA_FLOAT, rows_));
  const Value powers = apply(CUDNN_POINTWISE_EXP, apply(CUDNN_POINTWISE_SUB, seen, largest));
  const Value sum = reduce(CUDNN_REDUCE_TENSOR_ADD, powers, inside(CUDNN_DATA_FLOAT, rows_));
  const Value log_sum = apply(CUDNN_POINTWISE_LOG, sum);
  apply(CUDNN_POINTWISE_ADD, largest, &log_sum, nullptr,
        row_numbers(AttentionOperand::lse, n_.lse));
  const Value probabilities =
      apply(CUDNN_POINTWISE_DIV, powers, &sum, nullptr, inside(type_, scores_));
  multiply(probabilities, v, heads(AttentionOperand::out, n_.out, n_.heads));
}

void Builder::backward() {
  const Value q = heads(AttentionOperand::q, n_.q, n_.heads);
  const Value k = turned_heads(AttentionOperand::k, n_.k);
  const Value v = turned_heads(AttentionOperand::v, n_.v);
  const Value out = heads(AttentionOperand::out, n_.out, n_.heads);
  const Value dout = heads(AttentionOperand::dout, n_.dout, n_.heads);
  const Value lse = row_numbers(AttentionOperand::lse, n_.lse);
  const Value scale = number(AttentionOperand::scale);
  const Value one = number(AttentionOperand::one);  // dropout's factor, here 1
  const AttentionStrides packed = {n_.heads * n_.length, n_.length, 1};

  const Value row_sums = reduce(CUDNN_REDUCE_TENSOR_ADD, apply(CUDNN_POINTWISE_MUL, dout, out),
                                inside(CUDNN_DATA_FLOAT, rows_));
  const Value delta = apply(CUDNN_POINTWISE_MUL, row_sums, &one, nullptr,
                            row_numbers(AttentionOperand::delta, packed));

  const Value scores = multiply(q, k, inside(CUDNN_DATA_FLOAT, scores_));
  const Value logs = apply(CUDNN_POINTWISE_SUB, apply(CUDNN_POINTWISE_MUL, scores, scale), lse);
  const Value probabilities = apply(CUDNN_POINTWISE_EXP, mask(logs));
  key_gradient(turn(probabilities, type_), dout, AttentionOperand::dv, n_.dv);

  const Value dprobabilities = multiply(dout, v, inside(CUDNN_DATA_FLOAT, scores_));
  const Value dlogs =
      apply(CUDNN_POINTWISE_MUL, apply(CUDNN_POINTWISE_SUB, dprobabilities, delta), probabilities);
  const Value dscores = apply(CUDNN_POINTWISE_MUL, dlogs, scale);
  key_gradient(turn(dscores, type_), q, AttentionOperand::dk, n_.dk);

  multiply(dscores, turn(k, CUDNN_DATA_FLOAT), heads(AttentionOperand::dq, n_.dq, n_.heads));
}

AttentionGraph Builder::finish(cudnnHandle_t handle) {
  CudnnDescriptor graph(library_, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  if (handle != nullptr) graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, handle);
  graph.set_all(CUDNN_ATTR_OPERATIONGRAPH_OPS, operations_).finish();
  return {std::move(parts_), std::move(operations_), std::move(graph)};
}

}  // namespace

AttentionGraph make_attention_graph(const CudnnLibrary& library, cudnnHandle_t handle,
                                    const AttentionProblem& problem) {
  Builder builder(library, problem);
  if (problem.backward)
    builder.backward();
  else
    builder.forward();
  return builder.finish(handle);
}

}  // namespace triax::cuda
