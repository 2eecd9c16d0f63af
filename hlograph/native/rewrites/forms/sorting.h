// Rules about sorts and searches, by topic: one file each.
#ifndef HLOGRAPH_NATIVE_REWRITES_FORMS_SORTING_H_
#define HLOGRAPH_NATIVE_REWRITES_FORMS_SORTING_H_

#include <cstdint>
#include <vector>

#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/rules.h"

namespace hlograph {

// A rule that reads the comparator or the combiner of an instruction near its place, which is out
// of reach: reach counts hops between instructions, and callees of the place alone.
class CalleeRule : public FormRule {
 public:
  using FormRule::FormRule;

  bool IsClear(Place original, Place copy) const override {
    return Matches(original.instruction) == Matches(copy.instruction);
  }

 protected:
  using FormRule::Matches;
};

// Returns true for a plain and valid selection of the greatest elements, of at most 32 bits, from
// rows of at most kMaxRow.
bool IsTopK(const Instruction* topk);

// Adds the values and positions of the greatest keys of each row of a matrix of s32; among equal
// keys, the first. XLA:CPU's top-k orders floats by their bits, so any integer can be a float.
Instruction* AddTopK(const Builder& builder, Instruction* keys, int64_t count);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_REWRITES_FORMS_SORTING_H_
