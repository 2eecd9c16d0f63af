// Widths of a head with code of their own: loops over a constant width are unrolled.
#ifndef HLOGRAPH_NATIVE_KERNELS_HEAD_WIDTHS_H_
#define HLOGRAPH_NATIVE_KERNELS_HEAD_WIDTHS_H_

#include <cstdint>
#include <type_traits>

namespace hlograph {

// Calls call(std::integral_constant<int, width>()) and returns true; false for other widths.
template <typename Call>
bool ForWidth(int64_t width, const Call& call) {
  switch (width) {
    case 8:
      call(std::integral_constant<int, 8>());
      return true;
    case 16:
      call(std::integral_constant<int, 16>());
      return true;
    case 32:
      call(std::integral_constant<int, 32>());
      return true;
    case 64:
      call(std::integral_constant<int, 64>());
      return true;
    default:
      return false;
  }
}

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_KERNELS_HEAD_WIDTHS_H_
