// Calls of LAPACK and BLAS for batches of small matrices as calls of native kernels.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/kernel_calls/kernel_rule.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/service/hlo.pb.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

constexpr int64_t kMostRows = 8;
constexpr int64_t kLeastBatch = 16;  // of matrices, one for each lane

// Returns true for arrays in the layouts that LAPACK and BLAS read and write: the elements of a
// column lie together, where the array has matrices, and the matrices one behind the other.
bool HasLayoutOfLapack(const xla::Shape& shape, bool has_matrices) {
  if (!shape.IsArray() || !shape.has_layout()) return false;
  const int64_t rank = shape.dimensions().size();
  std::vector<int64_t> minor_to_major(rank);
  for (int64_t i = 0; i < rank; ++i) minor_to_major[i] = rank - 1 - i;
  if (has_matrices && rank >= 2) std::swap(minor_to_major[0], minor_to_major[1]);
  return absl::c_equal(shape.layout().minor_to_major(), minor_to_major);
}

// Returns true if the call has these layouts. The first result is of matrices, as the operands are;
// others are pivots and numbers. A kernel reads and writes elements by their indices instead, which
// is not the same in another layout.
bool HasLayoutsOfLapack(const Instruction* call) {
  const auto* const custom = static_cast<const xla::HloCustomCallInstruction*>(call);
  if (!custom->layout_constrained()) return false;
  for (const xla::Shape& operand : custom->operand_shapes_with_layout()) {
    if (!HasLayoutOfLapack(operand, /*has_matrices=*/true)) return false;
  }
  if (!call->shape().IsTuple()) return HasLayoutOfLapack(call->shape(), /*has_matrices=*/true);
  for (int64_t i = 0; i < static_cast<int64_t>(call->shape().tuple_shapes().size()); ++i) {
    if (!HasLayoutOfLapack(call->shape().tuple_shapes(i), /*has_matrices=*/i == 0)) return false;
  }
  return true;
}

// Returns true for a call to LAPACK's or BLAS's function of that name for the element type, with
// that many operands, on a batch of small square matrices.
bool IsSmallCall(const Instruction* call, absl::string_view function, int64_t operands) {
  if (call->opcode() != xla::HloOpcode::kCustomCall || call->operand_count() != operands ||
      call->has_sharding() || call->HasControlDependencies() ||
      static_cast<const xla::HloCustomCallInstruction*>(call)->api_version() !=
          xla::CustomCallApiVersion::API_VERSION_TYPED_FFI ||
      !HasLayoutsOfLapack(call)) {
    return false;
  }
  const xla::Shape& matrices = call->operand(0)->shape();
  if (!matrices.IsArray() || !matrices.is_static() || matrices.dimensions().size() < 3) {
    return false;
  }
  const absl::string_view letter = matrices.element_type() == xla::F32   ? "s"
                                   : matrices.element_type() == xla::F64 ? "d"
                                                                         : "";
  const int64_t rank = matrices.dimensions().size(), rows = matrices.dimensions(rank - 1);
  return !letter.empty() &&
         call->custom_call_target() == absl::StrCat("lapack_", letter, function, "_ffi") &&
         rows == matrices.dimensions(rank - 2) && rows >= 1 && rows <= kMostRows &&
         IsCountable(matrices.dimensions()) &&
         xla::ShapeUtil::ElementsIn(matrices) >= kLeastBatch * rows * rows;
}

// Returns the letter that an attribute of a call has, such as L of `uplo`; 0 if it has none.
char LetterOf(const Instruction* call, absl::string_view attribute) {
  const std::string& text = call->raw_backend_config_string();
  for (const char letter : {'C', 'L', 'N', 'R', 'T', 'U'}) {
    if (absl::StrContains(text,
                          absl::StrCat(attribute, " = ", static_cast<int>(letter), " : ui8"))) {
      return letter;
    }
  }
  return 0;
}

// Returns true if the result is a tuple: first an array like the operand, then integers of these
// numbers of dimensions less than it.
bool ReturnsLike(const Instruction* call, const std::vector<int64_t>& fewer) {
  const xla::Shape& given = call->operand(0)->shape();
  const xla::Shape& result = call->shape();
  if (!result.IsTuple() || result.tuple_shapes().size() != fewer.size() + 1 ||
      !xla::ShapeUtil::Compatible(result.tuple_shapes(0), given)) {
    return false;
  }
  const int64_t rank = given.dimensions().size();
  for (size_t i = 0; i < fewer.size(); ++i) {
    const xla::Shape& shape = result.tuple_shapes(i + 1);
    if (!shape.IsArray() || shape.element_type() != xla::S32 ||
        static_cast<int64_t>(shape.dimensions().size()) != rank - fewer[i]) {
      return false;
    }
    for (int64_t k = 0; k < rank - fewer[i]; ++k) {
      if (shape.dimensions(k) != given.dimensions(k)) return false;
    }
  }
  return true;
}

class KernelSmallCholesky : public KernelRule {
 public:
  using KernelRule::KernelRule;

 protected:
  bool Matches(const Instruction* call) const override {
    const auto is_known = [](char letter) { return letter == 'L' || letter == 'U'; };
    return IsSmallCall(call, "potrf", 1) && ReturnsLike(call, {2}) &&
           is_known(LetterOf(call, "uplo"));
  }

  Instruction* Build(Instruction* call) const override {
    const auto& results = call->shape().tuple_shapes();
    return AddCall(call, {call->mutable_operand(0)}, {results[0], results[1]},
                   CallAttributes().Add("is_lower", LetterOf(call, "uplo") == 'L').text());
  }
};

class KernelSmallLu : public KernelRule {
 public:
  using KernelRule::KernelRule;

 protected:
  bool Matches(const Instruction* call) const override {
    return IsSmallCall(call, "getrf", 1) && ReturnsLike(call, {1, 2});
  }

  Instruction* Build(Instruction* call) const override {
    const auto& results = call->shape().tuple_shapes();
    return AddCall(call, {call->mutable_operand(0)}, {results[0], results[1], results[2]});
  }
};

// A triangular system: of BLAS, or the instruction of HLO.
struct System {
  bool is_lower = false, is_transposed = false, has_unit_diagonal = false;
};

std::optional<System> FindCall(const Instruction* call) {
  if (!IsSmallCall(call, "trsm", 2) || LetterOf(call, "side") != 'L') return std::nullopt;
  const char part = LetterOf(call, "uplo"), transposed = LetterOf(call, "trans_x"),
             diagonal = LetterOf(call, "diag");
  if (part == 0 || transposed == 0 || diagonal == 0) return std::nullopt;
  return System{part == 'L', transposed != 'N', diagonal == 'U'};
}

std::optional<System> FindSystem(const Instruction* solve) {
  const std::optional<System> system = FindCall(solve);
  if (!system.has_value() || !solve->shape().IsArray() || !SameArray(solve, solve->operand(1)) ||
      !SameType(solve, solve->operand(0))) {
    return std::nullopt;
  }
  const xla::Shape& matrices = solve->operand(0)->shape();
  const xla::Shape& right = solve->shape();
  const int64_t rank = matrices.dimensions().size();
  if (static_cast<int64_t>(right.dimensions().size()) != rank ||
      xla::ShapeUtil::IsZeroElementArray(right)) {
    return std::nullopt;
  }
  for (int64_t i = 0; i + 1 < rank; ++i) {
    if (right.dimensions(i) != matrices.dimensions(i)) return std::nullopt;
  }
  return system;
}

class KernelSmallSolve : public KernelRule {
 public:
  using KernelRule::KernelRule;

 protected:
  bool Matches(const Instruction* solve) const override { return FindSystem(solve).has_value(); }

  Instruction* Build(Instruction* solve) const override {
    const System system = *FindSystem(solve);
    return AddCall(solve, {solve->mutable_operand(0), solve->mutable_operand(1)}, {solve->shape()},
                   CallAttributes()
                       .Add("is_lower", system.is_lower)
                       .Add("is_transposed", system.is_transposed)
                       .Add("has_unit_diagonal", system.has_unit_diagonal)
                       .text());
  }
};

}  // namespace

const RuleTopic kSmallMatrixKernels(402, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<KernelSmallCholesky>(
      Identity{"kernel-small-cholesky", "potrf(x) = kernel(x)",
               "Factorizes matrices of at most 8 rows, one in each lane of vectors.",
               Numerics::kClose},
      "small_cholesky"));
  rules.push_back(std::make_unique<KernelSmallLu>(
      Identity{"kernel-small-lu", "getrf(x) = kernel(x)",
               "Factorizes matrices of at most 8 rows with partial pivoting, one in each lane of "
               "vectors.",
               Numerics::kClose},
      "small_lu"));
  rules.push_back(std::make_unique<KernelSmallSolve>(
      Identity{"kernel-small-solve", "trsm(x, y) = kernel(x, y)",
               "Solves triangular systems of at most 8 rows, one in each lane of vectors.",
               Numerics::kClose},
      "small_solve"));
});

}  // namespace hlograph
