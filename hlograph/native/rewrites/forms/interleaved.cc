#include "hlograph/native/rewrites/forms/interleaved.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/patterns.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;

// Returns true if a pad puts the elements at every second index from `start`, and elsewhere what
// does not change others that it is joined with.
bool IsSpread(const Instruction* pad, Opcode join, int64_t dimension, int64_t start) {
  if (pad->opcode() != Opcode::kPad || !IsPlain(pad) || !IsPlain(pad->operand(0)) ||
      RankOf(pad->operand(0)) != RankOf(pad) || !IsNeutral(pad->operand(1), join) ||
      pad->padding_config().dimensions_size() != RankOf(pad)) {
    return false;
  }
  for (int i = 0; i < pad->padding_config().dimensions_size(); ++i) {
    const auto& padding = pad->padding_config().dimensions(i);
    const int64_t size = SizeAlong(pad->operand(0), i), length = SizeAlong(pad, i);
    const bool is_along = i == dimension;
    const int64_t low = is_along ? start : 0, interior = is_along ? 1 : 0;
    if (padding.edge_padding_low() != low || padding.interior_padding() != interior ||
        size != (is_along ? (length - start + 1) / 2 : length)) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::optional<Interleaved> FindInterleaved(const Instruction* joined) {
  const Opcode join = joined->opcode();
  if ((join != Opcode::kAdd && join != Opcode::kOr) || !IsPointwise(joined) ||
      (joined->shape().element_type() == xla::PRED) != (join == Opcode::kOr)) {
    return std::nullopt;
  }
  for (int side : {0, 1}) {
    const Instruction* const even = joined->operand(side);
    const Instruction* const odd = joined->operand(1 - side);
    for (int64_t i = 0; i < RankOf(joined); ++i) {
      if (SizeAlong(joined, i) > 1 && IsSpread(even, join, i, 0) && IsSpread(odd, join, i, 1)) {
        return Interleaved{i, even->operand(0), odd->operand(0)};
      }
    }
  }
  return std::nullopt;
}

bool IsAlong(const Instruction* slice, int64_t dimension) {
  if (!IsSlice(slice) || dimension >= RankOf(slice)) return false;
  for (int64_t i = 0; i < RankOf(slice); ++i) {
    if (i != dimension && SizeAlong(slice, i) != SizeAlong(slice->operand(0), i)) return false;
  }
  return true;
}

std::pair<const Instruction*, const Instruction*> SplitEven(const Interleaved& parts) {
  if (!IsConcatenate(parts.even) || parts.even->concatenate_dimension() != parts.dimension) {
    return {parts.even, nullptr};
  }
  std::vector<const Instruction*> pieces;
  for (const Instruction* piece : parts.even->operands()) {
    if (SizeAlong(piece, parts.dimension) > 0) pieces.push_back(piece);
  }
  if (pieces.size() == 1) return {pieces[0], nullptr};
  if (pieces.size() != 2 || SizeAlong(pieces[0], parts.dimension) != 1) return {nullptr, nullptr};
  return {pieces[0], pieces[1]};
}

int64_t SizeAlong(const Instruction* array, int64_t dimension) {
  return array->shape().dimensions(dimension);
}

}  // namespace hlograph
