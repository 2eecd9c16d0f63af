// Passes vectors to numpy without a copy.
#ifndef HLOGRAPH_NATIVE_BINDINGS_NUMPY_ARRAY_H_
#define HLOGRAPH_NATIVE_BINDINGS_NUMPY_ARRAY_H_

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

namespace hlograph {

template <typename T>
using NumpyVector = nanobind::ndarray<nanobind::numpy, T, nanobind::shape<-1>>;

// An array of any shape over a vector's values, which live as long as the array.
template <typename Array, typename T>
Array ToNumpy(std::vector<T> values, std::initializer_list<size_t> shape,
              std::initializer_list<int64_t> strides = {}) {
  auto owned = std::make_unique<std::vector<T>>(std::move(values));
  T* data = owned->data();
  nanobind::capsule owner(owned.release(),
                          [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Array(data, shape, owner, strides);
}

// The same over an array of as many values.
template <typename Array, typename T>
Array ToNumpy(std::unique_ptr<T[]> values, std::initializer_list<size_t> shape,
              std::initializer_list<int64_t> strides = {}) {
  T* data = values.get();
  nanobind::capsule owner(values.release(), [](void* p) noexcept { delete[] static_cast<T*>(p); });
  return Array(data, shape, owner, strides);
}

template <typename T>
NumpyVector<T> ToNumpy(std::vector<T> values) {
  const size_t size = values.size();
  return ToNumpy<NumpyVector<T>>(std::move(values), {size});
}

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_BINDINGS_NUMPY_ARRAY_H_
