// Sorts as top-k, by other keys, and of less.
#include "hlograph/native/rewrites/forms/sorting.h"

#include <vector>

#include "hlograph/native/rewrites/forms/forms.h"

namespace hlograph {

void AddSortingForms(std::vector<RulePtr>& rules) {
  AddSortingPrefixForms(rules);
  AddTopKForms(rules);
  AddSortingKeyForms(rules);
  AddSortingNetworkForms(rules);
  AddSortedElementForms(rules);
  AddPermutationForms(rules);
  AddArgmaxForms(rules);
}

}  // namespace hlograph
