#include "hlograph/native/module/fingerprint.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "hlograph/native/graph/prefetch.h"
#include "hlograph/native/module/hasher.h"
#include "hlograph/native/module/own_hash.h"
#include "hlograph/native/module/own_hashes.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_input_output_alias_config.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_layout.h"

namespace hlograph {
namespace {

// How much of a module a hash sees.
enum class Detail { kEverything, kOpcodesAndEdges };

// What is known of a computation once its instructions were hashed.
struct ComputationState {
  Hash content;
  uint64_t call_sites = 0;
};

using ComputationStates = absl::flat_hash_map<const xla::HloComputation*, ComputationState>;

// Hashes one computation after the other, callees before callers.
//
// What the root reaches is numbered in the post-order of a walk from the root
// along operands; an instruction is hashed with its
// operands' numbers, which tells one shared instruction from two equal ones.
// What the root does not reach (dead code, side effects, unused parameters)
// has no such order: each is hashed with its operands' hashes, then with its
// users', and these hashes are summed.
class ComputationHasher {
 public:
  ComputationHasher(Detail detail, ComputationStates& states, int64_t* counts, OwnHashes* own)
      : detail_(detail), states_(states), counts_(counts), own_hashes_(own) {}

  Hash Run(const xla::HloComputation& computation) {
    index_.assign(computation.next_unique_instruction_internal_id(), kUnseen);
    order_.clear();
    controlled_.clear();
    if (own_hashes_ != nullptr) own_ = own_hashes_->Add(computation);
    Prefetch(computation);
    Hasher live;
    Visit(computation.root_instruction());
    for (size_t i = 0; i < order_.size(); ++i) {
      const size_t last = order_.size() - 1;
      Prefetch(order_[std::min(i + 2 * kPrefetchDistance, last)]);
      PrefetchShape(order_[std::min(i + kPrefetchDistance, last)]);
      live.Add(LiveHash(*order_[i]));
    }
    live_count_ = order_.size();
    live.Add(live_count_);
    if (live_count_ < static_cast<size_t>(computation.instruction_count())) {
      for (const xla::HloInstruction* instruction : computation.instructions()) Visit(instruction);
    }
    const std::vector<Hash> dead = HashDead();
    SumWithUsers(dead).AddTo(live);
    SumControl(dead).AddTo(live);
    if (detail_ == Detail::kEverything) {
      live.Add(absl::string_view(computation.execution_thread()));
    }
    return live.Finish();
  }

 private:
  static constexpr int32_t kUnseen = -1;
  static constexpr int32_t kOpen = -2;

  // An instruction to visit, and its place in index_.
  struct Visited {
    const xla::HloInstruction* instruction;
    int32_t* index;
  };

  int32_t& Index(const xla::HloInstruction* instruction) { return index_[instruction->local_id()]; }

  // Appends the unseen instructions that `root` reaches, operands first.
  void Visit(const xla::HloInstruction* root) {
    Push(root);
    while (!stack_.empty()) {
      const auto [instruction, index] = stack_.back();
      if (*index == kUnseen) {
        *index = kOpen;
        // Pushed in reverse: the first operand is visited first.
        const auto& operands = instruction->operands();
        for (size_t i = operands.size(); i > 0; --i) Push(operands[i - 1]);
        continue;
      }
      stack_.pop_back();
      if (*index == kOpen) {
        *index = static_cast<int32_t>(order_.size());
        order_.push_back(instruction);
      }
    }
  }

  void Push(const xla::HloInstruction* instruction) {
    int32_t& index = Index(instruction);
    if (index == kUnseen) stack_.push_back({instruction, &index});
  }

  // Everything but operands and control predecessors.
  Hasher OwnHasher(const xla::HloInstruction& instruction) {
    Hasher hasher;
    if (counts_ != nullptr) ++counts_[static_cast<int>(instruction.opcode())];
    if (!instruction.control_predecessors().empty()) controlled_.push_back(&instruction);
    if (detail_ == Detail::kEverything) {
      AddInstruction(instruction, hasher);
    } else {
      hasher.Add(static_cast<uint64_t>(instruction.opcode()));
    }
    if (!own_.empty()) own_[instruction.local_id()] = OwnHash(instruction, hasher);
    if (!instruction.has_called_computations()) return hasher;
    for (const xla::HloComputation* callee : instruction.called_computations()) {
      ComputationState& state = states_[callee];
      ++state.call_sites;
      hasher.Add(state.content);
    }
    return hasher;
  }

  Hash LiveHash(const xla::HloInstruction& instruction) {
    Hasher hasher = OwnHasher(instruction);
    hasher.Add(instruction.operand_count());
    for (const xla::HloInstruction* operand : instruction.operands()) hasher.Add(Index(operand));
    return hasher.Finish();
  }

  // Hashes of what the root does not reach, by index in order_ less live_count_.
  std::vector<Hash> HashDead() {
    std::vector<Hash> dead;
    dead.reserve(order_.size() - live_count_);
    for (size_t i = live_count_; i < order_.size(); ++i) {
      Hasher hasher = OwnHasher(*order_[i]);
      for (const xla::HloInstruction* operand : order_[i]->operands()) {
        AddReference(operand, dead, hasher);
      }
      dead.push_back(hasher.Finish());
    }
    return dead;
  }

  void AddReference(const xla::HloInstruction* instruction, const std::vector<Hash>& dead,
                    Hasher& hasher) {
    const size_t index = Index(instruction);
    if (index < live_count_) {
      hasher.Add(index);
    } else {
      hasher.Add(dead[index - live_count_]);
    }
  }

  // Users come after operands in order_, so one backward sweep sees them first.
  HashSum SumWithUsers(const std::vector<Hash>& dead) {
    std::vector<HashSum> users(dead.size());
    HashSum sum;
    for (size_t i = dead.size(); i > 0; --i) {
      Hasher hasher;
      hasher.Add(dead[i - 1]);
      users[i - 1].AddTo(hasher);
      const Hash hash = hasher.Finish();
      sum.Add(hash);
      const xla::HloInstruction& instruction = *order_[live_count_ + i - 1];
      for (int64_t position = 0; position < instruction.operand_count(); ++position) {
        const size_t operand = Index(instruction.operand(position));
        if (operand < live_count_) continue;
        Hasher use;
        use.Add(hash);
        use.Add(static_cast<uint64_t>(position));
        users[operand - live_count_].Add(use.Finish());
      }
    }
    return sum;
  }

  // Control dependencies form a set.
  HashSum SumControl(const std::vector<Hash>& dead) {
    HashSum sum;
    for (const xla::HloInstruction* instruction : controlled_) {
      for (const xla::HloInstruction* predecessor : instruction->control_predecessors()) {
        Hasher edge;
        AddReference(instruction, dead, edge);
        AddReference(predecessor, dead, edge);
        sum.Add(edge.Finish());
      }
    }
    return sum;
  }

  const Detail detail_;
  ComputationStates& states_;
  int64_t* const counts_;
  OwnHashes* const own_hashes_;
  // Of the computation at hand; their memory serves the next.
  size_t live_count_ = 0;
  absl::Span<Hash> own_;        // by local id; empty if not asked for
  std::vector<int32_t> index_;  // by local id: position in order_
  std::vector<const xla::HloInstruction*> order_;
  std::vector<const xla::HloInstruction*> controlled_;  // those with control predecessors
  std::vector<Visited> stack_;
};

void AddConfig(const xla::HloModule& module, Hasher& hasher) {
  // Not the replica and partition counts: HloModuleProto does not carry them.
  const xla::ComputationLayout& layout = module.entry_computation_layout();
  for (const xla::ShapeLayout& parameter : layout.parameter_layouts()) {
    AddShape(parameter.shape(), hasher);
  }
  AddShape(layout.result_shape(), hasher);
  hasher.Add(module.input_output_alias_config().ToShortString());
  hasher.Add(module.buffer_donor_config().ToShortString());
}

Hasher HashComputations(const xla::HloModule& module, Detail detail, int64_t* counts,
                        OwnHashes* own) {
  const std::vector<xla::HloComputation*> computations = module.MakeComputationPostOrder();
  ComputationStates states;
  states.reserve(computations.size());
  ComputationHasher hash(detail, states, counts, own);
  for (const xla::HloComputation* computation : computations) {
    const Hash content = hash.Run(*computation);
    states[computation].content = content;
  }
  Hasher hasher;
  hasher.Add(states[module.entry_computation()].content);
  // A computation called twice and two equal computations called once differ.
  HashSum all;
  for (const auto& [computation, state] : states) {
    Hasher one;
    one.Add(state.content);
    one.Add(state.call_sites);
    all.Add(one.Finish());
  }
  all.AddTo(hasher);
  return hasher;
}

}  // namespace

Fingerprint FingerprintOf(const xla::HloModule& module, int64_t* counts, OwnHashes* own) {
  Hasher hasher = HashComputations(module, Detail::kEverything, counts, own);
  AddConfig(module, hasher);
  return hasher.Finish();
}

Fingerprint StructureOf(const xla::HloModule& module) {
  return HashComputations(module, Detail::kOpcodesAndEdges, nullptr, nullptr).Finish();
}

Fingerprint ContextOf(const xla::HloModule& module) {
  Hasher hasher;
  hasher.Add(static_cast<uint64_t>(module.config().replica_count()));
  hasher.Add(static_cast<uint64_t>(module.config().num_partitions()));
  hasher.Add(static_cast<uint64_t>(module.config().use_spmd_partitioning()));
  HashSum attributes;
  for (const auto& [key, value] : module.frontend_attributes().map()) {
    Hasher attribute;
    attribute.Add(absl::string_view(key));
    attribute.Add(absl::string_view(value));
    attributes.Add(attribute.Finish());
  }
  attributes.AddTo(hasher);
  return hasher.Finish();
}

}  // namespace hlograph
