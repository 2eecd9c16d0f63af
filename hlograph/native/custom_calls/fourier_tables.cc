#include "hlograph/native/custom_calls/fourier_tables.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

namespace hlograph {
namespace {

// Returns exp(-2 pi i k / n), of an angle of an eighth of a turn at most.
std::complex<double> Root(int64_t k, int64_t n) {
  constexpr double kTurn = 6.283185307179586476925286766559;
  k %= n;
  if (8 * k > 4 * n) return std::conj(Root(n - k, n));
  if (8 * k > 2 * n) {  // a quarter of a turn and more
    const std::complex<double> before = Root(4 * k - n, 4 * n);
    return {before.imag(), -before.real()};
  }
  if (8 * k > n) {
    const std::complex<double> mirrored = Root(n - 4 * k, 4 * n);
    return {-mirrored.imag(), -mirrored.real()};
  }
  const double angle = kTurn * static_cast<double>(k) / static_cast<double>(n);
  return {std::cos(angle), -std::sin(angle)};
}

template <typename T>
void Append(std::complex<double> root, std::vector<T>& factors) {
  factors.push_back(static_cast<T>(root.real()));
  factors.push_back(static_cast<T>(root.imag()));
}

// Few passes, with as many fours as leave eights.
std::vector<int> RadicesOf(int64_t length) {
  int twos = 0;
  for (; length % 2 == 0; length /= 2) ++twos;
  std::vector<int> radices;
  while (twos > 0) {
    const int radix = twos == 1 ? 2 : twos == 2 || twos == 4 ? 4 : 8;
    radices.push_back(radix);
    twos -= radix == 8 ? 3 : radix == 4 ? 2 : 1;
  }
  for (const int radix : {5, 3}) {
    for (; length % radix == 0; length /= radix) radices.push_back(radix);
  }
  return radices;
}

}  // namespace

bool IsFourierLength(int64_t length) {
  if (length < 1) return false;
  for (const int radix : {2, 3, 5}) {
    while (length % radix == 0) length /= radix;
  }
  return length == 1;
}

template <typename T>
FourierPasses<T>::FourierPasses(int64_t length) : length(length) {
  int64_t left = length, stride = 1;
  for (const int radix : RadicesOf(length)) {
    FourierPass<T> pass{radix, left / radix, stride, {}};
    for (int64_t p = 0; p < pass.blocks; ++p) {
      for (int64_t k = 1; k < radix; ++k) Append(Root(p * k, left), pass.factors);
    }
    passes.push_back(std::move(pass));
    left /= radix;
    stride *= radix;
  }
}

template <typename T>
FourierTables<T>::FourierTables(int64_t length, bool is_real, int64_t lanes)
    : passes(length / lanes), of_lanes(lanes) {
  for (int64_t row = 0; lanes > 1 && row < length / lanes; ++row) {
    std::vector<T> imaginary;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      const std::complex<double> root = Root(row * lane, length);
      between.push_back(static_cast<T>(root.real()));
      imaginary.push_back(static_cast<T>(root.imag()));
    }
    between.insert(between.end(), imaginary.begin(), imaginary.end());
  }
  for (int64_t k = 0; is_real && k < length; ++k) {
    const std::complex<double> root = Root(k, 2 * length);
    real_roots.push_back(static_cast<T>(root.real()));
    imaginary_roots.push_back(static_cast<T>(root.imag()));
  }
}

template <typename T>
std::shared_ptr<const FourierTables<T>> FindFourierTables(int64_t length, bool is_real,
                                                          int64_t lanes) {
  constexpr int64_t kMostKept = int64_t{1} << 22;  // elements of transforms
  using Key = std::tuple<int64_t, bool, int64_t>;
  using Kept = std::pair<Key, std::shared_ptr<const FourierTables<T>>>;
  static auto& mutex = *new std::mutex();
  static auto& kept = *new std::list<Kept>();  // those asked for last come first
  static int64_t kept_elements = 0;
  const Key key{length, is_real, lanes};
  const std::lock_guard<std::mutex> lock(mutex);
  auto place =
      std::find_if(kept.begin(), kept.end(), [&](const Kept& k) { return k.first == key; });
  if (place == kept.end()) {
    kept.emplace_front(key, std::make_shared<const FourierTables<T>>(length, is_real, lanes));
    kept_elements += length;
    for (; kept_elements > kMostKept && kept.size() > 1; kept.pop_back()) {
      kept_elements -= std::get<0>(kept.back().first);
    }
  } else {
    kept.splice(kept.begin(), kept, place);
  }
  return kept.front().second;
}

template struct FourierTables<float>;
template struct FourierTables<double>;
template std::shared_ptr<const FourierTables<float>> FindFourierTables(int64_t, bool, int64_t);
template std::shared_ptr<const FourierTables<double>> FindFourierTables(int64_t, bool, int64_t);

}  // namespace hlograph
