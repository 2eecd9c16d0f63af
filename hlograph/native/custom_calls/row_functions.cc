#include "hlograph/native/custom_calls/row_functions.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "hlograph/native/custom_calls/native_kernel.h"

namespace hlograph {
namespace {

#if defined(__GNUC__)
#define HLOGRAPH_INLINED __attribute__((always_inline)) inline
#else
#define HLOGRAPH_INLINED inline
#endif

HLOGRAPH_INLINED int32_t BitsOf(float x) {
  int32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return bits;
}

// 2 to the power of an integer from -126 to 127.
HLOGRAPH_INLINED float PowerOfTwo(int32_t exponent) {
  const uint32_t bits = static_cast<uint32_t>(exponent + 127) << 23;
  float x;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
}

// The argument is a multiple of log 2 and a rest, of which a polynomial (Cephes) is the
// exponential. Comparisons are false for NaN, which stays.
HLOGRAPH_INLINED float Exponential(float x) {
  constexpr float kHigh = 89.0f, kLow = -105.0f;  // beyond, results are infinite and zero
  constexpr float kRounding = 12582912.0f;        // its last bit is 1
  x = x > kHigh ? kHigh : x;
  x = x < kLow ? kLow : x;
  const float shifted = x * 1.44269504088896341f + kRounding;
  const int32_t exponent = BitsOf(shifted) - BitsOf(kRounding);
  const float multiple = shifted - kRounding;
  const float rest = x - multiple * 0.693359375f + multiple * 2.12194440e-4f;
  float y = 1.9875691500e-4f;
  y = y * rest + 1.3981999507e-3f;
  y = y * rest + 8.3334519073e-3f;
  y = y * rest + 4.1665795894e-2f;
  y = y * rest + 1.6666665459e-1f;
  y = y * rest + 5.0000001201e-1f;
  y = y * rest * rest + rest + 1.0f;
  const int32_t half = exponent >> 1;
  return y * PowerOfTwo(half) * PowerOfTwo(exponent - half);
}

// A quotient of polynomials, as XLA has it.
HLOGRAPH_INLINED float Tanh(float x) {
  constexpr float kMost = 7.90531110763549805f, kSmall = 4e-4f;
  float bounded = x > kMost ? kMost : x;
  bounded = bounded < -kMost ? -kMost : bounded;
  const float square = bounded * bounded;
  float p = -2.76076847742355e-16f;
  p = p * square + 2.00018790482477e-13f;
  p = p * square - 8.60467152213735e-11f;
  p = p * square + 5.12229709037114e-08f;
  p = p * square + 1.48572235717979e-05f;
  p = p * square + 6.37261928875436e-04f;
  p = p * square + 4.89352455891786e-03f;
  float q = 1.19825839466702e-06f;
  q = q * square + 1.18534705686654e-04f;
  q = q * square + 2.26843463243900e-03f;
  q = q * square + 4.89352518554385e-03f;
  const float y = bounded * p / q;
  return std::fabs(x) < kSmall ? x : y;
}

// What one element of the result is, by the elements of the operands.
#define HLOGRAPH_ELEMENT(Name, expression)                                               \
  struct Name {                                                                          \
    static HLOGRAPH_INLINED float Of([[maybe_unused]] float x, [[maybe_unused]] float y, \
                                     [[maybe_unused]] float z) {                         \
      return expression;                                                                 \
    }                                                                                    \
  };
HLOGRAPH_ELEMENT(Absolute, std::fabs(x))
HLOGRAPH_ELEMENT(Exp, Exponential(x))
HLOGRAPH_ELEMENT(Logistic, 1.0f / (1.0f + Exponential(-x)))
HLOGRAPH_ELEMENT(Negated, -x)
HLOGRAPH_ELEMENT(RootInverse, 1.0f / std::sqrt(x))
HLOGRAPH_ELEMENT(Root, std::sqrt(x))
HLOGRAPH_ELEMENT(HyperbolicTangent, Tanh(x))
HLOGRAPH_ELEMENT(Sum, x + y)
HLOGRAPH_ELEMENT(Difference, x - y)
HLOGRAPH_ELEMENT(Product, x* y)
HLOGRAPH_ELEMENT(Quotient, x / y)
// Extremes of numbers among which one is NaN are NaN.
HLOGRAPH_ELEMENT(Greatest, x > y || x != x ? x : y)
HLOGRAPH_ELEMENT(Least, x < y || x != x ? x : y)
HLOGRAPH_ELEMENT(IsEqual, x == y ? 1.0f : 0.0f)
HLOGRAPH_ELEMENT(IsUnequal, x != y ? 1.0f : 0.0f)
HLOGRAPH_ELEMENT(IsGreater, x > y ? 1.0f : 0.0f)
HLOGRAPH_ELEMENT(IsAtLeast, x >= y ? 1.0f : 0.0f)
HLOGRAPH_ELEMENT(IsLess, x < y ? 1.0f : 0.0f)
HLOGRAPH_ELEMENT(IsAtMost, x <= y ? 1.0f : 0.0f)
HLOGRAPH_ELEMENT(Selected, x != 0.0f ? y : z)
#undef HLOGRAPH_ELEMENT

template <typename Element, int operands>
HLOGRAPH_FOR_EACH_CPU void ComputeRows(const RowsView* views, int64_t rows, int64_t columns,
                                       float* __restrict result) {
  const RowsView first = views[0], second = views[operands > 1 ? 1 : 0];
  const RowsView third = views[operands > 2 ? 2 : 0];
  for (int64_t row = 0; row < rows; ++row, result += columns) {
    const float* const x = first.data + row * first.stride;
    const float* const y = second.data + row * second.stride;
    const float* const z = third.data + row * third.stride;
    for (int64_t i = 0; i < columns; ++i) result[i] = Element::Of(x[i], y[i], z[i]);
  }
}

constexpr NamedRowFunction kFunctions[] = {
    {"abs", 1, ComputeRows<Absolute, 1>},           {"exponential", 1, ComputeRows<Exp, 1>},
    {"logistic", 1, ComputeRows<Logistic, 1>},      {"negate", 1, ComputeRows<Negated, 1>},
    {"rsqrt", 1, ComputeRows<RootInverse, 1>},      {"sqrt", 1, ComputeRows<Root, 1>},
    {"tanh", 1, ComputeRows<HyperbolicTangent, 1>}, {"add", 2, ComputeRows<Sum, 2>},
    {"subtract", 2, ComputeRows<Difference, 2>},    {"multiply", 2, ComputeRows<Product, 2>},
    {"divide", 2, ComputeRows<Quotient, 2>},        {"maximum", 2, ComputeRows<Greatest, 2>},
    {"minimum", 2, ComputeRows<Least, 2>},          {"compare-EQ", 2, ComputeRows<IsEqual, 2>},
    {"compare-NE", 2, ComputeRows<IsUnequal, 2>},   {"compare-GT", 2, ComputeRows<IsGreater, 2>},
    {"compare-GE", 2, ComputeRows<IsAtLeast, 2>},   {"compare-LT", 2, ComputeRows<IsLess, 2>},
    {"compare-LE", 2, ComputeRows<IsAtMost, 2>},    {"select", 3, ComputeRows<Selected, 3>},
};

}  // namespace

const NamedRowFunction* FindRowFunction(std::string_view name) {
  for (const NamedRowFunction& function : kFunctions) {
    if (function.name == name) return &function;
  }
  return nullptr;
}

}  // namespace hlograph
