// SPDX-License-Identifier: Apache-2.0
#include "io/hdf5/hdf5_links.hpp"

#include "io/hdf5/hdf5_impl.hpp"
#include "io/hdf5/hdf5_mapping.hpp"
#include "kernels/base/check.hpp"

namespace triax::hdf5 {

std::string LinkTarget::text() const {
  return file.empty() ? object : fmt::format("{} of {}", object, file);
}

LinkTarget target_of_link(hid_t file, const std::string& name) {
  H5L_info_t info{};
  if (H5Lget_info(file, name.c_str(), &info, H5P_DEFAULT) < 0) return {};
  if (info.type != H5L_TYPE_SOFT && info.type != H5L_TYPE_EXTERNAL) return {};
  std::string value(info.u.val_size, '\0');
  if (H5Lget_val(file, name.c_str(), value.data(), value.size(), H5P_DEFAULT) < 0) return {};
  if (info.type == H5L_TYPE_SOFT) return {value.c_str(), {}};
  const char* of_file = nullptr;
  const char* object = nullptr;
  unsigned flags = 0;
  if (H5Lunpack_elink_val(value.data(), value.size(), &flags, &of_file, &object) < 0) return {};
  return {object, of_file};
}

std::string error_behind_links(hid_t file, const std::string& name, int depth) {
  constexpr int deepest = 16;  // links that follow each other, as in HDF5 itself
  if (depth > deepest) return {};
  for (std::size_t end = 0; end != name.npos;) {
    const std::size_t begin = end;
    end = name.find('/', end + 1);
    const LinkTarget link = target_of_link(file, name.substr(0, end));
    if (link.object.empty()) continue;
    const std::string rest = end == name.npos ? "" : name.substr(end);
    if (link.file.empty()) {
      const bool absolute = link.object.starts_with('/');
      const std::string target = absolute ? link.object : name.substr(0, begin) + '/' + link.object;
      return error_behind_links(file, target + rest, depth + 1);
    }
    const std::string path = path_of_source(path_of(file), link.file);
    if (!why_unreadable(path).empty()) return {};
    try {
      const Handle target = open_to_read(path);
      return error_behind_links(target.id(), link.object + rest, depth + 1);
    } catch (const Error& error) {
      return error.what();
    }
  }
  return {};
}

}  // namespace triax::hdf5
