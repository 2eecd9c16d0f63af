// What the iterations of a loop that counts from 0 by 1 do with its elements.
#ifndef HLOGRAPH_NATIVE_REWRITES_FORMS_LOOP_BODY_H_
#define HLOGRAPH_NATIVE_REWRITES_FORMS_LOOP_BODY_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "hlograph/native/rewrites/forms/batching.h"
#include "hlograph/native/rewrites/forms/loop_shape.h"
#include "hlograph/native/rewrites/patterns.h"

namespace hlograph {

// None unless the loop counts from 0 by 1, more than once.
std::optional<CountedLoop> FindSimpleLoop(const Instruction* instruction);

// A loop and who uses what in its body.
struct LoopBody {
  explicit LoopBody(const CountedLoop& loop);

  const std::vector<const Instruction*>& UsersOf(const Instruction* one) const;
  int64_t CountResults(const Instruction* one) const;
  bool IsOnlyUser(const Instruction* user, const Instruction* value) const;
  // Returns true if an element becomes this result, and nothing else uses the element or result.
  bool IsOwn(int64_t element, const Instruction* result) const;
  bool IsOnce(const Instruction* array) const {
    return dependences.OfArray(array) == Dependence::kOnce;
  }

  const CountedLoop& loop;
  const Dependences dependences;
  const Users users;
  const std::vector<Instruction*> order;
};

// Element that a loop fills row by row: iteration i writes row i, or the i-th from the end.
struct Filled {
  const Instruction* update = nullptr;  // of one row
  bool reversed = false;
};

std::optional<Filled> FindFilled(const LoopBody& body, int64_t element);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_REWRITES_FORMS_LOOP_BODY_H_
