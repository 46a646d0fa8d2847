// SPDX-License-Identifier: Apache-2.0
#include "io/hdf5/hdf5_mapping.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>

#include "io/hdf5/hdf5_links.hpp"
#include "kernels/base/check.hpp"

namespace triax::hdf5 {
namespace {

namespace fs = std::filesystem;

void require(bool ok) {
  check(ok, "HDF5 refuses a selection: {}", last_error());
}

Handle copy_of(hid_t space) {
  Handle copy(H5Scopy(space), H5Sclose);
  require(static_cast<bool>(copy));
  return copy;
}

/// Parameters of a regular hyperslab.
struct Slab {
  std::vector<hsize_t> start, stride, count, block;
};

std::optional<Slab> slab_of(hid_t space) {
  const auto n = static_cast<std::size_t>(std::max(0, H5Sget_simple_extent_ndims(space)));
  Slab slab;
  for (auto* numbers : {&slab.start, &slab.stride, &slab.count, &slab.block}) numbers->resize(n);
  if (n == 0 || H5Sget_select_type(space) != H5S_SEL_HYPERSLABS ||
      H5Sis_regular_hyperslab(space) <= 0 ||
      H5Sget_regular_hyperslab(space, slab.start.data(), slab.stride.data(), slab.count.data(),
                               slab.block.data()) < 0)
    return std::nullopt;
  return slab;
}

// The unlimited dimension of a selection; -1: none.
int endless_dimension(hid_t space) {
  const auto slab = slab_of(space);
  for (std::size_t d = 0; slab && d < slab->start.size(); ++d)
    if (slab->count[d] == H5S_UNLIMITED || slab->block[d] == H5S_UNLIMITED)
      return static_cast<int>(d);
  return -1;
}

// The selection clipped to indices below `end` in each dimension.
Handle cut(hid_t space, const std::vector<hsize_t>& end) {
  Handle out = copy_of(space);
  const std::vector<hsize_t> start(end.size());
  const bool empty = std::ranges::find(end, hsize_t{0}) != end.end();
  require(empty ? H5Sselect_none(out.id()) >= 0
                : H5Sselect_hyperslab(out.id(), H5S_SELECT_AND, start.data(), nullptr, end.data(),
                                      nullptr) >= 0);
  return out;
}

// Clips dimension `along` so that `count` selected elements remain (bisection). The selection fills
// all other dimensions.
Handle first_elements(const Handle& space, int along, hsize_t count) {
  std::vector<hsize_t> end = extents_of(space.id());
  hsize_t& changed = end[static_cast<std::size_t>(along)];
  hsize_t low = 0;
  hsize_t high = changed;
  while (low < high) {
    changed = low + (high - low) / 2;
    if (count_of(cut(space.id(), end).id()) < count)
      low = changed + 1;
    else
      high = changed;
  }
  changed = low;
  return cut(space.id(), end);
}

// Expands a source name: "%b" is the number of the hyperslab block in the virtual dataset, "%%" is
// '%'.
std::string with_number(const std::string& name, hsize_t number) {
  std::string out;
  for (std::size_t at = 0; at < name.size(); ++at) {
    const char next = name[at] == '%' && at + 1 < name.size() ? name[at + 1] : '\0';
    if (next == 'b') out += std::to_string(number);
    if (next == '%') out += '%';
    if (next == 'b' || next == '%')
      ++at;
    else
      out += name[at];
  }
  return out;
}

bool is_numbered(const std::string& name) {
  return with_number(name, 0) != with_number(name, 1);
}

// Appends one mapping per hyperslab block of an unlimited target whose source names contain "%b".
void append_numbered(const Mapping& all, int along, Layout& layout) {
  const auto slab = slab_of(all.target.id());
  const hsize_t end = extents_of(all.target.id())[static_cast<std::size_t>(along)];
  const auto d = static_cast<std::size_t>(along);
  check(slab.has_value(), "a numbered mapping without blocks");
  hsize_t block = 0;
  for (; slab->start[d] + block * slab->stride[d] < end; ++block) {
    Slab one = *slab;
    one.start[d] += block * one.stride[d];
    one.count[d] = 1;
    one.block[d] = std::min(one.block[d], end - one.start[d]);
    Mapping& mapping = layout.mappings.emplace_back();
    mapping.target = copy_of(all.target.id());
    require(H5Sselect_hyperslab(mapping.target.id(), H5S_SELECT_SET, one.start.data(),
                                one.stride.data(), one.count.data(), one.block.data()) >= 0);
    mapping.source = copy_of(all.source.id());
    mapping.bounds = bounds_of(mapping.target.id());
    mapping.file = with_number(all.file, block);
    mapping.dataset = with_number(all.dataset, block);
  }
  layout.numbered.push_back({all.file, all.dataset, block});
}

// `space`: current size of the virtual dataset; the mapping's own space has the size in the file.
void append(Mapping mapping, const Handle& space, Layout& layout) {
  const int along = mapping.endless_target = endless_dimension(mapping.target.id());
  if (along >= 0) layout.stored = extents_of(mapping.target.id());
  require(H5Sextent_copy(mapping.target.id(), space.id()) >= 0);
  if (along >= 0 && (is_numbered(mapping.file) || is_numbered(mapping.dataset)))
    return append_numbered(mapping, along, layout);
  mapping.target = along >= 0 ? cut(mapping.target.id(), extents_of(space.id()))
                              : hyperslab_of(mapping.target.id());
  mapping.endless_source = endless_dimension(mapping.source.id());
  mapping.bounds = bounds_of(mapping.target.id());
  mapping.file = with_number(mapping.file, 0);
  mapping.dataset = with_number(mapping.dataset, 0);
  layout.mappings.push_back(std::move(mapping));
}

// The number in `name`, a name that `pattern` gives for it; none for any other name.
std::optional<hsize_t> number_in(const std::string& name, const std::string& pattern) {
  const std::string zero = with_number(pattern, 0);
  const std::string one = with_number(pattern, 1);
  const auto at = static_cast<std::size_t>(std::ranges::mismatch(zero, one).in1 - zero.begin());
  hsize_t number = 0;
  const char* const end = name.data() + name.size();
  if (at >= name.size() || std::from_chars(name.data() + at, end, number).ec != std::errc{})
    return {};
  return with_number(pattern, number) == name ? std::optional(number) : std::nullopt;
}

}  // namespace

int Layout::shrunk() const {
  for (std::size_t d = 0; d < stored.size(); ++d)
    if (current[d] < stored[d]) return static_cast<int>(d);
  return -1;
}

Mapping NumberedSources::next() const {
  Mapping mapping;
  mapping.file = with_number(file, count);
  mapping.dataset = with_number(dataset, count);
  return mapping;
}

std::vector<hsize_t> extents_of(hid_t space) {
  std::vector<hsize_t> extents(
      static_cast<std::size_t>(std::max(0, H5Sget_simple_extent_ndims(space))));
  if (!extents.empty()) require(H5Sget_simple_extent_dims(space, extents.data(), nullptr) >= 0);
  return extents;
}

Handle hyperslab_of(hid_t space) {
  Handle out = copy_of(space);
  const std::vector<hsize_t> extents = extents_of(space);
  const std::vector<hsize_t> start(extents.size());
  if (!extents.empty() && H5Sget_select_type(space) == H5S_SEL_ALL)
    require(H5Sselect_hyperslab(out.id(), H5S_SELECT_SET, start.data(), nullptr, extents.data(),
                                nullptr) >= 0);
  return out;
}

Handle common_elements(hid_t first, hid_t second) {
  if (count_of(first) == 0 || extents_of(first).empty())
    return copy_of(first);  // empty, or a scalar
  if (count_of(second) == 0) return common_elements(second, first);
  // Not H5Scombine_select: HDF5 1.10.8 crashes in it where bounds meet and no element is common.
  Handle out = copy_of(first);
  require(H5Smodify_select(out.id(), H5S_SELECT_AND, second) >= 0);
  return out;
}

hsize_t count_of(hid_t space) {
  const hssize_t count = H5Sget_select_npoints(space);
  require(count >= 0);
  return static_cast<hsize_t>(count);
}

Bounds bounds_of(hid_t space) {
  Bounds out;
  out.empty = count_of(space) == 0;
  out.low = out.high = extents_of(space);
  if (!out.empty && !out.low.empty())
    require(H5Sget_select_bounds(space, out.low.data(), out.high.data()) >= 0);
  return out;
}

bool meet(const Bounds& a, const Bounds& b) {
  for (std::size_t d = 0; d < a.low.size(); ++d)
    if (a.high[d] < b.low[d] || b.high[d] < a.low[d]) return false;
  return !a.empty && !b.empty;
}

Handle open_dataset(hid_t file, const std::string& name) {
  // HDF5 takes the first missing numbered source for the end, unless one of the next `most_missing`
  // exists.
  constexpr hsize_t most_missing = 100;
  const Handle access(H5Pcreate(H5P_DATASET_ACCESS), H5Pclose);
  check(access && H5Pset_virtual_printf_gap(access.id(), most_missing) >= 0,
        "HDF5 refuses the access properties: {}", last_error());
  Handle set(H5Dopen2(file, name.c_str(), access.id()), H5Dclose);
  if (set) return set;
  const std::string why = last_error();
  if (const std::string behind = error_behind_links(file, name); !behind.empty())
    throw LinkError(behind);
  throw Error(why);
}

Layout layout_of(hid_t set) {
  const Handle creation(H5Dget_create_plist(set), H5Pclose);
  const hid_t list = creation.id();
  Layout layout;
  layout.is_virtual = creation && H5Pget_layout(list) == H5D_VIRTUAL;
  std::size_t count = 0;
  if (!layout.is_virtual) return layout;
  check(H5Pget_virtual_count(list, &count) >= 0, "no mappings: {}", last_error());
  const Handle space(H5Dget_space(set), H5Sclose);
  layout.current = extents_of(space.id());
  for (std::size_t i = 0; i < count; ++i) {
    Mapping mapping;
    mapping.target = Handle(H5Pget_virtual_vspace(list, i), H5Sclose);
    mapping.source = Handle(H5Pget_virtual_srcspace(list, i), H5Sclose);
    check(mapping.target && mapping.source, "no mapping {}: {}", i, last_error());
    mapping.file = text_of(
        [&](char* to, std::size_t size) { return H5Pget_virtual_filename(list, i, to, size); });
    mapping.dataset = text_of(
        [&](char* to, std::size_t size) { return H5Pget_virtual_dsetname(list, i, to, size); });
    append(std::move(mapping), space, layout);
  }
  return layout;
}

Fit fit(const Mapping& mapping, hid_t source_set) {
  const Handle actual(H5Dget_space(source_set), H5Sclose);
  require(static_cast<bool>(actual));
  const std::vector<hsize_t> extents = extents_of(actual.id());
  Fit out{copy_of(mapping.target.id()), copy_of(mapping.source.id())};
  if (H5Sget_select_type(mapping.source.id()) == H5S_SEL_ALL) {
    out.source = hyperslab_of(actual.id());  // the file does not store the source's size
  } else {
    if (extents_of(out.source.id()).size() != extents.size()) return out;
    require(H5Sextent_copy(out.source.id(), actual.id()) >= 0);
  }
  if (mapping.endless_source >= 0 && mapping.endless_target >= 0) {
    out.source = cut(out.source.id(), extents);
    const hsize_t asked = count_of(out.target.id());
    const hsize_t there = count_of(out.source.id());
    if (there > asked) out.source = first_elements(out.source, mapping.endless_source, asked);
    if (asked > there) out.target = first_elements(out.target, mapping.endless_target, there);
  }
  out.ok = H5Sselect_valid(out.source.id()) > 0 &&
           count_of(out.source.id()) == count_of(out.target.id());
  return out;
}

std::string path_of_source(const std::string& holder, const std::string& file) {
  std::error_code error;
  const fs::path named(file);
  const fs::path relative = named.is_absolute() ? named.filename() : named;
  const fs::path beside = fs::absolute(holder, error).parent_path() / relative;
  for (const fs::path& path : {named.is_absolute() ? named : beside, beside, relative})
    if (fs::exists(path, error)) return path.string();
  const fs::path real = fs::canonical(holder, error).parent_path() / relative;
  if (!error && fs::exists(real, error)) return real.string();
  return (named.is_absolute() ? named : beside).string();
}

std::string later_file(const std::string& holder, const NumberedSources& sources) {
  const std::string known =
      sources.count > 0 ? with_number(sources.file, sources.count - 1) : sources.next().file;
  const fs::path directory = fs::path(path_of_source(holder, known)).parent_path();
  const std::string pattern = fs::path(sources.file).filename().string();
  std::error_code error;
  std::string first;
  hsize_t lowest = 0;
  if (!is_numbered(pattern)) return {};
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    const auto number = number_in(entry->path().filename().string(), pattern);
    if (!number || *number < sources.count || (!first.empty() && *number > lowest)) continue;
    first = entry->path().string();
    lowest = *number;
  }
  return first;
}

}  // namespace triax::hdf5
