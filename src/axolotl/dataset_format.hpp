// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the lines of a dataset become samples: Axolotl's type and the keys beside it.
#include <map>
#include <optional>
#include <string>

#include "src/axolotl/axolotl_job.hpp"

namespace triax {

/// Keys of section data that say how a line is read.
struct DatasetFormat {
  std::string format;                         // data.format
  std::map<std::string, std::string> fields;  // data.fields
  std::map<std::string, std::string> roles;   // data.roles
  std::string template_file;                  // data.template; empty: the tokenizer's
  bool all_trains = false;                    // data.train_on "all"
  bool operator==(const DatasetFormat&) const = default;
};

/// The format of the dataset at `path`, as "datasets[0]". None: it has an error, which is added.
std::optional<DatasetFormat> dataset_format(AxolotlJob& job, const std::string& path);

}  // namespace triax
