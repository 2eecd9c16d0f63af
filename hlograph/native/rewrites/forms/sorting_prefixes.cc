// Sorts of which only the first or last elements are used, by the top-k that XLA:CPU has for 32-bit
// floats.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "hlograph/native/rewrites/forms/comparators.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/forms/integer_keys.h"
#include "hlograph/native/rewrites/forms/sorting.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;

// A slice of one result of a sort, which may be reversed before.
struct Prefix {
  const Instruction* sort = nullptr;
  SortOrder order;
  int64_t output = 0;
  int64_t dimension = 0, length = 0;
  bool from_end = false;   // taken from the last elements
  bool backwards = false;  // the slice runs against the order in which the elements are taken
  int64_t count = 0;       // how many elements are taken
  int64_t start = 0, limit = 0, stride = 1;  // of the slice of them, in the order of the taken
};

std::optional<Prefix> FindPrefix(const Instruction* slice) {
  if (!IsSlice(slice) || SizeOf(slice) == 0) return std::nullopt;
  Prefix found;
  const Instruction* value = slice->operand(0);
  const Instruction* reverse = nullptr;
  if (value->opcode() == Opcode::kReverse) {
    reverse = value;
    value = value->operand(0);
  }
  found.sort = value;
  if (value->opcode() == Opcode::kGetTupleElement) {
    found.sort = value->operand(0);
    found.output = value->tuple_index();
    if (!found.sort->shape().IsTuple()) return std::nullopt;
  }
  const std::optional<SortOrder> order = FindOrder(found.sort);
  if (!order.has_value() || found.output < 0 || found.output >= found.sort->operand_count()) {
    return std::nullopt;
  }
  const Instruction* const operand = found.sort->operand(found.output);
  if (!SameArray(operand, slice->operand(0))) return std::nullopt;
  found.order = *order;
  found.dimension = found.sort->dimensions(0);
  found.length = operand->shape().dimensions(found.dimension);
  if (reverse != nullptr && (!IsPlain(reverse) || reverse->dimensions().size() != 1 ||
                             reverse->dimensions(0) != found.dimension)) {
    return std::nullopt;
  }
  // Positions in the order of the sort, the first and the last that is needed.
  const int64_t size = slice->shape().dimensions(found.dimension);
  found.stride = slice->slice_strides(found.dimension);
  int64_t first = slice->slice_starts(found.dimension);
  int64_t last = first + (size - 1) * found.stride;
  if (reverse != nullptr) {
    std::swap(first, last);
    first = found.length - 1 - first;
    last = found.length - 1 - last;
  }
  found.from_end = found.length - first < last + 1;
  if (found.from_end) {
    std::swap(first, last);
    first = found.length - 1 - first;
    last = found.length - 1 - last;
  }
  found.start = first;
  found.limit = found.count = last + 1;
  found.backwards = found.from_end != (reverse != nullptr);
  return found;
}

class SortPrefixAsTopK : public CalleeRule {
 public:
  using CalleeRule::CalleeRule;

  // Slice, reverse, element, sort, iota and its broadcast.
  Reach reach() const override { return {.operands = 5, .users = 0}; }

 protected:
  bool Matches(const Instruction* slice) const override {
    const std::optional<Prefix> prefix = FindPrefix(slice);
    if (!prefix.has_value() || prefix->length > kMaxRow || 2 * prefix->count > prefix->length) {
      return false;
    }
    const Instruction* const key = prefix->sort->operand(prefix->order.key);
    if (!HasKeys(key->shape().element_type(), 32)) return false;
    return IsStable(prefix->sort);
  }

  Instruction* Build(Instruction* slice) const override {
    const Prefix prefix = *FindPrefix(slice);
    const Builder builder(slice);
    Instruction* keys = AddRows(builder, slice, prefix, prefix.order.key);
    // The last of equal elements comes first then.
    if (prefix.from_end) keys = builder.Reverse(keys, {1});
    keys = builder.Convert(AddKeys(builder, keys, prefix.order), xla::S32);
    Instruction* const best = prefix.from_end ? keys : builder.Unary(Opcode::kNot, keys);
    Instruction* positions = builder.Element(AddTopK(builder, best, prefix.count), 1);
    if (prefix.from_end) {
      positions = builder.Binary(
          Opcode::kSubtract, AddUniform(builder, positions->shape(), prefix.length - 1), positions);
    }
    positions = builder.SliceOf(positions, 1, prefix.start, prefix.limit, prefix.stride);
    if (prefix.backwards) positions = builder.Reverse(positions, {1});
    return AddResult(builder, slice, prefix, positions);
  }

 private:
  // An operand of the sort as a matrix, of the rows that the slice keeps.
  static Instruction* AddRows(const Builder& builder, const Instruction* slice,
                              const Prefix& prefix, int64_t operand) {
    std::vector<int64_t> starts(slice->slice_starts()), limits(slice->slice_limits());
    std::vector<int64_t> strides(slice->slice_strides());
    starts[prefix.dimension] = 0;
    limits[prefix.dimension] = prefix.length;
    strides[prefix.dimension] = 1;
    Instruction* array = const_cast<Instruction*>(prefix.sort)->mutable_operand(operand);
    array = AddMoveToEnd(builder, builder.Slice(array, starts, limits, strides), prefix.dimension);
    const int64_t rows = ProductOf(array->shape().dimensions()) / prefix.length;
    return builder.Reshape(array, {rows, prefix.length});
  }

  static Instruction* AddResult(const Builder& builder, const Instruction* slice,
                                const Prefix& prefix, Instruction* positions) {
    Instruction* result = positions;
    if (IsPosition(prefix.sort->operand(prefix.output), prefix.dimension)) {
      result = builder.Convert(positions, slice->shape().element_type());
    } else {
      Instruction* const rows = AddRows(builder, slice, prefix, prefix.output);
      result = AddTakeAlong(builder, rows, positions);
    }
    const absl::Span<const int64_t> shape = slice->shape().dimensions();
    std::vector<int64_t> sizes(shape.begin(), shape.end());
    sizes.erase(sizes.begin() + prefix.dimension);
    sizes.push_back(shape[prefix.dimension]);
    return AddMoveFromEnd(builder, builder.Reshape(result, sizes), prefix.dimension);
  }
};

}  // namespace

const RuleTopic kSortingPrefixForms(304, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<SortPrefixAsTopK>(Identity{
      "sort-prefix-as-top-k", "first k of sort(x) = x at positions of top-k(keys of x)",
      "Selects the first or last elements of a sort by top-k, with equal elements in their order.",
      Numerics::kExact}));
});

}  // namespace hlograph
