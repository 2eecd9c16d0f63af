// Work of a loop's iterations whose results no iteration needs, done for all of them at once after
// the loop: products of rows that are written, and sums of products, such as the gradients of
// weights.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "hlograph/native/rewrites/forms/batching.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/forms/loop_body.h"
#include "hlograph/native/rewrites/forms/loop_forms.h"
#include "hlograph/native/rewrites/forms/loop_shape.h"
#include "hlograph/native/rewrites/patterns.h"
#include "hlograph/native/rewrites/products.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;
using Set = absl::flat_hash_set<const Instruction*>;

// Values of more elements than this, for all iterations together, are not kept.
constexpr int64_t kLargestSunk = int64_t{1} << 25;

// Keeps carried values of all iterations, so that a batcher can compute after the loop.
class Keeper {
 public:
  Keeper(const LoopBody& body, Instruction* place, bool reversed)
      : body_(body), editor_(body.loop, place), place_(place), reversed_(reversed) {}

  LoopEditor& editor() { return editor_; }

  void Keep(const Instruction* value) {
    if (!kept_.insert(value).second) return;
    for (const auto& [other, element] : stacks_) {
      if (!value->Identical(*other)) continue;
      stacks_.emplace_back(value, element);
      return;
    }
    if (const int64_t element = FindStack(value); element >= 0) {
      stacks_.emplace_back(value, element);
      return;
    }
    std::vector<int64_t> sizes = {body_.loop.trips};
    for (int64_t size : value->shape().dimensions()) sizes.push_back(size);
    const xla::Shape shape = xla::ShapeUtil::MakeShape(value->shape().element_type(), sizes);
    stacks_.emplace_back(value, editor_.size());
    Instruction* const all = editor_.AddElement(Builder(place_).Uniform(shape, 0));
    if (number_ == nullptr) number_ = NumberOf(body_.loop, editor_, reversed_);
    const Builder builder(number_);
    std::vector<Instruction*> indices(sizes.size(),
                                      builder.Scalar(number_->shape().element_type(), 0));
    indices[0] = number_;
    sizes[0] = 1;
    Instruction* const row = builder.Reshape(editor_.Copy(value), sizes);
    editor_.SetResult(
        stacks_.back().second,
        number_->AddInstruction(Instruction::CreateDynamicUpdateSlice(shape, all, row, indices)));
  }

  // Ends the loop, and gives the batcher what was kept.
  Instruction* Finish(Batcher& batcher) {
    Instruction* const loop = editor_.Finish();
    for (const auto& [value, element] : stacks_) {
      batcher.Set(value, {Builder(loop).Element(loop, element), true});
    }
    return loop;
  }

 private:
  // The element in which the loop keeps the value anyway, or -1.
  int64_t FindStack(const Instruction* value) const {
    for (int64_t i = 0; i < body_.loop.size(); ++i) {
      const auto filled = FindFilled(body_, i);
      if (!filled.has_value() || filled->reversed != reversed_) continue;
      const Instruction* const update = filled->update;
      if (update->opcode() == Opcode::kReshape && Forwarded(update->operand(0)) == value &&
          update->shape().dimensions().subspan(1) == value->shape().dimensions()) {
        return i;
      }
    }
    return -1;
  }

  const LoopBody& body_;
  LoopEditor editor_;
  Instruction* place_;
  bool reversed_;
  Instruction* number_ = nullptr;
  Set kept_;
  std::vector<std::pair<const Instruction*, int64_t>> stacks_;
};

bool CanKeep(const CountedLoop& loop, const Instruction* value) {
  return IsPlain(value) && IsRing(value->shape().element_type()) &&
         xla::ShapeUtil::ElementsIn(value->shape()) <= kLargestSunk / loop.trips;
}

class SinkProjection : public FormRule {
 public:
  using FormRule::FormRule;

 protected:
  bool Matches(const Instruction* instruction) const override {
    const auto loop = FindSimpleLoop(instruction);
    return loop.has_value() && !FindSunk(LoopBody(*loop)).elements.empty();
  }

  Instruction* Build(Instruction* instruction) const override {
    const CountedLoop loop = *FindSimpleLoop(instruction);
    const LoopBody body(loop);
    const Sunk sunk = FindSunk(body);
    Keeper keeper(body, instruction, sunk.reversed);
    for (const Instruction* one : sunk.inputs) keeper.Keep(one);
    for (int64_t element : sunk.elements) {
      keeper.editor().SetResult(element, keeper.editor().Element(element));
    }
    Batcher batcher(loop, instruction, sunk.reversed);
    Instruction* const made = keeper.Finish(batcher);
    const Builder builder(made);
    std::vector<Instruction*> results;
    for (int64_t i = 0; i < loop.size(); ++i) results.push_back(builder.Element(made, i));
    for (int64_t element : sunk.elements) {
      const Batched all = batcher.Of(FindFilled(body, element)->update);
      results[element] =
          builder.Reshape(batcher.Stacked(all), loop.results[element]->shape().dimensions());
    }
    return made->AddInstruction(Instruction::CreateTuple(results));
  }

 private:
  struct Sunk {
    std::vector<int64_t> elements;           // that the loop does not fill any more
    std::vector<const Instruction*> inputs;  // that it keeps instead
    bool reversed = false;
  };

  static Sunk FindSunk(const LoopBody& body) {
    Sunk sunk;
    std::vector<std::pair<int64_t, Filled>> filled;
    Set free;  // what nothing but rows that are written needs
    for (int64_t i = 0; i < body.loop.size(); ++i) {
      const auto found = FindFilled(body, i);
      if (!found.has_value()) continue;
      if (filled.empty()) sunk.reversed = found->reversed;
      if (found->reversed != sunk.reversed) continue;
      filled.emplace_back(i, *found);
      free.insert(body.loop.results[i]);
    }
    if (filled.empty()) return {};
    for (auto one = body.order.rbegin(); one != body.order.rend(); ++one) {
      if (IsFree(body, free, *one)) free.insert(*one);
    }
    Set moved;
    for (const Instruction* one : body.order) {
      if (!free.contains(one) || one->opcode() == Opcode::kDynamicUpdateSlice) continue;
      const bool follows = std::any_of(
          one->operands().begin(), one->operands().end(),
          [&](const Instruction* operand) { return moved.contains(Forwarded(operand)); });
      if (follows || IsProjection(body, one)) moved.insert(one);
    }
    for (const auto& [element, found] : filled) {
      if (moved.contains(found.update)) sunk.elements.push_back(element);
    }
    return FindInputs(body, moved, sunk) ? sunk : Sunk{};
  }

  static bool IsFree(const LoopBody& body, const Set& free, const Instruction* one) {
    const auto& users = body.UsersOf(one);
    if (Forwarded(one) != one || !one->shape().IsArray() || users.empty() ||
        body.CountResults(one) > 0 || one->operand_count() == 0 || one->operand_count() > 8 ||
        !CanKeep(body.loop, one)) {
      return false;
    }
    for (const Instruction* user : users) {
      if (!free.contains(user)) return false;
      // Of what is updated, the rows alone are free.
      if (user->opcode() == Opcode::kDynamicUpdateSlice && body.CountResults(user) > 0 &&
          Forwarded(user->operand(1)) != one) {
        return false;
      }
    }
    bool batched[8] = {};
    for (int64_t i = 0; i < one->operand_count(); ++i) {
      if (!one->operand(i)->shape().IsArray()) return false;
      batched[i] = !body.IsOnce(one->operand(i));
    }
    return IsBatchable(one, absl::MakeConstSpan(batched, one->operand_count()));
  }

  static bool IsProjection(const LoopBody& body, const Instruction* one) {
    if (one->opcode() != Opcode::kDot && one->opcode() != Opcode::kConvolution) return false;
    return body.IsOnce(one->operand(0)) != body.IsOnce(one->operand(1));
  }

  static bool FindInputs(const LoopBody& body, const Set& moved, Sunk& sunk) {
    Set seen;
    for (const Instruction* one : body.order) {
      if (!moved.contains(one)) continue;
      for (const Instruction* operand : one->operands()) {
        const Instruction* const input = Forwarded(operand);
        if (moved.contains(input) || !seen.insert(input).second ||
            body.dependences.OfArray(input) != Dependence::kCarried) {
          continue;
        }
        if (!CanKeep(body.loop, input)) return false;
        sunk.inputs.push_back(input);
      }
    }
    return true;
  }
};

// An element to which each iteration adds a linear function of a product, or of a sum.
struct Accumulated {
  int64_t element = 0;
  const Instruction* term = nullptr;       // dot or reduce
  std::vector<const Instruction*> linear;  // what is done with it, the last first
};

class SinkAccumulation : public FormRule {
 public:
  using FormRule::FormRule;

 protected:
  bool Matches(const Instruction* instruction) const override {
    const auto loop = FindSimpleLoop(instruction);
    return loop.has_value() && !FindAll(LoopBody(*loop)).empty();
  }

  Instruction* Build(Instruction* instruction) const override {
    const CountedLoop loop = *FindSimpleLoop(instruction);
    const LoopBody body(loop);
    const std::vector<Accumulated> all = FindAll(body);
    const bool reversed = IsReversed(loop);
    Keeper keeper(body, instruction, reversed);
    for (const Accumulated& one : all) {
      for (const Instruction* input : InputsOf(body, one)) keeper.Keep(input);
      keeper.editor().SetResult(one.element, keeper.editor().Element(one.element));
    }
    Batcher batcher(loop, instruction, reversed);
    Instruction* const made = keeper.Finish(batcher);
    const Builder builder(made);
    std::vector<Instruction*> results;
    for (int64_t i = 0; i < loop.size(); ++i) results.push_back(builder.Element(made, i));
    absl::flat_hash_map<const Instruction*, Instruction*> built;  // what several sums share
    for (const Accumulated& one : all) {
      results[one.element] = builder.Binary(Opcode::kAdd, results[one.element],
                                            BuildSum(builder, batcher, one, built));
    }
    return made->AddInstruction(Instruction::CreateTuple(results));
  }

 private:
  static std::vector<Accumulated> FindAll(const LoopBody& body) {
    std::vector<Accumulated> all;
    for (int64_t i = 0; i < body.loop.size(); ++i) {
      if (auto found = Find(body, i)) all.push_back(*std::move(found));
    }
    // What else uses a product would leave it in the loop. Without one its sums are as fast there.
    for (size_t before = all.size() + 1; all.size() < before;) {
      before = all.size();
      Set moved, kept;
      for (const Accumulated& one : all) {
        moved.insert(body.loop.results[one.element]);
        moved.insert(one.linear.begin(), one.linear.end());
        moved.insert(one.term);
        if (one.term->opcode() != Opcode::kDot) continue;
        for (const Instruction* input : InputsOf(body, one)) kept.insert(input);
      }
      const auto stays = [&](const Accumulated& one) {
        const auto inputs = InputsOf(body, one);
        return !IsLeft(body, moved, one) &&
               (one.term->opcode() == Opcode::kDot ||
                std::all_of(inputs.begin(), inputs.end(),
                            [&](const Instruction* input) { return kept.contains(input); }));
      };
      all.erase(std::stable_partition(all.begin(), all.end(), stays), all.end());
    }
    const bool any = std::any_of(all.begin(), all.end(), [](const Accumulated& one) {
      return one.term->opcode() == Opcode::kDot;
    });
    return any ? all : std::vector<Accumulated>();
  }

  // Returns true if the loop needs the term for something else.
  static bool IsLeft(const LoopBody& body, const Set& moved, const Accumulated& one) {
    const auto needed = [&](const Instruction* value) {
      const auto& users = body.UsersOf(value);
      return body.CountResults(value) > 0 ||
             std::any_of(users.begin(), users.end(),
                         [&](const Instruction* user) { return !moved.contains(user); });
    };
    return needed(one.term) || std::any_of(one.linear.begin(), one.linear.end(), needed);
  }

  static bool IsLinear(const Instruction* value) {
    return IsRearrangement(value) || IsReductionBy(value, Opcode::kAdd) ||
           (value->opcode() == Opcode::kSlice && IsBatchable(value, {false}));
  }

  static std::optional<Accumulated> Find(const LoopBody& body, int64_t element) {
    const Instruction* const result = body.loop.results[element];
    if (result->opcode() != Opcode::kAdd || !IsPointwise(result) ||
        !xla::primitive_util::IsFloatingPointType(result->shape().element_type()) ||
        !body.IsOwn(element, result)) {
      return std::nullopt;
    }
    const Instruction* const parameter = body.loop.body()->parameter_instruction(0);
    const int side = ElementOf(Forwarded(result->operand(0)), parameter) == element ? 1 : 0;
    if (ElementOf(Forwarded(result->operand(1 - side)), parameter) != element) return std::nullopt;
    Accumulated found{element, nullptr, {}};
    const Instruction* value = Forwarded(result->operand(side));
    for (; IsLinear(value) && SameType(value, result); value = Forwarded(value->operand(0))) {
      if (value->opcode() == Opcode::kReduce) found.term = value;
      found.linear.push_back(value);
    }
    if (value->opcode() == Opcode::kDot && SameType(value, result)) found.term = value;
    if (found.term == nullptr || !CanSum(body, found.term)) return std::nullopt;
    const auto end = std::find(found.linear.begin(), found.linear.end(), found.term);
    found.linear.erase(end, found.linear.end());
    return found;
  }

  static bool CanSum(const LoopBody& body, const Instruction* term) {
    const bool dot = term->opcode() == Opcode::kDot;
    if (dot && (!IsProduct(term, Opcode::kDot) || !HasOneType(term))) return false;
    int64_t kept = 0;
    for (int64_t i = 0; i < (dot ? 2 : 1); ++i) {
      const Instruction* const operand = Forwarded(term->operand(i));
      if (body.IsOnce(operand) || !CanKeep(body.loop, operand)) return false;
      if (body.dependences.OfArray(operand) == Dependence::kCarried) {
        kept += xla::ShapeUtil::ElementsIn(operand->shape());
      }
    }
    // Where more would be kept than is added, the loop does less by adding.
    return !dot || kept <= 2 * xla::ShapeUtil::ElementsIn(term->shape());
  }

  static std::vector<const Instruction*> InputsOf(const LoopBody& body, const Accumulated& one) {
    std::vector<const Instruction*> inputs;
    for (int64_t i = 0; i < (one.term->opcode() == Opcode::kDot ? 2 : 1); ++i) {
      const Instruction* const operand = Forwarded(one.term->operand(i));
      if (body.dependences.OfArray(operand) == Dependence::kCarried) inputs.push_back(operand);
    }
    return inputs;
  }

  static Instruction* BuildSum(const Builder& builder, Batcher& batcher, const Accumulated& one,
                               absl::flat_hash_map<const Instruction*, Instruction*>& built) {
    Instruction*& term = built[one.term];
    if (term == nullptr) term = BuildTerm(builder, batcher, one.term);
    Instruction* sum = term;
    for (auto linear = one.linear.rbegin(); linear != one.linear.rend(); ++linear) {
      if (const auto found = built.find(*linear); found != built.end()) {
        sum = found->second;
        continue;
      }
      std::vector<Instruction*> operands = {sum};
      for (int64_t i = 1; i < (*linear)->operand_count(); ++i) {
        operands.push_back(batcher.Of((*linear)->operand(i)).array);
      }
      sum = builder.place()->AddInstruction(
          (*linear)->CloneWithNewOperands((*linear)->shape(), operands));
      sum->set_original_value(nullptr);
      built[*linear] = sum;
    }
    return sum;
  }

  // Adds the sum over the iterations, which is one more dimension to sum over.
  static Instruction* BuildTerm(const Builder& builder, Batcher& batcher, const Instruction* term) {
    Instruction* const first = batcher.Of(term->operand(0)).array;
    if (term->opcode() == Opcode::kReduce) {
      std::vector<int64_t> dimensions = {0};
      for (int64_t one : term->dimensions()) dimensions.push_back(one + 1);
      return builder.Reduce(Opcode::kAdd, first, dimensions);
    }
    Instruction* const second = batcher.Of(term->operand(1)).array;
    xla::DotDimensionNumbers numbers = term->dot_dimension_numbers();
    const auto extend = [](auto* batch, auto* contracting) {
      for (int64_t& one : *batch) ++one;
      for (int64_t& one : *contracting) ++one;
      contracting->Add(0);
    };
    extend(numbers.mutable_lhs_batch_dimensions(), numbers.mutable_lhs_contracting_dimensions());
    extend(numbers.mutable_rhs_batch_dimensions(), numbers.mutable_rhs_contracting_dimensions());
    return builder.place()->AddInstruction(
        Instruction::CreateDot(term->shape(), first, second, numbers, term->precision_config()));
  }
};

}  // namespace

const RuleTopic kSinkingForms(318, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<SinkProjection>(
      Identity{"sink-projection", "for i: y[i] = f(i)·w = for i: z[i] = f(i); y = z·w",
               "Computes products that are only kept after the loop, all in one."}));
  rules.push_back(std::make_unique<SinkAccumulation>(Identity{
      "sink-accumulation", "for i: s += f(i)·g(i) = for i: x[i], y[i] = f(i), g(i); s += x·y",
      "Adds up products, such as gradients of weights, after the loop, in one product."}));
});

}  // namespace hlograph
