// SPDX-License-Identifier: Apache-2.0
#pragma once
// A part of JSON Schema as a grammar: every text of the grammar is valid under the schema.
#include <nlohmann/json.hpp>

#include "src/inference/constraint/grammar.hpp"

namespace triax {

/// A value of `schema`, then `next`. Built are type (also a list), properties, required,
/// additionalProperties, items, minItems, maxItems, minLength, maxLength, pattern, format date,
/// time, date-time and uuid, enum, const, anyOf, allOf of one, and $ref within the schema, also
/// recursive. Properties come in the schema's order, and no others where a schema names some.
/// UsageError for all else, with its path.
Grammar::Node schema_node(const nlohmann::ordered_json& schema, Grammar& grammar,
                          Grammar::Node next);

}  // namespace triax
