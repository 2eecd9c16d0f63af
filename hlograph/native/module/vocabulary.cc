#include "hlograph/native/module/vocabulary.h"

#include <cstdint>
#include <string>
#include <vector>

#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/primitive_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {

const std::vector<std::string>& OpcodeNames() {
  static const auto* const names = [] {
    auto* list = new std::vector<std::string>();
    for (uint32_t i = 0; i < xla::HloOpcodeCount(); ++i) {
      list->emplace_back(xla::HloOpcodeString(static_cast<xla::HloOpcode>(i)));
    }
    return list;
  }();
  return *names;
}

const std::vector<std::string>& ElementTypeNames() {
  static const auto* const names = [] {
    auto* list = new std::vector<std::string>();
    for (int i = 0; i < xla::PrimitiveType_ARRAYSIZE; ++i) {
      list->push_back(
          xla::PrimitiveType_IsValid(i)
              ? xla::primitive_util::LowercasePrimitiveTypeName(static_cast<xla::PrimitiveType>(i))
              : std::string());
    }
    return list;
  }();
  return *names;
}

}  // namespace hlograph
