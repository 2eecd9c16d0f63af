// Checks the names of a registry when it is loaded, so that a misspelt name is an error.
#ifndef HLOGRAPH_NATIVE_MODULE_NAMES_H_
#define HLOGRAPH_NATIVE_MODULE_NAMES_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace hlograph {

// The name of an entry, and the names of the entries of the same registry that it refers to.
using NamedEntry = std::pair<std::string, std::vector<std::string>>;

// Returns an error, which says which, if two entries have one name or an entry refers to a name
// that no entry has. `noun` says what the entries are.
absl::Status CheckNames(absl::string_view noun, const std::vector<NamedEntry>& entries);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_MODULE_NAMES_H_
