// Turns XLA's statuses into exceptions, in one place.
#ifndef HLOGRAPH_NATIVE_BINDINGS_ERRORS_H_
#define HLOGRAPH_NATIVE_BINDINGS_ERRORS_H_

#include <nanobind/nanobind.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace hlograph {

// Class of hlograph.errors that a status becomes.
enum class ErrorKind { kHlo, kParse, kPass, kVerify };

// Exception that carries a status to Python.
class StatusError : public std::runtime_error {
 public:
  StatusError(ErrorKind kind, const std::string& message)
      : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

void ThrowIfError(const absl::Status& status, ErrorKind kind);

template <typename T>
T ValueOrThrow(absl::StatusOr<T> value, ErrorKind kind) {
  ThrowIfError(value.status(), kind);
  return *std::move(value);
}

// Installs the translator from StatusError to the classes of hlograph.errors.
void BindErrors(nanobind::module_& m);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_BINDINGS_ERRORS_H_
