#include "hlograph/native/rewrite_rules.h"

#include <string>
#include <vector>

namespace hlograph {

const std::vector<RulePtr>& Rules() {
  static const auto* const rules = [] {
    auto* made = new std::vector<RulePtr>();
    AddAlgebraicRules(*made);
    AddRedundancyRules(*made);
    AddCallRules(*made);
    AddLocalRules(*made);
    return made;
  }();
  return *rules;
}

const Rule* FindRule(const std::string& name) {
  for (const RulePtr& rule : Rules()) {
    if (rule->name() == name) return rule.get();
  }
  return nullptr;
}

}  // namespace hlograph
