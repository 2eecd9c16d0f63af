#include "hlograph/native/graph/attributes.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "hlograph/native/graph/columns.h"
#include "hlograph/native/graph/instruction_attributes.h"

namespace hlograph {

AttributeColumns::AttributeColumns(GraphColumns& columns, size_t nodes) : columns_(columns) {
  columns_.attribute_offsets.reserve(nodes + 1);
  columns_.attribute_key.reserve(nodes);
  columns_.value_offsets.reserve(nodes);
  columns_.attribute_values.reserve(2 * nodes);
  columns_.attribute_offsets.push_back(0);
  columns_.value_offsets.push_back(0);
}

void AttributeColumns::FinishNode() {
  columns_.attribute_offsets.push_back(columns_.attribute_key.size());
}

void AttributeColumns::Ints(AttributeKey key, absl::Span<const int64_t> values) {
  columns_.attribute_key.push_back(static_cast<uint8_t>(key));
  columns_.attribute_values.insert(columns_.attribute_values.end(), values.begin(), values.end());
  columns_.value_offsets.push_back(columns_.attribute_values.size());
}

void AttributeColumns::Text(AttributeKey key, absl::string_view text) {
  auto it = string_index_.find(text);
  if (it == string_index_.end()) {
    it = string_index_.emplace(text, columns_.strings.size()).first;
    columns_.strings.emplace_back(text);
  }
  Ints(key, {&it->second, 1});
}

}  // namespace hlograph
