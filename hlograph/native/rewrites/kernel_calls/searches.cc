// Binary searches as calls of a native kernel.
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "hlograph/native/rewrites/forms/binary_search.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/forms/loop_shape.h"
#include "hlograph/native/rewrites/kernel_calls/kernel_rule.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

// The kernel makes keys of all edges, even for a single value.
constexpr int64_t kMostEdgesOfAValue = 16;

class KernelBinarySearch : public KernelRule {
 public:
  using KernelRule::KernelRule;

  Reach reach() const override { return {.operands = kBinarySearchReach, .users = 1}; }

 protected:
  bool Matches(const Instruction* loop) const override {
    const std::optional<BinarySearch> search = FindBinarySearch(loop);
    if (!search.has_value()) return false;
    const int64_t edges = xla::ShapeUtil::ElementsIn(loop->shape().tuple_shapes(search->edges));
    const int64_t values = xla::ShapeUtil::ElementsIn(loop->shape().tuple_shapes(search->values));
    return edges > 0 && values > 0 && edges <= INT32_MAX && values <= INT32_MAX &&
           edges / values <= kMostEdgesOfAValue;
  }

  Instruction* Build(Instruction* loop) const override {
    const BinarySearch search = *FindBinarySearch(loop);
    Instruction* const initial = loop->mutable_operand(0);
    const xla::Shape& ends = loop->shape().tuple_shapes(search.high);
    xla::Shape places = ends;
    places.set_element_type(xla::S32);
    Instruction* const call = AddCall(
        loop, {TakeElement(initial, search.edges), TakeElement(initial, search.values)}, {places},
        CallAttributes()
            .Add("steps", search.steps)
            .Add("includes_equal", search.includes_equal)
            .Add("orders_nans", search.orders_nans)
            .text());
    return WithElement(loop, search.high, Builder(loop).Convert(call, ends.element_type()));
  }
};

}  // namespace

const RuleTopic kSearchKernels(403, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<KernelBinarySearch>(
      Identity{"kernel-binary-search", "search(x, e) = kernel(x, e)",
               "Searches for the places of numbers among edges, for many numbers at a time in the "
               "lanes of vectors.",
               Numerics::kExact},
      "binary_search"));
});

}  // namespace hlograph
