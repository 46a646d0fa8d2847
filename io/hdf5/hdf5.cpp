// SPDX-License-Identifier: Apache-2.0
#include "io/hdf5/hdf5.hpp"

#include <array>
#include <utility>

#include "io/files/shell_word.hpp"
#include "io/hdf5/hdf5_impl.hpp"
#include "kernels/base/check.hpp"

namespace triax::hdf5 {
namespace {

// A system call moves less than 2 GiB.
constexpr std::int64_t max_transfer_bytes = std::int64_t{1} << 30;

}  // namespace

void File::Impl::require(bool ok, const char* what, const std::string& object) const {
  if (!ok) fail(what, object, last_error());
}

void File::Impl::fail(const char* what, const std::string& object, const std::string& why) const {
  const bool no_filter =
      why.find("plugin") != std::string::npos;  // HDF5 looked for a filter plugin
  throw Error(fmt::format("cannot {} {} in {}", what, object, path), why,
              no_filter
                  ? "This HDF5 lacks the compression filter of the data (h5dump -p names it): "
                    "convert the file with h5repack -f GZIP=4, or set HDF5_PLUGIN_PATH to the "
                    "directory of the filter"
                  : "The file may be damaged: use another one. Where it is being written, check "
                    "the disk's free space and quota");
}

void File::Impl::let_go() const {
  read_set = OpenSet();
  sources = Sources();
}

OpenSet& File::Impl::set_to_read(const std::string& name) const {
  if (!read_set.set || read_name != name) {
    read_set = OpenSet();
    read_set = open_set({}, dataset(name));
    read_name = name;
  }
  return read_set;
}

Handle File::Impl::space_of(const Handle& dataset, const std::string& name) const {
  Handle space(H5Dget_space(dataset.id()), H5Sclose);
  require(static_cast<bool>(space), "get the shape of", name);
  return space;
}

File::File(const std::string& path, Mode mode, const FileHints& hints)
    : impl_(std::make_unique<Impl>()) {
  const auto lock = library_lock();
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // failures are thrown, not printed
  impl_->path = path;
  impl_->file =
      mode == Mode::read ? open_to_read(path) : create_file(path, mode, file_access(mode, hints));
}

File::File(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

File::~File() {
  if (!impl_) return;
  const auto lock = library_lock();
  impl_->let_go();
  impl_->file.close();
}
File::File(File&&) noexcept = default;

void File::close() {
  const auto lock = library_lock();
  impl_->let_go();
  // Flush first: after a failed flush the caller can still recover; after a failed H5Fclose, HDF5
  // 1.10 crashes at program exit.
  const bool closed = H5Fflush(impl_->file.id(), H5F_SCOPE_GLOBAL) >= 0 && impl_->file.close();
  if (closed) return;
  throw Error("cannot write " + impl_->path, last_error(), "Check the disk's free space and quota");
}

void File::create_dataset(const std::string& name, DType dtype, const Shape& shape) {
  const auto lock = library_lock();
  impl_->create_dataset(name, type_of(dtype), shape);
}

void File::Impl::create_dataset(const std::string& name, const Handle& type, const Shape& shape) {
  std::array<hsize_t, Shape::max_rank> extent{};
  for (int d = 0; d < shape.rank(); ++d)
    extent[static_cast<std::size_t>(d)] = static_cast<hsize_t>(shape[d]);
  const Handle space(shape.rank() == 0 ? H5Screate(H5S_SCALAR)
                                       : H5Screate_simple(shape.rank(), extent.data(), nullptr),
                     H5Sclose);
  const Handle links(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
  const Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  // Early allocation: independent writes change no metadata. No fill: every element is written.
  const bool ready = H5Pset_create_intermediate_group(links.id(), 1) >= 0 &&
                     H5Pset_layout(creation.id(), H5D_CONTIGUOUS) >= 0 &&
                     H5Pset_alloc_time(creation.id(), H5D_ALLOC_TIME_EARLY) >= 0 &&
                     H5Pset_fill_time(creation.id(), H5D_FILL_TIME_NEVER) >= 0;
  require(ready && space && type, "prepare dataset", name);
  const Handle dataset(H5Dcreate2(file.id(), name.c_str(), type.id(), space.id(), links.id(),
                                  creation.id(), H5P_DEFAULT),
                       H5Dclose);
  require(static_cast<bool>(dataset), "create dataset", name);
}

namespace {

// Selects the union of boxes in `space`, whose shape bounds them.
bool select(hid_t space, const std::vector<Box>& boxes) {
  if (H5Sget_simple_extent_ndims(space) == 0) return H5Sselect_all(space) >= 0;
  bool ok = H5Sselect_none(space) >= 0;
  for (const Box& box : boxes) {
    std::array<hsize_t, Shape::max_rank> start{};
    std::array<hsize_t, Shape::max_rank> count{};
    for (int d = 0; d < box.extent.rank(); ++d) {
      start[static_cast<std::size_t>(d)] =
          static_cast<hsize_t>(box.offset[static_cast<std::size_t>(d)]);
      count[static_cast<std::size_t>(d)] = static_cast<hsize_t>(box.extent[d]);
    }
    if (box.extent.elements() == 0) continue;
    ok = ok && H5Sselect_hyperslab(space, H5S_SELECT_OR, start.data(), nullptr, count.data(),
                                   nullptr) >= 0;
  }
  return ok && H5Sselect_valid(space) > 0;
}

}  // namespace

template <class Transfer>
void File::Impl::transfer(const Handle& set, const std::string& name, const std::vector<Box>& boxes,
                          const Tensor& data, const char* what, Transfer transfer) const {
  check(elements(boxes) == data.elements(), "{} elements of {} in boxes of {}", data.elements(),
        name, elements(boxes));
  check(data.contiguous() && data.space() == MemorySpace::host,
        "{} with a strided or device tensor", what);
  if (data.elements() == 0) return;
  const Handle memory_type = type_of(data.dtype());
  const auto width = static_cast<std::int64_t>(size_of(data.dtype()));
  auto* at = static_cast<char*>(data.data());
  for (const auto& run : split_boxes(boxes, max_transfer_bytes / width)) {
    const Handle space = space_of(set, name);
    for (const Box& box : run)
      check(box.extent.rank() == H5Sget_simple_extent_ndims(space.id()),
            "a box of {} dimensions in {}", box.extent.rank(), name);
    require(select(space.id(), run), "select a part of", name);
    const auto count = static_cast<hsize_t>(elements(run));
    check(H5Sget_select_npoints(space.id()) == static_cast<hssize_t>(count), "boxes of {} overlap",
          name);
    const Handle memory(H5Screate_simple(1, &count, nullptr), H5Sclose);
    require(transfer(set.id(), memory_type.id(), memory.id(), space.id(), at) >= 0, what, name);
    at += static_cast<std::int64_t>(count) * width;
  }
}

void File::write(const std::string& dataset, const std::vector<Box>& boxes, const Tensor& data) {
  const auto lock = library_lock();
  const auto call = [](hid_t set, hid_t type, hid_t memory, hid_t space, const char* from) {
    return H5Dwrite(set, type, memory, space, H5P_DEFAULT, from);
  };
  impl_->transfer(impl_->dataset(dataset), dataset, boxes, data, "write dataset", call);
}

void File::read(const std::string& dataset, const std::vector<Box>& boxes,
                const Tensor& data) const {
  const auto lock = library_lock();
  OpenSet& from = impl_->set_to_read(dataset);
  const auto call = [&](hid_t, hid_t type, hid_t memory, hid_t space, char* to) {
    try {
      impl_->sources.read(from, type, memory, space, to);
    } catch (const Error& error) {
      impl_->fail("read dataset", dataset, error.what());
    }
    return 0;
  };
  impl_->transfer(from.set, dataset, boxes, data, "read dataset", call);
}

void File::check_lengths() const {
  const auto lock = library_lock();
  if (std::exchange(impl_->read_set.was_read, false)) impl_->read_set.length.check();
  impl_->sources.check_lengths();
}

void File::require_stored(const std::string& dataset, const char* elements) const {
  const auto lock = library_lock();
  OpenSet& set = impl_->set_to_read(dataset);
  const Handle all = impl_->space_of(set.set, dataset);
  Gap gap;
  try {
    gap = impl_->sources.gap(set, all.id(), true);
  } catch (const Error& error) {
    impl_->fail("look through dataset", dataset, error.what());
  }
  if (gap.why.empty()) return;
  const std::string what =
      gap.elements == 0
          ? fmt::format("the size of its dataset {} follows from its sources", dataset)
          : fmt::format(
                "{} of the {} {} of its dataset {} are not stored, and HDF5 would read its fill "
                "value for them",
                gap.elements, count_of(all.id()), elements, dataset);
  std::string remedy = set.layout.is_virtual
                           ? "Copy its source files, whole, to where it names them, or write one "
                             "file with all of the data"
                           : "Write it again with all of its data, or use another one";
  if (gap.elements == 0 && set.layout.shrunk() >= 0)
    remedy += fmt::format(
        ". If the new size is right, open the dataset once for writing, which stores it: "
        "python3 -c \"import h5py, sys; h5py.File(sys.argv[1], 'r+')[sys.argv[2]].shape\" {} {}",
        shell_word(impl_->path), shell_word(dataset));
  throw Error(fmt::format("{} is not whole", impl_->path), fmt::format("{}: {}", what, gap.why),
              remedy);
}

}  // namespace triax::hdf5
