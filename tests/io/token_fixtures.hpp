// SPDX-License-Identifier: Apache-2.0
#pragma once
// Token files for tests, built byte by byte from the format definitions.
#include <numeric>
#include <string>
#include <vector>

#include "io/hdf5/hdf5.hpp"
#include "io/tokens/token_reader.hpp"
#include "tests/io/fixtures.hpp"

namespace triax::test {

inline std::string llmc_header(std::int32_t magic, std::int32_t version, std::int32_t count) {
  std::vector<std::int32_t> header(256);
  header[0] = magic;
  header[1] = version;
  header[2] = count;
  return bytes_of(header);
}

inline std::string llmc_shard(const std::vector<std::uint16_t>& tokens) {
  return llmc_header(20240520, 1, static_cast<std::int32_t>(tokens.size())) + bytes_of(tokens);
}

/// A Megatron index. `documents`: boundaries, in sequences.
inline std::string megatron_index(std::uint8_t code, const std::vector<std::int32_t>& lengths,
                                  const std::vector<std::int64_t>& offsets,
                                  const std::vector<std::int64_t>& documents) {
  return std::string("MMIDIDX\0\0", 9) + bytes_of<std::uint64_t>(1) + bytes_of(code) +
         bytes_of<std::uint64_t>(lengths.size()) + bytes_of<std::uint64_t>(documents.size()) +
         bytes_of(lengths) + bytes_of(offsets) + bytes_of(documents);
}

/// Creates an HDF5 token file and returns its path. `labels`: of its own; none: no dataset.
/// `documents`: the first token of each, and the number of tokens; none: no dataset.
inline std::string labelled_file(const std::string& path, std::vector<std::int32_t> tokens,
                                 std::vector<std::int32_t> labels,
                                 std::vector<std::int64_t> documents = {}) {
  hdf5::File file(path, hdf5::File::Mode::create);
  const auto write = [&](const char* name, DType type, auto& values) {
    if (values.empty()) return;
    const Shape shape{std::ssize(values)};
    file.create_dataset(name, type, shape);
    file.write(name, {{{}, shape}}, Tensor(values.data(), shape));
  };
  write("/tokens", DType::i32, tokens);
  write("/labels", DType::i32, labels);
  write("/documents", DType::i64, documents);
  return path;
}

inline std::vector<std::int32_t> tokens_at(const TokenFile& file, std::int64_t begin,
                                           std::size_t count) {
  std::vector<std::int32_t> out(count, -7);
  file.read(begin, out);
  return out;
}

inline std::vector<std::int32_t> all_tokens(const TokenFile& file) {
  return tokens_at(file, 0, static_cast<std::size_t>(file.size()));
}

/// Expects every range of the file, read alone, to equal that range of `expected`.
inline void expect_every_range(const TokenFile& file, const std::vector<std::int32_t>& expected) {
  ASSERT_EQ(file.size(), std::ssize(expected));
  for (std::size_t begin = 0; begin <= expected.size(); ++begin)
    for (std::size_t count = 0; begin + count <= expected.size(); ++count) {
      const auto from = expected.begin() + static_cast<std::ptrdiff_t>(begin);
      ASSERT_EQ(tokens_at(file, static_cast<std::int64_t>(begin), count),
                std::vector<std::int32_t>(from, from + static_cast<std::ptrdiff_t>(count)))
          << begin << " + " << count;
    }
}

}  // namespace triax::test
