// Passes that look at one instruction, and at few operands: each is run on a module of that alone.
#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "hlograph/native/passes/registry.h"
#include "hlograph/native/rewrites/excerpt.h"
#include "hlograph/native/rewrites/rules.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;

// What a rule shows a pass of the module around an instruction.
struct Local {
  std::string pass;  // name in the registry
  std::vector<Opcode> at;
  std::vector<Opcode> inner;  // operands of these opcodes are shown, others are parameters
  std::function<bool(const xla::HloInstruction*)> where = nullptr;
  bool elements = false;  // whether get-tuple-elements of its result are shown, too
};

template <typename T>
bool Contains(const std::vector<T>& all, const T& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

// What is shown with an instruction whose results are taken apart: a pass then knows which of them
// are used, and takes no tuple for one that is.
std::vector<xla::HloInstruction*> ElementsOf(xla::HloInstruction* instruction) {
  if (instruction == instruction->parent()->root_instruction()) return {};
  const auto is_element = [](const xla::HloInstruction* user) {
    return user->opcode() == Opcode::kGetTupleElement && !user->HasControlDependencies();
  };
  const auto& users = instruction->users();
  if (!std::all_of(users.begin(), users.end(), is_element)) return {};
  return {users.begin(), users.end()};
}

Excerpt ExcerptOf(xla::HloInstruction* instruction, const Local& local) {
  std::vector<xla::HloInstruction*> elements;
  if (local.elements) elements = ElementsOf(instruction);
  std::vector<xla::HloInstruction*> results = elements;
  if (results.empty()) results.push_back(instruction);
  elements.insert(elements.begin(), instruction);
  return Excerpt(elements, std::move(results), {local.inner});
}

class LocalApplier : public Applier {
 public:
  explicit LocalApplier(const Local& local) : local_(local), pass_(*FindPass(local.pass)) {}

  absl::StatusOr<bool> At(Place place) override {
    return ExcerptOf(place.instruction, local_).Apply(pass_);
  }

 private:
  const Local& local_;
  const Pass& pass_;
};

class LocalRule : public Rule {
 public:
  explicit LocalRule(Local local)
      : Rule(local.pass, FindPass(local.pass)->xla_class, FindPass(local.pass)->description),
        local_(std::move(local)) {}

  void Propose(xla::HloComputation* computation, std::vector<Place>& places) const override {
    const auto may_apply = [&](const xla::HloInstruction* instruction) {
      return (local_.at.empty() || Contains(local_.at, instruction->opcode())) &&
             instruction->opcode() != Opcode::kParameter &&
             !instruction->HasControlDependencies() && (!local_.where || local_.where(instruction));
    };
    ProposeWhere(computation, may_apply, places);
  }

  std::unique_ptr<Applier> For(xla::HloComputation* /*computation*/) const override {
    return std::make_unique<LocalApplier>(local_);
  }

  Reach reach() const override { return {.operands = 3, .users = local_.elements ? 1 : 0}; }

 private:
  Local local_;
};

bool IsConstant(const xla::HloInstruction* instruction) {
  return instruction->opcode() == Opcode::kConstant;
}

bool IsConstantOrBroadcast(const xla::HloInstruction* instruction) {
  return IsConstant(instruction) || instruction->opcode() == Opcode::kIota ||
         (instruction->opcode() == Opcode::kBroadcast && IsConstant(instruction->operand(0)));
}

// Whether a computation has no other caller, and would be copied for one.
bool CallsAlone(const xla::HloInstruction* instruction) {
  const auto& callees = instruction->called_computations();
  return std::all_of(callees.begin(), callees.end(), [](const xla::HloComputation* callee) {
    return callee->caller_instructions().size() == 1;
  });
}

// What the folding of constants asks of an instruction: one operand is a constant, the others
// broadcast one, and somebody uses it. Into what is called it moves constants that all callers
// agree on.
bool OfConstants(const xla::HloInstruction* instruction) {
  const auto& operands = instruction->operands();
  if (instruction->opcode() == Opcode::kTuple || instruction->IsDead()) return false;
  if (!std::any_of(operands.begin(), operands.end(), IsConstant)) return false;
  return (instruction->opcode() == Opcode::kCall && CallsAlone(instruction)) ||
         std::all_of(operands.begin(), operands.end(), IsConstantOrBroadcast);
}

bool IsEmpty(const xla::HloInstruction* instruction) {
  return instruction->opcode() != Opcode::kConstant && instruction->shape().IsArray() &&
         xla::ShapeUtil::IsZeroElementArray(instruction->shape());
}

void Add(std::vector<RulePtr>& rules, Local local) {
  rules.push_back(std::make_unique<LocalRule>(std::move(local)));
}

// Adds a rule about tuples that are taken apart.
void AddOfElements(std::vector<RulePtr>& rules, Local local) {
  local.elements = true;
  Add(rules, std::move(local));
}

}  // namespace

const RuleTopic kLocalRules(3, [](std::vector<RulePtr>& rules) {
  Add(rules, {"constant_folding",
              {},
              {Opcode::kConstant, Opcode::kIota, Opcode::kBroadcast},
              OfConstants});
  Add(rules, {"zero_sized_hlo_elimination", {}, {}, IsEmpty});
  Add(rules, {"tuple-simplifier",
              {Opcode::kTuple, Opcode::kGetTupleElement},
              {Opcode::kTuple, Opcode::kGetTupleElement}});
  Add(rules, {"simplify-fp-conversions", {Opcode::kConvert}, {Opcode::kConvert}});
  Add(rules, {"transpose-folding", {Opcode::kDot, Opcode::kConvolution}, {Opcode::kTranspose}});
  Add(rules, {"batch-dot-simplification", {Opcode::kDot}, {}});
  Add(rules, {"dot_decomposer", {Opcode::kDot}, {}});
  Add(rules, {"broadcast_canonicalizer", {Opcode::kBroadcast}, {}});
  Add(rules, {"cse_barrier_expander", {Opcode::kOptimizationBarrier}, {}});
  Add(rules, {"sharding-remover", {Opcode::kCustomCall}, {}});
  Add(rules, {"map-inline", {Opcode::kMap}, {}});
  AddOfElements(
      rules, {"simplify-conditional", {Opcode::kConditional}, {Opcode::kConstant, Opcode::kTuple}});
  Add(rules, {"conditional-canonicalizer", {Opcode::kConditional}, {}});
  AddOfElements(rules,
                {"simplify-while-loops", {Opcode::kWhile}, {Opcode::kConstant, Opcode::kTuple}});
  AddOfElements(
      rules,
      {"while-loop-constant-sinking", {Opcode::kWhile}, {Opcode::kConstant, Opcode::kTuple}});
  AddOfElements(
      rules,
      {"while-loop-invariant-code-motion", {Opcode::kWhile}, {Opcode::kConstant, Opcode::kTuple}});
  Add(rules, {"batched_gather_scatter_normalizer", {Opcode::kGather, Opcode::kScatter}, {}});
  Add(rules, {"gather_simplifier", {Opcode::kGather}, {}});
  Add(rules, {"gather_expander", {Opcode::kGather}, {}});
  Add(rules, {"gather_expander:simple", {Opcode::kGather}, {}});
  Add(rules, {"scatter_simplifier", {Opcode::kScatter}, {}});
  Add(rules, {"scatter_expander", {Opcode::kScatter}, {}});
  Add(rules, {"scatter_expander:simple", {Opcode::kScatter}, {}});
  Add(rules, {"select_and_scatter_expander", {Opcode::kSelectAndScatter}, {}});
  Add(rules, {"dynamic-index-splitter", {Opcode::kDynamicSlice, Opcode::kDynamicUpdateSlice}, {}});
  Add(rules, {"tree_reduction_rewriter", {Opcode::kReduce}, {}});
  Add(rules, {"reduce-window-rewriter", {Opcode::kReduceWindow}, {Opcode::kConstant}});
  Add(rules, {"batchnorm_expander",
              {Opcode::kBatchNormTraining, Opcode::kBatchNormInference, Opcode::kBatchNormGrad},
              {}});
  Add(rules, {"logistic-expander", {Opcode::kLogistic}, {}});
  Add(rules, {"comparison-expander", {Opcode::kCompare}, {}});
  Add(rules, {"bitcast_dtypes_expander", {Opcode::kBitcastConvert}, {}});
  Add(rules, {"operand_upcaster", {Opcode::kDot, Opcode::kConvolution}, {}});
  Add(rules, {"convolution-group-converter", {Opcode::kConvolution}, {}});
  Add(rules, {"cholesky_expander", {Opcode::kCholesky}, {}});
  Add(rules, {"triangular_solve_expander", {Opcode::kTriangularSolve}, {}});
  Add(rules, {"qr_expander", {Opcode::kCustomCall}, {}});
  Add(rules, {"eigh_expander", {Opcode::kCustomCall}, {}});
  AddOfElements(rules, {"topk-decomposer", {Opcode::kTopK, Opcode::kCustomCall}, {}});
  Add(rules, {"rng-bit-generator-expander", {Opcode::kRngBitGenerator}, {}});
  Add(rules, {"rng-expander", {Opcode::kRng}, {}});
  Add(rules, {"stochastic_convert_decomposer", {Opcode::kStochasticConvert}, {}});
});

}  // namespace hlograph
