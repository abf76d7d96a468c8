// Rotates pair i of each head by the angle position * base^(-2i/dim). One block per token, which computes the
// angles once for all heads.
#include "common.cuh"

namespace mk {

constexpr int kThreads = 256;
constexpr int kMaxDim = 4096;  // 16 KiB of shared memory for cosines and sines

// A pair is elements i and i + dim/2, or, if interleaved, elements 2i and 2i + 1. N pairs at a time.
template <typename T, int N, bool kInterleaved>
__global__ void rotary_kernel(const T* __restrict__ x, const int64_t* __restrict__ positions, T* __restrict__ y,
                              int heads, int dim, double log2_base) {
  __shared__ float cosine[kMaxDim / 2], sine[kMaxDim / 2];
  const int pairs = dim / 2;
  const double position = static_cast<double>(positions[blockIdx.x]);
  for (int i = threadIdx.x; i < pairs; i += blockDim.x) {
    // Reduce the angle in float64: in float32, that of position 100,000 would have an error of 0.004.
    constexpr double kTurnsPerRadian = 0.15915494309189535;
    const double turns = position * exp2(-2.0 * i / dim * log2_base) * kTurnsPerRadian;
    sincospif(2.0f * static_cast<float>(turns - rint(turns)), &sine[i], &cosine[i]);
  }
  __syncthreads();

  const int64_t token = static_cast<int64_t>(blockIdx.x) * heads * dim;
  const int per_head = pairs / N;
  for (int at = threadIdx.x; at < heads * per_head; at += blockDim.x) {
    const int head = at / per_head, i = (at - head * per_head) * N;
    const int64_t start = token + static_cast<int64_t>(head) * dim;
    const int64_t first = start + (kInterleaved ? 2 * i : i), second = first + (kInterleaved ? N : pairs);
    auto a = load<T, N>(x + first);
    auto b = load<T, N>(x + second);
#pragma unroll
    for (int k = 0; k < N; ++k) {
      // If interleaved, the two packs contain 2N adjacent elements: pair k is at 2k and 2k + 1.
      T& left = kInterleaved ? (2 * k < N ? a.at[2 * k % N] : b.at[2 * k % N]) : a.at[k];
      T& right = kInterleaved ? (2 * k + 1 < N ? a.at[(2 * k + 1) % N] : b.at[(2 * k + 1) % N]) : b.at[k];
      const float u = to_float(left), v = to_float(right), c = cosine[i + k], s = sine[i + k];
      left = from_float<T>(u * c - v * s);
      right = from_float<T>(v * c + u * s);
    }
    store<T, N>(y + first, a);
    store<T, N>(y + second, b);
  }
}

template <typename T, int N>
void launch(const void* x, const int64_t* positions, void* y, int64_t tokens, int heads, int dim, double log2_base,
            bool interleaved) {
  const auto blocks = static_cast<unsigned>(tokens);
  const int threads = threads_for(static_cast<int64_t>(heads) * (dim / 2 / N), kThreads);
  const auto* in = static_cast<const T*>(x);
  auto* out = static_cast<T*>(y);
  if (interleaved) {
    rotary_kernel<T, N, true><<<blocks, threads>>>(in, positions, out, heads, dim, log2_base);
  } else {
    rotary_kernel<T, N, false><<<blocks, threads>>>(in, positions, out, heads, dim, log2_base);
  }
}

template <typename T>
int rotary(const void* x, const int64_t* positions, void* y, int64_t tokens, int heads, int dim, double log2_base,
           bool interleaved) {
  if (wide<T>(dim / 2, x, y)) {
    launch<T, kWide<T>>(x, positions, y, tokens, heads, dim, log2_base, interleaved);
  } else {
    launch<T, 1>(x, positions, y, tokens, heads, dim, log2_base, interleaved);
  }
  return finish();
}

}  // namespace mk

// x, y: tokens x heads x dim, with the same type; positions: tokens. All on the device. dim is even, at most 4096.
MK_API int mk_rotary_embedding(const void* x, const int64_t* positions, void* y, int64_t tokens, int64_t heads,
                               int64_t dim, double log2_base, int interleaved, int dtype) {
  if (tokens < 1 || tokens > INT_MAX || dim < 2 || dim % 2 != 0 || dim > mk::kMaxDim) return cudaErrorInvalidValue;
  if (heads < 1 || heads > INT_MAX / 2 / dim) return cudaErrorInvalidValue;
  const int h = static_cast<int>(heads), d = static_cast<int>(dim);
  if (dtype == mk::kFloat32) return mk::rotary<float>(x, positions, y, tokens, h, d, log2_base, interleaved != 0);
  if (dtype == mk::kFloat16) return mk::rotary<__half>(x, positions, y, tokens, h, d, log2_base, interleaved != 0);
  return cudaErrorInvalidValue;
}
