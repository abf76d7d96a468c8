// Code shared by the modules: element types, packs of elements, reductions over a block, and error handling.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <climits>
#include <cstdint>

// Exported functions. All other symbols are hidden by -fvisibility=hidden and a version script.
#define MK_API extern "C" __attribute__((visibility("default")))

namespace mk {

// Element types, with the numbers that Python passes.
enum Dtype : int { kFloat32 = 0, kFloat16 = 1 };

constexpr int kWarp = 32;
constexpr int kMaxThreads = 1024;

__device__ __forceinline__ float to_float(float value) { return value; }
__device__ __forceinline__ float to_float(__half value) { return __half2float(value); }

template <typename T>
__device__ __forceinline__ T from_float(float value);
template <>
__device__ __forceinline__ float from_float<float>(float value) {
  return value;
}
template <>
__device__ __forceinline__ __half from_float<__half>(float value) {
  return __float2half_rn(value);
}

// Elements read or written by one instruction.
template <typename T, int N>
struct alignas(sizeof(T) * N) Pack {
  T at[N];
};

template <typename T, int N>
__device__ __forceinline__ Pack<T, N> load(const T* place) {
  return *reinterpret_cast<const Pack<T, N>*>(place);
}

template <typename T, int N>
__device__ __forceinline__ void store(T* place, const Pack<T, N>& pack) {
  *reinterpret_cast<Pack<T, N>*>(place) = pack;
}

// Elements in 16 bytes, the widest access that all supported GPUs have.
template <typename T>
constexpr int kWide = 16 / static_cast<int>(sizeof(T));

// Whether rows of this length can be read in packs of 16 bytes, if the array is aligned to 16 bytes.
template <typename T>
inline bool wide(int64_t columns, const void* first, const void* second) {
  const auto places = reinterpret_cast<uintptr_t>(first) | reinterpret_cast<uintptr_t>(second);
  return columns % kWide<T> == 0 && places % 16 == 0;
}

// Threads per block for `items` items: whole warps, at most `most`.
inline int threads_for(int64_t items, int most = kMaxThreads) {
  const int64_t warps = (items + kWarp - 1) / kWarp;
  return static_cast<int>(warps * kWarp < most ? (warps > 0 ? warps * kWarp : kWarp) : most);
}

// Reduces one value per thread to one per block, and returns it to every thread. `merge` is associative and commutative
// with the identity `neutral`; the block consists of whole warps.
template <typename Value, typename Merge>
__device__ Value block_reduce(Value value, Value neutral, Merge merge) {
  __shared__ Value of_warp[kMaxThreads / kWarp];
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, warps = blockDim.x / kWarp;
  for (int step = kWarp / 2; step > 0; step /= 2) value = merge(value, value.from_lane(lane ^ step));
  if (lane == 0) of_warp[warp] = value;
  __syncthreads();
  value = lane < warps ? of_warp[lane] : neutral;
  for (int step = kWarp / 2; step > 0; step /= 2) value = merge(value, value.from_lane(lane ^ step));
  return value;
}

// Clears an error after it was returned, so that the next call does not report it.
inline int answer(cudaError_t error) {
  if (error != cudaSuccess) (void)cudaGetLastError();
  return static_cast<int>(error);
}

// The error of a kernel: of its launch (209 if no machine code runs on the device), else of its execution.
inline int finish() {
  cudaError_t error = cudaGetLastError();
  if (error == cudaSuccess) error = cudaDeviceSynchronize();
  return answer(error);
}

}  // namespace mk
