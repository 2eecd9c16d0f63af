// Convolutions as shifted products, dots and convolutions of other layouts.
#include <vector>

#include "hlograph/native/rewrites/forms/convolution_parts.h"
#include "hlograph/native/rewrites/forms/forms.h"

namespace hlograph {

void AddConvolutionForms(std::vector<RulePtr>& rules) {
  AddProductForms(rules);
  AddKernelGradientForms(rules);
  AddPolyphaseForms(rules);
  AddConvolutionDots(rules);
}

}  // namespace hlograph
