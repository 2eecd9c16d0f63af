// Vectors of complex numbers, whose real and imaginary parts are apart, and transforms of a few of
// them. A file that includes this compiles it for one kind of processors, and has included the
// standard library before.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace hlograph {
namespace {

#define HLOGRAPH_ALWAYS_INLINE __attribute__((always_inline))  // of lambdas
#define HLOGRAPH_INLINE HLOGRAPH_ALWAYS_INLINE inline

template <typename T, int bytes>
struct VectorPairs {
  using Integer = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  using Vector __attribute__((vector_size(bytes), aligned(alignof(T)), may_alias)) = T;
  using Places __attribute__((vector_size(bytes), aligned(alignof(T)))) = Integer;
  static constexpr int kLanes = bytes / sizeof(T);

  // Real and imaginary parts.
  struct Pair {
    Vector real, imaginary;
  };

  static HLOGRAPH_INLINE Vector Read(const T* x) { return *reinterpret_cast<const Vector*>(x); }
  static HLOGRAPH_INLINE void Write(Vector v, T* y) { *reinterpret_cast<Vector*>(y) = v; }
  // Reads `count` numbers, as many as there are lanes at most, and zeros after them.
  static HLOGRAPH_INLINE Vector ReadSome(const T* x, int64_t count) {
    if (count >= kLanes) return Read(x);
    T whole[kLanes] = {};
    if (count > 0) std::copy_n(x, count, whole);
    return Read(whole);
  }
  static HLOGRAPH_INLINE void WriteSome(Vector v, T* y, int64_t count) {
    if (count >= kLanes) return Write(v, y);
    T whole[kLanes];
    Write(v, whole);
    std::copy_n(whole, std::max<int64_t>(count, 0), y);
  }

  // --- Places of lanes in two vectors.

  template <typename Place, size_t... lane>
  static HLOGRAPH_INLINE constexpr Places MakePlaces(Place place, std::index_sequence<lane...>) {
    return Places{static_cast<Integer>(place(static_cast<int>(lane)))...};
  }
  template <typename Place>
  static HLOGRAPH_INLINE constexpr Places PlacesOf(Place place) {
    return MakePlaces(place, std::make_index_sequence<kLanes>());
  }

  // From complex numbers in turns: parts of one kind, in this order or from the end.
  static HLOGRAPH_INLINE Pair Parted(Vector low, Vector high) {
    return {__builtin_shuffle(low, high, PlacesOf([](int i) { return 2 * i; })),
            __builtin_shuffle(low, high, PlacesOf([](int i) { return 2 * i + 1; }))};
  }
  static HLOGRAPH_INLINE Pair PartedFromEnd(Vector low, Vector high) {
    return {__builtin_shuffle(low, high, PlacesOf([](int i) { return 2 * (kLanes - 1 - i); })),
            __builtin_shuffle(low, high, PlacesOf([](int i) { return 2 * (kLanes - 1 - i) + 1; }))};
  }
  static HLOGRAPH_INLINE Vector Reversed(Vector v) {
    return __builtin_shuffle(v, PlacesOf([](int i) { return kLanes - 1 - i; }));
  }
  static HLOGRAPH_INLINE Pair Swapped(Pair a) { return {a.imaginary, a.real}; }

  static HLOGRAPH_INLINE Pair ReadComplex(const T* x) { return Parted(Read(x), Read(x + kLanes)); }
  // Parts of the lower or the upper half of the lanes in turns.
  template <int half>
  static HLOGRAPH_INLINE Vector Together(Pair a) {
    return __builtin_shuffle(a.real, a.imaginary, PlacesOf([](int i) {
                               return (i + half * kLanes) / 2 + i % 2 * kLanes;
                             }));
  }
  static HLOGRAPH_INLINE void WriteComplex(Pair a, T* y) {
    Write(Together<0>(a), y);
    Write(Together<1>(a), y + kLanes);
  }
  static HLOGRAPH_INLINE Pair ReadSomeComplex(const T* x, int64_t count) {
    return Parted(ReadSome(x, count), ReadSome(x + kLanes, count - kLanes));
  }
  static HLOGRAPH_INLINE void WriteSomeComplex(Pair a, T* y, int64_t count) {
    WriteSome(Together<0>(a), y, count);
    WriteSome(Together<1>(a), y + kLanes, count - kLanes);
  }

  // Element (i, lane) becomes (lane, i).
  static HLOGRAPH_INLINE void Transpose(Vector* v) { TransposeFrom<1>(v); }
  template <int apart>
  static HLOGRAPH_INLINE void TransposeFrom(Vector* v) {
    if constexpr (apart < kLanes) {
      const Places low = PlacesOf([](int i) { return i & apart ? kLanes + i - apart : i; });
      const Places high = PlacesOf([](int i) { return i & apart ? kLanes + i : i + apart; });
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) {
        if (i & apart) continue;
        const Vector a = v[i], b = v[i + apart];
        v[i] = __builtin_shuffle(a, b, low);
        v[i + apart] = __builtin_shuffle(a, b, high);
      }
      TransposeFrom<2 * apart>(v);
    }
  }

  // --- Arithmetic.

  static HLOGRAPH_INLINE Pair Add(Pair a, Pair b) {
    return {a.real + b.real, a.imaginary + b.imaginary};
  }
  static HLOGRAPH_INLINE Pair Subtract(Pair a, Pair b) {
    return {a.real - b.real, a.imaginary - b.imaginary};
  }
  template <typename Factor>
  static HLOGRAPH_INLINE Pair Multiply(Pair a, Factor real, Factor imaginary) {
    return {a.real * real - a.imaginary * imaginary, a.real * imaginary + a.imaginary * real};
  }
  static HLOGRAPH_INLINE Pair TimesMinusI(Pair a) { return {a.imaginary, -a.real}; }
  static HLOGRAPH_INLINE Pair Scaled(Pair a, T factor) {
    return {a.real * factor, a.imaginary * factor};
  }

  // Transforms of `radix` elements.
  template <int radix>
  static HLOGRAPH_INLINE void Transform(Pair* a) {
    if constexpr (radix == 2) {
      const Pair first = a[0];
      a[0] = Add(first, a[1]);
      a[1] = Subtract(first, a[1]);
    } else if constexpr (radix == 3) {
      constexpr T kSine = 0.86602540378443864676;
      const Pair sum = Add(a[1], a[2]);
      const Pair turned = TimesMinusI(Scaled(Subtract(a[1], a[2]), kSine));
      const Pair middle = Subtract(a[0], Scaled(sum, T{0.5}));
      a[0] = Add(a[0], sum);
      a[1] = Add(middle, turned);
      a[2] = Subtract(middle, turned);
    } else if constexpr (radix == 4) {
      const Pair even = Add(a[0], a[2]), even_apart = Subtract(a[0], a[2]);
      const Pair odd = Add(a[1], a[3]), odd_apart = TimesMinusI(Subtract(a[1], a[3]));
      a[0] = Add(even, odd);
      a[1] = Add(even_apart, odd_apart);
      a[2] = Subtract(even, odd);
      a[3] = Subtract(even_apart, odd_apart);
    } else if constexpr (radix == 5) {
      constexpr T kCosine1 = 0.30901699437494742410, kSine1 = 0.95105651629515357212;
      constexpr T kCosine2 = -0.80901699437494742410, kSine2 = 0.58778525229247312917;
      const Pair sum1 = Add(a[1], a[4]), apart1 = Subtract(a[1], a[4]);
      const Pair sum2 = Add(a[2], a[3]), apart2 = Subtract(a[2], a[3]);
      const Pair middle1 = Add(a[0], Add(Scaled(sum1, kCosine1), Scaled(sum2, kCosine2)));
      const Pair middle2 = Add(a[0], Add(Scaled(sum1, kCosine2), Scaled(sum2, kCosine1)));
      const Pair turned1 = TimesMinusI(Add(Scaled(apart1, kSine1), Scaled(apart2, kSine2)));
      const Pair turned2 = TimesMinusI(Subtract(Scaled(apart1, kSine2), Scaled(apart2, kSine1)));
      a[0] = Add(a[0], Add(sum1, sum2));
      a[1] = Add(middle1, turned1);
      a[2] = Add(middle2, turned2);
      a[3] = Subtract(middle2, turned2);
      a[4] = Subtract(middle1, turned1);
    } else {
      static_assert(radix == 8);
      constexpr T kDiagonal = 0.70710678118654752440;
      Pair even[4], odd[4];
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        even[i] = Add(a[i], a[i + 4]);
        odd[i] = Subtract(a[i], a[i + 4]);
      }
      odd[1] = Scaled(Add(odd[1], TimesMinusI(odd[1])), kDiagonal);
      odd[2] = TimesMinusI(odd[2]);
      odd[3] = Scaled(Subtract(TimesMinusI(odd[3]), odd[3]), kDiagonal);
      Transform<4>(even);
      Transform<4>(odd);
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        a[2 * i] = even[i];
        a[2 * i + 1] = odd[i];
      }
    }
  }
};

}  // namespace
}  // namespace hlograph
