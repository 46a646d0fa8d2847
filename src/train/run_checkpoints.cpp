#include "src/train/run_checkpoints.hpp"

#include <spdlog/spdlog.h>

#include "src/train/version.hpp"

namespace triax {

CheckpointHeader RunCheckpoints::header(const RunPosition& at,
                                        const std::string& loss_scale) const {
  CheckpointHeader header;
  header.step = at.step;
  header.tokens = at.tokens;
  header.samples = at.samples;
  header.job = job_.resolved;
  header.model = huggingface_config(config_.model);
  header.grid =
      fmt::format(R"({{"data": {}, "pipeline": {}, "tensor": {}}})", config_.parallel.data,
                  config_.parallel.pipeline, config_.parallel.tensor);
  header.version = version;
  header.loss_scale = loss_scale;
  return header;
}

std::string RunCheckpoints::save(const Stream& stream, const RunPosition& at,
                                 const std::string& loss_scale) {
  const std::string path = checkpoint_path(config_.checkpoint.directory, at.step);
  save_checkpoint(stream, path, header(at, loss_scale), config_.model, store_, &optimizer_, grid_,
                  checkpoint_options(config_.checkpoint));
  if (grid_.rank() != 0) return path;
  try {
    prune_checkpoints(config_.checkpoint.directory, config_.checkpoint.keep);
  } catch (const Error& error) {  // the run is worth more than room on the disk
    spdlog::warn("{}", error.what());
  }
  return path;
}

}  // namespace triax
