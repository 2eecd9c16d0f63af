// A module as columns of arrays.
#ifndef HLOGRAPH_NATIVE_GRAPH_COLUMNS_H_
#define HLOGRAPH_NATIVE_GRAPH_COLUMNS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "hlograph/native/graph/graph.h"

namespace hlograph {

// The nodes and edges of a Graph in their order. Ragged columns are values with offsets (node i
// owns [offsets[i], offsets[i+1])).
struct GraphColumns {
  // By node.
  std::vector<uint8_t> node_type;
  std::vector<int16_t> opcode;        // index in the opcode vocabulary; -1: computation
  std::vector<uint8_t> element_type;  // xla::PrimitiveType
  std::vector<int64_t> elements;      // of an array, summed over a tuple's leaves
  std::vector<int64_t> bytes;
  std::vector<int32_t> computation;  // index among computations
  std::vector<uint8_t> is_root;
  std::vector<uint8_t> is_entry;
  std::vector<uint32_t> traits;  // bits, see traits.h
  std::vector<int64_t> dim_offsets;
  std::vector<int64_t> dim_size;
  std::vector<int64_t> dim_layout;      // minor to major, -1 where none is set
  std::vector<uint8_t> dim_is_dynamic;  // by dimension
  // Attributes: keys by node, values by attribute.
  std::vector<int64_t> attribute_offsets;
  std::vector<uint8_t> attribute_key;
  std::vector<int64_t> value_offsets;
  std::vector<int64_t> attribute_values;  // of a text attribute: its index in strings
  std::vector<std::string> strings;
  // By edge. The sources are followed by the targets: [2, edges] row by row.
  std::vector<int64_t> edge_index;
  std::vector<uint8_t> edge_type;
  std::vector<int32_t> edge_position;  // operand or called position; 0 otherwise
  // Names by node, one behind the other.
  std::vector<int64_t> name_offsets;
  std::vector<uint8_t> name_text;
};

// The arguments are those of BuildGraph.
GraphColumns ColumnsOf(const xla::HloModule& module, const OwnHashes& own_hashes,
                       FactsTable& table);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_GRAPH_COLUMNS_H_
