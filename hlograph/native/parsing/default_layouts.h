// HLO text without what XLA's parser makes up anyway.
#ifndef HLOGRAPH_NATIVE_PARSING_DEFAULT_LAYOUTS_H_
#define HLOGRAPH_NATIVE_PARSING_DEFAULT_LAYOUTS_H_

#include <string>

#include "absl/strings/string_view.h"

namespace hlograph {

// Returns a sound text (text_check.h) without the layouts that XLA's parser gives to shapes without
// one: {1,0} of f32[8,16]{1,0}. XLA's lexer tries five regular expressions for each number, so that
// it reads such a text in two thirds of the time. The first line, which may say that the layouts of
// parameters are to be chosen, is as before.
std::string WithoutDefaultLayouts(absl::string_view text);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_PARSING_DEFAULT_LAYOUTS_H_
