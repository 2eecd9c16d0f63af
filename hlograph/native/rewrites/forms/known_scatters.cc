// Scatters to positions that follow from constants, as gathers by the inverse positions.
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/forms/known_values.h"
#include "hlograph/native/rewrites/forms/updates.h"
#include "hlograph/native/rewrites/own/own_rules.h"
#include "hlograph/native/rewrites/patterns.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal.h"
#include "xla/literal_util.h"
#include "xla/permutation_util.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;
using Numbers = std::vector<int64_t>;

constexpr int64_t kMaxPlaces = int64_t{1} << 18;
// A gather writes all elements, a scatter only those at its positions.
constexpr int64_t kMostPlacesPerPosition = 16;

// A scatter of which each place gets the slice of at most one position.
struct KnownScatter {
  Numbers scattered;  // dimensions of the array that positions are along, ascending
  Numbers sources;    // by place along these: the number of the position; -1 if it gets none
};

bool Sets(const Instruction* scatter) { return CombinerOf(scatter) == Opcode::kParameter; }

// Other operations, and sums of complex numbers, may be simplified where the array is constant, and
// then keep denormals that a scatter takes for zeros.
bool Adds(const Instruction* scatter) {
  return CombinerOf(scatter) == Opcode::kAdd &&
         !xla::primitive_util::IsComplexType(scatter->shape().element_type());
}

// Dimensions that are scattered, if the other ones are updated whole.
std::optional<Numbers> ScatteredDimensions(const Instruction* scatter) {
  const xla::ScatterDimensionNumbers& numbers = scatter->scatter_dimension_numbers();
  if (numbers.input_batching_dims_size() != 0) return std::nullopt;
  Numbers scattered(numbers.scatter_dims_to_operand_dims().begin(),
                    numbers.scatter_dims_to_operand_dims().end());
  absl::c_sort(scattered);
  if (scattered.empty() || !absl::c_equal(scattered, numbers.inserted_window_dims())) {
    return std::nullopt;
  }
  int64_t window = 0;
  for (int64_t i = 0; i < RankOf(scatter); ++i) {
    if (absl::c_linear_search(scattered, i)) continue;
    const int64_t size =
        scatter->operand(2)->shape().dimensions(numbers.update_window_dims(window++));
    if (size != scatter->shape().dimensions(i)) return std::nullopt;
  }
  return scattered;
}

// The known indices of a scatter: for each position, one along each dimension that it names.
class KnownPositions {
 public:
  KnownPositions(const Instruction* scatter, Numbers indices)
      : numbers_(scatter->scatter_dimension_numbers()),
        indices_(std::move(indices)),
        columns_(numbers_.scatter_dims_to_operand_dims_size()) {
    const Instruction* const array = scatter->operand(1);
    for (int64_t i = numbers_.index_vector_dim() + 1; i < RankOf(array); ++i) {
      stride_ *= array->shape().dimensions(i);
    }
  }

  int64_t count() const { return static_cast<int64_t>(indices_.size()) / columns_; }

  // The index of a position along a dimension of the array that is updated.
  int64_t Index(int64_t position, int64_t dimension) const {
    const auto& dimensions = numbers_.scatter_dims_to_operand_dims();
    const int64_t column = absl::c_find(dimensions, dimension) - dimensions.begin();
    const int64_t first = position / stride_ * stride_ * columns_ + position % stride_;
    return indices_[first + column * stride_];
  }

 private:
  const xla::ScatterDimensionNumbers& numbers_;
  const Numbers indices_;
  const int64_t columns_;
  int64_t stride_ = 1;  // between the elements of one index vector
};

// Returns, by place along the scattered dimensions, the number of the position there; -1 where none
// is. Returns none if a place has several.
std::optional<Numbers> SourcesOf(const KnownPositions& positions, const Numbers& scattered,
                                 const Numbers& sizes, int64_t places) {
  Numbers sources(places, -1);
  for (int64_t k = 0; k < positions.count(); ++k) {
    int64_t place = 0;
    bool is_inside = true;
    for (int64_t i : scattered) {
      const int64_t index = positions.Index(k, i);
      is_inside &= index >= 0 && index < sizes[i];
      place = place * sizes[i] + index;
    }
    if (!is_inside) continue;  // such slices are left out
    if (sources[place] >= 0) return std::nullopt;
    sources[place] = k;
  }
  return sources;
}

std::optional<KnownScatter> FindKnownScatter(const Instruction* scatter) {
  if (!IsScatter(scatter) || xla::ShapeUtil::IsZeroElementArray(scatter->shape()) ||
      xla::ShapeUtil::IsZeroElementArray(scatter->operand(2)->shape())) {
    return std::nullopt;
  }
  std::optional<Numbers> scattered = ScatteredDimensions(scatter);
  if (!scattered.has_value()) return std::nullopt;
  const Numbers sizes = SizesOf(scatter);
  int64_t places = 1;
  for (int64_t i : *scattered) places *= sizes[i];
  const int64_t count = SizeOf(scatter->operand(1)) /
                        scatter->scatter_dimension_numbers().scatter_dims_to_operand_dims_size();
  if (places > kMaxPlaces || places > kMostPlacesPerPosition * count) return std::nullopt;
  std::optional<Numbers> indices = KnownIntegers(scatter->operand(1));
  if (!indices.has_value()) return std::nullopt;
  std::optional<Numbers> sources =
      SourcesOf(KnownPositions(scatter, *std::move(indices)), *scattered, sizes, places);
  if (!sources.has_value()) return std::nullopt;
  return KnownScatter{*std::move(scattered), *std::move(sources)};
}

// Builds the gather by inverse positions that takes the place of a scatter.
class InverseGather {
 public:
  InverseGather(Instruction* scatter, const KnownScatter& known)
      : scatter_(scatter), known_(known), build_(scatter), first_(known.scattered.front()) {}

  // The array of the scatter's shape in which each place has its slice, or that of the last place
  // before it which has one.
  Instruction* Slices() const {
    Instruction* const updates = UpdatesByPosition();
    Numbers slice = SizesOf(updates), result = slice, offsets;
    slice[first_] = 1;
    result[first_] = PlaceCount();
    for (int64_t i = 0; i < RankOf(updates); ++i) {
      if (i != first_) offsets.push_back(i);
    }
    Instruction* const gathered = build_.place()->AddInstruction(Instruction::CreateGather(
        xla::ShapeUtil::MakeShape(updates->shape().element_type(), result), updates,
        PositionOfEachPlace(),
        xla::HloGatherInstruction::MakeGatherDimNumbers(offsets, {first_}, {first_},
                                                        /*index_vector_dim=*/1),
        slice, /*indices_are_sorted=*/false));
    return InOrderOfArray(gathered);
  }

  // Predicates of the scatter's shape: whether a place has a slice. Null if all places have one.
  Instruction* HasSlice() const {
    if (!absl::c_linear_search(known_.sources, -1)) return nullptr;
    xla::Literal literal =
        xla::Literal::Make(xla::ShapeUtil::MakeShape(xla::PRED, {PlaceCount()})).value();
    Numbers sizes;
    for (int64_t i = 0; i < PlaceCount(); ++i) literal.Set<bool>({i}, known_.sources[i] >= 0);
    for (int64_t i : known_.scattered) sizes.push_back(scatter_->shape().dimensions(i));
    return build_.Broadcast(build_.Reshape(AddLiteral(std::move(literal)), sizes),
                            scatter_->shape().dimensions(), known_.scattered);
  }

 private:
  int64_t PlaceCount() const { return static_cast<int64_t>(known_.sources.size()); }

  Instruction* AddLiteral(xla::Literal literal) const {
    return build_.place()->AddInstruction(Instruction::CreateConstant(std::move(literal)));
  }

  // The updates with one dimension of all positions, at the place of the first dimension that is
  // scattered, between the dimensions of the slices.
  Instruction* UpdatesByPosition() const {
    const auto& windows = scatter_->scatter_dimension_numbers().update_window_dims();
    Instruction* const updates = scatter_->mutable_operand(2);
    Numbers order(windows.begin(), windows.begin() + first_), sizes;
    for (int64_t i = 0; i < RankOf(updates); ++i) {
      if (!absl::c_linear_search(windows, i)) order.push_back(i);
    }
    order.insert(order.end(), windows.begin() + first_, windows.end());
    for (int64_t i : windows) sizes.push_back(updates->shape().dimensions(i));
    sizes.insert(sizes.begin() + first_, SizeOf(updates) / ProductOf(sizes));
    return build_.Reshape(build_.Transpose(updates, order), sizes);
  }

  // Indices of the gather: the number of the position for each place.
  Instruction* PositionOfEachPlace() const {
    xla::Literal literal =
        xla::Literal::Make(xla::ShapeUtil::MakeShape(xla::S32, {PlaceCount(), 1})).value();
    int64_t last = 0;
    for (int64_t i = 0; i < PlaceCount(); ++i) {
      if (known_.sources[i] >= 0) last = known_.sources[i];
      literal.Set<int32_t>({i, 0}, static_cast<int32_t>(last));
    }
    return AddLiteral(std::move(literal));
  }

  // Splits the dimension of places into those that are scattered, which lie together, and moves
  // each to where the array has it.
  Instruction* InOrderOfArray(Instruction* gathered) const {
    Numbers order;  // dimensions of the array, as the split ones lie
    for (int64_t i = 0; i < first_; ++i) order.push_back(i);
    absl::c_copy(known_.scattered, std::back_inserter(order));
    for (int64_t i = first_; i < RankOf(scatter_); ++i) {
      if (!absl::c_linear_search(known_.scattered, i)) order.push_back(i);
    }
    Numbers sizes;
    for (int64_t i : order) sizes.push_back(scatter_->shape().dimensions(i));
    return build_.Transpose(build_.Reshape(gathered, sizes), xla::InversePermutation(order));
  }

  Instruction* scatter_;
  const KnownScatter& known_;
  const Builder build_;
  const int64_t first_;  // of the dimensions that are scattered
};

// Slices that are set, or added to what there is: as two rules, since sums may round otherwise.
class ScatterAsGather : public FormRule {
 public:
  ScatterAsGather(Identity identity, bool (*combines)(const Instruction* scatter))
      : FormRule(std::move(identity)), combines_(combines) {}

  Reach reach() const override { return {.operands = kKnownDepth + 2}; }

 protected:
  bool Matches(const Instruction* scatter) const override {
    return scatter->opcode() == Opcode::kScatter && combines_(scatter) &&
           FindKnownScatter(scatter).has_value();
  }

  Instruction* Build(Instruction* scatter) const override {
    const KnownScatter known = *FindKnownScatter(scatter);
    const InverseGather gather(scatter, known);
    Instruction* const old = scatter->mutable_operand(0);
    Instruction* const slices = gather.Slices();
    Instruction* const updated = Sets(scatter) ? slices : Sum(Builder(scatter), old, slices);
    Instruction* const has_slice = gather.HasSlice();
    return has_slice == nullptr ? updated : Builder(scatter).Select(has_slice, updated, old);
  }

 private:
  static Instruction* Sum(const Builder& build, Instruction* old, Instruction* slices) {
    if (!xla::primitive_util::IsFloatingPointType(old->shape().element_type()) ||
        !IsConstantOf(old, 0)) {
      return build.Binary(Opcode::kAdd, old, slices);
    }
    // XLA takes 0 + x for x, which -0 is not.
    Instruction* const zero = build.Uniform(old->shape(), 0);
    return build.Select(build.Compare(slices, zero, xla::ComparisonDirection::kEq), zero, slices);
  }

  bool (*const combines_)(const Instruction* scatter);
};

}  // namespace

const RuleTopic kKnownScatterForms(335, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<ScatterAsGather>(
      Identity{"scatter-as-gather", "scatter(x, p, y) = [y at the inverse of p, else x]",
               "Gathers by inverse positions what is scattered to positions that follow from "
               "constants, each at most once.",
               Numerics::kExact},
      Sets));
  rules.push_back(std::make_unique<ScatterAsGather>(
      Identity{"scatter-as-gather:add", "scatter(x, p, +y) = x + [y at the inverse of p, else 0]",
               "Adds what it gathers by inverse positions, where it is added at positions that "
               "follow from constants, each at most once."},
      Adds));
});

}  // namespace hlograph
