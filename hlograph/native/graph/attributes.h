// Fills the attribute columns of a graph.
#ifndef HLOGRAPH_NATIVE_GRAPH_ATTRIBUTES_H_
#define HLOGRAPH_NATIVE_GRAPH_ATTRIBUTES_H_

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "hlograph/native/graph/columns.h"
#include "hlograph/native/graph/instruction_attributes.h"

namespace xla {
class HloInstruction;
}  // namespace xla

namespace hlograph {

// Appends the attributes of instructions to the columns of a graph.
class AttributeColumns : public AttributeSink {
 public:
  explicit AttributeColumns(GraphColumns& columns) : columns_(columns) {}

  void AddInstruction(const xla::HloInstruction& instruction);
  void Ints(AttributeKey key, absl::Span<const int64_t> values) override;
  void Text(AttributeKey key, absl::string_view text) override;

 private:
  GraphColumns& columns_;
  absl::flat_hash_map<std::string, int64_t> string_index_;
};

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_GRAPH_ATTRIBUTES_H_
