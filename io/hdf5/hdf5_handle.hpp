#pragma once
// What io/hdf5*.cpp share: identifiers that close themselves, HDF5's error text, element types.
// Internal to io/.
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

/// HDF5's own account of the last failure: the innermost messages, which name the cause. To be
/// asked for before any other call, the closing of a Handle among them: each call clears the
/// account.
std::string last_error();

/// Held through each group of calls: HDF5 is one library a process, and not thread-safe as
/// packaged.
std::unique_lock<std::recursive_mutex> library_lock();

/// The type of elements in memory (native) and in files (little-endian), the same here. f16 is IEEE
/// half, bf16 the upper half of a float32; both are plain HDF5 floating-point types that any reader
/// converts.
Handle type_of(DType dtype);
/// The DType whose file type this is, if any.
std::optional<DType> dtype_of_type(hid_t type);

}  // namespace triax::hdf5
