// Sums of many rows into few, each into the row of its label.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "hlograph/native/custom_calls/native_kernel.h"
#include "hlograph/native/custom_calls/pool_ranges.h"
#include "hlograph/native/custom_calls/scratch.h"
#include "xla/ffi/api/ffi.h"

namespace hlograph {
namespace {

namespace ffi = xla::ffi;

// Rows that follow each other are added to copies of the sums in turns: each sum waits for the one
// before it, for as long as rows of one label follow each other.
constexpr int64_t kCopies = 4;
constexpr int64_t kRowsOfASum = 8;  // at least, for each sum that a part has copies of

// The value that changes no sum, zeros of either sign among them.
template <typename T>
constexpr T kNeutral = std::is_floating_point_v<T> ? static_cast<T>(-0.0) : T{0};

template <typename T, typename Label>
struct Rows {
  const Label* labels;
  const T* values;  // one for all if `is_uniform`
  bool is_uniform;
  int64_t sums, width;  // of the result

  // Adds rows from `begin` to before `end` to the copies.
  void Add(int64_t begin, int64_t end, T* copies) const {
    if (width == 1 && is_uniform) return AddNumbers<true>(begin, end, copies);
    if (width == 1) return AddNumbers<false>(begin, end, copies);
    for (int64_t i = begin; i < end; ++i) {
      if (!IsOfASum(labels[i])) continue;
      T* const sum = copies + ((i % kCopies) * sums + static_cast<int64_t>(labels[i])) * width;
      const T* const row = is_uniform ? nullptr : values + i * width;
      for (int64_t k = 0; k < width; ++k) sum[k] += is_uniform ? *values : row[k];
    }
  }

 private:
  // Other labels, as those below zero, are left out.
  bool IsOfASum(Label label) const {
    return static_cast<std::make_unsigned_t<Label>>(label) < static_cast<uint64_t>(sums);
  }

  // Adds one number for each label, or the same one for all.
  template <bool uniform>
  void AddNumbers(int64_t begin, int64_t end, T* copies) const {
    const T same = uniform && begin < end ? *values : T{};
    int64_t i = begin;
    for (; i + kCopies <= end; i += kCopies) {
      for (int64_t copy = 0; copy < kCopies; ++copy) {
        if (!IsOfASum(labels[i + copy])) continue;
        copies[copy * sums + labels[i + copy]] += uniform ? same : values[i + copy];
      }
    }
    for (; i < end; ++i) {
      if (IsOfASum(labels[i])) copies[labels[i]] += uniform ? same : values[i];
    }
  }
};

// The number of parts that have copies of their own, always the same on one machine: threads take
// parts in any order, and the parts' sums are added in that of the parts.
int64_t PartsOf(int64_t rows, int64_t sums, int64_t threads) {
  return std::max<int64_t>(1, std::min(2 * threads, rows / (kRowsOfASum * kCopies * sums)));
}

template <typename T, typename Label>
void SumRows(ffi::ThreadPool pool, const Rows<T, Label>& rows, int64_t count, const T* initial,
             T* result) {
  const int64_t elements = rows.sums * rows.width;
  const int64_t parts = PartsOf(count, rows.sums, pool.num_threads());
  const Scratch scratch(parts * kCopies * elements * sizeof(T));
  T* const copies = scratch.as<T>();
  const double nanoseconds = 0.7 * rows.width * count / parts;
  ForPoolRanges(pool, parts, nanoseconds, [&](int64_t part, int64_t end) {
    for (; part < end; ++part) {
      T* const own = copies + part * kCopies * elements;
      std::fill_n(own, kCopies * elements, kNeutral<T>);
      rows.Add(part * count / parts, (part + 1) * count / parts, own);
    }
  });
  std::copy_n(initial, elements, result);
  for (int64_t copy = 0; copy < parts * kCopies; ++copy) {
    const T* const own = copies + copy * elements;
    for (int64_t i = 0; i < elements; ++i) result[i] += own[i];
  }
}

// The arrays of a call.
struct Arrays {
  const ffi::AnyBuffer& initial;
  const ffi::AnyBuffer& labels;
  const ffi::AnyBuffer& values;
  ffi::AnyBuffer& result;
};

template <typename T>
void SumByLabel(ffi::ThreadPool pool, const Arrays& arrays) {
  const auto add = [&](const auto* labels) {
    using Label = std::remove_cv_t<std::remove_pointer_t<decltype(labels)>>;
    const int64_t sums = arrays.result.dimensions()[0];
    const auto* const values = static_cast<const T*>(arrays.values.untyped_data());
    const Rows<T, Label> rows{labels, values, arrays.values.dimensions().size() == 0, sums,
                              static_cast<int64_t>(arrays.result.element_count()) / sums};
    SumRows(pool, rows, static_cast<int64_t>(arrays.labels.element_count()),
            static_cast<const T*>(arrays.initial.untyped_data()),
            static_cast<T*>(arrays.result.untyped_data()));
  };
  const void* const labels = arrays.labels.untyped_data();
  const ffi::DataType type = arrays.labels.element_type();
  if (type == ffi::DataType::S32) add(static_cast<const int32_t*>(labels));
  if (type == ffi::DataType::U32) add(static_cast<const uint32_t*>(labels));
  if (type == ffi::DataType::S64) add(static_cast<const int64_t*>(labels));
}

// Returns true for one value, or one row like those of the result for each label.
bool HasRows(const ffi::AnyBuffer& values, const ffi::AnyBuffer& labels,
             const ffi::AnyBuffer& result) {
  if (values.dimensions().size() == 0) return true;
  const size_t width = result.element_count() / static_cast<size_t>(result.dimensions()[0]);
  return values.element_count() % width == 0 &&
         values.element_count() / width == labels.element_count();
}

ffi::Error ScatterAdd(ffi::ThreadPool pool, ffi::AnyBuffer initial, ffi::AnyBuffer labels,
                      ffi::AnyBuffer values, ffi::Result<ffi::AnyBuffer> result) {
  using ffi::DataType;
  const DataType type = result->element_type(), label = labels.element_type();
  if (initial.element_type() != type || values.element_type() != type ||
      (label != DataType::S32 && label != DataType::U32 && label != DataType::S64)) {
    return Refusal("expected numbers of one type, and labels of 32 bits or signed ones of 64");
  }
  if (result->dimensions().size() == 0 || result->element_count() == 0 ||
      !HaveSameSizes(initial, *result) || !HasRows(values, labels, *result)) {
    return Refusal("expected sums like the initial ones, and a row for each label");
  }
  const Arrays arrays{initial, labels, values, *result};
  return WithoutExceptions([&]() -> ffi::Error {
    switch (type) {
      case DataType::F32:
        SumByLabel<float>(pool, arrays);
        break;
      case DataType::F64:
        SumByLabel<double>(pool, arrays);
        break;
      case DataType::S32:
      case DataType::U32:  // sums wrap around in both
        SumByLabel<uint32_t>(pool, arrays);
        break;
      default:
        return Refusal("expected floats, or integers of 32 bits, to sum");
    }
    return ffi::Error::Success();
  });
}

XLA_FFI_DEFINE_HANDLER(kScatterAdd, ScatterAdd,
                       ffi::Ffi::Bind()
                           .Ctx<ffi::ThreadPool>()
                           .Arg<ffi::AnyBuffer>()
                           .Arg<ffi::AnyBuffer>()
                           .Arg<ffi::AnyBuffer>()
                           .Ret<ffi::AnyBuffer>());

const NativeKernel kScatterAddKernel("hlograph.kernel.scatter_add", kScatterAdd);

}  // namespace
}  // namespace hlograph
