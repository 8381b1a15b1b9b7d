/* The vocabulary of the kernels for the C compiler: each access goes through the emulator, which knows
 * who made it, and on which line. Names and meaning are those of core/exec/gpu/prelude.cu. */
#include <math.h>

typedef long long k_i64;
typedef unsigned long long k_u64;
typedef struct
{
  float x, y, z, w;
} __attribute__ ((aligned (16))) k_float4;

typedef struct
{
  unsigned int block, thread;
  void *(*shared) (unsigned long bytes, int line);
  void *(*access) (void *p, unsigned long bytes, int is_shared, int writes, int line);
  void (*barrier) (int line);
  void (*warp_sync) (int line);
  unsigned long long (*shuffle_xor) (unsigned long long bits, int mask, int line);
  void (*atomic_max) (unsigned int *p, unsigned int value, int line);
  void (*mma) (float *c, const unsigned int *a, const unsigned int *b, int is_bfloat, int line);
} EmuThread;

__attribute__ ((visibility ("default"))) EmuThread *emu;

#define IR_KERNEL(name)         __attribute__ ((visibility ("default"))) void name
#define K_FUNCTION              static inline __attribute__ ((unused))
#define K_BLOCK                 emu->block
#define K_THREAD                emu->thread
#define K_BARRIER()             emu->barrier (__LINE__)
#define K_WARP_SYNC()           emu->warp_sync (__LINE__)
#define K_SHARED(type, name, n) type *name = emu->shared ((n) * sizeof (type), __LINE__)

#define EMU_AT(p, i, is_shared, writes)                                                            \
  (*(__typeof__ (&(p)[0])) emu->access ((void *) &(p)[i], sizeof (p)[0], is_shared, writes,        \
                                        __LINE__))
/* The value first, as it may be made of accesses itself. */
#define EMU_PUT(p, i, value, is_shared)                                                            \
  do                                                                                               \
    {                                                                                              \
      __typeof__ ((p)[0]) emu_value = (value);                                                     \
      EMU_AT (p, i, is_shared, 1) = emu_value;                                                     \
    }                                                                                              \
  while (0)
#define K_GET(name, i)        EMU_AT (name, i, 1, 0)
#define K_SET(name, i, value) EMU_PUT (name, i, value, 1)
#define K_GET4(name, i) (*(const k_float4 *) emu->access (&(name)[i], 16, 1, 0, __LINE__))
#define K_LOAD(p, i)          EMU_AT (p, i, 0, 0)
#define K_STORE(p, i, value)  EMU_PUT (p, i, value, 0)
#define K_LOAD4(p, i)         (*(const k_float4 *) emu->access ((void *) &(p)[i], 16, 0, 0, __LINE__))
#define K_STORE4(p, i, value)                                                                      \
  do                                                                                               \
    {                                                                                              \
      k_float4 emu_value = (value);                                                                \
      *(k_float4 *) emu->access (&(p)[i], 16, 0, 1, __LINE__) = emu_value;                         \
    }                                                                                              \
  while (0)
#define K_UNROLL
#define K_FAULT(p, fault) emu->atomic_max (p, fault, __LINE__)

#define k_mma_half(c, a, b)   emu->mma (c, a, b, 0, __LINE__)
#define k_mma_bfloat(c, a, b) emu->mma (c, a, b, 1, __LINE__)

#define K_INFINITY __builtin_inff ()
#define K_NAN      __builtin_nanf ("")

/* Of float, double and integers of four and eight bytes. */
#define K_SHUFFLE_XOR(x, mask)                                                                     \
  ({                                                                                               \
    __typeof__ (x) emu_x = (x);                                                                    \
    unsigned long long emu_bits = 0;                                                               \
    __builtin_memcpy (&emu_bits, &emu_x, sizeof emu_x);                                            \
    emu_bits = emu->shuffle_xor (emu_bits, mask, __LINE__);                                        \
    __builtin_memcpy (&emu_x, &emu_bits, sizeof emu_x);                                            \
    emu_x;                                                                                         \
  })

K_FUNCTION float
k_half_to_float (unsigned short h)
{
  _Float16 x;
  __builtin_memcpy (&x, &h, 2);
  return (float) x;
}

K_FUNCTION unsigned short
k_float_to_half (float f)
{
  _Float16 x = (_Float16) f;
  unsigned short h;
  __builtin_memcpy (&h, &x, 2);
  return h;
}

K_FUNCTION float
k_bfloat_to_float (unsigned short h)
{
  unsigned int u = (unsigned int) h << 16;
  float f;
  __builtin_memcpy (&f, &u, 4);
  return f;
}

K_FUNCTION unsigned short
k_float_to_bfloat (float f)
{
  unsigned int u;
  __builtin_memcpy (&u, &f, 4);
  return f != f ? 0x7fc0 : (unsigned short) ((u + 0x7fff + (u >> 16 & 1)) >> 16);
}
#line 1 "kernels"
