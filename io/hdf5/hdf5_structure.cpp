// SPDX-License-Identifier: Apache-2.0
// Names, shapes, types and attributes of an HDF5 file.
#include <algorithm>
#include <array>

#include "io/hdf5/hdf5_impl.hpp"
#include "kernels/base/check.hpp"

namespace triax::hdf5 {

Handle File::Impl::object(const std::string& name) const {
  Handle handle(H5Oopen(file.id(), name.c_str(), H5P_DEFAULT), H5Oclose);
  require(static_cast<bool>(handle), "open", name);
  return handle;
}

Handle File::Impl::attribute(const std::string& object_name, const std::string& name) const {
  const Handle owner = object(object_name);
  Handle handle(H5Aopen(owner.id(), name.c_str(), H5P_DEFAULT), H5Aclose);
  require(static_cast<bool>(handle), "open attribute", name);
  return handle;
}

void File::Impl::write_attribute(const std::string& object_name, const std::string& name,
                                 const Handle& type, const void* value) {
  const Handle owner = object(object_name);
  if (H5Aexists(owner.id(), name.c_str()) > 0)
    require(H5Adelete(owner.id(), name.c_str()) >= 0, "replace attribute", name);
  const Handle space(H5Screate(H5S_SCALAR), H5Sclose);
  const Handle handle(
      H5Acreate2(owner.id(), name.c_str(), type.id(), space.id(), H5P_DEFAULT, H5P_DEFAULT),
      H5Aclose);
  require(handle && H5Awrite(handle.id(), type.id(), value) >= 0, "write attribute", name);
}

void File::Impl::read_attribute(const std::string& object_name, const std::string& name, hid_t type,
                                void* value) const {
  const Handle handle = attribute(object_name, name);
  const Handle space(H5Aget_space(handle.id()), H5Sclose);
  require(H5Sget_simple_extent_npoints(space.id()) == 1 && H5Aread(handle.id(), type, value) >= 0,
          "read attribute", name);
}

void File::write_attribute(const std::string& object, const std::string& name,
                           const std::string& value) {
  const auto lock = library_lock();
  const Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  // The terminator is included: HDF5 has no strings of length 0.
  const bool ok =
      H5Tset_size(type.id(), value.size() + 1) >= 0 && H5Tset_cset(type.id(), H5T_CSET_UTF8) >= 0;
  impl_->require(ok, "prepare attribute", name);
  impl_->write_attribute(object, name, type, value.c_str());
}

void File::write_attribute(const std::string& object, const std::string& name, std::int64_t value) {
  const auto lock = library_lock();
  impl_->write_attribute(object, name, type_of(DType::i64), &value);
}

bool File::has_attribute(const std::string& object, const std::string& name) const {
  const auto lock = library_lock();
  const htri_t found = H5Aexists(impl_->object(object).id(), name.c_str());
  impl_->require(found >= 0, "look for attribute", name);
  return found > 0;
}

std::string File::string_attribute(const std::string& object, const std::string& name) const {
  const auto lock = library_lock();
  const Handle attribute = impl_->attribute(object, name);
  const Handle type(H5Aget_type(attribute.id()), H5Tclose);
  impl_->require(H5Tget_class(type.id()) == H5T_STRING, "read as text the attribute", name);
  if (H5Tis_variable_str(type.id()) > 0) {  // h5py writes these
    char* text = nullptr;
    impl_->read_attribute(object, name, type.id(), &text);
    std::string out = text == nullptr ? "" : text;
    H5free_memory(text);
    return out;
  }
  std::string out(H5Tget_size(type.id()), '\0');
  impl_->read_attribute(object, name, type.id(), out.data());
  out.resize(std::min(out.find('\0'), out.size()));
  return out;
}

std::int64_t File::integer_attribute(const std::string& object, const std::string& name) const {
  const auto lock = library_lock();
  std::int64_t value = 0;
  impl_->read_attribute(object, name, type_of(DType::i64).id(), &value);
  return value;
}

int File::rank(const std::string& dataset) const {
  const auto lock = library_lock();
  return H5Sget_simple_extent_ndims(impl_->space_of(impl_->dataset(dataset), dataset).id());
}

Shape File::shape(const std::string& dataset) const {
  const auto lock = library_lock();
  const Handle space = impl_->space_of(impl_->dataset(dataset), dataset);
  if (H5Sget_simple_extent_type(space.id()) == H5S_NULL) return {0};
  const int dimensions = H5Sget_simple_extent_ndims(space.id());
  if (dimensions < 0 || dimensions > Shape::max_rank)
    throw Error(fmt::format("dataset {} of {} has {} dimensions", dataset, impl_->path, dimensions),
                fmt::format("at most {} are supported", Shape::max_rank), "");
  std::array<hsize_t, Shape::max_rank> extent{};
  impl_->require(H5Sget_simple_extent_dims(space.id(), extent.data(), nullptr) >= 0,
                 "get the shape of", dataset);
  Shape shape;
  for (int d = 0; d < dimensions; ++d)
    shape.push_back(static_cast<std::int64_t>(extent[static_cast<std::size_t>(d)]));
  return shape;
}

DType File::dtype(const std::string& dataset) const {
  const auto lock = library_lock();
  const Handle set = impl_->dataset(dataset);
  const Handle type(H5Dget_type(set.id()), H5Tclose);
  const auto dtype = dtype_of_type(type.id());
  if (!dtype)
    throw Error(
        fmt::format("dataset {} of {} has a type that triax does not use", dataset, impl_->path),
        "", "Convert it to one of f64, f32, bf16, f16, i64, i32, u16, u8, little-endian");
  return *dtype;
}

std::int64_t File::offset(const std::string& dataset) const {
  const auto lock = library_lock();
  const haddr_t address = H5Dget_offset(impl_->dataset(dataset).id());
  return address == HADDR_UNDEF ? 0 : static_cast<std::int64_t>(address);
}

bool File::is_integer(const std::string& dataset) const {
  const auto lock = library_lock();
  const Handle set = impl_->dataset(dataset);
  const Handle type(H5Dget_type(set.id()), H5Tclose);
  return H5Tget_class(type.id()) == H5T_INTEGER;
}

}  // namespace triax::hdf5
