// Manages device memory and queries the device. All functions return a CUDA error number, 0 for success.
#include <cstring>

#include "common.cuh"

namespace mk {

__global__ void probe_kernel(int* seen) { *seen = 1; }

}  // namespace mk

// Whether this build contains machine code for the device: launches a kernel and checks its result.
MK_API int mk_probe() {
  int* seen = nullptr;
  cudaError_t error = cudaMalloc(&seen, sizeof(int));
  if (error != cudaSuccess) return mk::answer(error);
  error = cudaMemset(seen, 0, sizeof(int));
  int status = static_cast<int>(error), value = 0;
  if (error == cudaSuccess) {
    mk::probe_kernel<<<1, 1>>>(seen);
    status = mk::finish();
  }
  if (status == cudaSuccess) {
    status = mk::answer(cudaMemcpy(&value, seen, sizeof(int), cudaMemcpyDeviceToHost));
    if (status == cudaSuccess && value != 1) status = static_cast<int>(cudaErrorLaunchFailure);
  }
  (void)cudaFree(seen);
  return status;
}

// Name (cut to `length` bytes, including the terminating zero) and compute capability of the current device.
MK_API int mk_device(char* name, int length, int* major, int* minor) {
  int device = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess) error = cudaDeviceGetAttribute(major, cudaDevAttrComputeCapabilityMajor, device);
  if (error == cudaSuccess) error = cudaDeviceGetAttribute(minor, cudaDevAttrComputeCapabilityMinor, device);
  cudaDeviceProp properties;
  if (error == cudaSuccess) error = cudaGetDeviceProperties(&properties, device);
  if (error == cudaSuccess && length > 0) {
    std::strncpy(name, properties.name, length - 1);
    name[length - 1] = '\0';
  }
  return mk::answer(error);
}

MK_API int mk_alloc(void** place, size_t bytes) { return mk::answer(cudaMalloc(place, bytes)); }

MK_API int mk_free(void* place) { return mk::answer(cudaFree(place)); }

MK_API int mk_upload(void* device, const void* host, size_t bytes) {
  return mk::answer(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice));
}

MK_API int mk_download(void* host, const void* device, size_t bytes) {
  return mk::answer(cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost));
}

MK_API int mk_synchronize() { return mk::answer(cudaDeviceSynchronize()); }

MK_API const char* mk_error_name(int error) { return cudaGetErrorName(static_cast<cudaError_t>(error)); }

MK_API const char* mk_error_text(int error) { return cudaGetErrorString(static_cast<cudaError_t>(error)); }
