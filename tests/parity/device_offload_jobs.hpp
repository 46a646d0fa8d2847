// SPDX-License-Identifier: Apache-2.0
#pragma once
// Jobs on a device with offloading, and the locations to offload to.
#include <string>
#include <vector>

#include "tests/parity/device_jobs.hpp"

namespace triax::test {

/// A layout of all ranks with parameters sharded over the data axis.
inline Layout cut_layout() {
  if (world_size() == 1) return {.micro = 2, .zero = 3};
  if (world_size() == 2) return {.data = 2, .micro = 2, .zero = 3};
  return {.tensor = 2, .data = 2, .micro = 2, .zero = 3};
}

/// A small job, because the emulated device is slow.
inline nlohmann::json job_of(const Layout& layout) {
  auto job = on_device(golden_job(read_golden("gpt2-tiny"), layout));
  job["model"] = {{"architecture", "gpt2"}, {"n_layer", 3},      {"n_head", 2},
                  {"n_embd", 16},           {"n_positions", 16}, {"vocab_size", 256}};
  job["data"]["seq_length"] = 8;
  job["train_batch_size"] = 4 * layout.micro;
  job["zero_optimization"]["stage3_param_persistence_threshold"] = 100;
  return job;
}

/// Locations of the parameters and of the optimizer's state.
struct Place {
  const char* name;
  void (*set)(nlohmann::json& zero, const std::string& directory);
};
inline const Place parameter_places[] = {
    {"host",
     [](auto& zero, auto&) {
       zero["offload_param"] = {{"device", "cpu"}};
     }},
    {"half on the device",
     [](auto& zero, auto&) {
       zero["offload_param"] = {{"device", "cpu"}, {"ratio", 0.5}};
     }},
    {"host, one at once",
     [](auto& zero, auto&) {
       zero["offload_param"] = {{"device", "cpu"}, {"buffer_count", 1}};
     }},
    {"host, not ahead",
     [](auto& zero, auto&) {
       zero["offload_param"] = {
           {"device", "cpu"}, {"pipeline_read", false}, {"pipeline_write", false}};
     }},
    {"disk",
     [](auto& zero, auto& directory) {
       zero["offload_param"] = {{"device", "nvme"}, {"nvme_path", directory}, {"max_in_cpu", 0}};
     }},
    {"host and disk", [](auto& zero, auto& directory) {
       zero["offload_param"] = {{"device", "nvme"}, {"nvme_path", directory}, {"max_in_cpu", 4000}};
     }}};
inline const Place state_places[] = {
    {"device", [](auto&, auto&) {}},
    {"host",
     [](auto& zero, auto&) {
       zero["offload_optimizer"] = {{"device", "cpu"}};
     }},
    {"half on the host",
     [](auto& zero, auto&) {
       zero["offload_optimizer"] = {{"device", "cpu"}, {"ratio", 0.5}};
     }},
    {"disk",
     [](auto& zero, auto& directory) {
       zero["offload_optimizer"] = {{"device", "nvme"}, {"nvme_path", directory}};
     }},
    {"half on the disk", [](auto& zero, auto& directory) {
       zero["offload_optimizer"] = {{"device", "nvme"}, {"nvme_path", directory}, {"ratio", 0.5}};
     }}};

/// Layouts with recomputed layers, along each axis of the grid.
inline std::vector<Layout> recomputing_layouts() {
  if (world_size() == 1) return {{.micro = 2, .recompute = 9}};
  if (world_size() == 2)
    return {
        {.tensor = 2, .micro = 2, .sequence_parallel = false, .recompute = 9, .partition = true},
        {.pipeline = 2, .schedule = "gpipe", .micro = 1, .recompute = 9},
        {.data = 2, .micro = 1, .zero = 3, .recompute = 2}};
  return {{.pipeline = 2,
           .data = 2,
           .schedule = "interleaved",
           .chunks = 2,
           .micro = 1,
           .recompute = 9}};
}

inline nlohmann::json recomputing_job(const Layout& layout) {
  auto job = job_of(layout);
  job["model"]["n_layer"] = 6;
  return job;
}

}  // namespace triax::test
