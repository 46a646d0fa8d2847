// SPDX-License-Identifier: Apache-2.0
#pragma once
// An Axolotl config.yml as a job of triax.
#include <string>
#include <vector>

#include "src/config/source/json_lines.hpp"

namespace triax {

/// Whether the file's name ends as that of YAML: .yml or .yaml.
bool is_axolotl_file(const std::string& path);

/// The job that the text of an Axolotl file stands for, with the lines of that file. `notes`: lines
/// for the start of a run, about keys without effect. UsageError with all errors: text that is no
/// YAML, unknown and refused keys, values of another type, data and models that are not here.
JsonDocument axolotl_job(const std::string& text, const std::string& file,
                         std::vector<std::string>& notes);

/// The job of an Axolotl file as text: JSON with a comment at each key that says where it came
/// from, and the keys without effect. What is missing on this machine is in `missing`. UsageError
/// with all other errors.
std::string axolotl_job_text(const std::string& file, std::vector<std::string>& missing);

}  // namespace triax
