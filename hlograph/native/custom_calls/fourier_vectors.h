// Fourier transforms in vectors of a certain size. A file that includes this compiles it for one
// kind of processors, and has included the standard library before.
#include "hlograph/native/custom_calls/fourier_kernels.h"
#include "hlograph/native/custom_calls/fourier_tables.h"
#include "hlograph/native/custom_calls/vector_pairs.h"

namespace hlograph {
namespace {

template <typename T, int bytes>
struct FourierVectors : VectorPairs<T, bytes> {
  using Pairs = VectorPairs<T, bytes>;
  using Pairs::Add, Pairs::kLanes, Pairs::Multiply, Pairs::PartedFromEnd;
  using Pairs::Read, Pairs::ReadComplex, Pairs::ReadSome, Pairs::ReadSomeComplex;
  using Pairs::Reversed, Pairs::Scaled, Pairs::WriteSome;
  using Pairs::Swapped, Pairs::TimesMinusI, Pairs::Transpose, Pairs::Write;
  using Pairs::WriteComplex, Pairs::WriteSomeComplex;
  using typename Pairs::Pair;
  using typename Pairs::Vector;

  // --- Passes.

  // read(i) returns an element, write(element, i) takes one.
  template <int radix, bool is_last, typename Reader, typename Writer>
  static HLOGRAPH_INLINE void Pass(const FourierPass<T>& pass, Reader read, Writer write) {
    const int64_t blocks = pass.blocks, stride = pass.stride;
    const T* factors = pass.factors.data();
    for (int64_t p = 0; p < blocks; ++p, factors += 2 * (radix - 1)) {
      for (int64_t q = 0; q < stride; ++q) {
        Pair a[radix];
#pragma GCC unroll 8
        for (int j = 0; j < radix; ++j) a[j] = read(q + stride * (p + blocks * j));
        Pairs::template Transform<radix>(a);
        const int64_t to = q + stride * radix * p;
        write(a[0], to);
#pragma GCC unroll 8
        for (int k = 1; k < radix; ++k) {
          if constexpr (is_last) {  // all factors are 1
            write(a[k], to + stride * k);
          } else {
            write(Multiply(a[k], factors[2 * k - 2], factors[2 * k - 1]), to + stride * k);
          }
        }
      }
    }
  }

  template <int radix>
  static void PassOfPairs(const FourierPass<T>& pass, const Pair* from, Pair* to) {
    const auto read = [from](int64_t i) { return from[i]; };
    const auto write = [to](Pair a, int64_t i) { to[i] = a; };
    if (pass.blocks == 1) return Pass<radix, true>(pass, read, write);
    Pass<radix, false>(pass, read, write);
  }

  static void AnyPass(const FourierPass<T>& pass, const Pair* from, Pair* to) {
    switch (pass.radix) {
      case 2:
        return PassOfPairs<2>(pass, from, to);
      case 3:
        return PassOfPairs<3>(pass, from, to);
      case 4:
        return PassOfPairs<4>(pass, from, to);
      case 5:
        return PassOfPairs<5>(pass, from, to);
      default:
        return PassOfPairs<8>(pass, from, to);
    }
  }

  // Runs the passes from `first` on, and returns which of both has the results.
  static Pair* Passes(const FourierPasses<T>& passes, size_t first, Pair* from, Pair* other) {
    for (size_t i = first; i < passes.passes.size(); ++i) {
      AnyPass(passes.passes[i], from, other);
      std::swap(from, other);
    }
    return from;
  }

  // --- Spectra of real numbers, by transforms of half as many complex ones.

  // Half the sum of a and the conjugate of b, and half their difference: halves are summed, which
  // overflow nowhere.
  static HLOGRAPH_INLINE std::pair<Pair, Pair> HalfSums(Pair a, Pair b) {
    const Pair half = Scaled(b, T{0.5});
    return {{T{0.5} * a.real + half.real, T{0.5} * a.imaginary - half.imaginary},
            {T{0.5} * a.real - half.real, T{0.5} * a.imaginary + half.imaginary}};
  }

  // Element k of a spectrum of real numbers, from elements k and length - k of the transform.
  template <typename Factor>
  static HLOGRAPH_INLINE Pair SpectrumOf(Pair a, Pair b, Factor real, Factor imaginary) {
    const auto [sum, apart] = HalfSums(a, b);
    return Add(sum, Multiply(TimesMinusI(apart), real, imaginary));
  }

  // The other way. Parts are swapped, as for all inverse transforms.
  template <typename Factor>
  static HLOGRAPH_INLINE Pair OfSpectrum(Pair a, Pair b, Factor real, Factor imaginary) {
    const auto [sum, apart] = HalfSums(a, b);
    const Pair turned = Multiply(apart, real, -imaginary);
    return {sum.imaginary + turned.real, sum.real - turned.imaginary};
  }

  // --- A row of lanes * lanes elements or a multiple of them.

  template <typename Reader>
  static HLOGRAPH_INLINE void FirstPass(const FourierPass<T>& pass, Reader read, Pair* to) {
    const auto write = [to](Pair a, int64_t i) { to[i] = a; };
    if (pass.radix == 4 && pass.blocks == 1) return Pass<4, true>(pass, read, write);
    if (pass.radix == 4) return Pass<4, false>(pass, read, write);
    if (pass.blocks == 1) return Pass<8, true>(pass, read, write);
    Pass<8, false>(pass, read, write);
  }

  static void ReadRow(const FourierWork<T>& work, const T* x, Pair* to) {
    const FourierPass<T>& pass = work.tables->passes.passes.front();
    if (work.kind == FourierKind::kToReal) {
      const int64_t length = work.length;
      const T* const reals = work.tables->real_roots.data();
      const T* const imaginaries = work.tables->imaginary_roots.data();
      return FirstPass(
          pass,
          [=](int64_t i) HLOGRAPH_ALWAYS_INLINE {
            const int64_t k = i * kLanes;
            const T* const end = x + 2 * (length - k - kLanes + 1);
            Pair a = ReadComplex(x + 2 * k);
            Pair b = PartedFromEnd(Read(end), Read(end + kLanes));
            if (i == 0) a.imaginary[0] = b.imaginary[0] = 0;  // those of real numbers
            return OfSpectrum(a, b, Read(reals + k), Read(imaginaries + k));
          },
          to);
    }
    const bool is_inverse = work.is_inverse;
    if (work.given == 2 * work.length) {
      return FirstPass(
          pass,
          [=](int64_t i) HLOGRAPH_ALWAYS_INLINE {
            const Pair a = ReadComplex(x + 2 * i * kLanes);
            return is_inverse ? Swapped(a) : a;
          },
          to);
    }
    const int64_t given = work.given;
    FirstPass(
        pass,
        [=](int64_t i) HLOGRAPH_ALWAYS_INLINE {
          const int64_t at = 2 * i * kLanes;
          const Pair a = ReadSomeComplex(x + at, given - at);
          return is_inverse ? Swapped(a) : a;
        },
        to);
  }

  // Transforms across the lanes: write(element, i) takes elements i .. i + lanes - 1.
  template <typename Writer>
  static HLOGRAPH_INLINE void AcrossLanes(const FourierTables<T>& tables, const Pair* from,
                                          Writer write) {
    const int64_t rows = tables.passes.length;
    const T* between = tables.between.data();
    for (int64_t first = 0; first < rows; first += kLanes) {
      Vector reals[kLanes], imaginaries[kLanes];
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i, between += 2 * kLanes) {
        const Pair a = Multiply(from[first + i], Read(between), Read(between + kLanes));
        reals[i] = a.real;
        imaginaries[i] = a.imaginary;
      }
      Transpose(reals);
      Transpose(imaginaries);
      const auto read = [&](int64_t i)
                            HLOGRAPH_ALWAYS_INLINE { return Pair{reals[i], imaginaries[i]}; };
      const auto write_row = [&](Pair a, int64_t i)
                                 HLOGRAPH_ALWAYS_INLINE { write(a, i * rows + first); };
      const auto& passes = tables.of_lanes.passes;
      if constexpr (kLanes == 16) {
        Pair half[kLanes];
        Pass<4, false>(passes[0], read,
                       [&](Pair a, int64_t i) HLOGRAPH_ALWAYS_INLINE { half[i] = a; });
        Pass<4, true>(
            passes[1], [&](int64_t i) HLOGRAPH_ALWAYS_INLINE { return half[i]; }, write_row);
      } else {
        Pass<kLanes, true>(passes[0], read, write_row);
      }
    }
  }

  static void Row(const FourierWork<T>& work, int64_t row, T* scratch) {
    const T* const x = work.x + row * work.given;
    T* const y = work.y + row * work.kept;
    const int64_t length = work.length;
    auto* const elements = reinterpret_cast<Pair*>(scratch);
    Pair* const others = elements + length / kLanes;
    ReadRow(work, x, elements);
    Pair* const columns = Passes(work.tables->passes, 1, elements, others);
    if (work.kind == FourierKind::kFromReal) {
      T* const reals = scratch + 4 * length;
      T* const imaginaries = reals + length + kLanes;
      AcrossLanes(*work.tables, columns, [=](Pair a, int64_t i) HLOGRAPH_ALWAYS_INLINE {
        Write(a.real, reals + i);
        Write(a.imaginary, imaginaries + i);
      });
      return WriteSpectrum(work, reals, imaginaries, y);
    }
    const bool is_inverse = work.is_inverse;
    const T scale = work.scale;
    if (work.kept == 2 * length) {
      return AcrossLanes(*work.tables, columns, [=](Pair a, int64_t i) HLOGRAPH_ALWAYS_INLINE {
        a = Scaled(a, scale);
        WriteComplex(is_inverse ? Swapped(a) : a, y + 2 * i);
      });
    }
    const int64_t kept = work.kept;
    AcrossLanes(*work.tables, columns, [=](Pair a, int64_t i) HLOGRAPH_ALWAYS_INLINE {
      a = Scaled(a, scale);
      WriteSomeComplex(is_inverse ? Swapped(a) : a, y + 2 * i, kept - 2 * i);
    });
  }

  static void WriteSpectrum(const FourierWork<T>& work, T* reals, T* imaginaries, T* y) {
    const int64_t length = work.length;
    reals[length] = reals[0];
    imaginaries[length] = imaginaries[0];
    for (int64_t k = 0; k < length; k += kLanes) {
      const int64_t end = length - k - kLanes + 1;
      const Pair a{Read(reals + k), Read(imaginaries + k)};
      const Pair b{Reversed(Read(reals + end)), Reversed(Read(imaginaries + end))};
      WriteComplex(SpectrumOf(a, b, Read(work.tables->real_roots.data() + k),
                              Read(work.tables->imaginary_roots.data() + k)),
                   y + 2 * k);
    }
    y[2 * length] = reals[0] - imaginaries[0];
    y[1] = y[2 * length + 1] = 0;  // also where others are NaN
  }

  // --- Rows side by side, one in each lane.

  // Numbers of `count` rows, one for each vector, and zeros after the `given` ones of each.
  static void ReadRows(const T* x, int64_t count, int64_t given, int64_t needed, Vector* to) {
    for (int64_t first = 0; first < needed; first += kLanes) {
      Vector v[kLanes];
#pragma GCC unroll 16
      for (int64_t i = 0; i < kLanes; ++i) {
        v[i] = ReadSome(x + (i < count ? i : 0) * given + first, given - first);
      }
      Transpose(v);
      std::copy_n(v, std::min<int64_t>(kLanes, needed - first), to + first);
    }
  }

  static void WriteRows(const Vector* from, int64_t count, int64_t kept, T* y) {
    for (int64_t first = 0; first < kept; first += kLanes) {
      const int64_t some = std::min<int64_t>(kLanes, kept - first);
      Vector v[kLanes];
#pragma GCC unroll 16
      for (int64_t i = 0; i < kLanes; ++i) v[i] = from[first + (i < some ? i : 0)];
      Transpose(v);
      for (int64_t i = 0; i < count; ++i) WriteSome(v[i], y + i * kept + first, some);
    }
  }

  static void Rows(const FourierWork<T>& work, int64_t row, int64_t count, T* scratch) {
    const int64_t length = work.length;
    const bool to_real = work.kind == FourierKind::kToReal;
    const int64_t needed = to_real ? 2 * length + 2 : 2 * length;
    auto* const elements = reinterpret_cast<Pair*>(scratch);
    Pair* const others = elements + length + 1;
    ReadRows(work.x + row * work.given, count, work.given, needed,
             reinterpret_cast<Vector*>(elements));
    if (to_real) {
      PrepareSpectra(work, elements);
    } else if (work.is_inverse) {
      for (int64_t i = 0; i < length; ++i) elements[i] = Swapped(elements[i]);
    }
    Pair* results = Passes(work.tables->passes, 0, elements, others);
    if (work.kind == FourierKind::kFromReal) {
      FinishSpectra(work, results);
    } else if (work.is_inverse) {
      for (int64_t i = 0; i < length; ++i) results[i] = Scaled(Swapped(results[i]), work.scale);
    }
    WriteRows(reinterpret_cast<const Vector*>(results), count, work.kept, work.y + row * work.kept);
  }

  static void PrepareSpectra(const FourierWork<T>& work, Pair* elements) {
    const int64_t length = work.length;
    elements[0].imaginary = elements[length].imaginary = Vector{};  // those of real numbers
    for (int64_t k = 0; 2 * k <= length; ++k) {
      const T real = work.tables->real_roots[k], imaginary = work.tables->imaginary_roots[k];
      const Pair a = elements[k], b = elements[length - k];
      elements[k] = OfSpectrum(a, b, real, imaginary);
      if (k > 0) elements[length - k] = OfSpectrum(b, a, -real, imaginary);
    }
  }

  static void FinishSpectra(const FourierWork<T>& work, Pair* elements) {
    const int64_t length = work.length;
    elements[length] = {elements[0].real - elements[0].imaginary, Vector{}};
    elements[0] = {elements[0].real + elements[0].imaginary, Vector{}};
    for (int64_t k = 1; 2 * k <= length; ++k) {
      const T real = work.tables->real_roots[k], imaginary = work.tables->imaginary_roots[k];
      const Pair a = elements[k], b = elements[length - k];
      elements[k] = SpectrumOf(a, b, real, imaginary);
      elements[length - k] = SpectrumOf(b, a, -real, imaginary);
    }
  }

  // --- Columns side by side, some in the lanes of a vector.

  template <typename Reader, typename Writer>
  static HLOGRAPH_INLINE void TransformColumns(const FourierWork<T>& work, Reader read,
                                               Writer write, T* scratch) {
    const int64_t length = work.length;
    auto* const elements = reinterpret_cast<Pair*>(scratch);
    for (int64_t i = 0; i < length; ++i) {
      const Pair a = read(i * work.stride);
      elements[i] = work.is_inverse ? Swapped(a) : a;
    }
    const Pair* const results = Passes(work.tables->passes, 0, elements, elements + length);
    for (int64_t i = 0; i < length; ++i) {
      const Pair a = Scaled(results[i], work.scale);
      write(work.is_inverse ? Swapped(a) : a, i * work.stride);
    }
  }

  static void Columns(const FourierWork<T>& work, const T* x, T* y, int64_t count, T* scratch) {
    TransformColumns(
        work, [=](int64_t at) HLOGRAPH_ALWAYS_INLINE { return ReadSomeComplex(x + at, 2 * count); },
        [=](Pair a, int64_t at) HLOGRAPH_ALWAYS_INLINE { WriteSomeComplex(a, y + at, 2 * count); },
        scratch);
  }

  static void SpreadColumns(const FourierWork<T>& work, const T* x, T* y, const int64_t* places,
                            int64_t count, T* scratch) {
    T whole[2 * kLanes] = {};
    TransformColumns(
        work,
        [&](int64_t at) HLOGRAPH_ALWAYS_INLINE {
          for (int64_t i = 0; i < count; ++i) std::copy_n(x + places[i] + at, 2, whole + 2 * i);
          return ReadComplex(whole);
        },
        [&](Pair a, int64_t at) HLOGRAPH_ALWAYS_INLINE {
          WriteComplex(a, whole);
          for (int64_t i = 0; i < count; ++i) std::copy_n(whole + 2 * i, 2, y + places[i] + at);
        },
        scratch);
  }
};

template <typename T, int bytes>
FourierKernels<T> FourierKernelsOf() {
  using Vectors = FourierVectors<T, bytes>;
  return {Vectors::kLanes, Vectors::Row, Vectors::Rows, Vectors::Columns, Vectors::SpreadColumns};
}

}  // namespace
}  // namespace hlograph
