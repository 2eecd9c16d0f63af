#include "hlograph/native/custom_calls/numpy_sorts.h"

#include <Python.h>

#include <cstdint>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>

namespace hlograph {
namespace {

PyArray_SortFunc* sort_16 = nullptr;
PyArray_SortFunc* sort_32 = nullptr;
PyArray_SortFunc* sort_64 = nullptr;
PyArray_ArgSortFunc* argsort_64 = nullptr;

PyArray_ArrFuncs* FunctionsOf(int type) {
  PyArray_Descr* const description = PyArray_DescrFromType(type);
  PyArray_ArrFuncs* const functions = PyDataType_GetArrFuncs(description);
  Py_DECREF(description);  // NumPy's own types live on
  return functions;
}

bool ImportNumpy() {
  import_array1(false);
  return true;
}

}  // namespace

bool LoadNumpySorts() {
  if (!ImportNumpy()) {
    PyErr_Clear();
    return false;
  }
  static_assert(sizeof(npy_intp) == sizeof(int64_t), "positions are 64-bit integers");
  sort_16 = FunctionsOf(NPY_INT16)->sort[NPY_QUICKSORT];
  sort_32 = FunctionsOf(NPY_INT32)->sort[NPY_QUICKSORT];
  sort_64 = FunctionsOf(NPY_INT64)->sort[NPY_QUICKSORT];
  argsort_64 = FunctionsOf(NPY_INT64)->argsort[NPY_QUICKSORT];
  return sort_16 != nullptr && sort_32 != nullptr && sort_64 != nullptr && argsort_64 != nullptr;
}

void SortIntegers(int16_t* values, int64_t count) { sort_16(values, count, nullptr); }
void SortIntegers(int32_t* values, int64_t count) { sort_32(values, count, nullptr); }
void SortIntegers(int64_t* values, int64_t count) { sort_64(values, count, nullptr); }

void SortPositions(const int64_t* values, int64_t* positions, int64_t count) {
  static_assert(sizeof(npy_intp) == sizeof(int64_t));
  argsort_64(const_cast<int64_t*>(values), reinterpret_cast<npy_intp*>(positions), count, nullptr);
}

}  // namespace hlograph
