// Fourier transforms as calls of a native kernel.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/kernel_calls/kernel_rule.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;

constexpr int64_t kFewElements = 64;
// Rows side by side, and columns, leave the caches where they are long, and fill no vectors where
// they are few. Rows of multiples of some length are transformed one by one.
constexpr int64_t kLongest = 1 << 21, kLongestSideBySide = 1 << 14, kLongestOfFew = 512;
constexpr int64_t kMultipleOneByOne = 256, kFew = 8;

// Returns true for products of twos, threes and fives.
bool IsKernelLength(int64_t length) {
  if (length < 1 || length > kLongest) return false;
  for (const int64_t factor : {2, 3, 5}) {
    while (length % factor == 0) length /= factor;
  }
  return length == 1;
}

bool IsOfReal(const Instruction* fft) {
  return fft->fft_type() == xla::FftType::RFFT || fft->fft_type() == xla::FftType::IRFFT;
}

// Returns true if the arrays have the sizes and the types that the instruction says.
bool HasArrays(const Instruction* fft) {
  const auto& lengths = fft->fft_length();
  const Instruction* const operand = fft->operand(0);
  const int64_t rank = RankOf(fft), first = rank - static_cast<int64_t>(lengths.size());
  if (!IsPlain(operand) || RankOf(operand) != rank || lengths.empty() || first < 0) return false;
  const bool is_double =
      fft->shape().element_type() == xla::F64 || fft->shape().element_type() == xla::C128;
  const xla::PrimitiveType real = is_double ? xla::F64 : xla::F32;
  const xla::PrimitiveType complex = is_double ? xla::C128 : xla::C64;
  const bool from_real = fft->fft_type() == xla::FftType::RFFT;
  const bool to_real = fft->fft_type() == xla::FftType::IRFFT;
  for (int64_t i = 0; i + 1 < rank; ++i) {
    const int64_t size = fft->shape().dimensions(i);
    if (operand->shape().dimensions(i) != size || (i >= first && lengths[i - first] != size)) {
      return false;
    }
  }
  const int64_t last = lengths.back(), spectrum = last / 2 + 1;
  return operand->shape().element_type() == (from_real ? real : complex) &&
         fft->shape().element_type() == (to_real ? real : complex) &&
         ColumnsOf(operand) == (to_real ? spectrum : last) &&
         ColumnsOf(fft) == (from_real ? spectrum : last);
}

bool IsTransform(const Instruction* fft) {
  if (fft->opcode() != Opcode::kFft || !IsPlain(fft) || !HasArrays(fft) ||
      SizeOf(fft) < kFewElements) {
    return false;
  }
  const auto& lengths = fft->fft_length();
  if (!absl::c_all_of(lengths, IsKernelLength) || (IsOfReal(fft) && lengths.back() % 2 != 0)) {
    return false;
  }
  const int64_t last = IsOfReal(fft) ? lengths.back() / 2 : lengths.back();
  const int64_t longest = RowsOf(fft) < kFew ? kLongestOfFew : kLongestSideBySide;
  if (last > longest && last % kMultipleOneByOne != 0) return false;
  if (lengths.size() == 1) return true;
  return last >= kFew && *absl::c_max_element(lengths) <= kLongestSideBySide;
}

// The operand of a transform, without zeros at the end of its rows.
Instruction* GivenRows(Instruction* fft) {
  Instruction* const rows = fft->mutable_operand(0);
  if (fft->fft_type() != xla::FftType::RFFT || rows->opcode() != Opcode::kPad) return rows;
  Instruction* const given = rows->mutable_operand(0);
  const Instruction* value = rows->operand(1);
  if (value->opcode() == Opcode::kConvert) value = value->operand(0);
  const int64_t last = RankOf(rows) - 1;
  if (!IsPlain(given) || RankOf(given) != RankOf(rows) || !SameType(given, rows) ||
      !SameElsewhere(given->shape(), rows->shape(), last) || !IsConstantOf(value, 0) ||
      ColumnsOf(given) == 0 || ColumnsOf(given) > ColumnsOf(rows)) {
    return rows;
  }
  const bool is_at_end = absl::c_all_of(rows->padding_config().dimensions(), [](const auto& of) {
    return of.edge_padding_low() == 0 && of.interior_padding() == 0;
  });
  return is_at_end ? given : rows;
}

// A slice of the start of rows that a transform makes, which nothing else reads.
bool IsStartOfTransform(const Instruction* slice) {
  if (!IsSlice(slice) || !IsTransform(slice->operand(0)) ||
      slice->operand(0)->fft_type() != xla::FftType::IRFFT ||
      !IsOnlyUser(slice, slice->operand(0))) {
    return false;
  }
  const auto is_zero = [](int64_t start) { return start == 0; };
  const auto is_one = [](int64_t stride) { return stride == 1; };
  return absl::c_all_of(slice->slice_starts(), is_zero) &&
         absl::c_all_of(slice->slice_strides(), is_one) &&
         SameElsewhere(slice->shape(), slice->operand(0)->shape(), RankOf(slice) - 1) &&
         SizeOf(slice) > 0;
}

// Transforms of real numbers read rows without the zeros that follow them, and transforms to real
// numbers write the start of rows alone, where no more of them is read.
class KernelFourier : public KernelRule {
 public:
  using KernelRule::KernelRule;

  Reach reach() const override { return {.operands = 5, .users = 1}; }

 protected:
  bool Matches(const Instruction* instruction) const override {
    if (!IsTransform(instruction)) return IsStartOfTransform(instruction);
    return instruction->user_count() != 1 || !IsStartOfTransform(instruction->users().front());
  }

  Instruction* Build(Instruction* place) const override {
    Instruction* const transform =
        place->opcode() == Opcode::kSlice ? place->mutable_operand(0) : place;
    const bool to_real = transform->fft_type() == xla::FftType::IRFFT;
    const bool inverse = to_real || transform->fft_type() == xla::FftType::IFFT;
    const int64_t rank = RankOf(transform);
    std::vector<int64_t> dimensions(transform->fft_length().size());
    absl::c_iota(dimensions, rank - static_cast<int64_t>(dimensions.size()));
    Instruction* rows = GivenRows(transform);
    if (to_real && dimensions.size() > 1) {
      dimensions.pop_back();
      rows = AddCall(place, {rows}, {rows->shape()}, Attributes(dimensions, inverse));
      dimensions = {rank - 1};
    }
    return AddCall(place, {rows}, {place->shape()}, Attributes(dimensions, inverse));
  }

 private:
  static std::string Attributes(const std::vector<int64_t>& dimensions, bool inverse) {
    return CallAttributes().Add("dimensions", dimensions).Add("inverse", inverse).text();
  }
};

}  // namespace

const RuleTopic kFourierKernels(408, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<KernelFourier>(
      Identity{"kernel-fourier", "fft(x) = kernel(x)",
               "Transforms rows in vectors that stay in the first cache, and columns side by side; "
               "zeros that pad rows are not read, and of rows that are cut the start alone is "
               "written.",
               Numerics::kClose},
      "fourier"));
});

}  // namespace hlograph
