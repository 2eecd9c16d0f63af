// Which dimensions the factors of a term have, and what a factor is a broadcast of.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <vector>

#include "hlograph/native/rewrites/forms/broadcast_terms.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"

namespace hlograph {
namespace {

using Numbers = std::vector<int64_t>;

constexpr int kMaxRootHops = 4;

// What an array is without dimensions of size one: where broadcasts and reshapes only added them.
struct Root {
  const Instruction* array = nullptr;
  std::vector<int64_t> dimensions;  // of the whole, those that are not of size one
};

std::vector<int64_t> LongOnes(const xla::Shape& shape) {
  std::vector<int64_t> sizes;
  for (int64_t size : shape.dimensions()) {
    if (size != 1) sizes.push_back(size);
  }
  return sizes;
}

Root RootOf(const Factor& factor) {
  Root root{factor.array, {}};
  for (size_t i = 0; i < factor.dimensions.size(); ++i) {
    if (factor.array->shape().dimensions(i) != 1) root.dimensions.push_back(factor.dimensions[i]);
  }
  for (int hops = 0; hops < kMaxRootHops; ++hops) {
    const bool moves = root.array->opcode() == xla::HloOpcode::kReshape || IsBroadcast(root.array);
    if (!moves || !root.array->operand(0)->shape().IsArray() ||
        LongOnes(root.array->operand(0)->shape()) != LongOnes(root.array->shape()) ||
        (IsBroadcast(root.array) &&
         !std::is_sorted(root.array->dimensions().begin(), root.array->dimensions().end()))) {
      break;
    }
    root.array = root.array->operand(0);
  }
  return root;
}

}  // namespace

std::optional<Diagonal> DiagonalOf(const Factor& one, const Factor& two) {
  const Root first = RootOf(one), second = RootOf(two);
  if (first.array != second.array || first.dimensions.size() != second.dimensions.size()) {
    return std::nullopt;
  }
  std::optional<Diagonal> found;
  for (size_t i = 0; i < first.dimensions.size(); ++i) {
    if (first.dimensions[i] == second.dimensions[i]) continue;
    if (found.has_value()) return std::nullopt;
    found = Diagonal{std::min(first.dimensions[i], second.dimensions[i]),
                     std::max(first.dimensions[i], second.dimensions[i])};
  }
  return found;
}

Numbers Common(const Numbers& one, const Numbers& two) {
  Numbers common;
  std::set_intersection(one.begin(), one.end(), two.begin(), two.end(), std::back_inserter(common));
  return common;
}

Numbers Without(const Numbers& one, const Numbers& two) {
  Numbers rest;
  std::set_difference(one.begin(), one.end(), two.begin(), two.end(), std::back_inserter(rest));
  return rest;
}

Numbers Union(const Numbers& one, const Numbers& two) {
  Numbers all;
  std::set_union(one.begin(), one.end(), two.begin(), two.end(), std::back_inserter(all));
  return all;
}

std::optional<std::vector<Group>> GroupsOf(const BroadcastSum& sum, const SumTerm& term) {
  Numbers factors = term.factors;
  std::stable_sort(factors.begin(), factors.end(), [&](int64_t one, int64_t other) {
    return sum.factors[one].dimensions.size() > sum.factors[other].dimensions.size();
  });
  std::vector<Group> groups;
  for (int64_t number : factors) {
    const Numbers& dimensions = sum.factors[number].dimensions;
    const auto wide = std::find_if(groups.begin(), groups.end(), [&](const Group& group) {
      return Without(dimensions, group.dimensions).empty();
    });
    if (wide != groups.end()) {
      wide->factors.push_back(number);
      continue;
    }
    if (groups.size() == 2 || dimensions.size() == sum.sizes.size()) return std::nullopt;
    groups.push_back({{number}, dimensions});
  }
  return groups;
}

Numbers ContractedOf(const BroadcastSum& sum, const std::vector<Group>& groups) {
  if (groups.size() != 2) return {};
  return Common(Common(groups[0].dimensions, groups[1].dimensions), sum.reduced);
}

}  // namespace hlograph
