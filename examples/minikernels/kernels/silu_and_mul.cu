// y = silu(first half of x) * second half of x, along the last axis; silu(v) = v / (1 + exp(-v)).
#include "common.cuh"

namespace mk {

constexpr int kThreads = 256;
constexpr int64_t kMaxBlocks = 1 << 16;  // more work is several packs per thread

template <typename T, int N>
__global__ void silu_and_mul_kernel(const T* __restrict__ x, T* __restrict__ y, int64_t packs, int width) {
  const int per_row = width / N;
  for (int64_t at = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; at < packs;
       at += static_cast<int64_t>(gridDim.x) * blockDim.x) {
    const int64_t row = at / per_row;
    const int column = static_cast<int>(at - row * per_row) * N;
    const T* gate = x + row * 2 * width + column;
    const auto gates = load<T, N>(gate);
    const auto ups = load<T, N>(gate + width);
    Pack<T, N> result;
#pragma unroll
    for (int k = 0; k < N; ++k) {
      const float value = to_float(gates.at[k]);
      result.at[k] = from_float<T>(value / (1.0f + expf(-value)) * to_float(ups.at[k]));
    }
    store<T, N>(y + row * width + column, result);
  }
}

template <typename T, int N>
void launch(const void* x, void* y, int64_t rows, int width) {
  const int64_t packs = rows * (width / N);
  const int64_t blocks = (packs + kThreads - 1) / kThreads;
  silu_and_mul_kernel<T, N><<<static_cast<unsigned>(blocks < kMaxBlocks ? blocks : kMaxBlocks), kThreads>>>(
      static_cast<const T*>(x), static_cast<T*>(y), packs, width);
}

template <typename T>
int silu_and_mul(const void* x, void* y, int64_t rows, int width) {
  if (wide<T>(width, x, y)) {
    launch<T, kWide<T>>(x, y, rows, width);
  } else {
    launch<T, 1>(x, y, rows, width);
  }
  return finish();
}

}  // namespace mk

// x: rows x (2 * width); y: rows x width. Both on the device, with the same type.
MK_API int mk_silu_and_mul(const void* x, void* y, int64_t rows, int64_t width, int dtype) {
  if (rows < 1 || rows > INT_MAX || width < 1 || width > INT_MAX / 2) return cudaErrorInvalidValue;
  if (dtype == mk::kFloat32) return mk::silu_and_mul<float>(x, y, rows, static_cast<int>(width));
  if (dtype == mk::kFloat16) return mk::silu_and_mul<__half>(x, y, rows, static_cast<int>(width));
  return cudaErrorInvalidValue;
}
