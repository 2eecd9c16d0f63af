// An encoder of graphs by layers of GATv2 and pooling, computed once for each distinct
// neighbourhood.
//
// The vectors of all colours of a refinement are kept, so that graphs which are added to it cost
// what is new in them. Knows neither XLA nor Python.
#ifndef HLOGRAPH_NATIVE_KERNELS_ENCODER_H_
#define HLOGRAPH_NATIVE_KERNELS_ENCODER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "hlograph/native/kernels/attention.h"
#include "hlograph/native/kernels/dense.h"
#include "hlograph/native/kernels/pooling.h"
#include "hlograph/native/kernels/projection.h"
#include "hlograph/native/kernels/refinement.h"
#include "hlograph/native/kernels/weighted_sums.h"

namespace hlograph {

// Matrix that grows by rows in amortised constant time; new rows are not initialised.
class GrowingRows {
 public:
  explicit GrowingRows(int64_t width) : width_(width) {}

  int64_t size() const { return size_; }
  int64_t width() const { return width_; }
  const float* data() const { return values_.get(); }
  // Adds rows and returns the first one; what was returned before is invalid then.
  float* Extend(int64_t count);

 private:
  int64_t width_;
  int64_t size_ = 0;
  int64_t capacity_ = 0;
  std::unique_ptr<float[]> values_;
};

// Vectors by an id in a column of a node's row.
struct Embedding {
  std::vector<float> vectors;  // [ids, width]
  int64_t ids = 0;
};

// What a node is before the first layer: a sum of embeddings of its first columns, and a layer of
// the others.
struct NodeInput {
  std::vector<Embedding> embeddings;
  DenseLayer features;  // without outputs if the other columns are not seen
};

// A layer of GATv2: x + gelu(attention(norm(x))).
struct EncoderLayer {
  Projection projection;      // as source, then as target
  std::vector<float> label;   // [labels, width]
  std::vector<float> weight;  // [width]
  std::vector<float> bias;    // [width]
};

// Sums over the nodes of a graph, and what is made of them.
struct GraphPooling {
  Projection projection;  // to the columns of PoolingShape
  PoolingShape shape;     // with further gates beyond the heads, the first of which counts nodes
  float count_scale = 1.0f;
};

class GraphEncoder {
 public:
  // All layers have the same heads, and `label` as many rows as there are labels that are seen.
  GraphEncoder(NodeInput input, std::vector<EncoderLayer> layers, const AttentionShape& attention,
               GraphPooling pooling);

  // Encodes the colours that a refinement has and this one has not. It is always the same one, of
  // as many rounds as layers.
  // Throws std::out_of_range if the id of a row has no vector.
  void Extend(const Refinement& refinement);

  // The vectors of the last round's colours, [colours, width].
  const GrowingRows& nodes() const { return nodes_.back(); }
  // Length of a graph's vector.
  int64_t graph_width() const { return pooling_.shape.heads * pooling_.shape.width + counts(); }
  // Writes the vectors [sums, graph_width] of graphs by their nodes' last colours, encoded ones.
  void EncodeGraphs(const WeightedEntries& members, float* out);

 private:
  int64_t counts() const { return pooling_.shape.kinds + 1; }
  void ExtendInput(const WordTable& rows);
  void ExtendSources(size_t layer);
  void ExtendLayer(size_t layer, const RoundColours& colours);
  void ExtendTerms();

  NodeInput input_;
  std::vector<EncoderLayer> layers_;
  AttentionShape attention_;
  GraphPooling pooling_;
  std::vector<GrowingRows> nodes_;    // by round, one more than layers
  std::vector<GrowingRows> sources_;  // by layer: nodes projected as source and as target
  GrowingRows terms_;                 // of the last round's colours
  std::vector<float> scratch_;
  std::vector<float> shares_;
};

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_KERNELS_ENCODER_H_
