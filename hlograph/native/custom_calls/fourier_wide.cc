// Fourier transforms for processors with AVX-512.
#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "hlograph/native/custom_calls/fourier_kernels.h"

#pragma GCC target("arch=x86-64-v4,prefer-vector-width=512")
#include "hlograph/native/custom_calls/fourier_vectors.h"

namespace hlograph {

template <typename T>
FourierKernels<T> WideFourierKernels() {
  return FourierKernelsOf<T, 64>();
}

template FourierKernels<float> WideFourierKernels();
template FourierKernels<double> WideFourierKernels();

}  // namespace hlograph
