#include "hlograph/native/kernels/encoder.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "hlograph/native/kernels/lanes.h"

namespace hlograph {
namespace {

HLOGRAPH_FOR_EACH_PROCESSOR void AddRow(const float* from, int64_t width, float* to) {
  for (int64_t i = 0; i < width; i += kLanes) At(to + i) += At(from + i);
}

const float* VectorOf(const Embedding& embedding, float id, int64_t width) {
  if (!(id >= 0 && id < static_cast<float>(embedding.ids))) {
    throw std::out_of_range("a node with an id that has no vector");
  }
  return embedding.vectors.data() + static_cast<int64_t>(id) * width;
}

}  // namespace

float* GrowingRows::Extend(int64_t count) {
  if (size_ + count > capacity_) {
    capacity_ = std::max(size_ + count, 2 * capacity_);
    std::unique_ptr<float[]> grown(new float[capacity_ * width_]);
    if (size_ > 0) std::memcpy(grown.get(), values_.get(), size_ * width_ * sizeof(float));
    values_ = std::move(grown);
  }
  float* first = values_.get() + size_ * width_;
  size_ += count;
  return first;
}

GraphEncoder::GraphEncoder(NodeInput input, std::vector<EncoderLayer> layers,
                           const AttentionShape& attention, GraphPooling pooling)
    : input_(std::move(input)),
      layers_(std::move(layers)),
      attention_(attention),
      pooling_(std::move(pooling)),
      terms_(pooling_.shape.columns) {
  const int64_t width = attention.heads * attention.width;
  for (size_t round = 0; round <= layers_.size(); ++round) nodes_.emplace_back(width);
  for (size_t layer = 0; layer < layers_.size(); ++layer) sources_.emplace_back(2 * width);
}

void GraphEncoder::Extend(const Refinement& refinement) {
  ExtendInput(refinement.table(0));
  for (size_t layer = 0; layer < layers_.size(); ++layer) {
    ExtendSources(layer);
    ExtendLayer(layer, refinement.Round(static_cast<int>(layer) + 1, nodes_[layer + 1].size(),
                                        static_cast<int32_t>(attention_.labels)));
  }
  ExtendTerms();
}

void GraphEncoder::ExtendInput(const WordTable& rows) {
  GrowingRows& nodes = nodes_[0];
  const int64_t first = nodes.size(), count = rows.size() - first, width = nodes.width();
  if (count == 0) return;
  const int64_t stride = 2 * (rows.offsets()[first + 1] - rows.offsets()[first]);
  const float* row = reinterpret_cast<const float*>(rows.words().data() + rows.offsets()[first]);
  const int64_t ids = static_cast<int64_t>(input_.embeddings.size());
  scratch_.resize(std::max<size_t>(scratch_.size(), count * width));
  float* to = scratch_.data();
  if (input_.features.outputs() > 0) {
    input_.features.Apply(row + ids, stride, count, to);
  } else {
    std::fill_n(to, count * width, 0.0f);
  }
  for (int64_t i = 0; i < count; ++i, row += stride, to += width) {
    for (int64_t column = 0; column < ids; ++column) {
      AddRow(VectorOf(input_.embeddings[column], row[column], width), width, to);
    }
  }
  std::copy_n(scratch_.data(), count * width, nodes.Extend(count));
}

void GraphEncoder::ExtendSources(size_t layer) {
  const GrowingRows& nodes = nodes_[layer];
  GrowingRows& sources = sources_[layer];
  const int64_t first = sources.size(), count = nodes.size() - first;
  Project(layers_[layer].projection, nodes.data() + first * nodes.width(), count, 1,
          sources.Extend(count));
}

void GraphEncoder::ExtendLayer(size_t layer, const RoundColours& colours) {
  const EncoderLayer& of = layers_[layer];
  AttentionShape shape = attention_;
  shape.nodes = nodes_[layer].size();
  shape.rows = static_cast<int64_t>(colours.own.size());
  shape.edges = static_cast<int64_t>(colours.source.size());
  const AttentionInput input = {
      nodes_[layer].data(),   sources_[layer].data(), of.label.data(),
      of.weight.data(),       of.bias.data(),         colours.own.data(),
      colours.offsets.data(), colours.source.data(),  colours.label.data()};
  float* out = nodes_[layer + 1].Extend(shape.rows);
  scratch_.resize(std::max<size_t>(scratch_.size(), shape.rows * nodes_[layer].width()));
  shares_.resize(std::max<size_t>(shares_.size(), shape.edges * shape.heads));
  AttentionForward(shape, input, 1, {out, scratch_.data(), shares_.data()});
}

void GraphEncoder::ExtendTerms() {
  const GrowingRows& nodes = nodes_.back();
  PoolingShape shape = pooling_.shape;
  const int64_t first = terms_.size(), count = nodes.size() - first;
  float* out = terms_.Extend(count);
  Project(pooling_.projection, nodes.data() + first * nodes.width(), count, 1, out);
  shape.rows = count;
  PoolingTerms(shape, out, 1, out);
}

void GraphEncoder::EncodeGraphs(const WeightedEntries& members, float* out) {
  const PoolingShape& shape = pooling_.shape;
  const int64_t values = shape.heads * shape.width;
  scratch_.resize(std::max<size_t>(scratch_.size(), members.sums * shape.columns));
  WeightedSums(members, terms_.data(), shape.columns, 1, scratch_.data());
  for (int64_t graph = 0; graph < members.sums; ++graph, out += graph_width()) {
    const float* sum = scratch_.data() + graph * shape.columns;
    const float* weight = sum + values + shape.kinds;
    for (int64_t i = 0; i < values; ++i) out[i] = sum[i] / weight[i / shape.width];
    for (int64_t kind = 0; kind < shape.kinds; ++kind) {
      out[values + kind] = std::log1p(sum[values + kind]) * pooling_.count_scale;
    }
    out[values + shape.kinds] = std::log1p(weight[shape.heads]) * pooling_.count_scale;
  }
}

}  // namespace hlograph
