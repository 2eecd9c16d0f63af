// Passes that look at one instruction, and at few operands: each is run on a module of that alone.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "hlograph/native/passes.h"
#include "hlograph/native/rewrite_rules.h"
#include "xla/hlo/ir/hlo_clone_context.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/transforms/simplifiers/hlo_dce.h"
#include "xla/shape_util.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;
using Instructions = std::unordered_map<const xla::HloInstruction*, xla::HloInstruction*>;

// What a rule shows a pass of the module around an instruction.
struct Local {
  std::string pass;  // name in the registry
  std::vector<Opcode> at;
  std::vector<Opcode> inner;  // operands of these opcodes are shown, others are parameters
  std::function<bool(const xla::HloInstruction*)> where = nullptr;
};

template <typename T>
bool Contains(const std::vector<T>& all, const T& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

// An instruction and its inner operands, in a module of their own.
class Excerpt {
 public:
  Excerpt(xla::HloInstruction* instruction, const std::vector<Opcode>& inner)
      : builder_("excerpt"),
        module_(std::make_unique<xla::HloModule>("excerpt", ConfigOf(*instruction->GetModule()))),
        context_(module_.get()),
        inner_(inner) {
    xla::HloInstruction* const root = Add(instruction, /*depth=*/0);
    module_->AddEntryComputation(builder_.Build(root));
  }

  xla::HloModule* module() { return module_.get(); }

  // Puts what the excerpt computes now in the place of the instruction.
  absl::Status ReplaceBy(xla::HloInstruction* instruction) {
    xla::HloComputation* const computation = instruction->parent();
    xla::HloCloneContext context(computation->parent());
    Instructions made;
    for (const xla::HloInstruction* mine :
         module_->entry_computation()->MakeInstructionPostOrder()) {
      made[mine] = Original(mine, instruction, made);
      if (made[mine] != nullptr) continue;
      std::vector<xla::HloInstruction*> operands;
      for (const xla::HloInstruction* operand : mine->operands()) {
        operands.push_back(made.at(operand));
      }
      made[mine] = computation->AddInstruction(
          mine->CloneWithNewOperands(mine->shape(), operands, /*suffix=*/"", &context));
    }
    xla::HloInstruction* const root = made.at(module_->entry_computation()->root_instruction());
    if (!xla::ShapeUtil::Compatible(root->shape(), instruction->shape())) {
      return absl::InternalError(
          absl::StrCat("the pass gave ", instruction->name(), " another shape"));
    }
    return computation->ReplaceInstruction(instruction, root);
  }

 private:
  static xla::HloModuleConfig ConfigOf(const xla::HloModule& whole) {
    xla::HloModuleConfig config;
    config.set_debug_options(whole.config().debug_options());
    config.set_replica_count(whole.config().replica_count());
    config.set_num_partitions(whole.config().num_partitions());
    return config;
  }

  // The copy of an instruction of the whole module.
  xla::HloInstruction* Add(xla::HloInstruction* whole, int depth) {
    constexpr int kMaxDepth = 2;
    if (auto it = copies_.find(whole); it != copies_.end()) return it->second;
    xla::HloInstruction* copy = nullptr;
    if (depth == 0 || (depth <= kMaxDepth && Contains(inner_, whole->opcode()))) {
      std::vector<xla::HloInstruction*> operands;
      for (xla::HloInstruction* operand : whole->operands()) {
        operands.push_back(Add(operand, depth + 1));
      }
      copy = builder_.AddInstruction(
          whole->CloneWithNewOperands(whole->shape(), operands, /*suffix=*/"", &context_));
      if (depth > 0) kept_[copy] = whole;
    } else {
      copy = builder_.AddInstruction(xla::HloInstruction::CreateParameter(
          parameters_, whole->shape(), absl::StrCat("operand.", parameters_)));
      ++parameters_;
      outside_[copy->parameter_number()] = whole;
    }
    copies_[whole] = copy;
    return copy;
  }

  // The instruction of the whole module that this one still is; null if it is a new one.
  xla::HloInstruction* Original(const xla::HloInstruction* mine, const xla::HloInstruction* place,
                                const Instructions& made) const {
    if (mine->opcode() == Opcode::kParameter) return outside_.at(mine->parameter_number());
    auto it = kept_.find(mine);
    if (it == kept_.end() || it->second == place) return nullptr;
    xla::HloInstruction* const whole = it->second;
    const auto same = [&](const xla::HloInstruction* a, const xla::HloInstruction* b) {
      return made.at(a) == b;
    };
    return mine->Identical(*whole, same) ? whole : nullptr;
  }

  xla::HloComputation::Builder builder_;
  std::unique_ptr<xla::HloModule> module_;
  xla::HloCloneContext context_;
  const std::vector<Opcode>& inner_;
  int64_t parameters_ = 0;
  Instructions copies_;                                        // of whole instructions
  Instructions kept_;                                          // whole instructions of copies
  std::unordered_map<int64_t, xla::HloInstruction*> outside_;  // by parameter
};

class LocalApplier : public Applier {
 public:
  explicit LocalApplier(const Local& local) : local_(local), pass_(*FindPass(local.pass)) {}

  absl::StatusOr<bool> At(Place place) override {
    Excerpt excerpt(place.instruction, local_.inner);
    absl::StatusOr<bool> changed = RunPass(pass_, excerpt.module());
    if (!changed.ok() || !*changed) return changed;
    absl::StatusOr<bool> cleared = xla::HloDCE().Run(excerpt.module());
    if (!cleared.ok()) return cleared;
    absl::Status status = excerpt.ReplaceBy(place.instruction);
    if (!status.ok()) return status;
    return true;
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

  Reach reach() const override { return {.operands = 3, .users = 0}; }

 private:
  Local local_;
};

bool OfConstants(const xla::HloInstruction* instruction) {
  return instruction->operand_count() > 0 &&
         std::all_of(instruction->operands().begin(), instruction->operands().end(),
                     [](const xla::HloInstruction* operand) {
                       return operand->opcode() == Opcode::kConstant ||
                              operand->opcode() == Opcode::kIota;
                     });
}

bool IsEmpty(const xla::HloInstruction* instruction) {
  return instruction->opcode() != Opcode::kConstant && instruction->shape().IsArray() &&
         xla::ShapeUtil::IsZeroElementArray(instruction->shape());
}

void Add(std::vector<RulePtr>& rules, Local local) {
  rules.push_back(std::make_unique<LocalRule>(std::move(local)));
}

}  // namespace

void AddLocalRules(std::vector<RulePtr>& rules) {
  Add(rules, {"constant_folding", {}, {Opcode::kConstant, Opcode::kIota}, OfConstants});
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
  Add(rules, {"simplify-conditional", {Opcode::kConditional}, {Opcode::kConstant, Opcode::kTuple}});
  Add(rules, {"conditional-canonicalizer", {Opcode::kConditional}, {}});
  Add(rules, {"simplify-while-loops", {Opcode::kWhile}, {Opcode::kConstant, Opcode::kTuple}});
  Add(rules,
      {"while-loop-constant-sinking", {Opcode::kWhile}, {Opcode::kConstant, Opcode::kTuple}});
  Add(rules, {"while-loop-invariant-code-motion", {Opcode::kWhile}, {Opcode::kTuple}});
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
  Add(rules, {"topk-decomposer", {Opcode::kTopK, Opcode::kCustomCall}, {}});
  Add(rules, {"rng-bit-generator-expander", {Opcode::kRngBitGenerator}, {}});
  Add(rules, {"rng-expander", {Opcode::kRng}, {}});
  Add(rules, {"stochastic_convert_decomposer", {Opcode::kStochasticConvert}, {}});
}

}  // namespace hlograph
