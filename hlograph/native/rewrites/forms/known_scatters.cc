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
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal.h"
#include "xla/literal_util.h"
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

bool Sets(const Instruction* scatter) {
  const Instruction* const root = scatter->to_apply()->root_instruction();
  return root->opcode() == Opcode::kParameter && root->parameter_number() == 1;
}

// Other operations, and sums of complex numbers, may be simplified where the array is constant, and
// then keep denormals that a scatter takes for zeros.
bool Adds(const Instruction* scatter) {
  return IsScalarOperation(scatter->to_apply(), Opcode::kAdd) &&
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

std::optional<KnownScatter> FindKnownScatter(const Instruction* scatter) {
  if (!IsScatter(scatter) || xla::ShapeUtil::IsZeroElementArray(scatter->shape()) ||
      xla::ShapeUtil::IsZeroElementArray(scatter->operand(2)->shape()) ||
      !(Sets(scatter) || Adds(scatter))) {
    return std::nullopt;
  }
  std::optional<Numbers> scattered = ScatteredDimensions(scatter);
  if (!scattered.has_value()) return std::nullopt;
  const Numbers sizes = SizesOf(scatter);
  int64_t places = 1;
  for (int64_t i : *scattered) places *= sizes[i];
  const xla::ScatterDimensionNumbers& numbers = scatter->scatter_dimension_numbers();
  const int64_t columns = numbers.scatter_dims_to_operand_dims_size();
  const int64_t positions = SizeOf(scatter->operand(1)) / columns;
  if (places > kMaxPlaces || places > kMostPlacesPerPosition * positions) return std::nullopt;
  const std::optional<Numbers> indices = KnownIntegers(scatter->operand(1));
  if (!indices.has_value()) return std::nullopt;

  // Elements of one index vector are `inner` apart.
  int64_t inner = 1;
  for (int64_t i = numbers.index_vector_dim() + 1; i < RankOf(scatter->operand(1)); ++i) {
    inner *= scatter->operand(1)->shape().dimensions(i);
  }
  KnownScatter found{*std::move(scattered), Numbers(places, -1)};
  for (int64_t k = 0; k < positions; ++k) {
    const int64_t first = k / inner * inner * columns + k % inner;
    int64_t place = 0;
    bool is_inside = true;
    for (int64_t i : found.scattered) {
      const int64_t column = absl::c_find(numbers.scatter_dims_to_operand_dims(), i) -
                             numbers.scatter_dims_to_operand_dims().begin();
      const int64_t index = (*indices)[first + column * inner];
      is_inside &= index >= 0 && index < sizes[i];
      place = place * sizes[i] + index;
    }
    if (!is_inside) continue;  // such slices are left out
    if (found.sources[place] >= 0) return std::nullopt;
    found.sources[place] = k;
  }
  return found;
}

class ScatterAsGather : public FormRule {
 public:
  using FormRule::FormRule;

  Reach reach() const override { return {.operands = kKnownDepth + 2}; }

 protected:
  bool Matches(const Instruction* scatter) const override {
    return FindKnownScatter(scatter).has_value();
  }

  Instruction* Build(Instruction* scatter) const override {
    const KnownScatter found = *FindKnownScatter(scatter);
    const Builder build(scatter);
    Instruction* const old = scatter->mutable_operand(0);
    Instruction* const slices = Gathered(build, scatter, found);
    Instruction* const updated = Combined(build, scatter, old, slices);
    if (!absl::c_linear_search(found.sources, -1)) return updated;
    std::vector<bool> has_source;
    for (int64_t source : found.sources) has_source.push_back(source >= 0);
    xla::Literal literal =
        xla::Literal::Make(xla::ShapeUtil::MakeShape(xla::PRED, {Count(found)})).value();
    for (int64_t i = 0; i < Count(found); ++i) literal.Set<bool>({i}, has_source[i]);
    Numbers sizes;
    for (int64_t i : found.scattered) sizes.push_back(scatter->shape().dimensions(i));
    Instruction* const which = build.Reshape(AddLiteral(build, std::move(literal)), sizes);
    return build.Select(build.Broadcast(which, scatter->shape().dimensions(), found.scattered),
                        updated, old);
  }

 private:
  static bool IsPositiveZero(const Instruction* scalar) {
    return scalar->opcode() == Opcode::kConstant &&
           scalar->literal() == xla::LiteralUtil::Zero(scalar->shape().element_type());
  }

  static int64_t Count(const KnownScatter& found) {
    return static_cast<int64_t>(found.sources.size());
  }

  static Instruction* AddLiteral(const Builder& build, xla::Literal literal) {
    return build.place()->AddInstruction(Instruction::CreateConstant(std::move(literal)));
  }

  // The slice of each place, or that of the last place before it which has one.
  static Instruction* Gathered(const Builder& build, Instruction* scatter,
                               const KnownScatter& found) {
    const auto& windows = scatter->scatter_dimension_numbers().update_window_dims();
    Instruction* const updates = scatter->mutable_operand(2);
    // Window dimensions before the first scattered one, positions, the other window dimensions.
    const auto before = static_cast<int64_t>(found.scattered.front());
    Numbers order(windows.begin(), windows.begin() + before), sizes;
    for (int64_t i = 0; i < RankOf(updates); ++i) {
      if (!absl::c_linear_search(windows, i)) order.push_back(i);
    }
    order.insert(order.end(), windows.begin() + before, windows.end());
    for (int64_t i : windows) sizes.push_back(updates->shape().dimensions(i));
    sizes.insert(sizes.begin() + before, SizeOf(updates) / ProductOf(sizes));
    Instruction* const rows = build.Reshape(build.Transpose(updates, order), sizes);

    xla::Literal literal =
        xla::Literal::Make(xla::ShapeUtil::MakeShape(xla::S32, {Count(found), 1})).value();
    int64_t last = 0;
    for (int64_t i = 0; i < Count(found); ++i) {
      if (found.sources[i] >= 0) last = found.sources[i];
      literal.Set<int32_t>({i, 0}, static_cast<int32_t>(last));
    }
    Numbers offsets, slice = sizes;
    for (int64_t i = 0; i < static_cast<int64_t>(sizes.size()); ++i) {
      if (i != before) offsets.push_back(i);
    }
    slice[before] = 1;
    sizes[before] = Count(found);
    Instruction* const gathered = build.place()->AddInstruction(Instruction::CreateGather(
        xla::ShapeUtil::MakeShape(updates->shape().element_type(), sizes), rows,
        AddLiteral(build, std::move(literal)),
        xla::HloGatherInstruction::MakeGatherDimNumbers(offsets, {before}, {before},
                                                        /*index_vector_dim=*/1),
        slice, /*indices_are_sorted=*/false));
    return Arranged(build, scatter, gathered, found.scattered);
  }

  // Splits the dimension of places, and moves its parts to where the array has them.
  static Instruction* Arranged(const Builder& build, Instruction* scatter, Instruction* gathered,
                               const Numbers& scattered) {
    Numbers order;  // dimensions of the array, as they are gathered
    const int64_t before = scattered.front();
    for (int64_t i = 0; i < before; ++i) order.push_back(i);
    absl::c_copy(scattered, std::back_inserter(order));
    for (int64_t i = before; i < RankOf(scatter); ++i) {
      if (!absl::c_linear_search(scattered, i)) order.push_back(i);
    }
    Numbers sizes, permutation(order.size());
    for (size_t i = 0; i < order.size(); ++i) {
      sizes.push_back(scatter->shape().dimensions(order[i]));
      permutation[order[i]] = static_cast<int64_t>(i);
    }
    return build.Transpose(build.Reshape(gathered, sizes), permutation);
  }

  static Instruction* Combined(const Builder& build, const Instruction* scatter, Instruction* old,
                               Instruction* slices) {
    if (Sets(scatter)) return slices;
    if (!xla::primitive_util::IsFloatingPointType(old->shape().element_type()) || !IsUniform(old) ||
        !IsPositiveZero(old->operand(0))) {
      return build.Binary(Opcode::kAdd, old, slices);
    }
    // XLA takes 0 + x for x, which -0 is not.
    Instruction* const zero = build.Uniform(old->shape(), 0);
    return build.Select(build.Compare(slices, zero, xla::ComparisonDirection::kEq), zero, slices);
  }
};

}  // namespace

const RuleTopic kKnownScatterForms(335, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<ScatterAsGather>(
      Identity{"scatter-as-gather", "scatter(x, p, y) = [y at the inverse of p, else x]",
               "Gathers by inverse positions what is scattered to positions that follow from "
               "constants, each at most once.",
               Numerics::kClose}));
});

}  // namespace hlograph
