// The extension hlograph._custom_calls: native kernels for jaxlib, as capsules for jax.ffi.
// It links neither XLA nor anything else, so it loads at once and works without the engine.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "hlograph/native/custom_calls/native_kernel.h"
#include "hlograph/native/custom_calls/numpy_sorts.h"

namespace nb = nanobind;

namespace hlograph {

std::vector<NativeKernel>& NativeKernels() {
  static auto& kernels = *new std::vector<NativeKernel>();
  return kernels;
}

NativeKernel::NativeKernel(const char* target, XLA_FFI_Handler* handler, bool needs_numpy,
                           bool (*runs_here)())
    : target(target), handler(handler), needs_numpy(needs_numpy), runs_here(runs_here) {
  NativeKernels().push_back(*this);
}

}  // namespace hlograph

NB_MODULE(_custom_calls, m) {
  m.def(
      "handlers",
      [] {
        static const bool has_sorts = hlograph::LoadNumpySorts();
        nb::typed<nb::dict, std::string, nb::capsule> handlers;
        for (const hlograph::NativeKernel& kernel : hlograph::NativeKernels()) {
          if (kernel.needs_numpy && !has_sorts) continue;
          if (kernel.runs_here != nullptr && !kernel.runs_here()) continue;
          handlers[kernel.target] = nb::capsule(reinterpret_cast<void*>(kernel.handler));
        }
        return handlers;
      },
      "Returns the handlers that can run here, by the targets of their custom calls.");
}
