/* What stands around attention in float32: RMSNormalization, rotary positions, Swish and SwiGLU. */
#include "config.h"

#include "core/exec/cpu/attention.h"
#include "core/exec/cpu/vector-math.h"
#include "core/exec/ref/ref.h"

#include <math.h>
#include <string.h>

/* -- RMSNormalization -- */

CPU_VECTORIZED static double
sum_of_squares (const float *x, gint64 n)
{
  double sums[8] = { 0 }, sum = 0;
  gint64 i = 0;

  for (; i + 8 <= n; i += 8)
    for (int k = 0; k < 8; k++)
      sums[k] += (double) x[i + k] * x[i + k];
  for (; i < n; i++)
    sum += (double) x[i] * x[i];
  for (int k = 0; k < 8; k++)
    sum += sums[k];
  return sum;
}

/* In double: x times the factor alone may be less than the least float, and scale infinite. */
CPU_VECTORIZED static void
scale_row (const float *x, double factor, const float *scale, float *y, gint64 n)
{
  for (gint64 i = 0; i < n; i++)
    y[i] = (float) (x[i] * factor * scale[i]);
}

static gboolean
run_rms_norm (IrCall *call, GError **error)
{
  const IrTensor *in = ir_call_input (call, 0), *scale = ir_call_input (call, 1);
  gint64 rank = ir_tensor_rank (in), axis = ir_call_int (call, "axis", -1), rows = 1, size = 1;
  double epsilon = ir_call_float (call, "epsilon", 1e-5f);
  const float *x = ir_tensor_data (in);
  float *y;

  axis += axis < 0 ? rank : 0;
  if (axis < 0 || axis >= rank)
    return ir_ref_run (call, error);
  for (gint64 i = 0; i < rank; i++)
    *(i < axis ? &rows : &size) *= ir_tensor_dims (in)[i];
  if (size == 0 || !cpu_is_tail (scale, in, axis) || ir_tensor_rank (scale) > rank - axis)
    return ir_ref_run (call, error);
  y = cpu_new_floats (call, 0, in, error);
  if (y == NULL)
    return FALSE;
  int n_threads = cpu_n_threads (call, (guint64) (rows * size));
  CpuWatch watch = cpu_watch (call, size);
#pragma omp parallel for num_threads(n_threads) schedule(static)
  for (gint64 i = 0; i < rows; i++)
    {
      if (cpu_watch_stopped (&watch, i))
        continue;
      double square = sum_of_squares (x + i * size, size);
      double factor = 1 / sqrt (square / size + epsilon);
      scale_row (x + i * size, factor, cpu_floats (call, 1), y + i * size, size);
    }
  return TRUE;
}

const IrCpuKernel cpu_rms_norm = { .name = "row loop",
                                   .refuses = cpu_needs_float,
                                   .run = run_rms_norm };

/* -- RotaryEmbedding -- */

/* A head of @half pairs, and where what it is turned into goes. */
typedef struct
{
  const float *x, *cosines, *sines;
  float *y;
  gint64 half;
} Head;

/* Turns all its pairs. */
typedef void (*Rotate) (const Head *head);

/* The halves of a head turned against each other. */
CPU_VECTORIZED static void
rotate_halves (const Head *head)
{
  const float *x = head->x, *cosines = head->cosines, *sines = head->sines;
  float *y = head->y;
  gint64 half = head->half;

  for (gint64 i = 0; i < head->half; i++)
    {
      float a = x[i], b = x[half + i];
      y[i] = cosines[i] * a - sines[i] * b;
      y[half + i] = sines[i] * a + cosines[i] * b;
    }
}

CPU_VECTORIZED static void
rotate_pairs (const Head *head)
{
  const float *x = head->x, *cosines = head->cosines, *sines = head->sines;
  float *y = head->y;

  for (gint64 i = 0; i < head->half; i++)
    {
      float a = x[2 * i], b = x[2 * i + 1];
      y[2 * i] = cosines[i] * a - sines[i] * b;
      y[2 * i + 1] = sines[i] * a + cosines[i] * b;
    }
}

void
cpu_turn_head (const float *x,
               const float *cosines,
               const float *sines,
               gint64 half,
               gboolean neighbours,
               float *y)
{
  const Head head = { x, cosines, sines, y, half };

  (neighbours ? rotate_pairs : rotate_halves) (&head);
}

typedef struct
{
  gint64 batch, heads, length, size, half;
  gint64 batch_stride, head_stride, row_stride;
  gboolean interleaved;
  const float *x, *cos, *sin;
  const IrTensor *positions; /* (nullable) */
  gint64 n_positions;        /* rows of the caches */
} Rotary;

static void
rotary_init (Rotary *r, const IrCall *call)
{
  const IrTensor *x = ir_call_input (call, 0);
  const gint64 *dims = ir_tensor_dims (x);
  gint64 rotated = ir_call_int (call, "rotary_embedding_dim", 0);
  gboolean packed = ir_tensor_rank (x) == 3;

  r->x = ir_tensor_data (x);
  r->cos = cpu_floats (call, 1);
  r->sin = cpu_floats (call, 2);
  r->positions = ir_call_input (call, 3);
  r->n_positions = MIN (ir_tensor_dims (ir_call_input (call, 1))[0],
                        ir_tensor_dims (ir_call_input (call, 2))[0]);
  r->interleaved = ir_call_int (call, "interleaved", 0) != 0;
  r->batch = dims[0];
  r->heads = packed ? ir_call_int (call, "num_heads", 1) : dims[1];
  r->length = packed ? dims[1] : dims[2];
  r->size = packed ? dims[2] / r->heads : dims[3];
  r->row_stride = packed ? dims[2] : dims[3];
  r->head_stride = packed ? r->size : r->length * r->size;
  r->batch_stride = r->heads * r->length * r->size;
  r->half = (rotated > 0 ? rotated : r->size) / 2;
}

/* Row of the caches; -1 where there is none. */
static gint64
cache_row (const Rotary *r, gint64 at)
{
  gint64 position = r->positions != NULL ? ir_tensor_get_int64 (r->positions, (guint64) at) : at;

  if (r->positions != NULL && position < 0)
    position += r->n_positions;
  return r->positions == NULL || (position >= 0 && position < r->n_positions) ? position : -1;
}

static gboolean
positions_fit (const Rotary *r)
{
  for (gint64 i = 0; r->positions != NULL && i < r->batch * r->length; i++)
    if (cache_row (r, i) < 0)
      return FALSE;
  return TRUE;
}

/* All heads of one position. */
static void
rotate_position (const Rotary *r, gint64 at, float *y)
{
  gint64 row = cache_row (r, at), rest = r->size - 2 * r->half;
  const float *cosines = r->cos + row * r->half, *sines = r->sin + row * r->half;

  for (gint64 head = 0; head < r->heads; head++)
    {
      gint64 first = at / r->length * r->batch_stride + head * r->head_stride +
                     at % r->length * r->row_stride;

      const Head it = { r->x + first, cosines, sines, y + first, r->half };
      (r->interleaved ? rotate_pairs : rotate_halves) (&it);
      if (rest > 0)
        memcpy (y + first + 2 * r->half, r->x + first + 2 * r->half, sizeof (float) * (gsize) rest);
    }
}

static gboolean
run_rotary_embedding (IrCall *call, GError **error)
{
  Rotary r;
  float *y;

  if (!ir_infer_rotary_embedding (call, error))
    return FALSE;
  rotary_init (&r, call);
  if (!positions_fit (&r))
    return ir_ref_run (call, error);
  y = cpu_new_floats (call, 0, ir_call_input (call, 0), error);
  if (y == NULL)
    return FALSE;
  int n_threads = cpu_n_threads (call, ir_tensor_n_elements (ir_call_input (call, 0)));
  CpuWatch watch = cpu_watch (call, (gint64) ir_tensor_n_elements (ir_call_input (call, 0)) /
                                        MAX (r.batch * r.length, 1));
#pragma omp parallel for num_threads(n_threads) schedule(static)
  for (gint64 i = 0; i < r.batch * r.length; i++)
    if (!cpu_watch_stopped (&watch, i))
      rotate_position (&r, i, y);
  return TRUE;
}

static const char *
refuses_rotary_embedding (const IrNode *node)
{
  for (guint i = 0; i < MIN (node->n_inputs, 3); i++)
    if (node->inputs[i] == NULL)
      return "the CPU kernel of this operator takes cosines and sines";
  return cpu_needs_floats (node, 7);
}

const IrCpuKernel cpu_rotary_embedding = { .name = "row loop",
                                           .refuses = refuses_rotary_embedding,
                                           .run = run_rotary_embedding };

/* -- rotary embedding by halves or pairs: cosines and sines for each element, broadcast to X -- */

/* Rows [batch, heads, positions] where heads lie side by side in X, else X's axes but the last. */
typedef struct
{
  guint rank;
  gint64 dims[IR_MAX_RANK]; /* of the rows */
  gint64 size, heads;       /* heads 0: rows are in the order of X's memory */
  Rotate rotate;
  const float *x, *cos, *sin;
  gint64 cos_steps[IR_MAX_RANK],
      sin_steps[IR_MAX_RANK]; /* elements from row to row along an axis */
} HalfRotary;

/* What @tensor, whose last axis is whole, steps by along the axes of the rows; 0 where it repeats.
 */
static void
broadcast_steps (const HalfRotary *r, const IrTensor *tensor, gint64 *steps)
{
  guint rank = ir_tensor_rank (tensor) - 1;
  gint64 step = r->size;

  for (guint i = 0; i < r->rank; i++)
    {
      gint64 size = i < rank ? ir_tensor_dims (tensor)[rank - 1 - i] : 1;

      steps[r->rank - 1 - i] = size == 1 ? 0 : step;
      step *= size;
    }
}

static void
half_rotary_init (HalfRotary *r, const IrCall *call)
{
  const IrTensor *x = ir_call_input (call, 0);
  const gint64 *dims = ir_tensor_dims (x);

  r->x = ir_tensor_data (x);
  r->cos = cpu_floats (call, 1);
  r->sin = cpu_floats (call, 2);
  r->rank = ir_tensor_rank (x) - 1;
  r->heads = ir_call_int (call, "num_heads", 0);
  memcpy (r->dims, dims, sizeof (gint64) * r->rank);
  r->size = dims[r->rank];
  if (r->heads > 0)
    {
      r->size /= r->heads;
      r->rank = 3;
      r->dims[1] = r->heads;
      r->dims[2] = dims[1];
    }
  broadcast_steps (r, ir_call_input (call, 1), r->cos_steps);
  broadcast_steps (r, ir_call_input (call, 2), r->sin_steps);
}

CPU_VECTORIZED static void
rotate_both (const Head *head)
{
  const float *x = head->x, *cosines = head->cosines, *sines = head->sines;
  float *y = head->y;
  gint64 half = head->half;

  for (gint64 i = 0; i < head->half; i++)
    {
      float a = x[i], b = x[half + i];
      y[i] = a * cosines[i] + -b * sines[i];
      y[half + i] = b * cosines[half + i] + a * sines[half + i];
    }
}

CPU_VECTORIZED static void
rotate_neighbours (const Head *head)
{
  const float *x = head->x, *cosines = head->cosines, *sines = head->sines;
  float *y = head->y;

  for (gint64 i = 0; i < head->half; i++)
    {
      float a = x[2 * i], b = x[2 * i + 1];
      y[2 * i] = a * cosines[2 * i] + -b * sines[2 * i];
      y[2 * i + 1] = b * cosines[2 * i + 1] + a * sines[2 * i + 1];
    }
}

static void
rotate_row (const HalfRotary *r, gint64 row, float *y)
{
  gint64 rest = row, cos = 0, sin = 0, at = row * r->size;

  for (guint axis = r->rank; axis-- > 0;)
    {
      gint64 place = rest % r->dims[axis];

      rest /= r->dims[axis];
      cos += place * r->cos_steps[axis];
      sin += place * r->sin_steps[axis];
    }
  if (r->heads > 0)
    {
      gint64 length = r->dims[2], batch = row / (r->heads * length);
      at = ((batch * length + row % length) * r->heads + row / length % r->heads) * r->size;
    }
  r->rotate (&(Head){ r->x + at, r->cos + cos, r->sin + sin, y + at, r->size / 2 });
}

static gboolean
rotate_rows (IrCall *call, Rotate rotate, GError **error)
{
  HalfRotary r = { .rotate = rotate };
  gint64 n_rows = 1;
  float *y;

  if (!call->op->infer (call, error))
    return FALSE;
  half_rotary_init (&r, call);
  if (r.size % 2 != 0)
    return ir_ref_run (call, error);
  y = cpu_new_floats (call, 0, ir_call_input (call, 0), error);
  if (y == NULL)
    return FALSE;
  for (guint i = 0; i < r.rank; i++)
    n_rows *= r.dims[i];
  int n_threads = cpu_n_threads (call, ir_tensor_n_elements (ir_call_input (call, 0)));
  CpuWatch watch = cpu_watch (call, (gint64) ir_tensor_n_elements (ir_call_input (call, 0)) /
                                        MAX (n_rows, 1));
#pragma omp parallel for num_threads(n_threads) schedule(static)
  for (gint64 i = 0; i < n_rows; i++)
    if (!cpu_watch_stopped (&watch, i))
      rotate_row (&r, i, y);
  return TRUE;
}

static gboolean
run_half_rotary (IrCall *call, GError **error)
{
  return rotate_rows (call, rotate_both, error);
}

const IrCpuKernel cpu_half_rotary = { .name = "row loop",
                                      .refuses = cpu_needs_float,
                                      .run = run_half_rotary };

static gboolean
run_pair_rotary (IrCall *call, GError **error)
{
  return rotate_rows (call, rotate_neighbours, error);
}

const IrCpuKernel cpu_pair_rotary = { .name = "row loop",
                                      .refuses = cpu_needs_float,
                                      .run = run_pair_rotary };

/* -- Swish and SwiGLU -- */

/* y = x / (1 + exp (-alpha x)), times b if it is given. */
CPU_VECTORIZED static void
gate (const float *x, const float *b, float alpha, float *y, guint64 n)
{
  if (b == NULL)
    for (guint64 i = 0; i < n; i++)
      y[i] = x[i] * cpu_vector_sigmoid (alpha * x[i]);
  else
    for (guint64 i = 0; i < n; i++)
      y[i] = x[i] * cpu_vector_sigmoid (alpha * x[i]) * b[i];
}

static gboolean
run_gate (IrCall *call, GError **error)
{
  const IrTensor *in = ir_call_input (call, 0), *other = ir_call_input (call, 1);
  guint64 n = ir_tensor_n_elements (in);
  const float *x = ir_tensor_data (in), *b = cpu_floats (call, 1);
  float alpha = (float) ir_call_float (call, "alpha", 1), *y;

  if (other != NULL && (ir_tensor_rank (other) != ir_tensor_rank (in) ||
                        memcmp (ir_tensor_dims (other), ir_tensor_dims (in),
                                sizeof (gint64) * ir_tensor_rank (in)) != 0))
    return ir_ref_run (call, error);
  y = cpu_new_floats (call, 0, in, error);
  if (y == NULL)
    return FALSE;
  int n_threads = cpu_n_threads (call, n), n_parts = cpu_n_parts (call, n);
#pragma omp parallel for num_threads(n_threads) schedule(static)
  for (int part = 0; part < n_parts; part++)
    {
      guint64 first = n * part / n_parts, end = n * (part + 1) / n_parts;

      for (guint64 at = first; at < end && (at == first || !ir_call_stopped (call)); at += CPU_POLL)
        gate (x + at, b != NULL ? b + at : NULL, alpha, y + at, MIN (end - at, CPU_POLL));
    }
  return TRUE;
}

const IrCpuKernel cpu_swish = { .name = "loop", .refuses = cpu_needs_float, .run = run_gate };
const IrCpuKernel cpu_swiglu = { .name = "loop", .refuses = cpu_needs_float, .run = run_gate };
