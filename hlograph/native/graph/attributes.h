// Fills the attribute columns of a graph.
#ifndef HLOGRAPH_NATIVE_GRAPH_ATTRIBUTES_H_
#define HLOGRAPH_NATIVE_GRAPH_ATTRIBUTES_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "hlograph/native/graph/columns.h"
#include "hlograph/native/graph/instruction_attributes.h"

namespace hlograph {

// Appends the attributes of nodes to the columns of a graph.
class AttributeColumns : public AttributeSink {
 public:
  AttributeColumns(GraphColumns& columns, size_t nodes);

  // The attributes after this are those of the next node.
  void FinishNode();
  void Ints(AttributeKey key, absl::Span<const int64_t> values) override;
  void Text(AttributeKey key, absl::string_view text) override;

 private:
  GraphColumns& columns_;
  absl::flat_hash_map<std::string, int64_t> string_index_;
};

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_GRAPH_ATTRIBUTES_H_
