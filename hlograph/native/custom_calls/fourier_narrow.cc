// Fourier transforms for processors with AVX2.
#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "hlograph/native/custom_calls/fourier_kernels.h"

#pragma GCC target("arch=x86-64-v3")
#include "hlograph/native/custom_calls/fourier_vectors.h"

namespace hlograph {

template <typename T>
FourierKernels<T> NarrowFourierKernels() {
  return FourierKernelsOf<T, 32>();
}

template FourierKernels<float> NarrowFourierKernels();
template FourierKernels<double> NarrowFourierKernels();

}  // namespace hlograph
