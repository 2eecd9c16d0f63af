// The result of the checks before XLA's parsers.
#ifndef HLOGRAPH_NATIVE_PARSING_VERDICT_H_
#define HLOGRAPH_NATIVE_PARSING_VERDICT_H_

namespace hlograph {

enum class Verdict {
  kSound,   // XLA's parser returns a module or an error
  kUnsure,  // it may also end the process, or write anywhere
};

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_PARSING_VERDICT_H_
