#include "hlograph/native/module/hasher.h"

#include <string>

#include "absl/strings/str_format.h"

namespace hlograph {

std::string Hash::ToHex() const { return absl::StrFormat("%016x%016x", high, low); }

}  // namespace hlograph
