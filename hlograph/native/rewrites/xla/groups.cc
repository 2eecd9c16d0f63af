// Passes that decide on several instructions at once: each is run on a module of one such group.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "hlograph/native/passes/registry.h"
#include "hlograph/native/rewrites/excerpt.h"
#include "hlograph/native/rewrites/rules.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using Instruction = xla::HloInstruction;
using Opcode = xla::HloOpcode;

// Instructions that are changed together or not at all, operands first; the first is the place.
struct Group {
  std::vector<Instruction*> members;
  std::vector<Instruction*> kept;  // operands that others take, too
};

bool operator==(const Group& one, const Group& two) {
  const auto same = [](const Instruction* a, const Instruction* b) {
    const auto same_name = [](const Instruction* x, const Instruction* y) {
      return x->name() == y->name();
    };
    return same_name(a, b) && std::equal(a->operands().begin(), a->operands().end(),
                                         b->operands().begin(), b->operands().end(), same_name);
  };
  return std::equal(one.members.begin(), one.members.end(), two.members.begin(), two.members.end(),
                    same) &&
         std::equal(one.kept.begin(), one.kept.end(), two.kept.begin(), two.kept.end(), same);
}

bool IsRearrangement(const Instruction* instruction) {
  return instruction->opcode() == Opcode::kReshape || instruction->opcode() == Opcode::kTranspose;
}

bool IsSlice(const Instruction* instruction) { return instruction->opcode() == Opcode::kSlice; }

bool IsPointwise(const Instruction* instruction) {
  return instruction->IsElementwise() && instruction->operand_count() > 0 &&
         !instruction->HasControlDependencies();
}

bool TakesSlices(const Instruction* instruction) {
  const auto& operands = instruction->operands();
  return IsPointwise(instruction) && std::all_of(operands.begin(), operands.end(), IsSlice);
}

bool TakesRearrangement(const Instruction* instruction) {
  return IsPointwise(instruction) && std::any_of(instruction->operands().begin(),
                                                 instruction->operands().end(), IsRearrangement);
}

// Pointwise operations that hang together by rearrangements that they take: these can be moved
// behind one only if they are moved behind all.
std::vector<Group> FindRearranged(xla::HloComputation* computation) {
  std::vector<Group> groups;
  std::unordered_map<const Instruction*, size_t> group_of;  // of operations and rearrangements
  const std::vector<Instruction*> order = computation->MakeInstructionPostOrder();
  for (Instruction* first : order) {
    if (!TakesRearrangement(first) || group_of.count(first) > 0) continue;
    groups.emplace_back();
    std::vector<Instruction*> next = {first};
    while (!next.empty()) {
      Instruction* const instruction = next.back();
      next.pop_back();
      if (!group_of.emplace(instruction, groups.size() - 1).second) continue;
      const bool is_operation = TakesRearrangement(instruction);
      if (is_operation) {
        for (Instruction* operand : instruction->operands()) {
          if (IsRearrangement(operand)) next.push_back(operand);
        }
      }
      if (!IsRearrangement(instruction)) continue;
      for (Instruction* user : instruction->users()) {
        if (TakesRearrangement(user)) next.push_back(user);
      }
    }
  }
  for (Instruction* instruction : order) {
    auto it = group_of.find(instruction);
    if (it == group_of.end()) continue;
    Group& group = groups[it->second];
    if (TakesRearrangement(instruction)) {
      group.members.push_back(instruction);
    } else if (instruction == computation->root_instruction() ||
               !std::all_of(instruction->users().begin(), instruction->users().end(),
                            TakesRearrangement)) {
      group.kept.push_back(instruction);
    }
  }
  return groups;
}

// The group of an operation that shares no rearrangement with another one; nothing if it does.
std::optional<Group> FindLoneRearranged(Instruction* place) {
  Group group;
  if (!TakesRearrangement(place)) return group;
  group.members.push_back(place);
  for (Instruction* operand : place->operands()) {
    if (!IsRearrangement(operand) || (!group.kept.empty() && group.kept.back() == operand))
      continue;
    bool is_kept = operand == operand->parent()->root_instruction();
    for (const Instruction* user : operand->users()) {
      if (user == place) continue;
      if (TakesRearrangement(user)) return std::nullopt;
      is_kept = true;
    }
    if (is_kept) group.kept.push_back(operand);
  }
  // The order of several is that of the whole computation.
  if (group.kept.size() > 1) return std::nullopt;
  return group;
}

// Pointwise operations of one kind on slices of the same arrays.
std::vector<Group> FindSliced(xla::HloComputation* computation) {
  using Key = std::tuple<Opcode, xla::PrimitiveType, std::vector<const Instruction*>>;
  std::map<Key, size_t> group_of;
  std::vector<Group> groups;
  for (Instruction* instruction : computation->MakeInstructionPostOrder()) {
    if (!TakesSlices(instruction)) continue;
    std::vector<const Instruction*> sources;
    for (const Instruction* operand : instruction->operands()) {
      sources.push_back(operand->operand(0));
    }
    const Key key(instruction->opcode(), instruction->shape().element_type(), std::move(sources));
    const auto [it, is_new] = group_of.emplace(key, groups.size());
    if (is_new) groups.emplace_back();
    groups[it->second].members.push_back(instruction);
  }
  return groups;
}

// The group of an operation whose first array no other slice is taken of; nothing if there is one.
std::optional<Group> FindLoneSliced(Instruction* place) {
  if (!TakesSlices(place)) return Group();
  const Instruction* const slice = place->operand(0);
  for (const Instruction* other : slice->operand(0)->users()) {
    if (IsSlice(other) && (other != slice || other->user_count() > 1)) return std::nullopt;
  }
  return Group{{place}, {}};
}

// A way to divide a computation into groups.
struct Grouping {
  std::vector<Group> (*all)(xla::HloComputation*);
  // The group that is all of one place, without a look at the whole computation; nothing if others
  // may belong to it.
  std::optional<Group> (*lone)(Instruction*);
};

// The group that a place stands for; without members if there is none.
Group FindGroup(const Grouping& grouping, Instruction* place) {
  if (std::optional<Group> group = grouping.lone(place)) return *std::move(group);
  for (Group& group : grouping.all(place->parent())) {
    if (group.members.front() == place) return std::move(group);
  }
  return {};
}

class GroupApplier : public Applier {
 public:
  GroupApplier(const Pass& pass, Grouping grouping, const CopiedOperands& copied)
      : pass_(pass), grouping_(grouping), copied_(copied) {}

  absl::StatusOr<bool> At(Place place) override {
    Group group = FindGroup(grouping_, place.instruction);
    if (group.members.empty()) return false;
    std::vector<Instruction*> results = group.members;
    results.insert(results.end(), group.kept.begin(), group.kept.end());
    return Excerpt(group.members, std::move(results), copied_).Apply(pass_);
  }

 private:
  const Pass& pass_;
  const Grouping grouping_;
  const CopiedOperands& copied_;
};

class GroupRule : public Rule {
 public:
  GroupRule(const Pass& pass, Grouping grouping, CopiedOperands copied)
      : Rule(pass.name, pass.xla_class, pass.description),
        pass_(pass),
        grouping_(grouping),
        copied_(std::move(copied)) {}

  void Propose(xla::HloComputation* computation, std::vector<Place>& places) const override {
    for (const Group& group : grouping_.all(computation)) places.push_back({group.members.front()});
  }

  std::unique_ptr<Applier> For(xla::HloComputation* /*computation*/) const override {
    return std::make_unique<GroupApplier>(pass_, grouping_, copied_);
  }

  Reach reach() const override { return {.operands = 3, .users = 1}; }

  std::vector<Place> Extent(Place place) const override {
    std::vector<Place> places;
    for (Instruction* member : FindGroup(grouping_, place.instruction).members) {
      places.push_back({member});
    }
    return places;
  }

  bool IsClear(Place original, Place copy) const override {
    return FindGroup(grouping_, original.instruction) == FindGroup(grouping_, copy.instruction);
  }

 private:
  const Pass& pass_;
  const Grouping grouping_;
  const CopiedOperands copied_;
};

}  // namespace

const RuleTopic kGroupRules(4, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<GroupRule>(
      *FindPass("reshape-mover"), Grouping{FindRearranged, FindLoneRearranged},
      CopiedOperands{
          {Opcode::kReshape, Opcode::kTranspose, Opcode::kConstant, Opcode::kBroadcast}}));
  rules.push_back(std::make_unique<GroupRule>(*FindPass("slice-sinker"),
                                              Grouping{FindSliced, FindLoneSliced},
                                              CopiedOperands{{Opcode::kSlice}}));
});

}  // namespace hlograph
