/* Elementwise operators, most in float32. Binary ones broadcast: axes that both operands walk alike
 * are merged, and the innermost axis is a plain loop with stride 0 or 1 on either side. */
#include "config.h"

#include "core/exec/cpu/cpu.h"
#include "core/exec/cpu/vector-math.h"

#include <math.h>
#include <string.h>

/* -- unary -- */

#define UNARY_LOOP(kernel, EXPRESSION)                                                             \
  CPU_VECTORIZED static void kernel##_loop (const float *in, float *out, guint64 n)                \
  {                                                                                                \
    for (guint64 i = 0; i < n; i++)                                                                \
      {                                                                                            \
        float x = in[i];                                                                           \
        out[i] = EXPRESSION;                                                                       \
      }                                                                                            \
  }

#define UNARY(kernel, title, EXPRESSION)                                                           \
  UNARY_LOOP (kernel, EXPRESSION)                                                                  \
  static gboolean kernel##_run (IrCall *call, GError **error)                                      \
  {                                                                                                \
    return run_unary (call, kernel##_loop, error);                                                 \
  }                                                                                                \
  const IrCpuKernel kernel = {                                                                     \
    .name = title, .refuses = cpu_needs_float, .tiled = TRUE, .run = kernel##_run                  \
  };

typedef void (*UnaryLoop) (const float *in, float *out, guint64 n);

static void
run_pieces (const IrCall *call, UnaryLoop loop, const float *x, float *y, guint64 n)
{
  for (guint64 at = 0; at < n && (at == 0 || !ir_call_stopped (call)); at += CPU_POLL)
    loop (x + at, y + at, MIN (n - at, CPU_POLL));
}

static gboolean
run_unary (IrCall *call, UnaryLoop loop, GError **error)
{
  const IrTensor *in = ir_call_input (call, 0);
  const float *x = ir_tensor_data (in);
  float *y = cpu_new_floats (call, 0, in, error);
  guint64 n = ir_tensor_n_elements (in);
  int n_threads = cpu_n_threads (call, n), n_parts = cpu_n_parts (call, n);

  if (y == NULL)
    return FALSE;
  if (n_parts == 1) /* a parallel region of one costs more than a small tensor */
    {
      run_pieces (call, loop, x, y, n);
      return TRUE;
    }
#pragma omp parallel for num_threads(n_threads) schedule(static)
  for (int part = 0; part < n_parts; part++)
    {
      guint64 first = n * part / n_parts, end = n * (part + 1) / n_parts;
      run_pieces (call, loop, x + first, y + first, end - first);
    }
  return TRUE;
}

/* Comparisons are written so that NaN passes through. */
UNARY (cpu_relu, "vector loop", x < 0 ? 0 : x)
UNARY (cpu_sqrt, "vector loop", sqrtf (x))
UNARY (cpu_reciprocal, "vector loop", 1 / x)
UNARY (cpu_exp, "vector loop", cpu_vector_exp (x))
UNARY (cpu_log, "loop", logf (x))
UNARY (cpu_tanh, "vector loop", cpu_vector_tanh (x))
UNARY (cpu_erf, "vector loop", cpu_vector_erf (x))
UNARY (cpu_sigmoid, "vector loop", cpu_vector_sigmoid (x))
UNARY (cpu_floor, "vector loop", floorf (x))
UNARY (cpu_ceil, "vector loop", ceilf (x))
UNARY (cpu_round, "vector loop", rintf (x)) /* to even, as the standard says */
UNARY (cpu_sign, "vector loop", x > 0 ? 1 : x < 0 ? -1 : x)
UNARY (cpu_sin, "loop", sinf (x))
UNARY (cpu_cos, "loop", cosf (x))
UNARY (cpu_tan, "loop", tanf (x))
UNARY (cpu_asin, "loop", asinf (x))
UNARY (cpu_acos, "loop", acosf (x))
UNARY (cpu_atan, "loop", atanf (x))
UNARY (cpu_sinh, "loop", sinhf (x))
UNARY (cpu_cosh, "loop", coshf (x))
UNARY (cpu_asinh, "loop", asinhf (x))
UNARY (cpu_acosh, "loop", acoshf (x))
UNARY (cpu_atanh, "loop", atanhf (x))
UNARY (cpu_softsign, "vector loop", x / (1 + fabsf (x)))
UNARY (cpu_mish, "loop", x *tanhf (x > 0 ? x + log1pf (expf (-x)) : log1pf (expf (x))))
UNARY (cpu_softplus, "loop", x > 0 ? x + log1pf (expf (-x)) : log1pf (expf (x)))

UNARY (cpu_gelu_erf, "vector loop", cpu_vector_gelu (x))
UNARY (cpu_gelu_tanh, "vector loop", cpu_vector_gelu_tanh (x))

static gboolean
run_gelu (IrCall *call, GError **error)
{
  const char *approximate = ir_call_string (call, "approximate", "none");

  if (strcmp (approximate, "tanh") == 0)
    return run_unary (call, cpu_gelu_tanh_loop, error);
  if (strcmp (approximate, "none") == 0)
    return run_unary (call, cpu_gelu_erf_loop, error);
  return ir_ref_run (call, error);
}

const IrCpuKernel cpu_gelu = { .name = "vector loop", .refuses = cpu_needs_float, .run = run_gelu };

/* -- with parameters: what an epilogue can do -- */

static gboolean
run_with_epilogue (IrCall *call, const CpuEpilogue *epilogue, GError **error)
{
  const IrTensor *in = ir_call_input (call, 0);
  float *y = cpu_new_floats (call, 0, in, error);

  if (y == NULL)
    return FALSE;
  if (ir_tensor_n_bytes (in) > 0 && (gconstpointer) y != ir_tensor_data (in))
    memcpy (y, ir_tensor_data (in), ir_tensor_n_bytes (in));
  cpu_epilogue_all (call, epilogue, y, ir_tensor_n_elements (in));
  return TRUE;
}

static gboolean
run_leaky_relu (IrCall *call, GError **error)
{
  CpuEpilogue epilogue = { .activation = IR_ACTIVATION_LEAKY_RELU,
                           .alpha = ir_call_float (call, "alpha", 0.01) };
  return run_with_epilogue (call, &epilogue, error);
}

static gboolean
run_clip (IrCall *call, GError **error)
{
  const float *low = cpu_floats (call, 1), *high = cpu_floats (call, 2);
  if ((low == NULL && ir_call_has_input (call, 1)) || (high == NULL && ir_call_has_input (call, 2)))
    return ir_ref_run (call, error); /* a limit of another type */
  CpuEpilogue epilogue = { .activation = IR_ACTIVATION_CLIP,
                           .low = low != NULL ? low[0] : -INFINITY,
                           .high = high != NULL ? high[0] : INFINITY };

  return run_with_epilogue (call, &epilogue, error);
}

static gboolean
run_hard_swish (IrCall *call, GError **error)
{
  CpuEpilogue epilogue = { .activation = IR_ACTIVATION_HARD_SWISH };
  return run_with_epilogue (call, &epilogue, error);
}

const IrCpuKernel cpu_leaky_relu = {
  .name = "vector loop", .refuses = cpu_needs_float, .run = run_leaky_relu, .tiled = TRUE
};
const IrCpuKernel cpu_clip = {
  .name = "vector loop", .refuses = cpu_needs_first_float, .run = run_clip, .tiled = TRUE
};
const IrCpuKernel cpu_hard_swish = {
  .name = "vector loop", .refuses = cpu_needs_float, .run = run_hard_swish, .tiled = TRUE
};

/* -- with attributes -- */

static gboolean
run_hard_sigmoid (IrCall *call, GError **error)
{
  const IrTensor *in = ir_call_input (call, 0);
  float alpha = (float) ir_call_float (call, "alpha", 0.2);
  float beta = (float) ir_call_float (call, "beta", 0.5);
  const float *x = ir_tensor_data (in);
  float *y = cpu_new_floats (call, 0, in, error);
  gint64 n = (gint64) ir_tensor_n_elements (in);

  for (gint64 i = 0; y != NULL && i < n; i++)
    {
      float gate = alpha * x[i] + beta;

      gate = gate < 0 ? 0 : gate;
      y[i] = gate > 1 ? 1 : gate;
    }
  return y != NULL;
}

static gboolean
run_elu (IrCall *call, GError **error)
{
  const IrTensor *in = ir_call_input (call, 0);
  float alpha = (float) ir_call_float (call, "alpha", 1);
  const float *x = ir_tensor_data (in);
  float *y = cpu_new_floats (call, 0, in, error);
  gint64 n = (gint64) ir_tensor_n_elements (in);

  for (gint64 i = 0; y != NULL && i < n; i++)
    y[i] = x[i] < 0 ? alpha * expm1f (x[i]) : x[i];
  return y != NULL;
}

static IrDtype
first_dtype (const IrNode *node)
{
  return node->n_inputs > 0 && node->inputs[0] != NULL ? ir_value_dtype (node->inputs[0])
                                                       : IR_DTYPE_UNDEFINED;
}

static const char *
needs_bool (const IrNode *node)
{
  return first_dtype (node) == IR_DTYPE_BOOL ? NULL : "logic is of bool";
}

static gboolean
run_not (IrCall *call, GError **error)
{
  const IrTensor *in = ir_call_input (call, 0);
  const guint8 *x = ir_tensor_data (in);
  IrTensor *out = ir_call_new_output (call, 0, IR_DTYPE_BOOL, ir_tensor_rank (in),
                                      ir_tensor_dims (in), error);
  guint8 *y = out != NULL ? ir_tensor_data_writable (out) : NULL;
  gint64 n = (gint64) ir_tensor_n_elements (in);

  for (gint64 i = 0; out != NULL && i < n; i++)
    y[i] = x[i] == 0;
  return out != NULL;
}

const IrCpuKernel cpu_hard_sigmoid = {
  .name = "vector loop", .refuses = cpu_needs_float, .run = run_hard_sigmoid, .tiled = TRUE
};
const IrCpuKernel cpu_elu = {
  .name = "loop", .refuses = cpu_needs_float, .run = run_elu, .tiled = TRUE
};
const IrCpuKernel cpu_not = { .name = "vector loop", .refuses = needs_bool, .run = run_not };

/* -- binary -- */

typedef struct
{
  guint rank, out_rank;
  gint64 out_dims[IR_MAX_RANK];
  gint64 dims[IR_MAX_RANK], sa[IR_MAX_RANK], sb[IR_MAX_RANK]; /* merged axes, strides in elements */
} Broadcast;

static gint64
dim_at (const IrTensor *tensor, guint rank, guint axis)
{
  guint own = ir_tensor_rank (tensor);
  return axis + own >= rank ? ir_tensor_dims (tensor)[axis + own - rank] : 1;
}

static gboolean
broadcast_init (Broadcast *b, const IrTensor *x, const IrTensor *y)
{
  gint64 sx = 1, sy = 1;

  b->out_rank = MAX (ir_tensor_rank (x), ir_tensor_rank (y));
  b->rank = 0;
  for (guint i = b->out_rank; i > 0; i--)
    {
      gint64 dx = dim_at (x, b->out_rank, i - 1), dy = dim_at (y, b->out_rank, i - 1),
             d = dx == 1 ? dy : dx;

      if (dx != dy && dx != 1 && dy != 1)
        return FALSE;
      b->out_dims[i - 1] = d;
      if (d != 1)
        {
          gint64 step_x = dx == 1 ? 0 : sx, step_y = dy == 1 ? 0 : sy;
          guint last = b->rank - 1;

          if (b->rank > 0 && step_x == b->sa[last] * b->dims[last] &&
              step_y == b->sb[last] * b->dims[last])
            b->dims[last] *= d;
          else
            {
              b->dims[b->rank] = d;
              b->sa[b->rank] = step_x;
              b->sb[b->rank++] = step_y;
            }
        }
      sx *= dx;
      sy *= dy;
    }
  if (b->rank == 0)
    {
      b->dims[0] = 1;
      b->sa[0] = b->sb[0] = 0;
      b->rank = 1;
    }
  return TRUE;
}

/* Axis 0 is the innermost. */
static void
broadcast_place (const Broadcast *b, gint64 row, gint64 *x, gint64 *y)
{
  *x = *y = 0;
  for (guint i = 1; i < b->rank; i++)
    {
      gint64 at = row % b->dims[i];

      *x += at * b->sa[i];
      *y += at * b->sb[i];
      row /= b->dims[i];
    }
}

typedef void (*BinaryLoop) (
    gconstpointer a, gint64 sa, gconstpointer b, gint64 sb, gpointer out, gint64 n);

/* Strides are 0 or 1 in the innermost axis, which the loops know as constants. */
#define BINARY_LOOP(kernel, In, Out, EXPRESSION)                                                   \
  CPU_VECTORIZED static void kernel##_loop (gconstpointer va, gint64 sa, gconstpointer vb,         \
                                            gint64 sb, gpointer to, gint64 n)                      \
  {                                                                                                \
    const In *pa = va, *pb = vb;                                                                   \
    Out *out = to;                                                                                 \
    if (sa != 0 && sb != 0)                                                                        \
      for (gint64 i = 0; i < n; i++)                                                               \
        {                                                                                          \
          In a = pa[i], b = pb[i];                                                                 \
          out[i] = EXPRESSION;                                                                     \
        }                                                                                          \
    else if (sa != 0)                                                                              \
      for (gint64 i = 0; i < n; i++)                                                               \
        {                                                                                          \
          In a = pa[i], b = *pb;                                                                   \
          out[i] = EXPRESSION;                                                                     \
        }                                                                                          \
    else                                                                                           \
      for (gint64 i = 0; i < n; i++)                                                               \
        {                                                                                          \
          In a = *pa, b = pb[sb != 0 ? i : 0];                                                     \
          out[i] = EXPRESSION;                                                                     \
        }                                                                                          \
  }

typedef struct
{
  const guint8 *a, *b;
  guint8 *y;
  gint64 in_size, out_size; /* bytes of an element */
  gint64 n, chunks;         /* elements of a row, and parts that it is cut into */
  gint64 period; /* elements after which one operand repeats within a row; 0: it does not */
  gboolean few_is_a;
} Binary;

#define REPEATED_BYTES  4096 /* of an operand that repeats, side by side */
#define SHORTEST_PERIOD 64   /* elements: from here on rows are no shorter than what they cost */

/* One operand repeats after few elements, such as one vector for each block of channels: both inner
 * axes become one, and the loop gets several repetitions at once. */
static void
find_period (Binary *binary, Broadcast *b)
{
  gint64 period = b->dims[0];

  binary->n = period;
  if (b->rank < 2 || period <= 1 || period >= SHORTEST_PERIOD || b->sa[0] != 1 || b->sb[0] != 1 ||
      (b->sa[1] == 0) == (b->sb[1] == 0) || MAX (b->sa[1], b->sb[1]) != period)
    return;
  binary->period = period;
  binary->few_is_a = b->sa[1] == 0;
  binary->n = period * b->dims[1];
  b->dims[0] = binary->n;
  b->rank--;
  for (guint i = 1; i < b->rank; i++)
    {
      b->dims[i] = b->dims[i + 1];
      b->sa[i] = b->sa[i + 1];
      b->sb[i] = b->sb[i + 1];
    }
}

/* Elements [first, end) of a row whose operands begin at @a and @b. */
static void
run_repeated (const Binary *binary,
              BinaryLoop loop,
              const guint8 *a,
              const guint8 *b,
              guint8 *y,
              gint64 first,
              gint64 end)
{
  guint8 repeated[REPEATED_BYTES];
  const guint8 *few = binary->few_is_a ? a : b;
  gint64 size = binary->in_size, period = binary->period, offset = first % period;
  gint64 n = MIN (REPEATED_BYTES / (size * period) * period, end - first);

  for (gint64 i = 0, at = offset; i < n; at = 0)
    {
      gint64 some = MIN (period - at, n - i);
      memcpy (repeated + i * size, few + at * size, (gsize) (some * size));
      i += some;
    }
  for (gint64 at = first; at < end; at += n)
    loop (binary->few_is_a ? repeated : a + at * size, 1,
          binary->few_is_a ? b + at * size : repeated, 1, y + at * binary->out_size,
          MIN (n, end - at));
}

static void
run_part (const Binary *binary, const Broadcast *broadcast, BinaryLoop loop, gint64 part)
{
  gint64 row = part / binary->chunks, n = binary->n;
  gint64 first = n * (part % binary->chunks) / binary->chunks;
  gint64 end = n * (part % binary->chunks + 1) / binary->chunks, at_a, at_b;

  broadcast_place (broadcast, row, &at_a, &at_b);
  const guint8 *a = binary->a + at_a * binary->in_size, *b = binary->b + at_b * binary->in_size;
  guint8 *y = binary->y + row * n * binary->out_size;
  if (binary->period != 0)
    run_repeated (binary, loop, a, b, y, first, end);
  else
    loop (a + first * broadcast->sa[0] * binary->in_size, broadcast->sa[0],
          b + first * broadcast->sb[0] * binary->in_size, broadcast->sb[0],
          y + first * binary->out_size, end - first);
}

/* @loop reads elements of the first input's type and writes those of @to. */
static gboolean
run_binary (IrCall *call, BinaryLoop loop, IrDtype to, GError **error)
{
  const IrTensor *ta = ir_call_input (call, 0),
                 *tb = call->n_inputs == 2 ? ir_call_input (call, 1) : NULL;
  Broadcast broadcast;
  IrTensor *out;
  gint64 rows;

  if (tb == NULL || ir_tensor_dtype (ta) != ir_tensor_dtype (tb) ||
      !broadcast_init (&broadcast, ta, tb))
    return ir_ref_run (call,
                       error); /* other numbers of operands, and the message if they do not fit */
  Binary binary = { .a = ir_tensor_data (ta),
                    .b = ir_tensor_data (tb),
                    .in_size = ir_dtype_bits (ir_tensor_dtype (ta)) / 8,
                    .out_size = ir_dtype_bits (to) / 8 };
  out = ir_call_new_output (call, 0, to, broadcast.out_rank, broadcast.out_dims, error);
  if (out == NULL)
    return FALSE;
  binary.y = ir_tensor_data_writable (out);
  find_period (&binary, &broadcast);
  rows = binary.n > 0 ? (gint64) ir_tensor_n_elements (out) / binary.n : 0;
  int n_threads = cpu_n_threads (call, (guint64) (rows * binary.n)),
      n_parts = cpu_n_parts (call, (guint64) (rows * binary.n));
  /* One long row is cut, so that all threads have work. */
  binary.chunks = MAX (rows < n_parts ? n_parts : 1, (binary.n + CPU_POLL - 1) / CPU_POLL);
  CpuWatch watch = cpu_watch (call, binary.n / binary.chunks);
  if (n_parts == 1)
    {
      for (gint64 part = 0; part < rows * binary.chunks && !cpu_watch_stopped (&watch, part);
           part++)
        run_part (&binary, &broadcast, loop, part);
      return TRUE;
    }
#pragma omp parallel num_threads(n_threads)
  for (gint64 part = cpu_share (rows * binary.chunks, 0),
              until = cpu_share (rows * binary.chunks, 1);
       part < until && !cpu_watch_stopped (&watch, part); part++)
    run_part (&binary, &broadcast, loop, part);
  return TRUE;
}

#define BINARY(kernel, title, EXPRESSION)                                                          \
  BINARY_LOOP (kernel, float, float, EXPRESSION)                                                   \
  static gboolean kernel##_run (IrCall *call, GError **error)                                      \
  {                                                                                                \
    return run_binary (call, kernel##_loop, IR_DTYPE_FLOAT, error);                                \
  }                                                                                                \
  const IrCpuKernel kernel = {                                                                     \
    .name = title, .refuses = cpu_needs_float, .tiled = TRUE, .run = kernel##_run                  \
  };

/* Powers that exporters write: of a variance, of the polynomial in GELU, of a norm. powf would cost
 * twenty times as much. A cube is rounded once, as powf does. */
UNARY_LOOP (square, x *x)
UNARY_LOOP (cube, (float) ((double) x *x *x))
UNARY_LOOP (root, x == -INFINITY ? INFINITY : sqrtf (x + 0.0f)) /* of -0: 0 */
UNARY_LOOP (inverse, 1 / x)
BINARY_LOOP (power, float, float, b == 2 ? a * a : powf (a, b))

static gboolean
run_pow (IrCall *call, GError **error)
{
  static const struct
  {
    float exponent;
    UnaryLoop loop;
  } special[] = { { 2, square_loop }, { 3, cube_loop }, { 0.5, root_loop }, { -1, inverse_loop } };
  const IrTensor *x = ir_call_input (call, 0), *by = ir_call_input (call, 1);
  const float *exponent = cpu_floats (call, 1);

  if (exponent != NULL && ir_tensor_n_elements (by) == 1 &&
      ir_tensor_rank (by) <= ir_tensor_rank (x))
    for (guint i = 0; i < G_N_ELEMENTS (special); i++)
      if (*exponent == special[i].exponent)
        return run_unary (call, special[i].loop, error);
  return run_binary (call, power_loop, IR_DTYPE_FLOAT, error);
}

const IrCpuKernel cpu_pow = {
  .name = "loop", .refuses = cpu_needs_float, .tiled = TRUE, .run = run_pow
};

/* Derivatives of activations: dY by what Relu gave, and by what Gelu took. */
BINARY (cpu_relu_grad, "vector loop", b > 0 ? a : 0)
BINARY (cpu_gelu_grad, "vector loop", a *cpu_vector_gelu_slope (b))
BINARY (cpu_gelu_tanh_grad, "vector loop", a *cpu_vector_gelu_tanh_slope (b))

/* The slope broadcasts to the input, not the other way round. */
BINARY_LOOP (prelu, float, float, a < 0 ? a * b : a)

static gboolean
run_prelu (IrCall *call, GError **error)
{
  const IrTensor *x = ir_call_input (call, 0);
  Broadcast broadcast;

  if (!broadcast_init (&broadcast, x, ir_call_input (call, 1)) ||
      broadcast.out_rank != ir_tensor_rank (x) ||
      memcmp (broadcast.out_dims, ir_tensor_dims (x), broadcast.out_rank * sizeof (gint64)) != 0)
    return ir_ref_run (call, error);
  return run_binary (call, prelu_loop, IR_DTYPE_FLOAT, error);
}

const IrCpuKernel cpu_prelu = { .name = "vector loop",
                                .refuses = cpu_needs_float,
                                .run = run_prelu };

/* -- arithmetic in float, int64 and int32: integers wrap around -- */

static const char *
needs_arithmetic (const IrNode *node)
{
  IrDtype dtype = first_dtype (node);

  return dtype == IR_DTYPE_INT64 || dtype == IR_DTYPE_INT32
             ? NULL
             : cpu_takes_float (
                   dtype, "only floats of up to 32 bits, int64 and int32 are computed with here");
}

static const char *
needs_integers (const IrNode *node)
{
  IrDtype dtype = first_dtype (node);

  return dtype == IR_DTYPE_INT64 || dtype == IR_DTYPE_INT32
             ? NULL
             : "only remainders of int64 and int32 are computed here";
}

/* No integer has been divided by zero; the reference kernel says where one would be. */
static gboolean
divides (const IrCall *call)
{
  const IrTensor *by = ir_call_input (call, 1);
  gint64 n = (gint64) ir_tensor_n_elements (by);
  gboolean zero = FALSE;

  gconstpointer data = ir_tensor_data (by);
  IrDtype dtype = ir_tensor_dtype (by);

  for (gint64 i = 0; i < n && dtype == IR_DTYPE_INT64; i++)
    zero |= ((const gint64 *) data)[i] == 0;
  for (gint64 i = 0; i < n && dtype == IR_DTYPE_INT32; i++)
    zero |= ((const gint32 *) data)[i] == 0;
  return !zero;
}

static gboolean
run_integers (IrCall *call, BinaryLoop wide, BinaryLoop narrow, GError **error)
{
  IrDtype dtype = ir_tensor_dtype (ir_call_input (call, 0));

  return run_binary (call, dtype == IR_DTYPE_INT64 ? wide : narrow, dtype, error);
}

/* @WHOLE sees a and b as guint64, @REAL as float. */
#define ARITHMETIC(kernel, REAL, WHOLE)                                                            \
  BINARY_LOOP (kernel##_float, float, float, REAL)                                                 \
  BINARY_LOOP (kernel##_int64, guint64, guint64, WHOLE)                                            \
  BINARY_LOOP (kernel##_int32, guint32, guint32, WHOLE)                                            \
  static gboolean kernel##_run (IrCall *call, GError **error)                                      \
  {                                                                                                \
    if (ir_tensor_dtype (ir_call_input (call, 0)) == IR_DTYPE_FLOAT)                               \
      return run_binary (call, kernel##_float_loop, IR_DTYPE_FLOAT, error);                        \
    return run_integers (call, kernel##_int64_loop, kernel##_int32_loop, error);                   \
  }                                                                                                \
  const IrCpuKernel kernel = {                                                                     \
    .name = "vector loop", .refuses = needs_arithmetic, .tiled = TRUE, .run = kernel##_run         \
  };

ARITHMETIC (cpu_add, a + b, a + b)

/* The least integer is its own opposite. */
#define WHOLE_UNARY(kernel, REAL, WHOLE)                                                           \
  UNARY_LOOP (kernel, REAL)                                                                        \
  static gboolean kernel##_run (IrCall *call, GError **error)                                      \
  {                                                                                                \
    const IrTensor *in = ir_call_input (call, 0);                                                  \
    IrDtype dtype = ir_tensor_dtype (in);                                                          \
    if (dtype == IR_DTYPE_FLOAT)                                                                   \
      return run_unary (call, kernel##_loop, error);                                               \
    IrTensor *out = ir_call_new_output (call, 0, dtype, ir_tensor_rank (in), ir_tensor_dims (in),  \
                                        error);                                                    \
    guint64 n = out != NULL ? ir_tensor_n_elements (out) : 0;                                      \
    gconstpointer from = ir_tensor_data (in);                                                      \
    gpointer to = out != NULL ? ir_tensor_data_writable (out) : NULL;                              \
    for (guint64 i = 0; i < n && dtype == IR_DTYPE_INT64; i++)                                     \
      {                                                                                            \
        gint64 x = ((const gint64 *) from)[i];                                                     \
        guint64 own = (guint64) x, opposite = -own;                                                \
        ((guint64 *) to)[i] = WHOLE;                                                               \
      }                                                                                            \
    for (guint64 i = 0; i < n && dtype == IR_DTYPE_INT32; i++)                                     \
      {                                                                                            \
        gint32 x = ((const gint32 *) from)[i];                                                     \
        guint32 own = (guint32) x, opposite = -own;                                                \
        ((guint32 *) to)[i] = WHOLE;                                                               \
      }                                                                                            \
    return out != NULL;                                                                            \
  }                                                                                                \
  const IrCpuKernel kernel = {                                                                     \
    .name = "vector loop", .refuses = needs_arithmetic, .tiled = TRUE, .run = kernel##_run         \
  };

WHOLE_UNARY (cpu_neg, -x, x == 0 ? own : opposite)
WHOLE_UNARY (cpu_abs, fabsf (x), x < 0 ? opposite : own)

/* Sum of two is Add, but the standard has it for floating-point elements alone. */
const IrCpuKernel cpu_sum = { .name = "vector loop",
                              .refuses = cpu_needs_float,
                              .run = cpu_add_run };
ARITHMETIC (cpu_sub, a - b, a - b)
ARITHMETIC (cpu_mul, a *b, a *b)

#define INTEGERS(kernel, EXPRESSION)                                                               \
  BINARY_LOOP (kernel##_int64, gint64, gint64, EXPRESSION)                                         \
  BINARY_LOOP (kernel##_int32, gint32, gint32, EXPRESSION)

BINARY_LOOP (cpu_div, float, float, a / b)
/* The smallest integer by -1 wraps around. */
BINARY_LOOP (div_int64, gint64, gint64, b == -1 ? (gint64) (0 - (guint64) a) : a / b)
BINARY_LOOP (div_int32, gint32, gint32, b == -1 ? (gint32) (0 - (guint32) a) : a / b)

static gboolean
run_div (IrCall *call, GError **error)
{
  if (ir_tensor_dtype (ir_call_input (call, 0)) == IR_DTYPE_FLOAT)
    return run_binary (call, cpu_div_loop, IR_DTYPE_FLOAT, error);
  return divides (call) ? run_integers (call, div_int64_loop, div_int32_loop, error)
                        : ir_ref_run (call, error);
}

const IrCpuKernel cpu_div = {
  .name = "vector loop", .refuses = needs_arithmetic, .run = run_div, .tiled = TRUE
};

INTEGERS (fmod, b == -1 ? 0 : a % b)
INTEGERS (mod, b == -1 ? 0 : a % b != 0 && (a % b < 0) != (b < 0) ? a % b + b : a % b)

static gboolean
run_mod (IrCall *call, GError **error)
{
  if (!divides (call))
    return ir_ref_run (call, error);
  return ir_call_int (call, "fmod", 0) != 0
             ? run_integers (call, fmod_int64_loop, fmod_int32_loop, error)
             : run_integers (call, mod_int64_loop, mod_int32_loop, error);
}

const IrCpuKernel cpu_mod = { .name = "loop", .refuses = needs_integers, .run = run_mod };

#define EXTREME(kernel, OP)                                                                        \
  BINARY_LOOP (kernel, float, float, a OP b || a != a ? a : b)                                     \
  INTEGERS (kernel, a OP b ? a : b)                                                                \
  static gboolean kernel##_run (IrCall *call, GError **error)                                      \
  {                                                                                                \
    if (ir_tensor_dtype (ir_call_input (call, 0)) == IR_DTYPE_FLOAT)                               \
      return run_binary (call, kernel##_loop, IR_DTYPE_FLOAT, error);                              \
    return run_integers (call, kernel##_int64_loop, kernel##_int32_loop, error);                   \
  }                                                                                                \
  const IrCpuKernel kernel = { .name = "vector loop",                                              \
                               .refuses = needs_arithmetic,                                        \
                               .run = kernel##_run };

EXTREME (cpu_min, <)
EXTREME (cpu_max, >)

BINARY_LOOP (mean, float, float, (float) (((double) a + b) / 2))

static gboolean
run_mean (IrCall *call, GError **error)
{
  return run_binary (call, mean_loop, IR_DTYPE_FLOAT, error);
}

const IrCpuKernel cpu_mean = { .name = "vector loop", .refuses = cpu_needs_float, .run = run_mean };

/* -- comparisons and logic: bytes out -- */

static const char *
needs_comparable (const IrNode *node)
{
  IrDtype dtype = first_dtype (node);

  return dtype == IR_DTYPE_INT64 || dtype == IR_DTYPE_INT32 || dtype == IR_DTYPE_BOOL
             ? NULL
             : cpu_takes_float (
                   dtype, "only floats of up to 32 bits, int64, int32 and bool are compared here");
}

#define COMPARE(kernel, REFUSES, EXPRESSION)                                                       \
  BINARY_LOOP (kernel##_float, float, guint8, EXPRESSION)                                          \
  BINARY_LOOP (kernel##_int64, gint64, guint8, EXPRESSION)                                         \
  BINARY_LOOP (kernel##_int32, gint32, guint8, EXPRESSION)                                         \
  BINARY_LOOP (kernel##_bool, guint8, guint8, EXPRESSION)                                          \
  static gboolean kernel##_run (IrCall *call, GError **error)                                      \
  {                                                                                                \
    IrDtype dtype = ir_tensor_dtype (ir_call_input (call, 0));                                     \
    BinaryLoop loop = dtype == IR_DTYPE_FLOAT   ? kernel##_float_loop                              \
                      : dtype == IR_DTYPE_INT64 ? kernel##_int64_loop                              \
                      : dtype == IR_DTYPE_INT32 ? kernel##_int32_loop                              \
                                                : kernel##_bool_loop;                              \
    return run_binary (call, loop, IR_DTYPE_BOOL, error);                                          \
  }                                                                                                \
  const IrCpuKernel kernel = { .name = "vector loop", .refuses = REFUSES, .run = kernel##_run };

COMPARE (cpu_equal, needs_comparable, a == b)
COMPARE (cpu_less, needs_comparable, a < b)
COMPARE (cpu_greater, needs_comparable, a > b)
COMPARE (cpu_less_or_equal, needs_comparable, a <= b)
COMPARE (cpu_greater_or_equal, needs_comparable, a >= b)
COMPARE (cpu_and, needs_bool, a != 0 && b != 0)
COMPARE (cpu_or, needs_bool, a != 0 || b != 0)
COMPARE (cpu_xor, needs_bool, (a != 0) != (b != 0))
