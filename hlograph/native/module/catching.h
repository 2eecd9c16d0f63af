// Turns C++ exceptions of XLA's code into errors.
#ifndef HLOGRAPH_NATIVE_MODULE_CATCHING_H_
#define HLOGRAPH_NATIVE_MODULE_CATCHING_H_

#include <exception>
#include <new>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace hlograph {

// Calls `function`, which returns a Status or StatusOr, and returns its result.
//
// XLA reports errors as Status, but some of its code throws: absl::StatusOr when the value of an
// error is asked for, bounds checks of absl, and the allocator. `what` begins the message of the
// error that such an exception becomes.
template <typename Function>
auto Catching(absl::string_view what, Function&& function) -> decltype(function()) {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(absl::StrCat(what, " asked for more memory than there is"));
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat(what, " failed: ", error.what()));
  }
}

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_MODULE_CATCHING_H_
