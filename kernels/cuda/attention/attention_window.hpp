// SPDX-License-Identifier: Apache-2.0
#pragma once
// Windows of keys and documents: which query sees which key, and which tiles a kernel visits. A
// query of a window of w keys sees its own key and the w - 1 before it; at position p of its
// document, the p before it at most.
#include <cstdint>

namespace triax::cuda {

/// Rows `begin` to `end` - 1.
struct RowRange {
  int begin;
  int end;
};

/// Sight of queries in causal attention. limited = false: they see all earlier keys, and `size` is
/// not read, so kernels without a window carry no code for one. Sums below cannot overflow for
/// sizes up to the length and lengths below 2^30 (AttentionTask).
template <bool limited>
struct KeyWindow {
  int size;  // keys that a query sees, its own included; at least 1

  constexpr bool sees(int query, int key) const {
    if constexpr (!limited) return key <= query;
    return key <= query && query - key < size;
  }

  /// Whether a query of a tile sees a key of another tile, and whether one does not.
  constexpr bool sees_some(const RowRange& queries, const RowRange& keys) const {
    if constexpr (!limited) return keys.begin < queries.end;
    return keys.begin < queries.end && queries.begin - (keys.end - 1) < size;
  }
  constexpr bool hides_some(const RowRange& queries, const RowRange& keys) const {
    if constexpr (!limited) return keys.end > queries.begin;
    return keys.end > queries.begin || queries.end - 1 - keys.begin >= size;
  }

  /// First row of the first key tile that queries from `query` on see. Key tiles begin at multiples
  /// of `rows`.
  constexpr int first_tile(int query, int rows) const {
    if (!limited || query < size) return 0;
    return (query - size + 1) / rows * rows;
  }
  /// End of the queries that see a key of a tile.
  constexpr int queries_end(const RowRange& keys, int length) const {
    if (!limited || length - keys.end < size) return length;
    return keys.end - 1 + size;
  }
};

/// KeyWindow of the queries of one sample that holds several documents. The first key that a query
/// sees never decreases from one query to the next.
struct DocumentWindow {
  int size;                       // as in KeyWindow
  int length;                     // of the sample
  const std::int32_t* positions;  // of tokens in their documents, of all samples
  int begin;                      // of the sample's

  /// Rows behind the sample see as its last one does.
  constexpr int first_key(int query) const {
    const int row = query < length ? query : length - 1;
    const int before = positions[begin + row];
    return row - (before < size ? before : size - 1);
  }
  constexpr bool sees(int query, int key) const { return key <= query && key >= first_key(query); }
  constexpr bool sees_some(const RowRange& queries, const RowRange& keys) const {
    return keys.begin < queries.end && first_key(queries.begin) < keys.end;
  }
  constexpr bool hides_some(const RowRange& queries, const RowRange& keys) const {
    return keys.end > queries.begin || first_key(queries.end - 1) > keys.begin;
  }
  constexpr int first_tile(int query, int rows) const { return first_key(query) / rows * rows; }
  /// By bisection: query `low` sees a key of the tile, query `high` does not or does not exist.
  constexpr int queries_end(const RowRange& keys, int end) const {
    int low = keys.begin;
    int high = end;
    while (high - low > 1) {
      const int middle = low + (high - low) / 2;
      if (first_key(middle) < keys.end)
        low = middle;
      else
        high = middle;
    }
    return high;
  }
};

}  // namespace triax::cuda
