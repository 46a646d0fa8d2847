// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs with a loss spike, caused by data or by a learning rate.
#include <filesystem>

#include "io/checkpoint/checkpoint_directory.hpp"
#include "tests/io/rank_fixtures.hpp"
#include "tests/support/training.hpp"

namespace triax::test {

inline constexpr int spike_batch = 8, spike_length = 16;  // samples, tokens

/// Training data of a spike job: batches of four letters, batches of other bytes (numbers in
/// `strange`), without the batches in `left_out`. Each sample begins with the same letter, so that
/// the labels of one do not depend on the next.
inline std::string spike_text(const std::vector<int>& strange,
                              const std::vector<int>& left_out = {}, int batches = 40) {
  std::string text;
  std::uint32_t state = 1;
  for (int batch = 0; batch < batches; ++batch) {
    const bool skip = std::ranges::count(left_out, batch) > 0;
    const bool other = std::ranges::count(strange, batch) > 0;
    for (int at = 0; at < spike_batch * spike_length; ++at) {
      state = state * 1664525 + 1013904223;
      const char letter =
          other ? static_cast<char>(128 + (state >> 16) % 100) : "abcd"[(state >> 16) % 4];
      if (!skip) text += at % spike_length == 0 ? 'x' : letter;
    }
  }
  return text + 'x';
}

/// Writes a file in the shared directory on rank 0; returns its path. Collective.
inline std::string shared_file(const SharedDirectory& directory, const std::string& name,
                               const std::string& text) {
  if (world_rank() == 0) std::ofstream(directory.path(name)) << text;
  MPI_Barrier(MPI_COMM_WORLD);
  return directory.path(name);
}

/// A job of 16 steps with a checkpoint every 4 steps and a window of 6 losses.
inline nlohmann::json spike_job(const Layout& layout, const std::string& text,
                                const std::string& directory) {
  auto job = golden_job(read_golden("gpt2-tiny"), layout);
  job["model"] = {{"architecture", "gpt2"}, {"n_layer", 4},      {"n_head", 4},
                  {"n_embd", 32},           {"n_positions", 16}, {"vocab_size", 256}};
  job["data"] = {{"train", {text}}, {"seq_length", spike_length}, {"shuffle", false}};
  job["train_batch_size"] = spike_batch;
  job.erase("scheduler");
  job["optimizer"]["params"]["lr"] = 0.02;
  job["run"]["directory"] = directory;
  job["run"]["steps"] = 16;
  job["run"]["loss_spike"] = {{"factor", 1.5}, {"window", 6}, {"action", "rollback"}};
  job["checkpoint"] = {{"interval", 4}, {"keep", 0}};
  return job;
}

/// Lines of steps in a run's metrics.jsonl, without events.
inline std::vector<nlohmann::json> steps_of(const std::string& directory) {
  std::vector<nlohmann::json> lines = metrics_of(directory);
  std::erase_if(lines, [](const nlohmann::json& line) { return line.contains("event"); });
  return lines;
}

/// File names of checkpoints ("step-000008.h5"), the newest first.
inline std::vector<std::string> checkpoint_names(const std::string& directory) {
  std::vector<std::string> names;
  for (const std::string& path : list_checkpoints(directory + "/checkpoints"))
    names.push_back(std::filesystem::path(path).filename());
  return names;
}

}  // namespace triax::test
