/* The inner loops of the direct convolution for AVX2: 16 registers of 8 lanes. */
#include "config.h"

#include "core/exec/cpu/direct.h"

#ifdef __x86_64__
#include <immintrin.h>

#define VECTOR                __m256
#define LANES                 8
#define TARGET                __attribute__ ((target ("avx2,fma")))
#define LOAD(p)               _mm256_loadu_ps (p)
#define STORE(p, v)           _mm256_storeu_ps (p, v)
#define SPREAD(x)             _mm256_set1_ps (x)
#define ZERO()                _mm256_setzero_ps ()
#define ADD(a, b)             _mm256_add_ps (a, b)
#define MULTIPLY(a, b)        _mm256_mul_ps (a, b)
#define MULTIPLY_ADD(a, b, c) _mm256_fmadd_ps (a, b, c)
#define MAXIMUM(a, b)         _mm256_max_ps (a, b)
#define MINIMUM(a, b)         _mm256_min_ps (a, b)
#define LANE_MASK             __m256i
#define MASK(first, end)                                                                           \
  _mm256_and_si256 (_mm256_cmpgt_epi32 (COUNT (), _mm256_set1_epi32 ((int) (first) -1)),           \
                    _mm256_cmpgt_epi32 (_mm256_set1_epi32 ((int) (end)), COUNT ()))
#define COUNT()              _mm256_setr_epi32 (0, 1, 2, 3, 4, 5, 6, 7)
#define AND_MASK(a, b)       _mm256_and_si256 (a, b)
#define STORE_LANES(p, m, v) _mm256_maskstore_ps (p, m, v)
#define LANE_BITS(bits)                                                                            \
  _mm256_cmpgt_epi32 (_mm256_and_si256 (_mm256_set1_epi32 ((int) (bits)),                          \
                                        _mm256_setr_epi32 (1, 2, 4, 8, 16, 32, 64, 128)),          \
                      _mm256_setzero_si256 ())
#define LANE_PLACES    __m256i
#define LOAD_PLACES(p) _mm256_loadu_si256 ((const __m256i *) (p))
#define TAKE_LANES(old, m, places, v)                                                              \
  _mm256_blendv_ps (old, _mm256_permutevar8x32_ps (v, places), _mm256_castsi256_ps (m))
#define DOUBLES                __m256d
#define LOAD_DOUBLES(p)        _mm256_cvtps_pd (_mm_loadu_ps (p))
#define ADD_DOUBLES(a, b)      _mm256_add_pd (a, b)
#define MULTIPLY_DOUBLES(a, b) _mm256_mul_pd (a, b)
#define SPREAD_DOUBLES(x)      _mm256_set1_pd (x)
#define STORE_DOUBLES(p, v)    _mm_storeu_ps (p, _mm256_cvtpd_ps (v))
#define SUBTRACT(a, b)         _mm256_sub_ps (a, b)
#define IS_ZERO(v)             (_mm256_movemask_ps (_mm256_cmp_ps (v, v, _CMP_UNORD_Q)) == 0)
#define IF_NAN(x, v)           _mm256_blendv_ps (x, v, _mm256_cmp_ps (v, v, _CMP_UNORD_Q))
#define IF_NEGATIVE(x, v)                                                                          \
  _mm256_blendv_ps (x, v, _mm256_cmp_ps (x, _mm256_setzero_ps (), _CMP_LT_OQ))

#include "core/exec/cpu/direct-tile.h"
#include "core/exec/cpu/winograd-tile.h"

TILES_8 (1)
TILES_6 (2)

const CpuVectorUnit cpu_unit_avx2 = {
  .lanes = LANES,
  .most_blocks = 2,
  .most_pixels = { 0, 8, 6 },
  .tiles = { { NULL }, { ROW_8 (1) }, { ROW_6 (2) } },
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
const CpuVectorUnit cpu_unit_avx2 = { .lanes = 0 };
#endif
