/* The vocabulary of the kernels, for NVRTC, which has no headers. The same names for the C compiler are in
 * tests/gpu/emulator/prelude.h. Kernels use nothing beside them, C's operators and its functions of
 * real numbers. */
typedef long long k_i64;
typedef unsigned long long k_u64;
typedef struct __align__ (16) { float x, y, z, w; } k_float4;

#define IR_KERNEL(name) extern "C" __global__ void name
#define K_FUNCTION static __device__ __forceinline__
#define K_BLOCK blockIdx.x
#define K_THREAD threadIdx.x
#define K_BARRIER() __syncthreads ()
#define K_WARP_SYNC() __syncwarp ()
#define K_SHARED(type, name, n) __shared__ type name[n]
#define K_GET(name, i) name[i]
#define K_SET(name, i, value) name[i] = (value)
#define K_LOAD(p, i) p[i]
#define K_STORE(p, i, value) p[i] = (value)
#define K_LOAD4(p, i) (*(const k_float4 *) (p + (i)))
#define K_STORE4(p, i, value) *(k_float4 *) (p + (i)) = (value)
#define K_SHUFFLE_XOR(x, mask) __shfl_xor_sync (0xffffffffu, x, mask)
#define K_FAULT(p, fault) atomicMax (p, fault)

#define K_INFINITY __int_as_float (0x7f800000)
#define K_NAN __int_as_float (0x7fffffff)

K_FUNCTION float
k_half_to_float (unsigned short h)
{
  float f;
  asm ("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
  return f;
}

K_FUNCTION unsigned short
k_float_to_half (float f)
{
  unsigned short h;
  asm ("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
  return h;
}

K_FUNCTION float
k_bfloat_to_float (unsigned short h)
{
  return __uint_as_float ((unsigned int) h << 16);
}

/* To nearest, halves to even; what is no number stays so. */
K_FUNCTION unsigned short
k_float_to_bfloat (float f)
{
  unsigned int u = __float_as_uint (f);
  return f != f ? 0x7fc0 : (unsigned short) ((u + 0x7fff + (u >> 16 & 1)) >> 16);
}
