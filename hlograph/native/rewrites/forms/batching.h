// Batching: what a computation does once for each iteration, done for all iterations at once, on
// arrays whose first dimension is the iteration.
#ifndef HLOGRAPH_NATIVE_REWRITES_FORMS_BATCHING_H_
#define HLOGRAPH_NATIVE_REWRITES_FORMS_BATCHING_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/forms/loop_shape.h"
#include "hlograph/native/rewrites/patterns.h"
#include "xla/hlo/ir/hlo_computation.h"

namespace hlograph {

// How a value depends on the iteration: not at all; on its number alone; or on earlier iterations.
enum class Dependence { kOnce, kNumber, kCarried };

// Dependence of the instructions of a loop's body, or of a computation that it calls. Tuples have
// one for each element, arrays have one.
class Dependences {
 public:
  // Of a loop's body.
  explicit Dependences(const CountedLoop& loop);
  // Of a computation whose parameter has elements of these.
  Dependences(const xla::HloComputation* computation, std::vector<Dependence> elements);

  const std::vector<Dependence>& Of(const Instruction* instruction) const {
    return found_.at(instruction);
  }
  // Of an array.
  Dependence OfArray(const Instruction* array) const { return Of(array).front(); }

 private:
  void FindAll(const xla::HloComputation* computation);
  std::vector<Dependence> Find(const Instruction* instruction) const;

  const CountedLoop* loop_ = nullptr;
  const Instruction* parameter_;
  std::vector<Dependence> elements_;
  absl::flat_hash_map<const Instruction*, std::vector<Dependence>> found_;
};

// A dynamic slice that takes one row of an array in each iteration.
struct Rows {
  int64_t dimension = 0;
  Affine index;
  std::vector<int64_t> starts;  // along the other dimensions
};

// None if the slice does not take rows that are known beforehand, and all there.
std::optional<Rows> FindRows(const CountedLoop& loop, const Instruction* slice);

// Returns true if a batcher can compute an instruction whose operands are batched, or some of them:
// of each whether it is.
bool IsBatchable(const Instruction* instruction, absl::Span<const bool> batched);

// A value for all iterations: one array for all if it does not depend on them.
struct Batched {
  Instruction* array = nullptr;
  bool stacked = false;  // along a new first dimension
};

// Adds instructions that compute values for all iterations.
class Batcher {
 public:
  // Of a loop's body, outside of it; the iterations in reverse order if `reversed`.
  Batcher(const CountedLoop& loop, Instruction* place, bool reversed);
  // Of a computation whose parameter's elements are given.
  Batcher(Instruction* place, int64_t trips, const Instruction* parameter,
          std::vector<Batched> elements);

  void Set(const Instruction* original, Batched value) { values_[original] = {value}; }
  Batched Of(const Instruction* array) { return AllOf(array).front(); }
  const std::vector<Batched>& AllOf(const Instruction* instruction);
  // The value with the new dimension, along which it may be the same everywhere.
  Instruction* Stacked(Batched value) const;

 private:
  std::vector<Batched> Build(const Instruction* instruction);
  Batched BuildElement(int64_t element);
  Batched BuildCounter(const Instruction* like, Affine value);
  Batched BuildRows(const Instruction* slice, const Rows& rows);
  Batched BuildArray(const Instruction* instruction, const std::vector<Batched>& operands);
  Instruction* BuildDot(const Instruction* dot, const std::vector<Batched>& operands);
  Instruction* BuildConvolution(const Instruction* convolution, Instruction* input,
                                Instruction* kernel);
  std::vector<Batched> BuildLoop(const Instruction* loop);
  // Adds a copy of an instruction with other operands.
  Instruction* Like(const Instruction* like, absl::Span<const int64_t> sizes,
                    absl::Span<Instruction* const> operands);
  std::vector<int64_t> SizesOf(const Instruction* one) const;  // of the stacked array

  const CountedLoop* loop_ = nullptr;
  Builder builder_;
  int64_t trips_;
  bool reversed_ = false;
  const Instruction* parameter_;
  std::vector<Batched> elements_;  // of a called computation's parameter
  absl::flat_hash_map<const Instruction*, std::vector<Batched>> values_;
};

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_REWRITES_FORMS_BATCHING_H_
