#include "hlograph/native/module/names.h"

#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace hlograph {

absl::Status CheckNames(absl::string_view noun, const std::vector<NamedEntry>& entries) {
  absl::flat_hash_set<std::string> names;
  for (const auto& [name, references] : entries) {
    if (!names.insert(name).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("expected each ", noun, " once, got ", name, " twice"));
    }
  }
  for (const auto& [name, references] : entries) {
    for (const std::string& reference : references) {
      if (!names.contains(reference)) {
        return absl::InvalidArgumentError(absl::StrCat("expected the name of a ", noun, " in ",
                                                       name, ", got ", reference,
                                                       ", which none has"));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace hlograph
