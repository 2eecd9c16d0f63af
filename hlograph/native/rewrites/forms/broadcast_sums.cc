#include "hlograph/native/rewrites/forms/broadcast_sums.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "hlograph/native/rewrites/forms/broadcast_terms.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;

constexpr size_t kMaxTermsOfSum = 8;
constexpr size_t kMaxFactors = 5;
constexpr int kMaxFactorDepth = 6;

// Terms, and where their sum is zero.
struct Expanded {
  std::vector<SumTerm> terms;
  std::optional<Diagonal> diagonal;
};

using Found = std::optional<Expanded>;

// Adds the scales of terms with equal factors.
Found Merged(std::vector<SumTerm> terms, std::optional<Diagonal> diagonal) {
  Expanded merged{{}, diagonal};
  for (SumTerm& term : terms) {
    const auto same =
        std::find_if(merged.terms.begin(), merged.terms.end(),
                     [&](const SumTerm& other) { return other.factors == term.factors; });
    if (same == merged.terms.end()) {
      merged.terms.push_back(std::move(term));
    } else {
      same->scale += term.scale;
    }
  }
  if (merged.terms.size() > kMaxTermsOfSum) return std::nullopt;
  return merged;
}

Found Scaled(Found sum, double scale) {
  if (!sum.has_value()) return std::nullopt;
  for (SumTerm& term : sum->terms) term.scale *= scale;
  return sum;
}

Found Added(Found one, const Found& two) {
  if (!one.has_value() || !two.has_value()) return std::nullopt;
  std::vector<SumTerm> terms = std::move(one->terms);
  terms.insert(terms.end(), two->terms.begin(), two->terms.end());
  const bool is_zero = one->diagonal.has_value() && one->diagonal == two->diagonal;
  return Merged(std::move(terms), is_zero ? one->diagonal : std::nullopt);
}

Found Multiplied(const Found& one, const Found& two) {
  if (!one.has_value() || !two.has_value()) return std::nullopt;
  std::vector<SumTerm> products;
  for (const SumTerm& a : one->terms) {
    for (const SumTerm& b : two->terms) {
      SumTerm product{a.scale * b.scale, a.factors};
      product.factors.insert(product.factors.end(), b.factors.begin(), b.factors.end());
      std::sort(product.factors.begin(), product.factors.end());
      if (product.factors.size() > kMaxFactors) return std::nullopt;
      products.push_back(std::move(product));
    }
  }
  return Merged(std::move(products), one->diagonal.has_value() ? one->diagonal : two->diagonal);
}

// The value of a scalar constant, or a broadcast of one.
std::optional<double> UniformValue(const Instruction* at) {
  if (!IsUniform(at) || at->operand(0)->opcode() != Opcode::kConstant) return std::nullopt;
  return at->operand(0)->literal().GetAsDouble({});
}

std::optional<Factor> FactorOf(const Instruction* at) {
  if (!IsBroadcast(at)) return std::nullopt;
  const auto& dimensions = at->dimensions();
  if (!std::is_sorted(dimensions.begin(), dimensions.end())) return std::nullopt;
  return Factor{at->operand(0), {dimensions.begin(), dimensions.end()}};
}

// Expands an expression into terms, and collects its factors.
class Expansion {
 public:
  Expansion(std::vector<Factor>& factors, const Instruction* whole)
      : factors_(factors), whole_(whole) {}

  Found Expand(const Instruction* at, int depth) {
    if (depth > kMaxFactorDepth || !SameArray(at, whole_)) return std::nullopt;
    if (const std::optional<double> value = UniformValue(at)) {
      return Expanded{{{*value, {}}}, std::nullopt};
    }
    if (std::optional<Factor> factor = FactorOf(at)) return OfFactor(*std::move(factor));
    if (!IsPointwise(at)) return std::nullopt;
    const auto operand = [&](int64_t i) { return Expand(at->operand(i), depth + 1); };
    switch (at->opcode()) {
      case Opcode::kNegate:
        return Scaled(operand(0), -1);
      case Opcode::kAdd:
        return Added(operand(0), operand(1));
      case Opcode::kSubtract: {
        const Found difference = Difference(at);
        return difference.has_value() ? difference : Added(operand(0), Scaled(operand(1), -1));
      }
      case Opcode::kMultiply:
        return Multiplied(operand(0), operand(1));
      case Opcode::kDivide:
        return Multiplied(operand(0), Reciprocal(at->operand(1)));
      case Opcode::kPower:
        if (!IsConstantOf(at->operand(1), 2)) return std::nullopt;
        return Multiplied(operand(0), operand(0));
      default:
        return std::nullopt;
    }
  }

 private:
  Found Reciprocal(const Instruction* at) {
    if (!SameArray(at, whole_)) return std::nullopt;
    if (const std::optional<double> value = UniformValue(at)) {
      if (*value == 0) return std::nullopt;
      return Expanded{{{1 / *value, {}}}, std::nullopt};
    }
    std::optional<Factor> factor = FactorOf(at);
    if (!factor.has_value()) return std::nullopt;
    factor->inverse = true;
    return OfFactor(*std::move(factor));
  }

  // A difference of broadcasts is the same after one mean is subtracted from both, which keeps the
  // terms small: else they cancel where all values are far from zero.
  Found Difference(const Instruction* at) {
    std::optional<Factor> one = FactorOf(at->operand(0)), two = FactorOf(at->operand(1));
    if (!one.has_value() || !two.has_value() || one->dimensions.empty() ||
        two->dimensions.empty()) {
      return std::nullopt;
    }
    const std::optional<Diagonal> diagonal = DiagonalOf(*one, *two);
    const std::vector<int64_t> common = Common(one->dimensions, two->dimensions);
    const Factor& centre = SizeOf(*two) <= SizeOf(*one) ? *two : *one;
    const std::vector<int64_t> reduced = Without(centre.dimensions, common);
    const Instruction* const array = centre.array;
    for (Factor* factor : {&*one, &*two}) {
      factor->centre = array;
      factor->centre_dimensions = common;
      factor->centre_reduced = reduced;
    }
    const int64_t first = NumberOf(*std::move(one)), second = NumberOf(*std::move(two));
    return Expanded{{{1, {first}}, {-1, {second}}}, diagonal};
  }

  Found OfFactor(Factor factor) {
    return Expanded{{{1, {NumberOf(std::move(factor))}}}, std::nullopt};
  }

  int64_t NumberOf(Factor factor) {
    const auto found = std::find(factors_.begin(), factors_.end(), factor);
    if (found != factors_.end()) return found - factors_.begin();
    factors_.push_back(std::move(factor));
    return factors_.size() - 1;
  }

  static int64_t SizeOf(const Factor& factor) {
    return xla::ShapeUtil::ElementsIn(factor.array->shape());
  }

  std::vector<Factor>& factors_;
  const Instruction* whole_;
};

bool IsSquare(const Instruction* at) {
  if (at->opcode() == Opcode::kMultiply) return at->operand(0) == at->operand(1);
  return at->opcode() == Opcode::kPower && IsConstantOf(at->operand(1), 2);
}

}  // namespace

std::optional<BroadcastSum> ExpandBroadcastSum(const Instruction* reduce) {
  if (!IsReductionBy(reduce, Opcode::kAdd) || reduce->dimensions().empty()) return std::nullopt;
  const Instruction* const whole = reduce->operand(0);
  const xla::PrimitiveType type = whole->shape().element_type();
  if ((type != xla::F32 && type != xla::F64) || !IsPointwise(whole)) return std::nullopt;
  BroadcastSum sum;
  sum.sizes.assign(whole->shape().dimensions().begin(), whole->shape().dimensions().end());
  sum.reduced.assign(reduce->dimensions().begin(), reduce->dimensions().end());
  std::sort(sum.reduced.begin(), sum.reduced.end());
  if (std::count(sum.sizes.begin(), sum.sizes.end(), 0) > 0) return std::nullopt;
  Found found = Expansion(sum.factors, whole).Expand(whole, 0);
  if (!found.has_value()) return std::nullopt;
  sum.terms = std::move(found->terms);
  sum.diagonal = found->diagonal;
  sum.is_square = IsSquare(whole);
  for (const SumTerm& term : sum.terms) {
    if (!GroupsOf(sum, term).has_value()) return std::nullopt;
  }
  return sum;
}

int64_t SmallestContraction(const BroadcastSum& sum) {
  int64_t smallest = 0;
  for (const SumTerm& term : sum.terms) {
    const std::vector<int64_t> contracted = ContractedOf(sum, *GroupsOf(sum, term));
    if (contracted.empty()) continue;
    int64_t size = 1;
    for (int64_t dimension : contracted) size *= sum.sizes[dimension];
    smallest = smallest == 0 ? size : std::min(smallest, size);
  }
  return smallest;
}

}  // namespace hlograph
