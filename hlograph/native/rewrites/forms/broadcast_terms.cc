#include "hlograph/native/rewrites/forms/broadcast_terms.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "hlograph/native/rewrites/forms/forms.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;
using Numbers = std::vector<int64_t>;

bool Has(const Numbers& numbers, int64_t number) {
  return std::binary_search(numbers.begin(), numbers.end(), number);
}

int64_t PlaceIn(const Numbers& numbers, int64_t number) {
  return std::lower_bound(numbers.begin(), numbers.end(), number) - numbers.begin();
}

Numbers PlacesIn(const Numbers& numbers, const Numbers& of) {
  Numbers places;
  for (int64_t number : of) places.push_back(PlaceIn(numbers, number));
  return places;
}

// An array with the dimensions of the whole that it has.
struct Part {
  Instruction* array = nullptr;
  Numbers dimensions;
};

class TermBuilder {
 public:
  TermBuilder(Instruction* reduce, const BroadcastSum& sum)
      : build_(reduce), sum_(sum), values_(sum.factors.size(), nullptr) {
    for (size_t i = 0; i < sum.sizes.size(); ++i) {
      if (!Has(sum.reduced, i)) kept_.push_back(i);
    }
  }

  Instruction* Build() {
    std::vector<Instruction*> plain, dots;
    const bool masks_result = MasksResult();
    const bool masks_groups = !masks_result && MasksGroups();
    for (const SumTerm& term : sum_.terms) {
      const std::vector<Group> groups = *GroupsOf(sum_, term);
      const bool is_dot = !ContractedOf(sum_, groups).empty();
      (is_dot ? dots : plain).push_back(OfTerm(term, groups, masks_groups));
    }
    Instruction* const squares = Added(nullptr, plain);
    Instruction* total = Added(squares, dots);
    if (sum_.is_square) {
      if (squares != nullptr && !dots.empty()) total = OrIfNaN(total, squares);
      total = build_.Binary(Opcode::kMaximum, total, build_.Uniform(total->shape(), 0));
    }
    return masks_result ? Masked({total, kept_}).array : total;
  }

 private:
  // Returns the total, if there is one, and the terms.
  Instruction* Added(Instruction* total, const std::vector<Instruction*>& terms) const {
    for (Instruction* term : terms) {
      total = total == nullptr ? term : build_.Binary(Opcode::kAdd, total, term);
    }
    return total;
  }

  // An infinite square less an infinite product is NaN, where the square of the difference is
  // infinite, as the squares are.
  Instruction* OrIfNaN(Instruction* total, Instruction* squares) const {
    Instruction* const is_number = build_.Compare(total, total, xla::ComparisonDirection::kEq);
    return build_.Select(is_number, total, squares);
  }

  Numbers SizesOf(const Numbers& dimensions) const {
    Numbers sizes;
    for (int64_t dimension : dimensions) sizes.push_back(sum_.sizes[dimension]);
    return sizes;
  }

  int64_t CountOf(const Numbers& dimensions) const {
    const Numbers sizes = SizesOf(dimensions);
    return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
  }

  Instruction* Spread(const Part& part, const Numbers& to) const {
    if (part.dimensions == to) return part.array;
    return build_.Broadcast(part.array, SizesOf(to), PlacesIn(to, part.dimensions));
  }

  Part Summed(const Part& part, const Numbers& over) const {
    if (over.empty()) return part;
    Instruction* const sum =
        build_.Reduce(Opcode::kAdd, part.array, PlacesIn(part.dimensions, over));
    return {sum, Without(part.dimensions, over)};
  }

  Instruction* Scaled(Instruction* array, double scale) const {
    if (scale == 1) return array;
    return build_.Binary(Opcode::kMultiply, array, build_.Uniform(array->shape(), scale));
  }

  // Zero on the diagonal. A product, so that what is not a number stays so.
  Part Masked(const Part& part) const {
    const xla::Shape whole = xla::ShapeUtil::MakeShape(xla::S32, part.array->shape().dimensions());
    Instruction* const apart =
        build_.Compare(build_.Iota(whole, PlaceIn(part.dimensions, sum_.diagonal->one)),
                       build_.Iota(whole, PlaceIn(part.dimensions, sum_.diagonal->other)),
                       xla::ComparisonDirection::kNe);
    Instruction* const mask = build_.Convert(apart, part.array->shape().element_type());
    return {build_.Binary(Opcode::kMultiply, part.array, mask), part.dimensions};
  }

  bool HasDiagonal(const Numbers& dimensions) const {
    return sum_.diagonal.has_value() && Has(dimensions, sum_.diagonal->one) &&
           Has(dimensions, sum_.diagonal->other);
  }

  bool MasksResult() const { return HasDiagonal(kept_); }

  // Only if each term can: the terms cancel each other on the diagonal.
  bool MasksGroups() const {
    return std::all_of(sum_.terms.begin(), sum_.terms.end(), [&](const SumTerm& term) {
      const std::vector<Group> groups = *GroupsOf(sum_, term);
      return std::any_of(groups.begin(), groups.end(),
                         [&](const Group& group) { return HasDiagonal(group.dimensions); });
    });
  }

  Instruction* ValueOf(int64_t number) {
    if (values_[number] != nullptr) return values_[number];
    const Factor& factor = sum_.factors[number];
    Instruction* value = const_cast<Instruction*>(factor.array);
    if (factor.centre != nullptr) {
      const Part centre{const_cast<Instruction*>(factor.centre),
                        Union(factor.centre_dimensions, factor.centre_reduced)};
      const Part mean =
          Summed(ShareOfMean(centre, CountOf(factor.centre_reduced)), factor.centre_reduced);
      value = build_.Binary(Opcode::kSubtract, value, Spread(mean, factor.dimensions));
    }
    if (factor.inverse) {
      value = build_.Binary(Opcode::kDivide, build_.Uniform(value->shape(), 1), value);
    }
    values_[number] = value;
    return value;
  }

  // What each element adds to a mean of so many. Infinite ones and NaNs add nothing, as a mean that
  // is not finite would spoil all differences to it; large ones are divided before they are summed.
  Part ShareOfMean(const Part& part, double count) {
    const xla::Shape& shape = part.array->shape();
    Instruction* const finite =
        build_.Compare(build_.Unary(Opcode::kAbs, part.array),
                       build_.Uniform(shape, std::numeric_limits<double>::infinity()),
                       xla::ComparisonDirection::kLt);
    return {build_.Select(finite, Scaled(part.array, 1.0 / count), build_.Uniform(shape, 0)),
            part.dimensions};
  }

  Part OfGroup(const Group& group) {
    Instruction* product = nullptr;
    for (int64_t number : group.factors) {
      Instruction* const value =
          Spread({ValueOf(number), sum_.factors[number].dimensions}, group.dimensions);
      product = product == nullptr ? value : build_.Binary(Opcode::kMultiply, product, value);
    }
    return {product, group.dimensions};
  }

  // Of the dimensions that are kept.
  Instruction* OfTerm(const SumTerm& term, const std::vector<Group>& groups, bool masks) {
    const Numbers contracted = ContractedOf(sum_, groups);
    Numbers elsewhere = sum_.reduced;  // dimensions that nothing varies along
    std::vector<Part> parts;
    for (const Group& group : groups) {
      Part part = OfGroup(group);
      if (masks && HasDiagonal(part.dimensions)) part = Masked(part);
      elsewhere = Without(elsewhere, group.dimensions);
      parts.push_back(Summed(part, Without(Common(group.dimensions, sum_.reduced), contracted)));
    }
    const double scale = term.scale * CountOf(elsewhere);
    if (parts.empty()) {
      parts.push_back({build_.Scalar(build_.place()->shape().element_type(), 1), {}});
    }
    const auto smallest =
        std::min_element(parts.begin(), parts.end(), [&](const Part& one, const Part& other) {
          return CountOf(one.dimensions) < CountOf(other.dimensions);
        });
    smallest->array = Scaled(smallest->array, scale);
    if (parts.size() == 1) return Spread(parts.front(), kept_);
    if (contracted.empty()) {
      return build_.Binary(Opcode::kMultiply, Spread(parts[0], kept_), Spread(parts[1], kept_));
    }
    return Spread(DotOf(parts[0], parts[1], contracted), kept_);
  }

  Part DotOf(Part lhs, Part rhs, const Numbers& contracted) const {
    const Numbers common = Common(lhs.dimensions, rhs.dimensions);
    const Numbers batch = Without(common, contracted);
    Numbers left = Without(lhs.dimensions, common), right = Without(rhs.dimensions, common);
    if (left > right && !right.empty()) {  // the result in the order of the whole
      std::swap(lhs, rhs);
      std::swap(left, right);
    }
    xla::DotDimensionNumbers numbers;
    for (int64_t dimension : batch) {
      numbers.add_lhs_batch_dimensions(PlaceIn(lhs.dimensions, dimension));
      numbers.add_rhs_batch_dimensions(PlaceIn(rhs.dimensions, dimension));
    }
    for (int64_t dimension : contracted) {
      numbers.add_lhs_contracting_dimensions(PlaceIn(lhs.dimensions, dimension));
      numbers.add_rhs_contracting_dimensions(PlaceIn(rhs.dimensions, dimension));
    }
    Instruction* const dot =
        build_.Dot(lhs.array, rhs.array, numbers, lhs.array->shape().element_type());
    Numbers order = batch;
    order.insert(order.end(), left.begin(), left.end());
    order.insert(order.end(), right.begin(), right.end());
    Numbers sorted = order;
    std::sort(sorted.begin(), sorted.end());
    Numbers permutation;
    for (int64_t dimension : sorted) {
      permutation.push_back(std::find(order.begin(), order.end(), dimension) - order.begin());
    }
    return {build_.Transpose(dot, permutation), sorted};
  }

  Builder build_;
  const BroadcastSum& sum_;
  Numbers kept_;
  std::vector<Instruction*> values_;
};

}  // namespace

Instruction* BuildBroadcastSum(Instruction* reduce, const BroadcastSum& sum) {
  return TermBuilder(reduce, sum).Build();
}

}  // namespace hlograph
