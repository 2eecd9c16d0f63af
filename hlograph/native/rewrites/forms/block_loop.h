// Loops that compute values for one block of the indices of a dimension after the other.
#ifndef HLOGRAPH_NATIVE_REWRITES_FORMS_BLOCK_LOOP_H_
#define HLOGRAPH_NATIVE_REWRITES_FORMS_BLOCK_LOOP_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "hlograph/native/rewrites/forms/axis_blocks.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/patterns.h"
#include "xla/hlo/ir/hlo_computation.h"

namespace hlograph {

// Values that are computed in blocks, and the dimensions of their blocks.
using BlockedValues = std::map<const Instruction*, std::set<int64_t>>;

using ValueSet = std::set<const Instruction*>;

// Finds what is computed in blocks, in rounds: each leaves out of the blocks what is needed outside
// of those of the rounds before.
//
// find(outside) returns a finder without the values that are outside, or none if there are no
// blocks; its FindShared() returns what else has to be outside. Returns none after many rounds.
template <typename Find>
auto FindUnshared(const Find& find) -> decltype(find(ValueSet())) {
  constexpr int kMostRounds = 8;
  ValueSet outside;
  for (int round = 0; round < kMostRounds; ++round) {
    auto finder = find(outside);
    if (!finder.has_value()) break;
    const ValueSet shared = finder->FindShared();
    if (shared.empty()) return finder;
    outside.insert(shared.begin(), shared.end());
  }
  return std::nullopt;
}

// Copies values of one computation to another one, in blocks of a dimension or whole.
class BlockCopier {
 public:
  BlockCopier(xla::HloComputation* to, int64_t size) : to_(to), size_(size) {}
  virtual ~BlockCopier() = default;

  Instruction* Copy(const Instruction* value, int64_t dimension);

 protected:
  // Copies what is no copy of the same operation: null for others.
  virtual Instruction* CopyOther(const Instruction* value, int64_t dimension) = 0;

  xla::HloComputation* to() const { return to_; }
  int64_t size() const { return size_; }

 private:
  Instruction* CopyAlike(const Instruction* value, int64_t dimension);

  xla::HloComputation* to_;
  int64_t size_;
  std::map<std::pair<const Instruction*, int64_t>, Instruction*> copies_;
};

// Builds a loop over the blocks of `size` of `count` indices, whose state has the arrays from
// outside that it reads. The values that are not of `blocked` are read.
class BlockLoop : public BlockCopier {
 public:
  BlockLoop(Instruction* place, int64_t count, int64_t size, const BlockedValues& blocked);

  // Adds an array that is written block by block along a dimension; returns its element's number.
  int64_t AddResult(Instruction* block, int64_t dimension);
  // Adds the loop where `place` is.
  Instruction* Finish();

 protected:
  Instruction* CopyOther(const Instruction* value, int64_t dimension) override;
  Instruction* place() const { return place_; }

 private:
  Instruction* Element(int64_t number);
  int64_t AddState(Instruction* initial);
  // An array from outside, in the loop.
  Instruction* Outside(const Instruction* value);
  std::vector<Instruction*> Indices(int64_t rank, int64_t dimension);

  Instruction* place_;
  int64_t count_;
  const BlockedValues& blocked_;
  Instruction* number_ = nullptr;
  Instruction* start_ = nullptr;  // index of the block's first element
  std::vector<Instruction*> initials_, results_;
  std::map<const Instruction*, Instruction*> outside_;
};

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_REWRITES_FORMS_BLOCK_LOOP_H_
