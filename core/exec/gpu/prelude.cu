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
#define K_SHARED(type, name, n) __shared__ __align__ (16) type name[n]
#define K_GET(name, i) name[i]
#define K_SET(name, i, value) name[i] = (value)
#define K_GET4(name, i) (*(const k_float4 *) (name + (i)))
#define K_LOAD(p, i) p[i]
#define K_STORE(p, i, value) p[i] = (value)
#define K_LOAD4(p, i) (*(const k_float4 *) (p + (i)))
#define K_STORE4(p, i, value) *(k_float4 *) (p + (i)) = (value)
#define K_SHUFFLE_XOR(x, mask) __shfl_xor_sync (0xffffffffu, x, mask)
#define K_FAULT(p, fault) atomicMax (p, fault)
#define K_UNROLL _Pragma ("unroll")

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

/* Of a warp: c + a b, of matrices of 16 x 16 and 16 x 8 elements. The lanes hold them as the PTX ISA says of
 * mma.m16n8k16, which is there from sm_80 on; before, the lanes ask each other. */
#if __CUDA_ARCH__ >= 800
#define K_MMA(name, type, to_float)                                                                \
  K_FUNCTION void                                                                                  \
  name (float *c, const unsigned int *a, const unsigned int *b)                                    \
  {                                                                                                \
    asm volatile ("mma.sync.aligned.m16n8k16.row.col.f32." type "." type                           \
                  ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"           \
                  : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                                 \
                  : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));             \
  }
#else
#define K_MMA(name, type, to_float)                                                                \
  K_FUNCTION void                                                                                  \
  name (float *c, const unsigned int *a, const unsigned int *b)                                    \
  {                                                                                                \
    unsigned int lane = K_THREAD % 32;                                                             \
    for (unsigned int k = 0; k < 16; k++)                                                          \
      for (unsigned int i = 0; i < 4; i++)                                                         \
        {                                                                                          \
          unsigned int at_a = lane / 4 * 4 + k % 8 / 2, at_b = (lane % 4 * 2 + i % 2) * 4 + k % 8 / 2; \
          unsigned int x = __shfl_sync (0xffffffffu, a[k / 8 * 2 + i / 2], at_a);                  \
          unsigned int w = __shfl_sync (0xffffffffu, b[k / 8], at_b);                              \
          c[i] += to_float ((unsigned short) (x >> k % 2 * 16)) *                                  \
                  to_float ((unsigned short) (w >> k % 2 * 16));                                   \
        }                                                                                          \
  }
#endif
K_MMA (k_mma_half, "f16", k_half_to_float)
K_MMA (k_mma_bfloat, "bf16", k_bfloat_to_float)
