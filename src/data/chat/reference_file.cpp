// SPDX-License-Identifier: Apache-2.0
#include "src/data/chat/reference_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "io/files/mapped_file.hpp"
#include "io/files/sha256.hpp"
#include "io/hdf5/hdf5.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

namespace fs = std::filesystem;

constexpr const char* dataset = "/log_probs";

std::vector<hdf5::Box> whole(std::int64_t count) {
  return hdf5::flat_range_boxes(Shape{count}, 0, count);
}

}  // namespace

std::string reference_path(const std::string& directory, const std::string& token_file,
                           const std::string& model) {
  const MappedFile file(token_file);
  Sha256 hash;
  hash.add(model);
  hash.add({reinterpret_cast<const char*>(file.data()), static_cast<std::size_t>(file.size())});
  return (fs::path(directory) / fmt::format("{}-reference-{}.h5",
                                            fs::path(token_file).stem().string(),
                                            hash.hex().substr(0, 16)))
      .string();
}

std::vector<double> read_reference(const std::string& path, std::int64_t pairs) {
  if (!fs::exists(path)) return {};
  const hdf5::File file(path, hdf5::File::Mode::read);
  std::vector<double> log_probs(static_cast<std::size_t>(2 * pairs));
  if (!file.exists(dataset) || file.shape(dataset) != Shape{2 * pairs})
    throw Error(fmt::format("{} does not fit its data", path),
                fmt::format("it must hold {} log-probabilities of {} pairs", 2 * pairs, pairs),
                "Remove it: it is made again");
  file.read(dataset, whole(2 * pairs), Tensor(log_probs.data(), {2 * pairs}));
  file.check_lengths();
  return log_probs;
}

void write_reference(const std::string& path, std::span<const double> log_probs,
                     const std::string& model) {
  fs::create_directories(fs::path(path).parent_path());
  const std::string working = path + ".tmp";
  std::vector<double> values(log_probs.begin(), log_probs.end());
  const auto count = static_cast<std::int64_t>(values.size());
  {
    hdf5::File file(working, hdf5::File::Mode::create);
    file.create_dataset(dataset, DType::f64, {count});
    file.write(dataset, whole(count), Tensor(values.data(), {count}));
    file.write_attribute("/", "model", model);
    file.close();
  }
  fs::rename(working, path);
}

}  // namespace triax
