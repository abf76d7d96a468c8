// y = exp(x - max(x)) / sum(exp(x - max(x))), over the last axis. One block per row, two passes. The first keeps a
// running maximum and the sum of exponentials relative to it, so no input overflows.
#include <cmath>

#include "common.cuh"

namespace mk {

// The maximum so far, and the sum of exp(value - maximum).
struct Running {
  float maximum, sum;

  __device__ Running from_lane(int lane) const {
    return {__shfl_sync(0xffffffffu, maximum, lane), __shfl_sync(0xffffffffu, sum, lane)};
  }

  // Infinities and NaN give the same results as the float64 reference: NaN or +inf makes the row NaN, -inf adds 0, and
  // a row of only -inf is NaN (0/0).
  __device__ void add(float value) {
    if (value > maximum) {
      sum = sum * expf(maximum - value) + (1.0f + (value - value));  // the last is 0, or NaN for +inf
      maximum = value;
    } else if (value != -INFINITY) {
      sum += expf(value - maximum);
    }
  }
};

__device__ Running merge(Running a, Running b) {
  const float top = fmaxf(a.maximum, b.maximum);
  if (top == -INFINITY) return {top, a.sum + b.sum};  // -inf minus -inf would be NaN
  return {top, a.sum * expf(a.maximum - top) + b.sum * expf(b.maximum - top)};
}

template <typename T, int N>
__global__ void softmax_kernel(const T* __restrict__ x, T* __restrict__ y, int columns) {
  const T* row = x + static_cast<int64_t>(blockIdx.x) * columns;
  T* out = y + static_cast<int64_t>(blockIdx.x) * columns;

  Running seen{-INFINITY, 0.0f};
  for (int i = threadIdx.x * N; i < columns; i += blockDim.x * N) {
    const auto pack = load<T, N>(row + i);
#pragma unroll
    for (int k = 0; k < N; ++k) seen.add(to_float(pack.at[k]));
  }
  seen = block_reduce(seen, Running{-INFINITY, 0.0f}, [](Running a, Running b) { return merge(a, b); });
  const float scale = 1.0f / seen.sum;

  for (int i = threadIdx.x * N; i < columns; i += blockDim.x * N) {
    const auto pack = load<T, N>(row + i);
    Pack<T, N> result;
#pragma unroll
    for (int k = 0; k < N; ++k) result.at[k] = from_float<T>(expf(to_float(pack.at[k]) - seen.maximum) * scale);
    store<T, N>(out + i, result);
  }
}

template <typename T>
int softmax(const void* x, void* y, int64_t rows, int columns) {
  const auto* in = static_cast<const T*>(x);
  auto* out = static_cast<T*>(y);
  const auto blocks = static_cast<unsigned>(rows);
  if (wide<T>(columns, x, y)) {
    softmax_kernel<T, kWide<T>><<<blocks, threads_for(columns / kWide<T>)>>>(in, out, columns);
  } else {
    softmax_kernel<T, 1><<<blocks, threads_for(columns)>>>(in, out, columns);
  }
  return finish();
}

}  // namespace mk

// x, y: rows x columns, on the device, with the same type.
MK_API int mk_softmax(const void* x, void* y, int64_t rows, int64_t columns, int dtype) {
  // Half of INT_MAX: loop indices exceed the row length by less than one block.
  if (rows < 1 || rows > INT_MAX || columns < 1 || columns > INT_MAX / 2) return cudaErrorInvalidValue;
  if (dtype == mk::kFloat32) return mk::softmax<float>(x, y, rows, static_cast<int>(columns));
  if (dtype == mk::kFloat16) return mk::softmax<__half>(x, y, rows, static_cast<int>(columns));
  return cudaErrorInvalidValue;
}
