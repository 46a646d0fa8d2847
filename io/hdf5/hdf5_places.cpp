// SPDX-License-Identifier: Apache-2.0
// Locations of dataset elements: plain_data(), virtual_sources().
#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "io/hdf5/hdf5_impl.hpp"
#include "io/hdf5/hdf5_mapping.hpp"

namespace triax::hdf5 {
namespace {

// The rows [begin, end) of a dataset of `shape` that are selected; nothing unless they are whole,
// adjoining rows.
std::optional<std::pair<std::int64_t, std::int64_t>> rows_of(hid_t space, const Shape& shape) {
  if (shape.rank() == 0) return std::pair{std::int64_t{0}, std::int64_t{1}};
  std::array<hsize_t, Shape::max_rank> first{};
  std::array<hsize_t, Shape::max_rank> last{};
  if (H5Sget_simple_extent_ndims(space) != shape.rank() ||
      H5Sget_select_bounds(space, first.data(), last.data()) < 0)
    return {};
  const auto begin = static_cast<std::int64_t>(first[0]);
  const auto end = static_cast<std::int64_t>(last[0]) + 1;
  Shape rows = shape;
  rows[0] = end - begin;
  if (H5Sget_select_npoints(space) != static_cast<hssize_t>(rows.elements())) return {};
  return std::pair{begin, end};
}

}  // namespace

bool File::Impl::has(const Handle& dataset) const {
  return path_of(dataset.id()) == path_of(file.id());
}

std::optional<PlainData> File::plain_data(const std::string& name) const {
  const auto lock = library_lock();
  const Handle set(H5Dopen2(impl_->file.id(), name.c_str(), H5P_DEFAULT), H5Dclose);
  if (!set) return {};
  const Handle creation(H5Dget_create_plist(set.id()), H5Pclose);
  const Handle type(H5Dget_type(set.id()), H5Tclose);
  const auto dtype = dtype_of_type(type.id());
  const hssize_t size = H5Sget_simple_extent_npoints(impl_->space_of(set, name).id());
  if (!creation || !dtype || size < 0 || H5Pget_layout(creation.id()) != H5D_CONTIGUOUS ||
      H5Pget_external_count(creation.id()) != 0)
    return {};
  if (!impl_->has(set)) return {};
  const haddr_t address = H5Dget_offset(set.id());
  const bool all_there =
      H5Dget_storage_size(set.id()) == static_cast<hsize_t>(size) * size_of(*dtype);
  if (address == HADDR_UNDEF || !all_there) return {};
  return PlainData{*dtype, size, static_cast<std::int64_t>(address)};
}

std::vector<VirtualSource> File::virtual_sources(const std::string& name) const {
  const auto lock = library_lock();
  const Shape whole = shape(name);
  const Handle set = impl_->dataset(name);
  const Handle creation(H5Dget_create_plist(set.id()), H5Pclose);
  if (!creation || H5Pget_layout(creation.id()) != H5D_VIRTUAL || !impl_->has(set)) return {};
  std::size_t count = 0;
  if (H5Pget_virtual_count(creation.id(), &count) < 0) return {};
  std::vector<VirtualSource> sources;
  for (std::size_t i = 0; i < count; ++i) {
    const hid_t list = creation.id();
    const Handle space(H5Pget_virtual_vspace(list, i), H5Sclose);
    const auto rows = space ? rows_of(space.id(), whole) : std::nullopt;
    const std::string dataset = text_of(
        [&](char* to, std::size_t size) { return H5Pget_virtual_dsetname(list, i, to, size); });
    if (!rows || dataset != name) return {};
    sources.push_back({text_of([&](char* to, std::size_t size) {
                         return H5Pget_virtual_filename(list, i, to, size);
                       }),
                       rows->first, rows->second});
  }
  std::ranges::sort(sources, {}, &VirtualSource::begin);
  std::int64_t end = 0;
  for (const VirtualSource& source : sources) {
    if (source.begin != end) return {};
    end = source.end;
  }
  return end == (whole.rank() == 0 ? 1 : whole[0]) ? sources : std::vector<VirtualSource>();
}

}  // namespace triax::hdf5
