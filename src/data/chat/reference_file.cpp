// SPDX-License-Identifier: Apache-2.0
#include "src/data/chat/reference_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "io/files/durable.hpp"
#include "io/files/mapped_file.hpp"
#include "io/files/sha256.hpp"
#include "io/hdf5/hdf5.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

namespace fs = std::filesystem;

constexpr const char* dataset = "/log_probs";

constexpr const char* checksum = "sha256";

std::string hash_of(std::span<const double> log_probs) {
  Sha256 hash;
  hash.add({reinterpret_cast<const char*>(log_probs.data()), log_probs.size_bytes()});
  return hash.hex();
}

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
  const hdf5::File file(path, hdf5::File::Mode::read);
  const auto require = [&](bool ok, const std::string& why) {
    if (!ok) throw Error(fmt::format("{} is damaged", path), why, "Remove it: it is made again");
  };
  std::vector<double> log_probs(static_cast<std::size_t>(2 * pairs));
  require(file.exists(dataset) && file.shape(dataset) == Shape{2 * pairs},
          fmt::format("it does not hold {} log-probabilities of {} pairs", 2 * pairs, pairs));
  file.read(dataset, whole(2 * pairs), Tensor(log_probs.data(), {2 * pairs}));
  file.check_lengths();
  require(file.has_attribute("/", checksum) &&
              file.string_attribute("/", checksum) == hash_of(log_probs),
          "its numbers do not have its checksum");
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
    file.write_attribute("/", checksum, hash_of(log_probs));
    file.close();
  }
  rename_durably(working, path);
}

}  // namespace triax
