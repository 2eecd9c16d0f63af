// Table of the facts about instructions, by the hash of an instruction without its operands.
#ifndef HLOGRAPH_NATIVE_GRAPH_FACTS_TABLE_H_
#define HLOGRAPH_NATIVE_GRAPH_FACTS_TABLE_H_

#include <cstddef>
#include <deque>
#include <memory>

#include "absl/container/flat_hash_map.h"
#include "hlograph/native/graph/node_facts.h"
#include "hlograph/native/module/hasher.h"

namespace xla {
class HloInstruction;
}  // namespace xla

namespace hlograph {

// Most instructions of a module are as one before by themselves, and a pass leaves nearly all as
// they are, so their facts are found here instead of being read off again.
class FactsTable {
 public:
  // Valid until the table forgets.
  const NodeFacts& Of(const xla::HloInstruction& instruction, const Hash& own_hash) {
    std::unique_ptr<NodeFacts>& facts = facts_[own_hash];
    if (facts == nullptr) {
      facts = std::make_unique<NodeFacts>();
      ReadFacts(instruction, *facts);
    }
    return *facts;
  }

  // Place for facts that are not kept, valid until Trim.
  NodeFacts& Fresh() {
    if (used_ == fresh_.size()) fresh_.emplace_back();
    return fresh_[used_++];
  }

  // Forgets facts that are not kept, and all others if there are too many.
  void Trim() {
    used_ = 0;
    if (fresh_.size() > kMost) fresh_.clear();
    if (facts_.size() > kMost) facts_.clear();
  }

 private:
  static constexpr size_t kMost = size_t{1} << 14;  // some 5 MB

  struct Low {
    size_t operator()(const Hash& hash) const { return hash.low; }
  };

  absl::flat_hash_map<Hash, std::unique_ptr<NodeFacts>, Low> facts_;
  std::deque<NodeFacts> fresh_;  // their memory serves the next graph
  size_t used_ = 0;
};

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_GRAPH_FACTS_TABLE_H_
