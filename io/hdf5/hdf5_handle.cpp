// SPDX-License-Identifier: Apache-2.0
#include "io/hdf5/hdf5_handle.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "kernels/base/check.hpp"

namespace triax::hdf5 {
namespace {

constexpr std::array all_types = {DType::f64, DType::f32, DType::bf16, DType::f16,
                                  DType::i64, DType::i32, DType::u16,  DType::u8};

// A 16-bit float: sign, `exponent` bits, `mantissa` bits, from the top.
hid_t small_float(std::size_t exponent, std::size_t mantissa) {
  const hid_t type = H5Tcopy(H5T_IEEE_F32LE);
  const std::size_t bias = (std::size_t{1} << (exponent - 1)) - 1;
  const bool ok = H5Tset_fields(type, 15, mantissa, exponent, 0, mantissa) >= 0 &&
                  H5Tset_size(type, 2) >= 0 && H5Tset_ebias(type, bias) >= 0;
  check(ok, "HDF5 refuses a 16-bit float: {}", last_error());
  return type;
}

hid_t open_type(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return H5Tcopy(H5T_IEEE_F64LE);
    case DType::f32:
      return H5Tcopy(H5T_IEEE_F32LE);
    case DType::bf16:
      return small_float(8, 7);
    case DType::f16:
      return small_float(5, 10);
    case DType::i64:
      return H5Tcopy(H5T_STD_I64LE);
    case DType::i32:
      return H5Tcopy(H5T_STD_I32LE);
    case DType::u16:
      return H5Tcopy(H5T_STD_U16LE);
    case DType::u8:
      return H5Tcopy(H5T_STD_U8LE);
  }
  return H5I_INVALID_HID;
}

// The system's reason where HDF5's message quotes it, else the message; on one line.
std::string cause(std::string text) {
  constexpr std::string_view quote = "error message = '";
  const std::size_t begin = text.find(quote);
  if (begin != text.npos) {
    text.erase(0, begin + quote.size());
    text.resize(std::min(text.find('\''), text.size()));
  }
  std::ranges::replace(text, '\n', ' ');
  return text;
}

// Called by HDF5 with the innermost message first; the first two are kept.
herr_t collect(unsigned n, const H5E_error2_t* error, void* text) {
  constexpr unsigned kept = 2;
  if (n >= kept || error->desc == nullptr) return 0;
  auto& out = *static_cast<std::string*>(text);
  if (!out.empty()) out += "; ";
  out += cause(error->desc);
  return 0;
}

// Sets the environment variables that the library reads at its first call.
bool prepare_environment() {
  // HDF5 would look there first for the sources of virtual datasets, and might find those of
  // another file.
  const bool removed = ::unsetenv("HDF5_VDS_PREFIX") == 0;
  // Locks fail on some parallel file systems, and no file is written under the name that readers
  // open. An access property would not do: HDF5 opens the targets of links without it, and refuses
  // to open one file with two sets of properties.
  return ::setenv("HDF5_USE_FILE_LOCKING", "FALSE", 0) == 0 && removed;
}

}  // namespace

std::string last_error() {
  std::string text;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, collect, &text);
  return "HDF5: " + (text.empty() ? "no reason given" : text);
}

std::unique_lock<std::recursive_mutex> library_lock() {
  static std::recursive_mutex mutex;  // one per process, as HDF5's state is
  [[maybe_unused]] static const bool prepared = prepare_environment();
  return std::unique_lock(mutex);
}

Handle type_of(DType dtype) {
  Handle type(open_type(dtype), H5Tclose);
  check(static_cast<bool>(type), "no HDF5 type for {}: {}", name_of(dtype), last_error());
  return type;
}

std::optional<DType> dtype_of_type(hid_t type) {
  for (const DType dtype : all_types)
    if (H5Tequal(type, type_of(dtype).id()) > 0) return dtype;
  return {};
}

}  // namespace triax::hdf5
