/* Cast and CastLike between the element types that networks use, Shape, Size and Range. The rules
 * of conversion are those of the reference kernel, bit for bit: floats lose their fraction and stop
 * at the ends of an integer type, NaN becomes 0, integers keep their low bits. */
#include "config.h"

#include "core/exec/cpu/cpu.h"

#include <math.h>
#include <string.h>

/* -- float16 -- */

static inline double
real_of_half (guint16 half)
{
  guint32 sign = (guint32) (half & 0x8000) << 16, magnitude = half & 0x7fff;
  guint32 bits = magnitude > 0x7c00    ? 0x7fc00000
                 : magnitude == 0x7c00 ? 0x7f800000
                                       : (magnitude << 13) + (112u << 23);
  float value = (float) magnitude * 0x1p-24f; /* below the normal range */

  if (magnitude >= 0x400)
    memcpy (&value, &bits, sizeof value);
  memcpy (&bits, &value, sizeof bits);
  bits |= sign;
  memcpy (&value, &bits, sizeof value);
  return value;
}

/* Rounds to nearest even. Below the normal range the sum with 2^28, whose last bit is worth 2^-24,
 * does. */
static inline guint16
half_of_real (double value)
{
  guint64 bits, small;
  double magnitude = fabs (value), shifted = magnitude + 0x1p28;
  guint16 sign = signbit (value) ? 0x8000 : 0;

  memcpy (&bits, &magnitude, sizeof bits);
  memcpy (&small, &shifted, sizeof small);
  bits += (G_GUINT64_CONSTANT (1) << 41) - 1 + ((bits >> 42) & 1);
  if (magnitude != magnitude)
    return sign | 0x7e00;
  if (magnitude >= 65520)
    return sign | 0x7c00;
  return sign | (guint16) (magnitude < 0x1p-14 ? small & 0xffff : (bits >> 42) - (1008u << 10));
}

/* -- bfloat16: the upper half of a float -- */

static inline double
real_of_bfloat (guint16 half)
{
  guint32 bits = (guint32) half << 16;
  float value;

  memcpy (&value, &bits, sizeof value);
  return value;
}

/* Likewise; below the normal range the last bit of the sum with 2^-81 is worth 2^-133. */
static inline guint16
bfloat_of_real (double value)
{
  guint64 bits, small;
  double magnitude = fabs (value), shifted = magnitude + 0x1p-81;
  guint16 sign = signbit (value) ? 0x8000 : 0;

  memcpy (&bits, &magnitude, sizeof bits);
  memcpy (&small, &shifted, sizeof small);
  bits += (G_GUINT64_CONSTANT (1) << 44) - 1 + ((bits >> 45) & 1);
  if (magnitude != magnitude)
    return sign | 0x7fc0;
  if (magnitude >= 0x1.ffp127)
    return sign | 0x7f80;
  return sign | (guint16) (magnitude < 0x1p-126 ? small & 0xffff : (bits >> 45) - (896u << 7));
}

/* -- one conversion per type, from a double and from an integer -- */

#define WHOLE_OF_REAL(name, Type, low, end)                                                        \
  static inline Type name##_of_real (double x)                                                     \
  {                                                                                                \
    return x != x ? 0 : x >= (end) ? (Type) ((end) -1) : x <= (low) ? (Type) (low) : (Type) x;     \
  }                                                                                                \
  static inline Type name##_of_whole (gint64 x) { return (Type) x; }

WHOLE_OF_REAL (int32, gint32, -0x1p31, 0x1p31)
WHOLE_OF_REAL (int8, gint8, -128.0, 128.0)
WHOLE_OF_REAL (uint8, guint8, 0.0, 256.0)

/* The largest int64 is no double. */
static inline gint64
int64_of_real (double x)
{
  return x != x ? 0 : x >= 0x1p63 ? G_MAXINT64 : x <= -0x1p63 ? G_MININT64 : (gint64) x;
}

static inline guint16
float16_of_real (double x)
{
  return half_of_real (x);
}

static inline guint16
bfloat16_of_real (double x)
{
  return bfloat_of_real (x);
}

#define int64_of_whole(x)    (x)
#define float_of_real(x)     ((float) (x))
#define float_of_whole(x)    ((float) (x))
#define double_of_real(x)    (x)
#define double_of_whole(x)   ((double) (x))
#define float16_of_whole(x)  (half_of_real ((double) (x)))
#define bfloat16_of_whole(x) (bfloat_of_real ((double) (x)))
#define bool_of_real(x)      ((guint8) ((x) != 0))
#define bool_of_whole(x)     ((guint8) ((x) != 0))

typedef void (*CastLoop) (gconstpointer in, gpointer out, gint64 n);

/* @READ gives a double or an int64, as @kind says. */
#define CAST(from, From, READ, kind, to, To)                                                       \
  CPU_VECTORIZED static void from##_to_##to (gconstpointer in, gpointer out, gint64 n)             \
  {                                                                                                \
    const From *x = in;                                                                            \
    To *y = out;                                                                                   \
    for (gint64 i = 0; i < n; i++)                                                                 \
      y[i] = to##_of_##kind (READ (x[i]));                                                         \
  }

#define CASTS_FROM(from, From, READ, kind)                                                         \
  CAST (from, From, READ, kind, float, float)                                                      \
  CAST (from, From, READ, kind, double, double)                                                    \
  CAST (from, From, READ, kind, float16, guint16)                                                  \
  CAST (from, From, READ, kind, bfloat16, guint16)                                                 \
  CAST (from, From, READ, kind, int64, gint64)                                                     \
  CAST (from, From, READ, kind, int32, gint32)                                                     \
  CAST (from, From, READ, kind, int8, gint8)                                                       \
  CAST (from, From, READ, kind, uint8, guint8)                                                     \
  CAST (from, From, READ, kind, bool, guint8)

#define AS_REAL(x)  ((double) (x))
#define AS_WHOLE(x) ((gint64) (x))
#define AS_TRUTH(x) ((gint64) ((x) != 0))

CASTS_FROM (float, float, AS_REAL, real)
CASTS_FROM (double, double, AS_REAL, real)
CASTS_FROM (float16, guint16, real_of_half, real)
CASTS_FROM (bfloat16, guint16, real_of_bfloat, real)
CASTS_FROM (int64, gint64, AS_WHOLE, whole)
CASTS_FROM (int32, gint32, AS_WHOLE, whole)
CASTS_FROM (int8, gint8, AS_WHOLE, whole)
CASTS_FROM (uint8, guint8, AS_WHOLE, whole)
CASTS_FROM (bool, guint8, AS_TRUTH, whole)

#define N_TYPES 9

static const IrDtype types[N_TYPES] = { IR_DTYPE_FLOAT,    IR_DTYPE_DOUBLE, IR_DTYPE_FLOAT16,
                                        IR_DTYPE_BFLOAT16, IR_DTYPE_INT64,  IR_DTYPE_INT32,
                                        IR_DTYPE_INT8,     IR_DTYPE_UINT8,  IR_DTYPE_BOOL };

#define LOOPS_FROM(from)                                                                           \
  {                                                                                                \
    from##_to_float, from##_to_double, from##_to_float16, from##_to_bfloat16, from##_to_int64,     \
        from##_to_int32, from##_to_int8, from##_to_uint8, from##_to_bool                           \
  }

/* In both directions in the order of @types. */
static const CastLoop loops[N_TYPES][N_TYPES] = {
  LOOPS_FROM (float),    LOOPS_FROM (double), LOOPS_FROM (float16),
  LOOPS_FROM (bfloat16), LOOPS_FROM (int64),  LOOPS_FROM (int32),
  LOOPS_FROM (int8),     LOOPS_FROM (uint8),  LOOPS_FROM (bool),
};

/* N_TYPES: none of them */
static guint
place_of (IrDtype dtype)
{
  guint i = 0;

  while (i < N_TYPES && types[i] != dtype)
    i++;
  return i;
}

static const char *
refuses_cast (const IrNode *node)
{
  IrDtype to = node->n_outputs > 0 && node->outputs[0] != NULL ? ir_value_dtype (node->outputs[0])
                                                               : IR_DTYPE_UNDEFINED;

  return place_of (cpu_dtype (node, 0)) < N_TYPES &&
                 (to == IR_DTYPE_UNDEFINED || place_of (to) < N_TYPES)
             ? NULL
             : "one of the types has no loop of its own, or is unknown";
}

static gboolean
run_cast (IrCall *call, GError **error)
{
  const IrTensor *in = ir_call_input (call, 0);
  const IrType *type = call->outputs[0].type;
  guint from = place_of (ir_tensor_dtype (in)),
        to = type != NULL ? place_of (type->dtype) : N_TYPES;
  const guint8 *x = ir_tensor_data (in);
  gint64 n = (gint64) ir_tensor_n_elements (in);

  if (from == N_TYPES || to == N_TYPES || ir_call_attr (call, "round_mode") != NULL)
    return ir_ref_run (call, error);
  guint8 *y = cpu_new_output (call, 0, error);
  if (y == NULL)
    return FALSE;
  if (from == to)
    {
      if (n > 0 && y != x)
        memcpy (y, x, ir_tensor_n_bytes (in));
      return TRUE;
    }
  gint64 in_size = ir_dtype_bits (types[from]) / 8, out_size = ir_dtype_bits (types[to]) / 8;
  int n_threads = cpu_n_threads (call, (guint64) n);
#pragma omp parallel for num_threads(n_threads) schedule(static)
  for (int part = 0; part < n_threads; part++)
    {
      gint64 first = n * part / n_threads, end = n * (part + 1) / n_threads;

      for (gint64 at = first; at < end && (at == first || !ir_call_stopped (call)); at += CPU_POLL)
        loops[from][to](x + at * in_size, y + at * out_size, MIN (end - at, CPU_POLL));
    }
  return TRUE;
}

const IrCpuKernel cpu_cast = { .name = "vector loop", .refuses = refuses_cast, .run = run_cast };

/* -- Shape, Size -- */

static gboolean
run_shape (IrCall *call, GError **error)
{
  const IrTensor *in = ir_call_input (call, 0);
  gint64 rank = ir_tensor_rank (in), start = ir_call_int (call, "start", 0), n;
  gint64 *y = cpu_new_output (call, 0, error);

  if (y == NULL)
    return FALSE;
  n = (gint64) ir_tensor_n_elements (call->outputs[0].tensor);
  start = CLAMP (start < 0 ? start + rank : start, 0, rank);
  if (n > 0)
    memcpy (y, ir_tensor_dims (in) + start, (gsize) n * sizeof *y);
  return TRUE;
}

static gboolean
run_size (IrCall *call, GError **error)
{
  gint64 *y = cpu_new_output (call, 0, error);

  if (y != NULL)
    *y = (gint64) ir_tensor_n_elements (ir_call_input (call, 0));
  return y != NULL;
}

const IrCpuKernel cpu_shape = { .name = "dims", .run = run_shape };
const IrCpuKernel cpu_size = { .name = "dims", .run = run_size };

/* -- Range -- */

static const char *
refuses_range (const IrNode *node)
{
  IrDtype dtype = cpu_dtype (node, 0);

  return dtype == IR_DTYPE_FLOAT || dtype == IR_DTYPE_INT64 || dtype == IR_DTYPE_INT32
             ? NULL
             : "only float, int64 and int32 are counted here";
}

static gboolean
run_range (IrCall *call, GError **error)
{
  const IrTensor *start = ir_call_input (call, 0), *delta = ir_call_input (call, 2);
  IrDtype dtype = ir_tensor_dtype (start);

  for (guint slot = 0; slot < 3; slot++)
    if (ir_tensor_n_elements (ir_call_input (call, slot)) != 1)
      return ir_ref_run (call, error);
  gpointer y = cpu_new_output (call, 0, error);
  if (y == NULL)
    return FALSE;
  gint64 n = (gint64) ir_tensor_n_elements (call->outputs[0].tensor);
  guint64 first = (guint64) ir_tensor_get_int64 (start, 0),
          step = (guint64) ir_tensor_get_int64 (delta, 0);
  double first_real = ir_tensor_get_double (start, 0), step_real = ir_tensor_get_double (delta, 0);
  for (gint64 i = 0; i < n; i++)
    if (dtype == IR_DTYPE_FLOAT)
      ((float *) y)[i] = (float) (first_real + (double) i * step_real);
    else if (dtype == IR_DTYPE_INT64)
      ((gint64 *) y)[i] = (gint64) (first + (guint64) i * step);
    else
      ((gint32 *) y)[i] = (gint32) (first + (guint64) i * step);
  return TRUE;
}

const IrCpuKernel cpu_range = { .name = "loop", .refuses = refuses_range, .run = run_range };
