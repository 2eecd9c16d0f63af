#include "hlograph/native/execution/arbitrary_function.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/layout_util.h"
#include "xla/literal.h"
#include "xla/literal_util.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace hlograph {
namespace {

constexpr int kProjections = 4;
using Projections = std::array<double, kProjections>;

// SplitMix64 (Steele, Lea and Flood 2014), the same on every machine.
uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

uint64_t Mix(uint64_t seed, absl::string_view text) {
  for (const char c : text) seed = Mix(seed ^ static_cast<unsigned char>(c));
  return seed;
}

// A number in [-1, 1).
double Weight(uint64_t seed, int64_t i) {
  return static_cast<double>(Mix(seed ^ Mix(static_cast<uint64_t>(i))) >> 11) * 0x1p-52 - 1.0;
}

// Adds random sums over the elements of an operand, each of about their size.
absl::Status Project(const xla::Literal& operand, uint64_t seed, Projections& sums) {
  if (operand.shape().IsTuple() || !operand.shape().IsArray() ||
      xla::primitive_util::IsComplexType(operand.shape().element_type())) {
    return absl::UnimplementedError(
        absl::StrCat("a custom call takes ", xla::ShapeUtil::HumanString(operand.shape())));
  }
  absl::StatusOr<xla::Literal> wide =
      operand.Relayout(xla::LayoutUtil::GetDefaultLayoutForShape(operand.shape()))
          .Convert(xla::F64);
  if (!wide.ok()) return wide.status();
  const absl::Span<const double> elements = wide->data<double>();
  const double scale = 1.0 / std::sqrt(std::max<double>(1.0, elements.size()));
  for (int k = 0; k < kProjections; ++k) {
    const uint64_t own = Mix(seed + k);
    for (size_t i = 0; i < elements.size(); ++i) sums[k] += scale * Weight(own, i) * elements[i];
  }
  return absl::OkStatus();
}

absl::StatusOr<xla::Literal> Values(const xla::Shape& shape, uint64_t seed,
                                    const Projections& sums) {
  if (!shape.IsArray() || !shape.is_static() ||
      xla::primitive_util::IsComplexType(shape.element_type())) {
    return absl::UnimplementedError(
        absl::StrCat("a custom call gives ", xla::ShapeUtil::HumanString(shape)));
  }
  absl::StatusOr<xla::Literal> wide =
      xla::Literal::Make(xla::ShapeUtil::MakeShape(xla::F64, shape.dimensions()));
  if (!wide.ok()) return wide.status();
  absl::Span<double> elements = wide->data<double>();
  const bool floating = xla::primitive_util::IsFloatingPointType(shape.element_type());
  for (size_t i = 0; i < elements.size(); ++i) {
    double value = 0.0;
    for (int k = 0; k < kProjections; ++k) {
      value += Weight(seed + k, i) * std::tanh(sums[k]) / kProjections;
    }
    elements[i] = floating ? 0.5 + 0.4 * value : 0.0;
  }
  return wide->Convert(shape.element_type());
}

}  // namespace

absl::StatusOr<xla::Literal> EvaluateCustomCall(const xla::HloInstruction* call,
                                                absl::Span<const xla::Literal*> operands) {
  if (call->custom_call_target() == "Sharding" && operands.size() == 1) {
    return operands[0]->Clone();
  }
  if (call->HasSideEffect()) {
    return absl::UnimplementedError(
        absl::StrCat("custom call ", call->custom_call_target(), " has side effects"));
  }
  const uint64_t seed = Mix(Mix(1, call->custom_call_target()), call->raw_backend_config_string());
  Projections sums = {};
  for (size_t i = 0; i < operands.size(); ++i) {
    absl::Status status = Project(*operands[i], Mix(seed + i), sums);
    if (!status.ok()) return status;
  }
  if (!call->shape().IsTuple()) return Values(call->shape(), Mix(~seed), sums);
  std::vector<xla::Literal> results;
  for (const xla::Shape& shape : call->shape().tuple_shapes()) {
    absl::StatusOr<xla::Literal> result = Values(shape, Mix(~seed + results.size()), sums);
    if (!result.ok()) return result.status();
    results.push_back(*std::move(result));
  }
  return xla::LiteralUtil::MakeTupleOwned(std::move(results));
}

}  // namespace hlograph
