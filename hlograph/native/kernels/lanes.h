// Eight floats at a time, and the functions of them that the kernels need.
//
// Inline, for code that is compiled once for each generation of processors. The bits are the same
// in all of those that have fused multiply-add.
#ifndef HLOGRAPH_NATIVE_KERNELS_LANES_H_
#define HLOGRAPH_NATIVE_KERNELS_LANES_H_

#include <cstdint>

// One copy of a function for each generation of processors; the loader picks.
#define HLOGRAPH_FOR_EACH_PROCESSOR \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"), flatten))

// A function of wide lanes, to be called on the processors that have registers for them.
#define HLOGRAPH_FOR_WIDE_PROCESSORS __attribute__((target("arch=x86-64-v4"), flatten))

namespace hlograph {

// Without wide registers the compiler makes do with narrow ones.
constexpr int kLanes = 8;
using Lanes = float __attribute__((vector_size(kLanes * sizeof(float)), aligned(sizeof(float))));
using IntLanes =
    int32_t __attribute__((vector_size(kLanes * sizeof(int32_t)), aligned(sizeof(int32_t))));

// Twice as many, for the processors that have registers for them.
using WideLanes = float __attribute__((vector_size(2 * sizeof(Lanes)), aligned(sizeof(float))));

inline const Lanes& At(const float* values) { return *reinterpret_cast<const Lanes*>(values); }
inline Lanes& At(float* values) { return *reinterpret_cast<Lanes*>(values); }

// Fetches values from memory that are read soon.
inline void Prefetch(const float* values, int64_t count) {
  constexpr int64_t kLine = 64 / sizeof(float);
  for (int64_t i = 0; i < count; i += kLine) __builtin_prefetch(values + i);
}

// Written out: of a difference with zeros, GCC makes eight insertions instead of one broadcast.
inline Lanes Broadcast(float x) { return Lanes{x, x, x, x, x, x, x, x}; }

inline float Sum(const Lanes& x) {
  const auto quarters =
      __builtin_shufflevector(x, x, 0, 1, 2, 3) + __builtin_shufflevector(x, x, 4, 5, 6, 7);
  const auto halves = quarters + __builtin_shufflevector(quarters, quarters, 2, 3, 0, 1);
  return halves[0] + halves[1];
}

// Keeps what is not a number.
inline Lanes Clamp(const Lanes& x, float low, float high) {
  const Lanes above = x < low ? Broadcast(low) : x;
  return above > high ? Broadcast(high) : above;
}

// e to the power of x, within 2 units of the last place: the method of Cephes' expf.
// Below -87 it is the smallest normal float, about 1e-38, and above 88 the largest power.
inline Lanes Exp(const Lanes& given) {
  const Lanes x = Clamp(given, -87.3f, 88.0f);
  // x = n ln 2 + rest, with ln 2 as a sum whose first part times n is exact.
  const Lanes scaled = x * 1.44269504f;
  const IntLanes n =
      __builtin_convertvector(scaled + (x > 0.0f ? Broadcast(0.5f) : Broadcast(-0.5f)), IntLanes);
  const Lanes turns = __builtin_convertvector(n, Lanes);
  const Lanes rest = (x - turns * 0.693359375f) + turns * 2.12194440e-4f;
  Lanes power = Broadcast(1.9875691500e-4f);
  power = power * rest + 1.3981999507e-3f;
  power = power * rest + 8.3334519073e-3f;
  power = power * rest + 4.1665795894e-2f;
  power = power * rest + 1.6666665459e-1f;
  power = power * rest + 5.0000001201e-1f;
  power = power * (rest * rest) + rest + 1.0f;
  const IntLanes exponent = (n + 127) << 23;
  return power * (Lanes)exponent;  // the same bits
}

// Within 1e-7, also near 0.
inline Lanes Sigmoid(const Lanes& x) { return 1.0f / (1.0f + Exp(-x)); }
inline Lanes Tanh(const Lanes& x) { return 2.0f * Sigmoid(2.0f * x) - 1.0f; }

// The error function, within some units of the last place: the rational function of Eigen and XLA.
inline Lanes Erf(const Lanes& given) {
  const Lanes x = Clamp(given, -4.0f, 4.0f);  // beyond, it is 1
  const Lanes square = x * x;
  Lanes above = Broadcast(-2.72614225801306e-10f);
  above = above * square + 2.77068142495902e-08f;
  above = above * square - 2.10102402082508e-06f;
  above = above * square - 5.69250639462346e-05f;
  above = above * square - 7.34990630326855e-04f;
  above = above * square - 2.95459980854025e-03f;
  above = above * square - 1.60960333262415e-02f;
  Lanes below = Broadcast(-1.45660718464996e-05f);
  below = below * square - 2.13374055278905e-04f;
  below = below * square - 1.68282697438203e-03f;
  below = below * square - 7.37332916720468e-03f;
  below = below * square - 1.42647390514189e-02f;
  return x * above / below;
}

// The share of the normal distribution below x.
inline Lanes NormalBelow(const Lanes& x) { return 0.5f + 0.5f * Erf(x * 0.707106781f); }

// Gaussian error linear unit (Hendrycks, Gimpel 2016, arXiv:1606.08415), and its derivative.
inline Lanes Gelu(const Lanes& x) { return x * NormalBelow(x); }
inline Lanes GeluSlope(const Lanes& x) {
  return NormalBelow(x) + x * 0.398942280f * Exp(-0.5f * x * x);
}

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_KERNELS_LANES_H_
