// SPDX-License-Identifier: Apache-2.0
#pragma once
// The state that bench_checkpoint writes and reads, sharded over ranks.
#include <mpi.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/support/random_bits.hpp"
#include "io/checkpoint/checkpoint_header.hpp"
#include "io/checkpoint/checkpoint_snapshot.hpp"
#include "kernels/base/device/device.hpp"

namespace triax {

struct World {
  int rank = 0, size = 1;
  World() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
  }
};

/// Tensors of the embeddings and of each layer; ZeRO shards each layer as one range of elements.
using Layers = std::vector<std::vector<CheckpointTensor>>;

inline Layers gpt2_124m() {
  constexpr std::int64_t width = 768;
  Layers layers;
  for (const char* group : {"/model/", "/optimizer/exp_avg/", "/optimizer/exp_avg_sq/"}) {
    const auto add = [&](const std::string& name, const Shape& shape) {
      layers.back().push_back({group + name, DType::f32, shape});
    };
    layers.emplace_back();
    add("wte", {50257, width});
    add("wpe", {1024, width});
    for (int layer = 0; layer < 12; ++layer) {
      layers.emplace_back();
      const std::string h = fmt::format("h.{}.", layer);
      add(h + "attn.c_attn.weight", {width, 3 * width});
      add(h + "attn.c_proj.weight", {width, width});
      add(h + "mlp.c_fc.weight", {width, 4 * width});
      add(h + "mlp.c_proj.weight", {4 * width, width});
      for (const char* norm : {"ln_1.weight", "ln_1.bias", "ln_2.weight", "ln_2.bias"})
        add(h + norm, {width});
    }
  }
  return layers;
}

/// Bytes on all ranks together.
inline std::int64_t state_bytes() {
  std::int64_t bytes = 0;
  for (const std::vector<CheckpointTensor>& layer : gpt2_124m())
    for (const CheckpointTensor& tensor : layer) bytes += tensor.bytes();
  return bytes;
}

/// This rank's shard of the state, in memory of its own.
class State {
 public:
  enum class Cut { flat, columns, replicated };
  State(const World& world, Cut cut) {
    std::int64_t elements = 0;
    for (const std::vector<CheckpointTensor>& layer : gpt2_124m()) {
      const std::int64_t all = std::accumulate(
          layer.begin(), layer.end(), std::int64_t{0},
          [](std::int64_t sum, const auto& tensor) { return sum + tensor.shape.elements(); });
      std::int64_t at = 0;  // in the layer's elements
      for (const CheckpointTensor& tensor : layer) {
        std::vector<hdf5::Box> boxes = cut == Cut::flat ? run(tensor.shape, share(world, all, -at))
                                                        : part(world, tensor.shape, cut);
        at += tensor.shape.elements();
        elements += hdf5::elements(boxes);
        snapshot_bytes_ += CheckpointSnapshot::footprint(hdf5::elements(boxes) * 4);
        tensors_.push_back(tensor);
        parts_.push_back(std::move(boxes));
      }
    }
    memory_ = Buffer(static_cast<std::size_t>(elements) * sizeof(float));
    benchmark::fill_random_bits(memory_, static_cast<std::uint64_t>(world.rank));
  }
  template <class Visit>
  void each(Visit&& visit) {
    float* at = begin();
    for (std::size_t t = 0; t < tensors_.size(); ++t) {
      const std::int64_t count = hdf5::elements(parts_[t]);
      if (count > 0) visit(tensors_[t].name, parts_[t], Tensor(at, {count}));
      at += count;
    }
  }
  const std::vector<CheckpointTensor>& tensors() const { return tensors_; }
  std::int64_t snapshot_bytes() const { return snapshot_bytes_; }

 private:
  float* begin() { return static_cast<float*>(memory_.data()); }
  struct Range {
    std::int64_t begin, end;
  };
  // A rank's share of `all` elements, moved by `shift`.
  static Range share(const World& world, std::int64_t all, std::int64_t shift = 0) {
    return {all * world.rank / world.size + shift, all * (world.rank + 1) / world.size + shift};
  }
  static std::vector<hdf5::Box> run(const Shape& shape, Range range) {
    const std::int64_t begin = std::clamp<std::int64_t>(range.begin, 0, shape.elements());
    const std::int64_t end = std::clamp<std::int64_t>(range.end, begin, shape.elements());
    return hdf5::flat_range_boxes(shape, begin, end);
  }
  static std::vector<hdf5::Box> part(const World& world, const Shape& shape, Cut cut) {
    if (cut == Cut::replicated) return {{{}, shape}};
    const int last = shape.rank() - 1;
    const auto [begin, end] = share(world, shape[last]);
    return hdf5::clipped({{{}, shape}}, last, begin, end);
  }
  std::vector<CheckpointTensor> tensors_;
  std::vector<std::vector<hdf5::Box>> parts_;
  std::int64_t snapshot_bytes_ = 0;
  Buffer memory_;
};

}  // namespace triax
