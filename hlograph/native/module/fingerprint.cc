#include "hlograph/native/module/fingerprint.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "hlograph/native/graph/instruction_attributes.h"
#include "hlograph/native/graph/prefetch.h"
#include "tsl/platform/fingerprint.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_input_output_alias_config.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/layout.h"
#include "xla/layout_util.h"
#include "xla/literal.h"
#include "xla/shape.h"
#include "xla/shape_layout.h"

namespace hlograph {
namespace {

using Hash = Fingerprint;

// One multiply-fold step (as in wyhash): the product's halves, xored.
inline uint64_t Fold(uint64_t a, uint64_t b) {
  const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// An order-dependent 128-bit accumulator: two lanes with different secrets.
// Its constants and the order of calls define the fingerprint: a change of
// either changes every fingerprint stored in a manifest.
class Hasher {
 public:
  void Add(uint64_t value) {
    low_ = Fold(low_ ^ value ^ 0x9e3779b97f4a7c15, 0xd6e8feb86659fd93);
    high_ = Fold(high_ + value + 0xc2b2ae3d27d4eb4f, 0xa0761d6478bd642f) ^ value;
  }
  void Add(const Hash& hash) {
    Add(hash.low);
    Add(hash.high);
  }
  void Add(absl::Span<const int64_t> values) {
    Add(values.size());
    for (int64_t value : values) Add(static_cast<uint64_t>(value));
  }
  void Add(absl::string_view bytes) {
    const tsl::Fprint128 print = tsl::Fingerprint128(bytes);
    Add(bytes.size());
    Add(print.low64);
    Add(print.high64);
  }
  Hash Finish() const {
    return {Fold(low_ ^ 0xe7037ed1a0b428db, high_ | 1), Fold(high_ ^ 0x8ebc6af09c88c6e3, low_ | 1)};
  }

 private:
  uint64_t low_ = 0x243f6a8885a308d3;
  uint64_t high_ = 0x13198a2e03707344;
};

// An order-independent sum of hashes.
class HashSum {
 public:
  void Add(const Hash& hash) {
    low_ += hash.low;
    high_ += hash.high;
    ++count_;
  }
  void AddTo(Hasher& hasher) const {
    hasher.Add(count_);
    hasher.Add(Hash{low_, high_});
  }

 private:
  uint64_t low_ = 0, high_ = 0, count_ = 0;
};

bool IsDefaultLayout(const xla::Layout& layout, int64_t rank) {
  if (static_cast<int64_t>(layout.minor_to_major().size()) != rank) return false;
  for (int64_t i = 0; i < rank; ++i) {
    if (layout.minor_to_major(i) != rank - 1 - i) return false;
  }
  return layout.tiles().empty() && layout.memory_space() == 0 &&
         layout.element_size_in_bits() == 0 && layout.tail_padding_alignment_in_elements() == 1 &&
         !layout.has_physical_shape() && layout.dynamic_shape_metadata_prefix_bytes() == 0;
}

void AddShape(const xla::Shape& shape, Hasher& hasher) {
  hasher.Add(static_cast<uint64_t>(shape.element_type()));
  if (shape.IsTuple()) {
    hasher.Add(shape.tuple_shapes().size());
    for (const xla::Shape& element : shape.tuple_shapes()) AddShape(element, hasher);
    return;
  }
  if (!shape.IsArray()) return;
  hasher.Add(shape.dimensions());
  const absl::Span<const bool> dynamic = shape.dynamic_dimensions();
  if (absl::c_linear_search(dynamic, true)) {
    for (bool is_dynamic : dynamic) hasher.Add(static_cast<uint64_t>(is_dynamic));
  }
  // No layout and the default one are the same state: XLA's printer and parser
  // turn one into the other.
  if (shape.has_layout() && !IsDefaultLayout(shape.layout(), shape.dimensions().size())) {
    hasher.Add(shape.layout().ToString());
  }
}

void AddLiteral(const xla::HloInstruction& instruction, Hasher& hasher) {
  const auto* constant = xla::Cast<xla::HloConstantInstruction>(&instruction);
  if (!constant->HasLiteral()) return;
  const xla::Literal& literal = constant->literal();
  if (!literal.shape().IsArray()) {
    hasher.Add(literal.ToString());
    return;
  }
  const int rank = literal.shape().dimensions().size();
  if (rank > 1 && literal.shape().has_layout() &&
      !xla::LayoutUtil::IsMonotonicWithDim0Major(literal.shape().layout())) {
    const xla::Literal sorted = literal.Relayout(xla::LayoutUtil::GetDefaultLayoutForRank(rank));
    hasher.Add(
        absl::string_view(static_cast<const char*>(sorted.untyped_data()), sorted.size_bytes()));
    return;
  }
  hasher.Add(
      absl::string_view(static_cast<const char*>(literal.untyped_data()), literal.size_bytes()));
}

class HashingSink : public AttributeSink {
 public:
  explicit HashingSink(Hasher& hasher) : hasher_(hasher) {}
  void Ints(AttributeKey key, absl::Span<const int64_t> values) override {
    hasher_.Add(static_cast<uint64_t>(key));
    hasher_.Add(values);
  }
  void Text(AttributeKey key, absl::string_view text) override {
    hasher_.Add(static_cast<uint64_t>(key));
    hasher_.Add(text);
  }

 private:
  Hasher& hasher_;
};

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
  ComputationHasher(Detail detail, ComputationStates& states, int64_t* counts)
      : detail_(detail), states_(states), counts_(counts) {}

  Hash Run(const xla::HloComputation& computation) {
    index_.assign(computation.next_unique_instruction_internal_id(), kUnseen);
    order_.clear();
    controlled_.clear();
    Fetch(computation);
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

  // The walk along operands waits for one instruction after the other, while those of a list can
  // be asked for at once: as many as fit into the second-level cache.
  static void Fetch(const xla::HloComputation& computation) {
    constexpr int64_t kFit = 2048;
    if (computation.instruction_count() > kFit) return;
    for (const xla::HloInstruction* instruction : computation.instructions()) {
      Prefetch(instruction);
    }
  }

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
  void AddOwn(const xla::HloInstruction& instruction, Hasher& hasher) {
    if (counts_ != nullptr) ++counts_[static_cast<int>(instruction.opcode())];
    if (!instruction.control_predecessors().empty()) controlled_.push_back(&instruction);
    hasher.Add(static_cast<uint64_t>(instruction.opcode()));
    if (detail_ == Detail::kEverything) {
      AddShape(instruction.shape(), hasher);
      HashingSink sink(hasher);
      VisitAttributes(instruction, sink);
      if (instruction.opcode() == xla::HloOpcode::kConstant) AddLiteral(instruction, hasher);
    }
    for (const xla::HloComputation* callee : instruction.called_computations()) {
      ComputationState& state = states_[callee];
      ++state.call_sites;
      hasher.Add(state.content);
    }
  }

  Hash LiveHash(const xla::HloInstruction& instruction) {
    Hasher hasher;
    AddOwn(instruction, hasher);
    hasher.Add(instruction.operand_count());
    for (const xla::HloInstruction* operand : instruction.operands()) hasher.Add(Index(operand));
    return hasher.Finish();
  }

  // Hashes of what the root does not reach, by index in order_ less live_count_.
  std::vector<Hash> HashDead() {
    std::vector<Hash> dead;
    dead.reserve(order_.size() - live_count_);
    for (size_t i = live_count_; i < order_.size(); ++i) {
      Hasher hasher;
      AddOwn(*order_[i], hasher);
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
  // Of the computation at hand; their memory serves the next.
  size_t live_count_ = 0;
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

Hasher HashComputations(const xla::HloModule& module, Detail detail, int64_t* counts = nullptr) {
  const std::vector<xla::HloComputation*> computations = module.MakeComputationPostOrder();
  ComputationStates states;
  states.reserve(computations.size());
  ComputationHasher hash(detail, states, counts);
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

std::string Fingerprint::ToHex() const { return absl::StrFormat("%016x%016x", high, low); }

Fingerprint FingerprintOf(const xla::HloModule& module, int64_t* counts) {
  Hasher hasher = HashComputations(module, Detail::kEverything, counts);
  AddConfig(module, hasher);
  return hasher.Finish();
}

Fingerprint StructureOf(const xla::HloModule& module) {
  return HashComputations(module, Detail::kOpcodesAndEdges).Finish();
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
