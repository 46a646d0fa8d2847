// SPDX-License-Identifier: Apache-2.0
#pragma once
// A small checkpoint for tests.
#include "io/checkpoint/checkpoint_writer.hpp"
#include "tests/io/fixtures.hpp"

namespace triax::test {

inline CheckpointHeader example_header() {
  CheckpointHeader header;
  header.step = 50;
  header.tokens = 51200;
  header.samples = 400;
  header.job = R"({"run":{"steps":100}})";
  header.model = R"({"model_type":"gpt2"})";
  header.grid = R"({"data":1,"pipeline":1,"tensor":1})";
  header.version = "0.1.0";
  return header;
}

/// Writes and publishes tensors with these values from one process, in `files` files.
inline void write_example(const std::string& path, const std::vector<CheckpointTensor>& tensors,
                          std::vector<std::vector<float>> values,
                          const CheckpointHeader& header = example_header(), int files = 1) {
  CheckpointOptions options;
  options.files = files;
  CheckpointWriter writer(path, MPI_COMM_NULL, options);
  writer.create(header, tensors);
  for (std::size_t i = 0; i < tensors.size(); ++i)
    writer.write(tensors[i].name, {{{}, tensors[i].shape}},
                 Tensor(values[i].data(), tensors[i].shape));
  writer.publish();
}

/// Flips one bit of a file.
inline void flip_bit(const std::string& path, std::int64_t byte, int bit) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(byte);
  const int value = file.get();
  check(file.good(), "byte {} of {}", byte, path);
  file.seekp(byte);
  file.put(static_cast<char>(value ^ (1 << bit)));
}

}  // namespace triax::test
