#include "hlograph/native/bindings/errors.h"

#include <nanobind/nanobind.h>

#include <exception>
#include <string>

#include "absl/status/status.h"

namespace hlograph {
namespace {

const char* ClassName(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kParse:
      return "HloParseError";
    case ErrorKind::kPass:
      return "PassError";
    case ErrorKind::kVerify:
      return "VerificationError";
    case ErrorKind::kHlo:
      break;
  }
  return "HloError";
}

void Translate(const std::exception_ptr& exception, void* /*payload*/) {
  try {
    std::rethrow_exception(exception);
  } catch (const StatusError& error) {
    nanobind::object type =
        nanobind::module_::import_("hlograph.errors").attr(ClassName(error.kind()));
    nanobind::object message = nanobind::steal(PyUnicode_DecodeUTF8(
        error.what(), static_cast<Py_ssize_t>(std::string(error.what()).size()), "replace"));
    PyErr_SetObject(type.ptr(), message.ptr());
  }
}

}  // namespace

void ThrowIfError(const absl::Status& status, ErrorKind kind) {
  if (!status.ok()) throw StatusError(kind, std::string(status.message()));
}

void BindErrors(nanobind::module_& /*m*/) { nanobind::register_exception_translator(Translate); }

}  // namespace hlograph
