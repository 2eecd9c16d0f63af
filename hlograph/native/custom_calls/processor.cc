#include "hlograph/native/custom_calls/processor.h"

#include <cstdlib>

namespace hlograph {

#if defined(__x86_64__) && defined(__GNUC__)

bool HasFusedMultiplyAdd() { return __builtin_cpu_supports("x86-64-v3"); }

bool HasWideVectors() {
  static const bool has_wide = [] {
    const char* const bits = std::getenv("HLOGRAPH_VECTOR_BITS");
    return (bits == nullptr || std::atoi(bits) >= 512) && __builtin_cpu_supports("x86-64-v4");
  }();
  return has_wide;
}

#else

bool HasFusedMultiplyAdd() { return false; }
bool HasWideVectors() { return false; }

#endif

}  // namespace hlograph
