// SPDX-License-Identifier: Apache-2.0
#pragma once
// Base of the io/hdf5 files: RAII identifiers, HDF5's error text, element types. Internal to io/.
#include <hdf5.h>

#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "kernels/base/dtype.hpp"

namespace triax::hdf5 {

/// Owns an HDF5 identifier.
class Handle {
 public:
  using Closer = herr_t (*)(hid_t);
  Handle() = default;
  Handle(hid_t id, Closer closer) : id_(id), closer_(closer) {}
  ~Handle() { close(); }
  Handle(Handle&& other) noexcept
      : id_(std::exchange(other.id_, H5I_INVALID_HID)), closer_(other.closer_) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(closer_, other.closer_);
    return *this;
  }
  explicit operator bool() const { return id_ >= 0; }
  hid_t id() const { return id_; }
  /// False when HDF5 reports an error; the identifier is gone either way.
  bool close() { return id_ < 0 || closer_(std::exchange(id_, H5I_INVALID_HID)) >= 0; }

 private:
  hid_t id_ = H5I_INVALID_HID;
  Closer closer_ = nullptr;
};

/// The innermost messages of HDF5's error stack, which name the cause of the last failure. Call it
/// before any other HDF5 call (closing a Handle is one), as each call clears the stack.
std::string last_error();

/// Lock to hold through each group of calls: HDF5 has one global state per process and is not
/// thread-safe as packaged.
std::unique_lock<std::recursive_mutex> library_lock();

/// HDF5 type of `dtype`, in memory (native) and in files (little-endian) alike. f16 is IEEE half,
/// bf16 the upper half of a float32; both are plain HDF5 floating-point types that any reader
/// converts.
Handle type_of(DType dtype);
/// DType of an HDF5 type, if any.
std::optional<DType> dtype_of_type(hid_t type);

}  // namespace triax::hdf5
