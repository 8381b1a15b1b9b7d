/* The inner loops of the direct convolution for AVX-512: 32 registers of 16 lanes. */
#include "config.h"

#include "core/exec/cpu/direct.h"

#ifdef __x86_64__
#include <immintrin.h>

#define VECTOR                        __m512
#define LANES                         16
#define TARGET                        __attribute__ ((target ("avx512f,avx512vl,avx512dq,avx512bw,fma")))
#define LOAD(p)                       _mm512_loadu_ps (p)
#define STORE(p, v)                   _mm512_storeu_ps (p, v)
#define SPREAD(x)                     _mm512_set1_ps (x)
#define ZERO()                        _mm512_setzero_ps ()
#define ADD(a, b)                     _mm512_add_ps (a, b)
#define MULTIPLY(a, b)                _mm512_mul_ps (a, b)
#define MULTIPLY_ADD(a, b, c)         _mm512_fmadd_ps (a, b, c)
#define MAXIMUM(a, b)                 _mm512_max_ps (a, b)
#define MINIMUM(a, b)                 _mm512_min_ps (a, b)
#define LANE_MASK                     __mmask16
#define MASK(first, end)              ((__mmask16) ((1u << (end)) - (1u << (first))))
#define AND_MASK(a, b)                ((__mmask16) ((a) & (b)))
#define STORE_LANES(p, m, v)          _mm512_mask_storeu_ps (p, m, v)
#define LANE_BITS(bits)               ((__mmask16) (bits))
#define LANE_PLACES                   __m512i
#define LOAD_PLACES(p)                _mm512_loadu_si512 (p)
#define TAKE_LANES(old, m, places, v) _mm512_mask_permutexvar_ps (old, m, places, v)
#define DOUBLES                       __m512d
#define LOAD_DOUBLES(p)               _mm512_cvtps_pd (_mm256_loadu_ps (p))
#define ADD_DOUBLES(a, b)             _mm512_add_pd (a, b)
#define MULTIPLY_DOUBLES(a, b)        _mm512_mul_pd (a, b)
#define SPREAD_DOUBLES(x)             _mm512_set1_pd (x)
#define STORE_DOUBLES(p, v)           _mm256_storeu_ps (p, _mm512_cvtpd_ps (v))
#define SUBTRACT(a, b)                _mm512_sub_ps (a, b)
#define IS_ZERO(v)                    (_mm512_cmp_ps_mask (v, v, _CMP_UNORD_Q) == 0)
#define IF_NAN(x, v)                  _mm512_mask_mov_ps (x, _mm512_cmp_ps_mask (v, v, _CMP_UNORD_Q), v)
#define IF_NEGATIVE(x, v)                                                                          \
  _mm512_mask_mov_ps (x, _mm512_cmp_ps_mask (x, _mm512_setzero_ps (), _CMP_LT_OQ), v)

#include "core/exec/cpu/direct-tile.h"
#include "core/exec/cpu/winograd-tile.h"

TILES_8 (1)
TILES_8 (2)
TILES_8 (3)
TILES_6 (4)

const CpuVectorUnit cpu_unit_avx512 = {
  .lanes = LANES,
  .most_blocks = 4,
  .most_pixels = { 0, 8, 8, 8, 6 },
  .tiles = { { NULL }, { ROW_8 (1) }, { ROW_8 (2) }, { ROW_8 (3) }, { ROW_6 (4) } },
  .depthwise = { DEPTHWISE_ROW },
  .depthwise_row = { DEPTHWISE_SQUARES },
  .pool_max = pool_max,
  .pool_max_row = pool_max_row,
  .pool_mean_row = pool_mean_row,
  .shuffle = shuffle_block,
  .winograd_in = { winograd_in_4, winograd_in_6 },
  .winograd_out = { winograd_out_4, winograd_out_6 },
};
#else
const CpuVectorUnit cpu_unit_avx512 = { .lanes = 0 };
#endif
