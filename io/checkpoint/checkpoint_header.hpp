// SPDX-License-Identifier: Apache-2.0
#pragma once
// Header of a checkpoint: the attributes of its root group, and the entries of its list of tensors.
#include <cstdint>
#include <string>
#include <vector>

#include "io/hdf5/hdf5.hpp"

namespace triax {

/// The attributes of the root group.
struct CheckpointHeader {
  std::int64_t format_version = 2;  // of the layout
  std::int64_t step = 0;            // steps done
  std::int64_t tokens = 0;          // tokens trained on
  std::int64_t samples = 0;         // data position: samples consumed since the start
  std::string job;                  // JSON as resolved
  std::string model;                // Hugging Face config.json
  std::string grid;        // JSON {"data":, "pipeline":, "tensor":} of the run that wrote it
  std::string version;     // version of triax
  std::string loss_scale;  // JSON; empty: no fp16
  std::string parts;       // JSON, set by the writer; empty: one file holds everything
  std::string adapter;     // JSON; not empty: /model has low-rank adapters, and no base
};

/// First format version with checksums.
constexpr std::int64_t checksums_since = 2;

/// Calls visit(attribute name, member) for each attribute of the root, in the order of names.
template <class Header, class Visit>
void for_each_attribute(Header& header, Visit&& visit) {
  visit("adapter", header.adapter);
  visit("format_version", header.format_version);
  visit("grid", header.grid);
  visit("job", header.job);
  visit("loss_scale", header.loss_scale);
  visit("model", header.model);
  visit("parts", header.parts);
  visit("samples", header.samples);
  visit("step", header.step);
  visit("tokens", header.tokens);
  visit("triax_version", header.version);
}

/// A tensor of the file: global, unpadded, unsharded.
struct CheckpointTensor {
  std::string name;  // "/model/transformer.wte.weight"
  DType dtype = DType::f32;
  Shape shape;
  std::int64_t bytes() const {
    return shape.elements() * static_cast<std::int64_t>(size_of(dtype));
  }
};

/// Writes the attributes; empty optional ones are left out.
void write_header(hdf5::File& file, const CheckpointHeader& header);
/// Error where `path` is not a checkpoint of triax or has a newer format.
CheckpointHeader read_header(const hdf5::File& file, const std::string& path);

}  // namespace triax
