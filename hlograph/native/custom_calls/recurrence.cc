// Loops whose iterations multiply rows that they carry with matrices, and compute functions of
// them.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "hlograph/native/custom_calls/native_kernel.h"
#include "hlograph/native/custom_calls/packed_matrix.h"
#include "hlograph/native/custom_calls/pool_ranges.h"
#include "hlograph/native/custom_calls/processor.h"
#include "hlograph/native/custom_calls/product_tiles.h"
#include "hlograph/native/custom_calls/recurrence_program.h"
#include "hlograph/native/custom_calls/row_functions.h"
#include "hlograph/native/custom_calls/scratch.h"
#include "hlograph/native/custom_calls/thread_team.h"
#include "xla/ffi/api/ffi.h"

namespace hlograph {
namespace {

namespace ffi = xla::ffi;
using Kind = RecurrenceKind;

constexpr int64_t kMostRows = 32;    // of a part, whose values stay in the second cache
constexpr int64_t kWorthAPart = 6;   // rows, for which a thread reads all matrices again
constexpr double kWorthATeam = 2e3;  // nanoseconds of a product

// The arrays of a call. Results are in the order of the statements that write them.
struct Recurrence {
  RecurrenceProgram program;
  int64_t steps = 0, rows = 0;
  bool reversed = false;                // the first iteration has the last part of stacked arrays
  std::vector<const float*> arguments;  // by statement; null for those that have none
  std::vector<int64_t> row_strides;     // of arguments that are read
  std::vector<float*> results;          // by statement
  std::vector<std::unique_ptr<PackedMatrix>> matrices;  // by statement
};

// Computes all iterations for some rows, which need no others. A team shares products.
class RecurrencePart {
 public:
  RecurrencePart(const Recurrence& recurrence, int64_t begin, int64_t end, ThreadTeam& team)
      : recurrence_(recurrence),
        team_(team),
        statements_(recurrence.program.statements),
        begin_(begin),
        rows_(end - begin),
        scratch_(recurrence.program.columns * (end - begin) * sizeof(float)),
        views_(statements_.size()),
        lefts_(statements_.size()) {}

  void Compute() {
    Start();
    for (int64_t step = 0; step < recurrence_.steps; ++step) {
      for (size_t i = 0; i < statements_.size(); ++i) {
        if (statements_[i].kind != Kind::kCarry) ComputeStatement(i, step);
      }
      for (size_t i = 0; i < statements_.size(); ++i) {
        if (statements_[i].kind == Kind::kCarry) ComputeStatement(i, step);
      }
    }
  }

 private:
  float* MemoryOf(size_t i) const { return scratch_.as<float>() + statements_[i].place * rows_; }

  // Sets values that all iterations have, and what the first one starts with.
  void Start() {
    for (size_t i = 0; i < statements_.size(); ++i) {
      const RecurrenceStatement& statement = statements_[i];
      views_[i] = {MemoryOf(i), statement.columns};
      if (statement.kind == Kind::kCarried) {
        std::copy_n(recurrence_.arguments[i] + begin_ * statement.columns,
                    rows_ * statement.columns, MemoryOf(i));
      } else if (statement.kind == Kind::kConstant) {
        const auto bits = static_cast<uint32_t>(statement.numbers[0]);
        float value;
        std::memcpy(&value, &bits, sizeof(value));
        std::fill_n(MemoryOf(i), statement.columns, value);
        views_[i].stride = 0;
      } else if (statement.kind == Kind::kRead) {
        views_[i].stride = recurrence_.row_strides[i];
      } else if (statement.kind == Kind::kSlice) {
        views_[i].stride = views_[statement.values[0]].stride;
      } else if (statement.kind == Kind::kDot) {
        for (int64_t row = 0; row < rows_; ++row) {
          lefts_[i].push_back(row * views_[statement.values[0]].stride);
        }
      }
    }
  }

  void ComputeStatement(size_t i, int64_t step) {
    const RecurrenceStatement& statement = statements_[i];
    const int64_t columns = statement.columns;
    const int64_t number = recurrence_.reversed ? recurrence_.steps - 1 - step : step;
    switch (statement.kind) {
      case Kind::kCarried:  // in one half of its memory and the other one in turns
        views_[i].data = MemoryOf(i) + step % 2 * columns * rows_;
        break;
      case Kind::kRead: {
        const int64_t rows = views_[i].stride == 0 ? 1 : recurrence_.rows;
        const int64_t part = statement.numbers[1] != 0 ? number : 0;
        views_[i].data =
            recurrence_.arguments[i] + part * rows * columns + begin_ * views_[i].stride;
        break;
      }
      case Kind::kConstant:
        break;
      case Kind::kDot:
        Multiply(*recurrence_.matrices[i], views_[statement.values[0]].data, lefts_[i],
                 MemoryOf(i));
        break;
      case Kind::kSlice:
        views_[i].data = views_[statement.values[0]].data + statement.numbers[0];
        break;
      case Kind::kConcatenate: {
        float* to = MemoryOf(i);
        for (const int64_t value : statement.values) {
          CopyRows(value, to, columns);
          to += statements_[value].columns;
        }
        break;
      }
      case Kind::kCarry: {
        const bool is_last = step + 1 == recurrence_.steps;
        const size_t carried = statement.numbers[0];
        CopyRows(statement.values[0],
                 is_last ? recurrence_.results[i] + begin_ * columns
                         : MemoryOf(carried) + (step + 1) % 2 * columns * rows_,
                 columns);
        break;
      }
      case Kind::kWrite:
        CopyRows(statement.values[0],
                 recurrence_.results[i] + (number * recurrence_.rows + begin_) * columns, columns);
        break;
      case Kind::kFunction: {
        RowsView operands[3];
        for (size_t j = 0; j < statement.values.size(); ++j) {
          operands[j] = views_[statement.values[j]];
        }
        statement.function(operands, rows_, columns, MemoryOf(i));
        break;
      }
    }
  }

  void Multiply(const PackedMatrix& matrix, const float* left, const std::vector<int64_t>& rows,
                float* products) const {
    const auto panel = [&](int64_t i) { matrix.Multiply(left, rows, i, products); };
    if (matrix.NanosecondsOf(rows.size()) > kWorthATeam) return team_.Run(matrix.panels(), panel);
    for (int64_t i = 0; i < matrix.panels(); ++i) panel(i);
  }

  void CopyRows(int64_t value, float* to, int64_t stride) const {
    for (int64_t row = 0; row < rows_; ++row, to += stride) {
      std::copy_n(views_[value].data + row * views_[value].stride, statements_[value].columns, to);
    }
  }

  const Recurrence& recurrence_;
  ThreadTeam& team_;
  const std::vector<RecurrenceStatement>& statements_;
  const int64_t begin_, rows_;
  const Scratch scratch_;
  std::vector<RowsView> views_;
  std::vector<std::vector<int64_t>> lefts_;  // where rows of the left side of a dot begin
};

// The arguments and results of a call in the order in which statements name them.
class RecurrenceArrays {
 public:
  RecurrenceArrays(ffi::RemainingArgs arguments, ffi::RemainingRets results, Recurrence& recurrence)
      : arguments_(arguments), results_(results), recurrence_(recurrence) {}

  // Returns false if they do not fit the program.
  bool Set() {
    const std::vector<RecurrenceStatement>& statements = recurrence_.program.statements;
    recurrence_.arguments.resize(statements.size());
    recurrence_.row_strides.resize(statements.size());
    recurrence_.results.resize(statements.size());
    recurrence_.matrices.resize(statements.size());
    size_t results = 0;
    for (size_t i = 0; i < statements.size(); ++i) {
      const RecurrenceStatement& statement = statements[i];
      const int64_t elements = recurrence_.rows * statement.columns;
      bool fits = true;
      switch (statement.kind) {
        case Kind::kCarried:
          fits = SetArgument(i, statement.numbers[0], elements);
          break;
        case Kind::kRead: {
          const int64_t parts = statement.numbers[1] != 0 ? recurrence_.steps : 1;
          recurrence_.row_strides[i] = statement.columns;
          fits = SetArgument(i, statement.numbers[0], parts * elements);
          if (!fits) {
            recurrence_.row_strides[i] = 0;
            fits = SetArgument(i, statement.numbers[0], parts * statement.columns);
          }
          break;
        }
        case Kind::kDot: {
          const int64_t depth = statements[statement.values[0]].columns;
          fits = SetArgument(i, statement.numbers[0], depth * statement.columns);
          if (fits) {
            recurrence_.matrices[i] = std::make_unique<PackedMatrix>(
                recurrence_.arguments[i], depth, statement.columns, statement.numbers[1] != 0);
          }
          break;
        }
        case Kind::kCarry: {
          const size_t carried = statement.numbers[0];
          fits = carried < i && statements[carried].kind == Kind::kCarried &&
                 statements[carried].columns == statement.columns &&
                 SetResult(i, results++, elements);
          break;
        }
        case Kind::kWrite:
          fits = SetResult(i, results++, recurrence_.steps * elements);
          break;
        default:
          break;
      }
      if (!fits) return false;
    }
    return results == results_.size();
  }

 private:
  bool SetArgument(size_t statement, int64_t number, int64_t elements) {
    if (number >= static_cast<int64_t>(arguments_.size())) return false;
    const auto argument = arguments_.get<ffi::AnyBuffer>(number);
    if (!argument.has_value() || argument->element_type() != ffi::F32 ||
        static_cast<int64_t>(argument->element_count()) != elements) {
      return false;
    }
    recurrence_.arguments[statement] = static_cast<const float*>(argument->untyped_data());
    return true;
  }

  bool SetResult(size_t statement, size_t number, int64_t elements) {
    if (number >= results_.size()) return false;
    auto result = results_.get<ffi::AnyBuffer>(number);
    if (!result.has_value() || (*result)->element_type() != ffi::F32 ||
        static_cast<int64_t>((*result)->element_count()) != elements) {
      return false;
    }
    recurrence_.results[statement] = static_cast<float*>((*result)->untyped_data());
    return true;
  }

  const ffi::RemainingArgs arguments_;
  const ffi::RemainingRets results_;
  Recurrence& recurrence_;
};

// Rows in parts, as many for each thread.
int64_t CountParts(int64_t rows, int64_t threads) {
  const int64_t least = (rows - 1) / kMostRows + 1;
  const int64_t shared = std::clamp<int64_t>(rows / kWorthAPart, 1, threads);
  if (least <= shared) return shared;
  return std::min(rows, ((least - 1) / threads + 1) * threads);
}

// About what a part of so many rows takes.
double NanosecondsOf(const Recurrence& recurrence, int64_t rows) {
  constexpr double kOfAnElement = 0.1;
  const std::vector<RecurrenceStatement>& statements = recurrence.program.statements;
  double nanoseconds = 0;
  for (const RecurrenceStatement& statement : statements) {
    const double of_a_column =
        statement.kind == Kind::kDot
            ? PackedMatrix::kNanosecondsOfAProduct * statements[statement.values[0]].columns
            : kOfAnElement;
    nanoseconds += of_a_column * statement.columns;
  }
  return nanoseconds * rows * recurrence.steps;
}

// Threads that may share products: one for each panel of the largest one that is worth it.
int64_t CountTeam(const Recurrence& recurrence, int64_t threads) {
  int64_t panels = 1;
  for (const std::unique_ptr<PackedMatrix>& matrix : recurrence.matrices) {
    if (matrix != nullptr && matrix->NanosecondsOf(recurrence.rows) > kWorthATeam) {
      panels = std::max(panels, matrix->panels());
    }
  }
  return std::min(panels, threads);
}

ffi::Error Recur(ffi::ThreadPool pool, ffi::RemainingArgs arguments, ffi::RemainingRets results,
                 std::string_view text, int64_t steps, int64_t rows, bool reversed) {
  constexpr int64_t kMost = int64_t{1} << 31;
  if (!HasFusedMultiplyAdd()) return Refusal("expected a processor with AVX2");
  if (steps < 1 || steps > kMost || rows < 1 || rows > kMost) {
    return Refusal("expected one iteration and one row, or more");
  }
  return WithoutExceptions([&]() -> ffi::Error {
    auto program = ReadRecurrenceProgram(text);
    if (!program.has_value()) return Refusal("expected statements about rows before them");
    Recurrence recurrence;
    recurrence.program = *std::move(program);
    recurrence.steps = steps;
    recurrence.rows = rows;
    recurrence.reversed = reversed;
    if (!RecurrenceArrays(arguments, results, recurrence).Set()) {
      return Refusal("expected arrays of 32-bit floats for the statements of an iteration");
    }
    const int64_t threads = std::max<int64_t>(pool.num_threads(), 1);
    const int64_t parts = CountParts(rows, threads);
    ThreadTeam team(pool, parts == 1 ? CountTeam(recurrence, threads) : 1);
    ForPoolRanges(
        pool, parts, NanosecondsOf(recurrence, rows / parts), [&](int64_t part, int64_t end) {
          for (; part < end; ++part) {
            RecurrencePart(recurrence, part * rows / parts, (part + 1) * rows / parts, team)
                .Compute();
          }
        });
    return ffi::Error::Success();
  });
}

XLA_FFI_DEFINE_HANDLER(kRecurrence, Recur,
                       ffi::Ffi::Bind()
                           .Ctx<ffi::ThreadPool>()
                           .RemainingArgs()
                           .RemainingRets()
                           .Attr<std::string_view>("program")
                           .Attr<int64_t>("steps")
                           .Attr<int64_t>("rows")
                           .Attr<bool>("reversed"));

const NativeKernel kRecurrenceKernel("hlograph.kernel.recurrence", kRecurrence,
                                     /*needs_numpy=*/false, HasFusedMultiplyAdd);

}  // namespace
}  // namespace hlograph
