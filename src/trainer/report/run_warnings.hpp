// SPDX-License-Identifier: Apache-2.0
#pragma once
// Warnings at the start of a run.
#include <string>
#include <vector>

#include "io/tokens/sample_reader.hpp"
#include "kernels/base/dtype.hpp"
#include "src/plan/placement.hpp"

namespace triax {

/// Name of a type in the keys of a job: "fp32".
const char* key_name_of(DType type);

/// A warning for each setting whose effect may surprise its user.
std::vector<std::string> config_warnings(const PlacedConfig& config);

/// Warning that text is read as bytes by a model with a larger vocabulary; empty otherwise.
std::string warning_of_bytes(const Config& config, const SampleReader& data);

/// Warning that a program built for GPUs (`for_gpus`) found none; empty otherwise, or where the job
/// asks for the CPU.
std::string warning_of_cpu(const PlacedConfig& config, bool for_gpus);

}  // namespace triax
