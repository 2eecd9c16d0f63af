// Sums that one-hot arrays mask, as gathers and scatters.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/forms/one_hots.h"
#include "hlograph/native/rewrites/forms/rows.h"
#include "hlograph/native/rewrites/forms/views.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;
using Numbers = std::vector<int64_t>;

// A product with a one-hot array, or a selection by one, that is summed over the classes.
struct OneHotSum {
  OneHot one_hot;
  const Instruction* value = nullptr;
};

std::optional<OneHotSum> FindOneHotSum(const Instruction* reduce) {
  if (!IsReductionBy(reduce, Opcode::kAdd) || reduce->dimensions().size() != 1 ||
      !IsFloat(reduce) || !HasFewRows(reduce->operand(0)) ||
      xla::ShapeUtil::IsZeroElementArray(reduce->operand(0)->shape())) {
    return std::nullopt;
  }
  const Instruction* const whole = reduce->operand(0);
  const auto fits = [&](const std::optional<OneHot>& one_hot) {
    return one_hot.has_value() && one_hot->classes == reduce->dimensions(0);
  };
  if (!IsPointwise(whole)) return std::nullopt;
  if (whole->opcode() == Opcode::kSelect && HasOnly(whole->operand(2), 0)) {
    const std::optional<OneHot> one_hot = FindOneHot(whole->operand(0));
    if (fits(one_hot)) return OneHotSum{*one_hot, whole->operand(1)};
  }
  if (whole->opcode() != Opcode::kMultiply) return std::nullopt;
  for (int side : {0, 1}) {
    const std::optional<OneHot> one_hot = FindOneHot(whole->operand(side));
    if (fits(one_hot)) return OneHotSum{*one_hot, whole->operand(1 - side)};
  }
  return std::nullopt;
}

class OneHotSumAsGather : public FormRule {
 public:
  using FormRule::FormRule;

  Reach reach() const override { return {.operands = kOneHotReach}; }

 protected:
  bool Matches(const Instruction* reduce) const override {
    return FindOneHotSum(reduce).has_value();
  }

  // The kept dimensions are batches of tables of numbers, of which each label takes one.
  Instruction* Build(Instruction* reduce) const override {
    const OneHotSum found = *FindOneHotSum(reduce);
    const Builder build(reduce);
    const int64_t classes = found.value->shape().dimensions(found.one_hot.classes);
    const int64_t rank = found.value->shape().dimensions().size();
    Numbers kept, order;
    for (int64_t i = 0; i < rank; ++i) {
      if (i == found.one_hot.classes) continue;
      kept.push_back(i);
      order.push_back(
          std::find(found.one_hot.dimensions.begin(), found.one_hot.dimensions.end(), i) -
          found.one_hot.dimensions.begin());
    }
    const RowIndices rows =
        BuildRowIndices(build, found.one_hot, classes, order, /*batch=*/kept.size());
    Numbers order_of_table = kept;
    order_of_table.push_back(found.one_hot.classes);
    Instruction* const value = const_cast<Instruction*>(found.value);
    Instruction* const table = build.Reshape(build.Transpose(value, order_of_table),
                                             {xla::ShapeUtil::ElementsIn(value->shape()), 1});
    Instruction* const gathered = GatherRows(build, table, rows.indices);
    Instruction* const flat = build.Reshape(gathered, rows.valid->shape().dimensions());
    Instruction* const result = build.Select(rows.valid, flat, build.Uniform(flat->shape(), 0));
    return build.Reshape(result, reduce->shape().dimensions());
  }
};

constexpr int kMaxProductHops = 4;

// What is summed: a product of a one-hot array, numbers and predicates, zero where a predicate is
// false. Counts have no numbers.
struct OneHotProduct {
  OneHot one_hot;
  Numbers batch;   // dimensions of labels that are kept, ascending
  Numbers summed;  // dimensions of labels that are summed, ascending
  Numbers free;    // further dimensions that are kept, ascending
  std::vector<const Instruction*> numbers, predicates;
};

// Returns true if the sum adds up values by class: over dimensions of the labels only.
bool SumsByClass(const Instruction* reduce, OneHotProduct& product) {
  const auto& labels = product.one_hot.dimensions;
  product.batch = product.summed = product.free = {};
  for (int64_t i = 0; i < RankOf(reduce->operand(0)); ++i) {
    const bool is_label = absl::c_linear_search(labels, i);
    const bool is_summed = absl::c_linear_search(reduce->dimensions(), i);
    if (is_summed && !is_label) return false;
    if (is_summed) product.summed.push_back(i);
    if (!is_summed && is_label) product.batch.push_back(i);
    if (!is_summed && !is_label && i != product.one_hot.classes) product.free.push_back(i);
  }
  return !product.summed.empty();
}

// Returns true for predicates that are converted to numbers, perhaps by way of another type.
bool IsConvertedPredicate(const Instruction* convert) {
  for (int hops = 0; hops < 2 && convert->opcode() == Opcode::kConvert; ++hops) {
    convert = convert->operand(0);
  }
  return convert->shape().element_type() == xla::PRED;
}

// Finds the factors of what a reduction sums: a one-hot array and all that it is multiplied by.
//
// A factor of the product is, with a factor of its own each:
//   onehot(i), multiply(factor, number), and(factor, predicate), select(factor, number, 0),
//   select(predicate, factor, 0), or convert(factor) of predicates.
class OneHotFactors {
 public:
  explicit OneHotFactors(const Instruction* reduce) : reduce_(reduce) {}

  std::optional<OneHotProduct> Find() {
    return AddFactors(reduce_->operand(0), 0) ? std::optional(std::move(product_)) : std::nullopt;
  }

 private:
  // Returns true if the array is a product with a one-hot array, whose other factors it adds.
  bool AddFactors(const Instruction* array, int hops) {
    if (TakeOneHot(array)) return true;
    if (hops == kMaxProductHops || !IsPointwise(array)) return false;
    const bool is_predicate = array->shape().element_type() == xla::PRED;
    switch (array->opcode()) {
      case Opcode::kConvert:
        return IsConvertedPredicate(array) && AddFactors(array->operand(0), hops + 1);
      case Opcode::kMultiply:
        return !is_predicate && AddEither(array, hops);
      case Opcode::kAnd:
        return is_predicate && AddEither(array, hops);
      case Opcode::kSelect:
        return HasOnly(array->operand(2), 0) && AddEither(array, hops);
      default:
        return false;
    }
  }

  // Of the first two operands, one is a product with a one-hot array, and the other a factor of it.
  bool AddEither(const Instruction* product, int hops) {
    for (int64_t i : {0, 1}) {
      if (!AddFactors(product->operand(i), hops + 1)) continue;
      const Instruction* const other = product->operand(1 - i);
      const bool is_predicate = other->shape().element_type() == xla::PRED;
      (is_predicate ? product_.predicates : product_.numbers).push_back(other);
      return true;
    }
    return false;
  }

  bool TakeOneHot(const Instruction* array) {
    std::optional<OneHot> one_hot = FindRepeatedOneHot(array);
    if (!one_hot.has_value()) return false;
    product_.one_hot = *std::move(one_hot);
    return SumsByClass(reduce_, product_);
  }

  const Instruction* reduce_;
  OneHotProduct product_;
};

std::optional<OneHotProduct> FindSumByClass(const Instruction* reduce) {
  if (!IsReductionBy(reduce, Opcode::kAdd) || !IsSummedType(reduce) ||
      !HasFewRows(reduce->operand(0)) ||
      xla::ShapeUtil::IsZeroElementArray(reduce->operand(0)->shape())) {
    return std::nullopt;
  }
  return OneHotFactors(reduce).Find();
}

class OneHotSumAsScatter : public FormRule {
 public:
  using FormRule::FormRule;

  Reach reach() const override {
    return {.operands = kMaxProductHops + kOneHotReach + kEqualAlongReach};
  }

 protected:
  bool Matches(const Instruction* reduce) const override {
    return FindSumByClass(reduce).has_value();
  }

  Instruction* Build(Instruction* reduce) const override {
    const OneHotProduct product = *FindSumByClass(reduce);
    const Builder build(reduce);
    const Numbers sizes = SizesOf(reduce->operand(0));
    const int64_t classes = sizes[product.one_hot.classes];
    const int64_t count = classes * ProductOf(Along(sizes, product.batch));
    const RowIndices rows =
        BuildRowIndices(build, product.one_hot, classes, LabelOrder(product), product.batch.size());
    Instruction* const indices = build.Select(
        rows.valid, rows.indices, build.Uniform(rows.indices->shape(), static_cast<double>(count)));
    Instruction* const sums = SumRows(build, Rows(build, reduce, product), indices, count);
    // Batch, classes and free dimensions, in the order of the array.
    Numbers order = product.batch;
    order.push_back(product.one_hot.classes);
    absl::c_copy(product.free, std::back_inserter(order));
    Instruction* const result = build.Reshape(sums, Along(sizes, order));
    Numbers permutation(order.size());
    std::iota(permutation.begin(), permutation.end(), 0);
    absl::c_sort(permutation, [&](int64_t one, int64_t two) { return order[one] < order[two]; });
    return build.Convert(build.Transpose(result, permutation), reduce->shape().element_type());
  }

 private:
  static Numbers Along(const Numbers& sizes, const Numbers& dimensions) {
    Numbers along;
    for (int64_t dimension : dimensions) along.push_back(sizes[dimension]);
    return along;
  }

  // The dimensions of the labels, those of the batch first.
  static Numbers LabelOrder(const OneHotProduct& product) {
    Numbers order;
    for (const Numbers* dimensions : {&product.batch, &product.summed}) {
      for (int64_t dimension : *dimensions) {
        order.push_back(absl::c_find(product.one_hot.dimensions, dimension) -
                        product.one_hot.dimensions.begin());
      }
    }
    return order;
  }

  // What is added up: a row of the free dimensions for each label. Counts are integers, which are
  // exact, where sums of ones in single precision end at 2^24.
  static Instruction* Rows(const Builder& build, Instruction* reduce,
                           const OneHotProduct& product) {
    const int64_t classes = product.one_hot.classes;
    const auto is_equal = [&](const Instruction* factor) { return IsEqualAlong(factor, classes); };
    const bool has_one_row =
        absl::c_all_of(product.numbers, is_equal) && absl::c_all_of(product.predicates, is_equal);
    const auto factor = [&](const Instruction* of) {
      auto* const array = const_cast<Instruction*>(of);
      return has_one_row ? FirstAlong(build, array, classes) : array;
    };
    Numbers sizes = SizesOf(reduce->operand(0));
    if (has_one_row) sizes.erase(sizes.begin() + classes);
    const xla::PrimitiveType type =
        product.numbers.empty() && IsFloat(reduce) ? xla::S32 : reduce->shape().element_type();
    Instruction* rows = nullptr;
    for (const Instruction* number : product.numbers) {
      Instruction* const next = factor(number);
      rows = rows == nullptr ? next : build.Binary(Opcode::kMultiply, rows, next);
    }
    const xla::Shape shape = xla::ShapeUtil::MakeShape(type, sizes);
    if (rows == nullptr) rows = build.Uniform(shape, 1);
    for (const Instruction* predicate : product.predicates) {
      rows = build.Select(factor(predicate), rows, build.Uniform(shape, 0));
    }
    return has_one_row ? InRows(build, rows, product, true) : OfLabels(build, rows, product);
  }

  // The array as a matrix: the labels, then the classes unless they are dropped, are its rows.
  static Instruction* InRows(const Builder& build, Instruction* array, const OneHotProduct& product,
                             bool dropped) {
    Numbers order = product.batch;
    absl::c_copy(product.summed, std::back_inserter(order));
    if (!dropped) order.push_back(product.one_hot.classes);
    absl::c_copy(product.free, std::back_inserter(order));
    for (int64_t& dimension : order) {
      dimension -= dropped && dimension > product.one_hot.classes ? 1 : 0;
    }
    const Numbers columns(order.end() - static_cast<int64_t>(product.free.size()), order.end());
    const int64_t width = ProductOf(Along(SizesOf(array), columns));
    return build.Reshape(build.Transpose(array, order), {SizeOf(array) / width, width});
  }

  // Of an array with the classes, what each label takes.
  static Instruction* OfLabels(const Builder& build, Instruction* array,
                               const OneHotProduct& product) {
    const Numbers order = LabelOrder(product);
    const int64_t classes = array->shape().dimensions(product.one_hot.classes);
    const RowIndices rows = BuildRowIndices(build, product.one_hot, classes, order, order.size());
    return GatherRows(build, InRows(build, array, product, false), rows.indices);
  }
};

}  // namespace

const RuleTopic kOneHotSumForms(314, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<OneHotSumAsGather>(
      Identity{"one-hot-sum-as-gather", "Σ onehot(i)×x = x[i]",
               "Takes the element of a label instead of a sum that a one-hot row masks."}));
  rules.push_back(std::make_unique<OneHotSumAsScatter>(
      Identity{"one-hot-sum-as-scatter", "Σ onehot(i)×x = sums of x by i",
               "Adds values to those of their labels, or counts labels, instead of comparing each "
               "label with all classes."}));
});

}  // namespace hlograph
