// SPDX-License-Identifier: Apache-2.0
#include "io/hdf5/hdf5_sources.hpp"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include "io/hdf5/hdf5_impl.hpp"
#include "kernels/base/check.hpp"

namespace triax::hdf5 {
namespace {

// Each open source has a chunk cache and a metadata cache, about 1 MiB.
constexpr std::size_t most_open = 64;
// Depth of nested virtual datasets; a deeper one is a cycle.
constexpr int deepest = 16;

constexpr const char* no_source = "it names no source for them";

std::string name_of(const Mapping& mapping, const std::string& path) {
  return fmt::format("its source, dataset {} of {},", mapping.dataset, path);
}

// Projects `part`, a subset of the selection `from`, to the selection `to`: both selections are
// matched in row-major order.
Handle image_of(const Handle& from, const Handle& to, const Handle& part) {
  const bool scalar = extents_of(from.id()).empty() || extents_of(to.id()).empty();
  Handle image(
      scalar ? H5Scopy(to.id()) : H5Sselect_project_intersection(from.id(), to.id(), part.id()),
      H5Sclose);
  check(static_cast<bool>(image), "HDF5 refuses the image of a selection: {}", last_error());
  return image;
}

void remove_elements(Handle& all, const Handle& part) {
  if (count_of(all.id()) == 0 || count_of(part.id()) == 0) return;
  const bool ok = extents_of(all.id()).empty()
                      ? H5Sselect_none(all.id()) >= 0
                      : H5Smodify_select(all.id(), H5S_SELECT_NOTB, part.id()) >= 0;
  check(ok, "HDF5 refuses the rest of a selection: {}", last_error());
}

// No element of a dataset of this size.
Handle nothing_of(const Handle& space) {
  Handle none(H5Scopy(space.id()), H5Sclose);
  check(none && H5Sselect_none(none.id()) >= 0, "HDF5 refuses a selection: {}", last_error());
  return none;
}

void refuse_circles(int depth) {
  if (depth > deepest) throw Error("its sources are virtual datasets in a cycle");
}

}  // namespace

OpenSet open_set(Handle file, Handle set) {
  OpenSet out;
  out.layout = layout_of(set.id());
  out.path = path_of(set.id());
  out.length = FileLength(out.path);
  out.file = std::move(file);
  out.set = std::move(set);
  return out;
}

Handle Sources::file_at(const std::string& path, const OpenSet& from) const {
  if (path == from.path) return {H5Iget_file_id(from.set.id()), H5Fclose};
  const auto found = std::ranges::find(recent_, path, [](const auto& set) { return set->path; });
  if (found != recent_.end()) return {H5Iget_file_id((*found)->set.id()), H5Fclose};
  if (const std::string why = why_unreadable(path); !why.empty()) throw Error(why);
  return open_to_read(path);
}

std::shared_ptr<OpenSet> Sources::open(const OpenSet& from, const Mapping& mapping) {
  const std::string key = fmt::format("{}\n{}\n{}", from.path, mapping.file, mapping.dataset);
  const auto found = std::ranges::find(recent_, key, [](const auto& set) { return set->key; });
  if (found != recent_.end()) {
    std::rotate(found, found + 1, recent_.end());
    return recent_.back();
  }
  const std::string path =
      mapping.file == "." ? from.path : path_of_source(from.path, mapping.file);
  Handle file;
  Handle set;
  try {
    file = file_at(path, from);
    set = open_dataset(file.id(), mapping.dataset);
  } catch (const Error& error) {
    throw Error(fmt::format("{} cannot be read: {}", name_of(mapping, path), error.what()));
  }
  if (recent_.size() >= most_open) {
    if (recent_.front()->was_read) recent_.front()->length.check();
    recent_.erase(recent_.begin());
  }
  recent_.push_back(std::make_shared<OpenSet>(open_set(std::move(file), std::move(set))));
  recent_.back()->key = key;
  return recent_.back();
}

Sources::Source Sources::find(const OpenSet& from, const Mapping& mapping) {
  Source found;
  found.set = open(from, mapping);
  found.fit = fit(mapping, found.set->set.id());
  if (!found.fit.ok)
    throw Error(
        fmt::format("{} lacks elements that are read from it", name_of(mapping, found.set->path)));
  return found;
}

void Sources::check_lengths() {
  for (const auto& set : recent_)
    if (std::exchange(set->was_read, false)) set->length.check();
}

void Sources::read(OpenSet& from, hid_t type, hid_t memory, hid_t selection, void* to, int depth) {
  from.was_read = true;
  if (!from.layout.is_virtual) {
    if (H5Dread(from.set.id(), type, memory, selection, H5P_DEFAULT, to) < 0)
      throw Error(last_error());
    return;
  }
  refuse_circles(depth);
  const Handle wanted = hyperslab_of(selection);
  const Handle places = hyperslab_of(memory);
  const Bounds bounds = bounds_of(wanted.id());
  hsize_t done = 0;
  for (const Mapping& mapping : from.layout.mappings) {
    if (!meet(mapping.bounds, bounds)) continue;
    const Source found = find(from, mapping);
    const hsize_t common = count_of(common_elements(wanted.id(), found.fit.target.id()).id());
    if (common == 0) continue;
    const Handle here = image_of(wanted, places, found.fit.target);
    const Handle there = image_of(found.fit.target, found.fit.source, wanted);
    read(*found.set, type, here.id(), there.id(), to, depth + 1);
    done += common;
  }
  if (done < count_of(wanted.id())) throw Error(no_source);
}

Gap Sources::gap(OpenSet& from, hid_t selection, bool to_end, int depth) {
  if (!from.layout.is_virtual) return gap_of_storage(from.set.id(), selection);
  Gap gap = gap_of_mappings(from, selection, to_end, depth);
  if (to_end && gap.why.empty()) gap.why = why_short(from);
  return gap;
}

Gap Sources::gap_of_mappings(OpenSet& from, hid_t selection, bool to_end, int depth) {
  refuse_circles(depth);
  const Handle wanted = hyperslab_of(selection);
  const Bounds bounds = bounds_of(wanted.id());
  Handle rest = hyperslab_of(selection);  // elements of no mapping
  Gap gap;
  for (const Mapping& mapping : from.layout.mappings) {
    // The dataset's size follows from such a source.
    const bool endless = to_end && mapping.endless_target >= 0;
    if (!meet(mapping.bounds, bounds) && !endless) continue;
    Handle common = common_elements(wanted.id(), mapping.target.id());
    Source found;
    try {
      found = find(from, mapping);
    } catch (const Error& error) {
      gap.add_end(count_of(common.id()), error.what());
    }
    if (found.set) common = common_elements(wanted.id(), found.fit.target.id());
    if (found.set && (endless || count_of(common.id()) > 0)) {
      const Handle there = count_of(common.id()) > 0
                               ? image_of(found.fit.target, found.fit.source, wanted)
                               : nothing_of(found.fit.source);
      const Gap inner = this->gap(*found.set, there.id(), endless, depth + 1);
      if (!inner.why.empty())
        gap.add_end(inner.elements, fmt::format("{} is not whole: {}",
                                                name_of(mapping, found.set->path), inner.why));
    }
    remove_elements(rest, common);
  }
  gap.add(count_of(rest.id()), no_source);
  return gap;
}

std::string Sources::why_short(const OpenSet& from) {
  const std::string missing = why_next_is_missing(from);
  const int d = from.layout.shrunk();
  if (d < 0) return missing;
  const auto at = static_cast<std::size_t>(d);
  return fmt::format("it was stored with size {} and has size {} now: {}", from.layout.stored[at],
                     from.layout.current[at], missing.empty() ? shortest_source(from) : missing);
}

std::string Sources::why_next_is_missing(const OpenSet& from) {
  const bool shrunk = from.layout.shrunk() >= 0;
  for (const NumberedSources& numbered : from.layout.numbered) {
    const std::string later = later_file(from.path, numbered);
    if (!shrunk && numbered.count > 0 && later.empty()) continue;
    try {
      (void)open(from, numbered.next());
    } catch (const Error& error) {
      const bool other =
          !later.empty() && std::string_view(error.what()).find(later) == std::string_view::npos;
      return error.what() + (other ? fmt::format("; there is {}", later) : "");
    }
  }
  return {};
}

// The source whose elements end first in the dataset.
std::string Sources::shortest_source(const OpenSet& from) {
  std::string name = "its sources are shorter";
  hsize_t lowest = std::numeric_limits<hsize_t>::max();
  for (const Mapping& mapping : from.layout.mappings) {
    if (mapping.endless_target < 0) continue;
    const Source found = find(from, mapping);
    const Bounds there = bounds_of(found.fit.target.id());
    const hsize_t end =
        there.empty ? 0 : there.high[static_cast<std::size_t>(mapping.endless_target)] + 1;
    if (end >= lowest) continue;
    lowest = end;
    name = fmt::format("{} is shorter", name_of(mapping, found.set->path));
  }
  return name;
}

}  // namespace triax::hdf5
