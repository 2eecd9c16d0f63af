// Native kernels: handlers of XLA's foreign function interface, which jaxlib calls at custom calls.
//
// They know nothing of Python and of XLA's libraries: of XLA they use the headers that jaxlib has
// for such handlers. A handler returns an error for types and shapes that it is not made for.
#ifndef HLOGRAPH_NATIVE_CUSTOM_CALLS_NATIVE_KERNEL_H_
#define HLOGRAPH_NATIVE_CUSTOM_CALLS_NATIVE_KERNEL_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <string>
#include <type_traits>
#include <vector>

#include "xla/ffi/api/ffi.h"

// Compiles a function for processors with AVX-512, with AVX2 and without, and chooses at run time.
// What it calls has to be inlined, or is compiled for the last of these alone.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define HLOGRAPH_FOR_EACH_CPU \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define HLOGRAPH_FOR_EACH_CPU
#endif

namespace hlograph {

// A kernel of a file, which a constant of this class registers.
struct NativeKernel {
  // The target of its custom calls, the handler, whether it calls NumPy's sorts, and a function
  // that says whether it runs on this processor; null if it runs on any.
  NativeKernel(const char* target, XLA_FFI_Handler* handler, bool needs_numpy = false,
               bool (*runs_here)() = nullptr);

  const char* target;
  XLA_FFI_Handler* handler;
  bool needs_numpy;
  bool (*runs_here)();
};

// All kernels. Never changes after the extension is loaded.
std::vector<NativeKernel>& NativeKernels();

// Returns an error for arguments that a kernel is not made for; the message says which.
inline xla::ffi::Error Refusal(const std::string& message) {
  return xla::ffi::Error::InvalidArgument(message);
}

// Calls work(), and returns its error if it returns one, or an error of XLA's where it throws, as
// it does where memory is short: no exception may leave a handler.
template <typename Work>
xla::ffi::Error WithoutExceptions(const Work& work) {
  using xla::ffi::Error, xla::ffi::ErrorCode;
  try {
    if constexpr (std::is_void_v<std::invoke_result_t<Work>>) {
      work();
      return Error::Success();
    } else {
      return work();
    }
  } catch (const std::bad_alloc&) {
    return Error(ErrorCode::kResourceExhausted,
                 "expected memory for the scratch space of a kernel, found none");
  } catch (const std::exception& error) {
    return Error(ErrorCode::kInternal, error.what());
  }
}

// A buffer as a matrix: the last dimension is that of its columns.
struct MatrixSizes {
  int64_t rows = 0, columns = 0;
};

inline MatrixSizes MatrixOf(const xla::ffi::AnyBuffer& buffer) {
  const auto sizes = buffer.dimensions();
  if (sizes.size() == 0) return {1, 1};
  MatrixSizes matrix{1, sizes[sizes.size() - 1]};
  for (size_t i = 0; i + 1 < sizes.size(); ++i) matrix.rows *= sizes[i];
  return matrix;
}

inline bool HaveSameSizes(const xla::ffi::AnyBuffer& one, const xla::ffi::AnyBuffer& two) {
  const auto sizes = one.dimensions(), others = two.dimensions();
  return std::equal(sizes.begin(), sizes.end(), others.begin(), others.end());
}

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_CUSTOM_CALLS_NATIVE_KERNEL_H_
