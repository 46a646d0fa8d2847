// SPDX-License-Identifier: Apache-2.0
#pragma once
// Windows of keys: which query sees which key, and which tiles a kernel visits. A query of a window
// of w keys sees its own key and the w - 1 before it.
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

}  // namespace triax::cuda
