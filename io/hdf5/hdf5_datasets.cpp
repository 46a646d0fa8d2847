// SPDX-License-Identifier: Apache-2.0
// Lists and opens the datasets of a file, also through links.
#include <algorithm>
#include <set>
#include <utility>

#include "io/hdf5/hdf5_impl.hpp"
#include "io/hdf5/hdf5_links.hpp"
#include "io/hdf5/hdf5_mapping.hpp"
#include "kernels/base/check.hpp"

namespace triax::hdf5 {
namespace {

using Identity =
    std::pair<unsigned long, haddr_t>;  // of an object: number of its file, address in it

Identity identity_of(const H5O_info_t& info) {
  return {info.fileno, info.addr};
}

/// Result of a walk through a file.
struct Found {
  std::vector<std::string> datasets;
  std::set<Identity> seen;
  std::vector<Handle> linked;  // stay open: a reopened file gets another number
  std::string prefix;          // of names in the group being visited
};

// H5Ovisit's callback: names of datasets, relative to the group.
herr_t add_object(hid_t, const char* name, const H5O_info_t* info, void* data) {
  auto& found = *static_cast<Found*>(data);
  if (found.seen.insert(identity_of(*info)).second && info->type == H5O_TYPE_DATASET)
    found.datasets.push_back(found.prefix + name);
  return 0;
}

// H5Lvisit's callback: names of all links below the group.
herr_t add_link(hid_t, const char* name, const H5L_info_t*, void* names) {
  static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}

// H5Lvisit's callback: names of soft and external links.
herr_t add_named_link(hid_t, const char* name, const H5L_info_t* info, void* names) {
  if (info->type == H5L_TYPE_SOFT || info->type == H5L_TYPE_EXTERNAL)
    static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}

// Where the listing of a damaged group ends: the object that does not open, or the last one listed.
std::string damaged_place(hid_t parent) {
  std::vector<std::string> links;
  (void)H5Lvisit(parent, H5_INDEX_NAME, H5_ITER_NATIVE, add_link, &links);
  for (const std::string& link : links)
    if (!Handle(H5Oopen(parent, link.c_str(), H5P_DEFAULT), H5Oclose))
      return fmt::format(", of which {} does not open", link);
  return links.empty() ? "" : fmt::format(", the last that is listed is {}", links.back());
}

// False where HDF5 cannot list what is below the group.
bool visit(hid_t group, Found& found) {
  return H5Ovisit(group, H5_INDEX_NAME, H5_ITER_NATIVE, add_object, &found) >= 0;
}

// Adds the datasets that only links lead to. A link that leads nowhere is listed too: opening it
// gives the error.
bool follow_links(hid_t group, Found& found) {
  const std::string prefix = found.prefix;
  std::vector<std::string> links;
  if (H5Lvisit(group, H5_INDEX_NAME, H5_ITER_INC, add_named_link, &links) < 0) return false;
  for (const std::string& link : links) {
    Handle object(H5Oopen(group, link.c_str(), H5P_DEFAULT), H5Oclose);
    H5O_info_t info{};
    if (!object || H5Oget_info(object.id(), &info) < 0) {
      found.datasets.push_back(prefix + link);
      continue;
    }
    if (found.seen.contains(identity_of(info))) continue;
    if (info.type == H5O_TYPE_GROUP) {
      found.prefix = prefix + link + '/';
      if (!visit(object.id(), found) || !follow_links(object.id(), found)) return false;
    } else if (info.type == H5O_TYPE_DATASET) {
      found.datasets.push_back(prefix + link);
    }
    found.seen.insert(identity_of(info));
    found.linked.push_back(std::move(object));
  }
  return true;
}

}  // namespace

Handle File::Impl::dataset(const std::string& name) const {
  std::string why;
  try {
    return open_dataset(file.id(), name);
  } catch (const LinkError& error) {
    throw Error(fmt::format("cannot open dataset {} in {}", name, path),
                fmt::format("it is behind an external link: {}", error.what()));
  } catch (const Error& error) {
    why = error.what();
  }
  if (const LinkTarget link = target_of_link(file.id(), name); !link.object.empty())
    throw Error(
        fmt::format("cannot open dataset {} in {}", name, path),
        fmt::format("it is a link to {}, which does not open as a dataset; {}", link.text(), why),
        "Bring the dataset to where the link leads, or store it in the file itself");
  fail("open dataset", name, why);
}

bool File::exists(const std::string& name) const {
  const auto lock = library_lock();
  return has_link(name) && H5Oexists_by_name(impl_->file.id(), name.c_str(), H5P_DEFAULT) > 0;
}

bool File::has_link(const std::string& name) const {
  const auto lock = library_lock();
  // H5Lexists checks the last link of a path; the links before it must exist.
  for (std::size_t end = 0; end != name.npos;) {
    end = name.find('/', end + 1);
    const std::string part = name.substr(0, end);
    if (part == "/" || part.empty()) continue;
    if (H5Lexists(impl_->file.id(), part.c_str(), H5P_DEFAULT) <= 0) return false;
  }
  return true;
}

bool File::is_group(const std::string& name) const {
  const auto lock = library_lock();
  const Handle object(H5Oopen(impl_->file.id(), name.c_str(), H5P_DEFAULT), H5Oclose);
  return object && H5Iget_type(object.id()) == H5I_GROUP;
}

std::vector<std::string> File::datasets(const std::string& group) const {
  const auto lock = library_lock();
  Found found;
  if (!exists(group)) return {};
  const Handle parent = impl_->object(group);
  found.prefix = group.ends_with('/') ? group : group + '/';
  if (!visit(parent.id(), found) || !follow_links(parent.id(), found))
    impl_->require(false, "list the datasets of", group + damaged_place(parent.id()));
  std::ranges::sort(found.datasets);
  return std::move(found.datasets);
}

}  // namespace triax::hdf5
