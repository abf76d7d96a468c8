// y = x / sqrt(mean(x^2) + eps) * weight, over the last axis. One block per row; sums in float32.
#include "common.cuh"

namespace mk {

struct Sum {
  float value;
  __device__ Sum from_lane(int lane) const { return {__shfl_sync(0xffffffffu, value, lane)}; }
};

template <typename T, int N>
__global__ void rms_norm_kernel(const T* __restrict__ x, const T* __restrict__ weight, T* __restrict__ y, int columns,
                                float eps) {
  const T* row = x + static_cast<int64_t>(blockIdx.x) * columns;
  T* out = y + static_cast<int64_t>(blockIdx.x) * columns;

  Sum squares{0.0f};
  for (int i = threadIdx.x * N; i < columns; i += blockDim.x * N) {
    const auto pack = load<T, N>(row + i);
#pragma unroll
    for (int k = 0; k < N; ++k) {
      const float value = to_float(pack.at[k]);
      squares.value += value * value;
    }
  }
  squares = block_reduce(squares, Sum{0.0f}, [](Sum a, Sum b) { return Sum{a.value + b.value}; });
  const float scale = rsqrtf(squares.value / static_cast<float>(columns) + eps);

  for (int i = threadIdx.x * N; i < columns; i += blockDim.x * N) {
    const auto pack = load<T, N>(row + i);
    const auto factor = load<T, N>(weight + i);
    Pack<T, N> result;
#pragma unroll
    for (int k = 0; k < N; ++k) {
      result.at[k] = from_float<T>(to_float(pack.at[k]) * scale * to_float(factor.at[k]));
    }
    store<T, N>(out + i, result);
  }
}

template <typename T>
int rms_norm(const void* x, const void* weight, void* y, int64_t rows, int columns, float eps) {
  const auto* in = static_cast<const T*>(x);
  const auto* factor = static_cast<const T*>(weight);
  auto* out = static_cast<T*>(y);
  const auto blocks = static_cast<unsigned>(rows);
  if (wide<T>(columns, x, y) && wide<T>(columns, weight, weight)) {
    constexpr int N = kWide<T>;
    rms_norm_kernel<T, N><<<blocks, threads_for(columns / N)>>>(in, factor, out, columns, eps);
  } else {
    rms_norm_kernel<T, 1><<<blocks, threads_for(columns)>>>(in, factor, out, columns, eps);
  }
  return finish();
}

}  // namespace mk

// x, y: rows x columns; weight: columns. All on the device, with the same type.
MK_API int mk_rms_norm(const void* x, const void* weight, void* y, int64_t rows, int64_t columns, float eps,
                       int dtype) {
  // Half of INT_MAX: loop indices exceed the row length by less than one block.
  if (rows < 1 || rows > INT_MAX || columns < 1 || columns > INT_MAX / 2) return cudaErrorInvalidValue;
  const int width = static_cast<int>(columns);
  if (dtype == mk::kFloat32) return mk::rms_norm<float>(x, weight, y, rows, width, eps);
  if (dtype == mk::kFloat16) return mk::rms_norm<__half>(x, weight, y, rows, width, eps);
  return cudaErrorInvalidValue;
}
