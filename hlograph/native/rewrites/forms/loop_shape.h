// Loops whose number of iterations is known, and editing of copies of them.
//
// Bodies are read through tuples that are taken apart again, which inlined calls leave behind.
#ifndef HLOGRAPH_NATIVE_REWRITES_FORMS_LOOP_SHAPE_H_
#define HLOGRAPH_NATIVE_REWRITES_FORMS_LOOP_SHAPE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "hlograph/native/rewrites/patterns.h"
#include "xla/hlo/ir/hlo_clone_context.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/shape.h"

namespace hlograph {

// Integer that is `base` in the first iteration and changes by `slope` in each.
struct Affine {
  int64_t base = 0;
  int64_t slope = 0;
};

// A while loop that runs `trips` times (at least once). The body's result is a tuple of arrays of
// fixed size, which have the types of the loop's, and neither computation has side effects.
struct CountedLoop {
  const Instruction* loop = nullptr;
  int64_t counter = 0;  // element of the tuple that counts
  int64_t start = 0;
  int64_t step = 0;
  int64_t trips = 0;
  std::vector<const Instruction*> results;  // of an iteration, by element

  xla::HloComputation* body() const { return loop->while_body(); }
  int64_t size() const { return static_cast<int64_t>(results.size()); }
};

// Returns true for a while loop that can be rebuilt: its shapes fit, its elements are arrays of
// fixed size, and it has no side effects or annotations.
bool IsPlainLoop(const Instruction* loop);

// None unless the loop counts from a constant to a constant by a constant step.
std::optional<CountedLoop> FindCountedLoop(const Instruction* loop);

// The loop with the results of an iteration, for a plain loop. How often it runs is not known: the
// fields about the counter say nothing.
CountedLoop LoopOfAnyLength(const Instruction* loop);

// Returns what a chain of tuples that are taken apart again passes on.
const Instruction* Forwarded(const Instruction* instruction);

// Returns which element of the parameter this is, or -1.
int64_t ElementOf(const Instruction* instruction, const Instruction* parameter);

// Returns the only element that changes and that others use, by taking it out of the loop's result;
// none if there are others, or the result is used whole. Reads users.
std::optional<int64_t> OnlyUsedElement(const CountedLoop& loop);

// Adds the result of a loop of which only one element is used, and those that do not change.
Instruction* WithElement(Instruction* loop, int64_t element, Instruction* value);

// Returns true if no iteration changes the element.
bool IsInvariant(const CountedLoop& loop, int64_t element);

// Returns the value of an integer element that starts at a constant and changes by a constant.
std::optional<Affine> FindInduction(const CountedLoop& loop, int64_t element);

// Returns the value of an integer scalar of the body, by iteration; none if it is not known.
std::optional<Affine> FindAffine(const CountedLoop& loop, const Instruction* scalar);

// The users of instructions of a computation, through tuples that are taken apart again. The root
// is among them only if it is not a tuple.
using Users = absl::flat_hash_map<const Instruction*, std::vector<const Instruction*>>;
Users FindUsers(const xla::HloComputation* computation);

// Copies a loop, and changes the copy.
class LoopEditor {
 public:
  // Adds the copy where `place` is, which is the loop itself.
  LoopEditor(const CountedLoop& loop, Instruction* place);

  // The body's copy of an instruction.
  Instruction* Copy(const Instruction* original) const { return context_.GetInstruction(original); }
  Instruction* parameter() const { return body_->parameter_instruction(0); }

  // Adds an element with this initial value, which iterations keep; returns it in the body.
  Instruction* AddElement(Instruction* initial);
  // The element at `index` of the parameter, in the body.
  Instruction* Element(int64_t index) const;
  void SetInitial(int64_t element, Instruction* value) { initials_[element] = value; }
  void SetResult(int64_t element, Instruction* value) { results_[element] = value; }
  // Takes a value of the body for its copy of an instruction, among the results too.
  void Replace(const Instruction* original, Instruction* value);
  int64_t size() const { return static_cast<int64_t>(results_.size()); }

  // Ends the changes; returns the new loop.
  Instruction* Finish();

 private:
  Instruction* place_;
  mutable xla::HloCloneContext context_;
  xla::HloComputation* body_;
  xla::HloComputation* condition_;
  std::vector<Instruction*> initials_, results_;
};

// Adds a computation with one parameter, as a loop's body and its condition have. Its root is the
// parameter until another one is set.
xla::HloComputation* AddLoopComputation(xla::HloModule* module, const char* name,
                                        const xla::Shape& carried);

// Adds the element of a tuple, or takes what the tuple was made of.
Instruction* TakeElement(Instruction* tuple, int64_t index);

// Takes tuples apart that a computation makes and takes apart itself, and removes what is unused.
void Tidy(xla::HloComputation* computation);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_REWRITES_FORMS_LOOP_SHAPE_H_
