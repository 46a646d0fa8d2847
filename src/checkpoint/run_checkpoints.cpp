// SPDX-License-Identifier: Apache-2.0
#include "src/checkpoint/run_checkpoints.hpp"

#include <spdlog/spdlog.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "io/checkpoint/checkpoint_directory.hpp"
#include "io/checkpoint/checkpoint_writer.hpp"
#include "kernels/base/mpi/agree.hpp"
#include "src/checkpoint/adapter_base.hpp"
#include "src/checkpoint/optimizer_states.hpp"
#include "src/checkpoint/resume_changes.hpp"
#include "src/checkpoint/resume_data.hpp"
#include "src/config/model/huggingface.hpp"
#include "src/launch/own_checkpoints.hpp"
#include "src/version/version.hpp"

namespace triax {

RunCheckpoints::RunCheckpoints(const PlacedConfig& config, const std::string& job,
                               ProcessGrid& grid, ParameterStore& store, Optimizer& optimizer,
                               RunTokenizer tokenizer)
    : config_(config),
      job_(job),
      grid_(grid),
      store_(store),
      optimizer_(optimizer),
      tokenizer_(std::move(tokenizer)),
      base_(config.model.lora ? base_fingerprint(config.model.weights) : std::string()),
      copies_(store.space()) {
  if (!takes_copy(config_)) return;
  snapshot_ = std::make_unique<CheckpointSnapshot>(
      triax::snapshot_bytes(store.blocks(), config_.precision.type, optimizer.states()),
      store.space());
  optimizer.before_update([this] {
    if (background_) background_->wait_copied();
  });
}

std::string RunCheckpoints::path(std::int64_t step) const {
  return checkpoint_path(config_.checkpoint.directory, step);
}

CheckpointHeader RunCheckpoints::header(const RunPosition& at,
                                        const std::string& loss_scale) const {
  CheckpointHeader header;
  header.step = at.step;
  header.tokens = at.tokens;
  header.samples = at.samples;
  header.job =
      with_data_state(job_for_checkpoint(job_, at.data_tokens, at.losses, starts_text(optimizer_),
                                         tokenizer_text(tokenizer_), at.validation),
                      at.data_state);
  header.model = huggingface_config(config_.model);
  header.adapter = adapter_text(config_.model, base_);
  header.grid =
      fmt::format(R"({{"data": {}, "pipeline": {}, "tensor": {}}})", config_.parallel.data,
                  config_.parallel.pipeline, config_.parallel.tensor);
  header.version = version;
  header.loss_scale = loss_scale;
  return header;
}

void RunCheckpoints::say(const std::function<void()>& message) const {
  if (grid_.rank() != 0) return;
  pause_();
  message();
}

void RunCheckpoints::save(const Stream& stream, const RunPosition& at,
                          const std::string& loss_scale) {
  const FileScope working(grid_.watch());
  tries_left_ = 0;  // the older file is not retried: the newer one is worth more
  finish();
  prepare_publishing();
  begun_ = std::chrono::steady_clock::now();
  const auto write = [&] {
    return save_checkpoint(stream, path(at.step), header(at, loss_scale), config_.model, store_,
                           &optimizer_, grid_, options(), &tokenizer_);
  };
  std::string unsafe;
  try {
    unsafe = write();
  } catch (const Error& error) {
    say([&] { spdlog::warn("{}. Writing it again", error.what()); });
    unsafe = write();
  }
  published(at.step, unsafe);
}

void RunCheckpoints::prepare_publishing() const {
  if (grid_.rank() == 0) before_publishing_();
}

// `unsafe`: text of CheckpointWriter::publish. Unless it is empty, older files stay.
void RunCheckpoints::published(std::int64_t step, const std::string& unsafe) {
  newest_ = step;
  unproven_ = -1;
  if (step == next_best_) best_ = next_best_;
  say([&] {
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begun_;
    spdlog::info("checkpoint {} ({:.1f} s)", path(step), taken.count());
    after_publishing_(step, path(step), taken.count());
    if (!unsafe.empty()) return spdlog::warn("{}. Older checkpoints are kept", unsafe);
    prune();
    if (!spared_.empty()) unproven_ = step;
  });
}

// Removes older checkpoints. Rank 0 only.
void RunCheckpoints::prune() {
  const CheckpointConfig& config = config_.checkpoint;
  spared_.clear();
  try {
    spared_ = prune_checkpoints(config.directory, config.keep, within_, best_);
  } catch (const std::exception& error) {  // not worth ending the run for
    say([&] { spdlog::warn("{}", error.what()); });
  }
  log_spared();
}

// Logs once per file, and only if the last loss was beyond the spike limit: not while the loss
// after the newest file is unknown.
void RunCheckpoints::log_spared() {
  if (spared_.empty() || !beyond_ || spared_ == spared_logged_) return;
  spared_logged_ = spared_;
  say([&] {
    spdlog::warn(
        "{} is kept beside the {} newest (checkpoint.keep): it is the newest with a loss within "
        "the spike limit (run.loss_spike.factor); the loss of step {} was not",
        spared_, config_.checkpoint.keep, within_ + 2);  // steps are logged from 1
  });
}

void RunCheckpoints::judge(std::int64_t within, bool beyond) {
  within_ = within;
  beyond_ = beyond;
  if (unproven_ < 0) return;
  const FileScope working(grid_.watch());
  if (unproven_ > within_) return log_spared();
  unproven_ = -1;
  prune();
}

bool RunCheckpoints::keep_best(std::int64_t step) {
  next_best_ = step;
  if (writer_ && header_.step == step) return true;
  const FileScope working(grid_.watch());
  std::string there;
  agreed(grid_, [&] {
    if (grid_.rank() == 0 && std::filesystem::exists(path(step))) there = "yes";
  });
  if (broadcast_text(grid_, there).empty()) return false;
  best_ = step;
  return true;
}

void RunCheckpoints::log_unproven() const {
  if (unproven_ < 0 || beyond_ || spared_.empty()) return;
  say([&] {
    spdlog::info("{} is kept too, until a later loss has shown that {} is sound", spared_,
                 path(unproven_));
  });
}

void RunCheckpoints::resumed(const std::string& file, std::int64_t step) {
  std::error_code absent;
  const bool here = std::filesystem::equivalent(file, path(step), absent);
  if (!here || !writes_checkpoints(config_.checkpoint)) return;
  // An earlier run may have left one file more than `keep`, because the newest was not proven by a
  // loss yet. If there are more, they stay for another reason (unsafe files, a larger `keep`) until
  // the next file is written.
  const CheckpointConfig& config = config_.checkpoint;
  const auto files = std::ssize(list_checkpoints(config.directory));
  if (files <= config.keep + 1 + (best_ >= 0 ? 1 : 0)) unproven_ = step;
}

void RunCheckpoints::go_back() {
  newest_ = unproven_ = best_ = next_best_ = -1;
}

void RunCheckpoints::start(const Stream& stream, const RunPosition& at,
                           const std::string& loss_scale) {
  if (!snapshot_) return save(stream, at, loss_scale);
  const FileScope working(grid_.watch());
  if (writer_)
    say([&] {
      spdlog::warn("training waits for {}, which is still being written: {}", path(header_.step),
                   tries_left_ == 0 ? "it is written for the second time"
                                    : "the disk is slower than checkpoint.interval");
    });
  finish();
  begun_ = std::chrono::steady_clock::now();
  agreed(grid_, [&] {
    grid_.drain(stream);  // completes the state to be copied; it stays valid until the next update
    take_snapshot(stream, store_, optimizer_, *snapshot_);
  });
  header_ = header(at, loss_scale);
  tries_left_ = 1;
  write_snapshot();
}

CheckpointOptions RunCheckpoints::options() {
  CheckpointOptions options = checkpoint_options(config_.checkpoint);
  options.gather = &gather_;
  return options;
}

void RunCheckpoints::write_snapshot() {
  CheckpointOptions options = this->options();
  options.collective = false;  // ranks are training and cannot meet for collective writes
  try {
    writer_.emplace(path(header_.step), grid_, options);
    std::vector<CheckpointTensor> tensors;
    agreed(grid_, [&] {
      tensors = checkpoint_tensors(config_.model, store_, &optimizer_);
      tensors.insert(tensors.end(), tokenizer_.datasets.begin(), tokenizer_.datasets.end());
    });
    writer_->create(header_, tensors);
  } catch (...) {
    writer_.reset();
    throw;
  }
  try {
    background_.emplace(*writer_, *snapshot_, copies_,
                        [this] { write_tokenizer(tokenizer_, grid_, *writer_); });
  } catch (const std::system_error& error) {  // thread creation failed, perhaps on this rank only
    snapshot_->copy(copies_);                 // for the retry: the state will have changed by then
    writer_->fail(fmt::format("no thread to write it with: {}", error.what()));
  }
}

void RunCheckpoints::proceed(bool any_rank) {
  if (!writer_ || any_rank) return;
  const FileScope working(grid_.watch());
  try {
    publish();
  } catch (const Error& error) {
    say([&] {
      spdlog::error("no checkpoint after {} of {} steps, training goes on: {}", header_.step,
                    config_.run.steps, error.what());
    });
  }
}

// On the first failure the file is written again from the snapshot.
void RunCheckpoints::publish() {
  background_.reset();
  prepare_publishing();
  std::string unsafe;
  try {
    unsafe = writer_->publish();
  } catch (const Error& error) {
    writer_.reset();
    if (tries_left_ == 0) throw;
    --tries_left_;
    say([&] { spdlog::warn("{}. Writing it again", error.what()); });
    return write_snapshot();
  }
  writer_.reset();
  published(header_.step, unsafe);
}

void RunCheckpoints::finish() {
  const FileScope working(grid_.watch());
  while (writer_) {
    if (background_) background_->wait();
    proceed(false);
  }
}

}  // namespace triax
