// SPDX-License-Identifier: Apache-2.0
// Creates virtual datasets, whose rows lie in several files.
#include <array>

#include "io/hdf5/hdf5_impl.hpp"

namespace triax::hdf5 {
namespace {

using Extent = std::array<hsize_t, Shape::max_rank>;

Handle space_of_shape(const Shape& shape, Extent& extent) {
  for (int d = 0; d < shape.rank(); ++d)
    extent[static_cast<std::size_t>(d)] = static_cast<hsize_t>(shape[d]);
  return {shape.rank() == 0 ? H5Screate(H5S_SCALAR)
                            : H5Screate_simple(shape.rank(), extent.data(), nullptr),
          H5Sclose};
}

}  // namespace

void File::create_virtual(const std::string& name, DType dtype, const Shape& shape,
                          const std::vector<VirtualSource>& sources) {
  const auto lock = library_lock();
  Extent extent{};
  const Handle space = space_of_shape(shape, extent);
  const Handle links(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
  const Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  bool ok = space && H5Pset_create_intermediate_group(links.id(), 1) >= 0;
  for (const VirtualSource& source : sources) {
    Shape rows = shape;
    if (shape.rank() > 0) rows[0] = source.end - source.begin;
    Extent count{};
    const Handle from = space_of_shape(rows, count);
    const Extent start{static_cast<hsize_t>(source.begin)};
    if (shape.rank() > 0)
      ok = ok && H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, start.data(), nullptr,
                                     count.data(), nullptr) >= 0;
    ok = ok && H5Pset_virtual(creation.id(), space.id(), source.file.c_str(), name.c_str(),
                              from.id()) >= 0;
  }
  impl_->require(ok, "prepare virtual dataset", name);
  const Handle type = type_of(dtype);
  const Handle dataset(H5Dcreate2(impl_->file.id(), name.c_str(), type.id(), space.id(), links.id(),
                                  creation.id(), H5P_DEFAULT),
                       H5Dclose);
  impl_->require(static_cast<bool>(dataset), "create virtual dataset", name);
}

}  // namespace triax::hdf5
