// SPDX-License-Identifier: Apache-2.0
#pragma once
// Models of a golden case whose weights are held in memory in other types.
#include <filesystem>

#include "io/safetensors/safetensors_writer.hpp"
#include "kernels/activation/elementwise.hpp"
#include "src/inference/held_weights.hpp"
#include "src/state/weights/huggingface_weights.hpp"
#include "tests/io/rank_fixtures.hpp"
#include "tests/support/golden.hpp"

namespace triax::test {

/// Writes the directory of a golden case again as `to`, with its tensors in `type`. One rank.
inline void write_narrow(const std::string& golden, DType type, const std::string& to) {
  const std::string from = read_golden(golden).directory;
  std::filesystem::create_directory(to);
  std::filesystem::copy_file(from + "/config.json", to + "/config.json");
  const SafetensorsReader reader(from);
  std::vector<SafetensorsTensor> tensors;
  for (const auto& [name, entry] : reader.entries()) tensors.push_back({name, type, entry.shape});
  SafetensorsWriter writer(to + "/model.safetensors", tensors);
  for (const SafetensorsTensor& tensor : tensors) {
    const std::int64_t count = tensor.shape.elements();
    const Buffer wide(static_cast<std::size_t>(count) * sizeof(float));
    const Buffer narrow(static_cast<std::size_t>(count) * size_of(type));
    reader.read(tensor.name, 0, wide.tensor(DType::f32, {count}));
    convert(Stream{}, narrow.tensor(type, {count}), wide.tensor(DType::f32, {count}));
    writer.write(tensor.name, 0, narrow.tensor(type, {count}));
  }
  writer.publish();
}

/// The directory of a golden case with its tensors in `type`, for all ranks. Collective.
inline std::string narrow_copy(const SharedDirectory& directory, const std::string& golden,
                               DType type) {
  const std::string to = directory.path(golden + "-" + std::string(name_of(type)));
  if (world_rank() == 0) write_narrow(golden, type, to);
  MPI_Barrier(MPI_COMM_WORLD);
  return to;
}

/// The model of a directory, its weights held as inference.weights says.
class HeldModel {
 public:
  HeldModel(const std::string& path, const std::string& asked, MPI_Comm world = MPI_COMM_SELF,
            const GridShape& shape = {})
      : grid_(world, shape, {}, 0.0, MemorySpace::host),
        files_(path, grid_),
        model_(
            files_.model(), grid_, std::min<std::int64_t>(64, files_.model().positions),
            [&](const Stream& stream, const ModelConfig& config, ParameterStore& store) {
              files_.load(stream, config, store, grid_);
            },
            held_weights(asked, files_, SavedWeights::trained, MemorySpace::host, true)) {}
  GridModel& model() { return model_; }
  const ModelFiles& files() const { return files_; }

 private:
  ProcessGrid grid_;
  ModelFiles files_;
  GridModel model_;
};

}  // namespace triax::test
