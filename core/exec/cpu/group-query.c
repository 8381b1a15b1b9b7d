/* GroupQueryAttention of com.microsoft in float32: the new keys and values, turned by their
 * positions, go behind those of each sample into the present caches, where the loop of attention.c
 * reads them. Of one new position, the heads that share a cache are its queries together. */
#include "config.h"

#include "core/exec/cpu/attention.h"

#include <math.h>
#include <string.h>

typedef struct
{
  IrCall *call;
  gint64 batch, length, heads, kv_heads, size;
  gint64 past, present, total; /* positions: of the caches, of the longest sample */
  gint64 half;                 /* pairs of a head that are turned; 0: none */
  gint64 n_angles;             /* positions that the angles are of */
  gboolean interleaved;
  CpuRows q, k, v; /* as they come */
  const float *past_keys, *past_values, *cosines, *sines;
  const IrTensor *lengths, *positions; /* the latter nullable */
  gint64 *before;                      /* [batch] positions that were there */
  gint64 *valid;                       /* [batch] positions that are there now */
  float *turned;                       /* (nullable) queries, as they come, turned */
  float *keys, *values, *scratch[2];   /* present caches; those that nobody wants */
} Grouped;

static void
grouped_clear (Grouped *g)
{
  g_free (g->before);
  g_free (g->valid);
  g_free (g->turned);
  g_free (g->scratch[0]);
  g_free (g->scratch[1]);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Grouped, grouped_clear)

/* -- what there is -- */

static CpuRows
rows_of (const Grouped *g, const float *data, gint64 heads)
{
  return (CpuRows){ data, g->length * heads * g->size, g->size, heads * g->size };
}

static void
read_inputs (Grouped *g)
{
  const IrCall *call = g->call;
  gint64 all = g->heads + 2 * g->kv_heads;

  if (ir_call_has_input (call, 1))
    {
      g->q = rows_of (g, cpu_floats (call, 0), g->heads);
      g->k = rows_of (g, cpu_floats (call, 1), g->kv_heads);
      g->v = rows_of (g, cpu_floats (call, 2), g->kv_heads);
      return;
    }
  g->q = g->k = g->v = rows_of (g, cpu_floats (call, 0), all);
  g->k.data += g->heads * g->size;
  g->v.data += (g->heads + g->kv_heads) * g->size;
}

static void
read_sizes (Grouped *g)
{
  const IrCall *call = g->call;
  const gint64 *dims = ir_tensor_dims (ir_call_input (call, 0));
  gboolean packed = !ir_call_has_input (call, 1);

  g->batch = dims[0];
  g->length = dims[1];
  g->heads = ir_call_int (call, "num_heads", 1);
  g->kv_heads = ir_call_int (call, "kv_num_heads", 1);
  g->size = dims[2] / (packed ? g->heads + 2 * g->kv_heads : g->heads);
  g->past = ir_call_has_input (call, 3) ? ir_tensor_dims (ir_call_input (call, 3))[2] : 0;
  g->total = ir_tensor_n_elements (ir_call_input (call, 6)) == 1
                 ? ir_tensor_get_int64 (ir_call_input (call, 6), 0)
                 : 0;
  g->present = MAX (g->past, g->total);
  g->past_keys = cpu_floats (call, 3);
  g->past_values = cpu_floats (call, 4);
  g->lengths = ir_call_input (call, 5);
  g->positions = ir_call_input (call, 9);
}

/* FALSE: the angles do not fit. */
static gboolean
read_angles (Grouped *g)
{
  const IrTensor *cos = ir_call_input (g->call, 7), *sin = ir_call_input (g->call, 8);

  if (ir_call_int (g->call, "do_rotary", 0) == 0)
    return TRUE;
  g->cosines = cpu_floats (g->call, 7);
  g->sines = cpu_floats (g->call, 8);
  if (g->cosines == NULL || g->sines == NULL || ir_tensor_rank (cos) != 2 ||
      ir_tensor_n_elements (cos) != ir_tensor_n_elements (sin) || ir_tensor_dims (cos)[1] < 1 ||
      2 * ir_tensor_dims (cos)[1] > g->size)
    return FALSE;
  g->half = ir_tensor_dims (cos)[1];
  g->n_angles = ir_tensor_dims (cos)[0];
  g->interleaved = ir_call_int (g->call, "rotary_interleaved", 0) != 0;
  return g->positions == NULL ||
         ir_tensor_n_elements (g->positions) >= (guint64) (g->batch * g->length);
}

static gint64
position_of (const Grouped *g, gint64 b, gint64 s)
{
  return g->positions != NULL ? ir_tensor_get_int64 (g->positions, (guint64) (b * g->length + s))
                              : g->before[b] + s;
}

/* FALSE: a sample does not fit into the caches, or a position has no angles. */
static gboolean
read_lengths (Grouped *g)
{
  g->before = g_new (gint64, g->batch);
  g->valid = g_new (gint64, g->batch);
  for (gint64 b = 0; b < g->batch; b++)
    {
      gint64 length = ir_tensor_get_int64 (g->lengths, (guint64) b) + 1;
      g->before[b] = g->total == g->length ? 0 : length - g->length;
      g->valid[b] = g->before[b] + g->length;
      if (g->before[b] < 0 || g->before[b] > g->past || g->valid[b] > g->total)
        return FALSE;
      for (gint64 s = 0; g->half > 0 && s < g->length; s++)
        if (position_of (g, b, s) < 0 || position_of (g, b, s) >= g->n_angles)
          return FALSE;
    }
  return TRUE;
}

/* What is rare, and what has something wrong with it, is the reference's. */
static gboolean
takes (const Grouped *g)
{
  const IrCall *call = g->call;
  const IrTensor *bias = ir_call_input (call, 10);

  for (guint slot = 11; slot < 17; slot++)
    if (ir_call_has_input (call, slot))
      return FALSE;
  return ir_call_has_output (call, 0) && ir_call_int (call, "causal", 1) != 0 &&
         ir_call_int (call, "smooth_softmax", 0) != 1 && !ir_call_has_output (call, 3) &&
         ir_call_int (call, "sliding_window_cache", 0) == 0 &&
         ir_call_int (call, "qk_output", 0) == 0 && g->q.data != NULL && g->k.data != NULL &&
         g->v.data != NULL && (g->past == 0 || (g->past_keys != NULL && g->past_values != NULL)) &&
         ir_tensor_n_elements (g->lengths) == (guint64) g->batch && g->batch > 0 && g->length > 0 &&
         g->size > 0 && g->total > 0 && g->total <= CPU_MOST_KEYS &&
         (bias == NULL ||
          (ir_tensor_dtype (bias) == IR_DTYPE_FLOAT && ir_tensor_rank (bias) == 4 &&
           ir_tensor_dims (bias)[2] == g->length && ir_tensor_dims (bias)[3] >= g->total));
}

/* -- caches -- */

#define ORDINARY 1e15f /* products of numbers up to it are finite, and so are their sums */

/* Keys that a query does not see are multiplied, too, and weigh 0: no number is to come of them. */
CPU_VECTORIZED static gboolean
all_ordinary (const float *x, gint64 n)
{
  guint32 found = 0;

  for (gint64 i = 0; i < n; i++)
    found |= !(fabsf (x[i]) <= ORDINARY);
  return found == 0;
}

/* Writes the new rows of head @h of sample @b behind those that were there, zeros behind them. FALSE:
 * they hold what the loop cannot multiply. */
static gboolean
fill_cache (const Grouped *g, gint64 b, gint64 h, gboolean keys)
{
  const CpuRows *now = keys ? &g->k : &g->v;
  const float *past = keys ? g->past_keys : g->past_values;
  const float *from = now->data + b * now->batch + h * now->head;
  gint64 head = b * g->kv_heads + h, before = g->before[b], rest = 2 * g->half;
  float *to = (keys ? g->keys : g->values) + head * g->present * g->size;

  if (before > 0)
    memcpy (to, past + head * g->past * g->size, sizeof *to * (gsize) (before * g->size));
  to += before * g->size;
  for (gint64 s = 0; s < g->length; s++, from += now->row, to += g->size)
    {
      gint64 done = 0;
      if (keys && g->half > 0)
        {
          gint64 at = position_of (g, b, s) * g->half;
          cpu_turn_head (from, g->cosines + at, g->sines + at, g->half, g->interleaved, to);
          done = rest;
        }
      memcpy (to + done, from + done, sizeof *to * (gsize) (g->size - done));
    }
  memset (to, 0, sizeof *to * (gsize) ((g->present - g->valid[b]) * g->size));
  return all_ordinary (to - g->valid[b] * g->size, g->valid[b] * g->size);
}

/* Queries, turned into memory of their own. */
static void
turn_queries (const Grouped *g, gint64 b, gint64 s)
{
  gint64 at = position_of (g, b, s) * g->half, done = 2 * g->half;

  for (gint64 h = 0; h < g->heads; h++)
    {
      const float *from = g->q.data + b * g->q.batch + s * g->q.row + h * g->q.head;
      float *to = g->turned + ((b * g->length + s) * g->heads + h) * g->size;
      cpu_turn_head (from, g->cosines + at, g->sines + at, g->half, g->interleaved, to);
      memcpy (to + done, from + done, sizeof *to * (gsize) (g->size - done));
    }
}

/* FALSE: this is left to the reference. */
static gboolean
fill (Grouped *g)
{
  gboolean ordinary = TRUE;
  gint64 n_caches = 2 * g->batch * g->kv_heads, n_rows = g->batch * g->length;
  int n_threads = cpu_n_threads (g->call, (guint64) (n_caches * g->present * g->size));
  CpuWatch watch = cpu_watch (g->call, g->present * g->size);

#pragma omp parallel for num_threads(n_threads) schedule(static)
  for (gint64 i = 0; i < n_caches; i++)
    if (!cpu_watch_stopped (&watch, i) &&
        !fill_cache (g, i / 2 / g->kv_heads, i / 2 % g->kv_heads, i % 2 == 0))
#pragma omp atomic write
      ordinary = FALSE;
  for (gint64 row = 0; g->turned != NULL && row < n_rows && !cpu_watch_stopped (&watch, row); row++)
    turn_queries (g, row / g->length, row % g->length);
  return ordinary &&
         all_ordinary (g->turned != NULL ? g->turned : g->q.data,
                       g->turned != NULL ? n_rows * g->heads * g->size : g->batch * g->q.batch);
}

static float *
cache_new (Grouped *g, guint slot, GError **error)
{
  const gint64 dims[] = { g->batch, g->kv_heads, g->present, g->size };

  if (ir_call_has_output (g->call, slot))
    return cpu_new_floats_shaped (g->call, slot, 4, dims, error);
  float *memory = g_try_malloc_n ((gsize) (g->batch * g->kv_heads),
                                  sizeof (float) * (gsize) (g->present * g->size));
  if (memory == NULL)
    ir_call_fail (g->call, error, IR_OP_ERROR_LIMIT, "no memory for past and present together");
  return g->scratch[slot - 1] = memory;
}

/* -- attention -- */

static gboolean
attend (const Grouped *g, float *y)
{
  gint64 group = g->heads / g->kv_heads, window = ir_call_int (g->call, "local_window_size", -1);
  double scale = ir_call_float (g->call, "scale", 0);
  CpuAttention a = { .batch = g->batch,
                     .q_heads = g->heads,
                     .kv_heads = g->kv_heads,
                     .queries = g->length,
                     .keys = g->total,
                     .size = g->size,
                     .v_size = g->size,
                     .mask = ir_call_input (g->call, 10),
                     .valid = g->valid,
                     .right = -1,
                     .left = window > 0 ? window - 1 : -1,
                     .causal = TRUE,
                     .empty = NAN,
                     .softcap = (float) ir_call_float (g->call, "softcap", 0) };

  a.scale = (float) (scale != 0 ? scale : 1 / sqrt ((double) g->size));
  a.q = g->turned != NULL ? rows_of (g, g->turned, g->heads) : g->q;
  a.k = (CpuRows){ g->keys, g->kv_heads * g->present * g->size, g->present * g->size, g->size };
  a.v = (CpuRows){ g->values, a.k.batch, a.k.head, a.k.row };
  CpuRows out = rows_of (g, y, g->heads);
  if (g->length == 1 && a.mask == NULL && window < 1)
    {
      a.q_heads = g->kv_heads;
      a.queries = group;
      a.causal = FALSE;
      a.q.row = a.q.head;
      a.q.head = out.head = group * g->size;
      out.row = g->size;
    }
  return a.scale > 0 && cpu_attend (g->call, &a, &out);
}

static gboolean
run_group_query (IrCall *call, GError **error)
{
  g_auto (Grouped) g = { .call = call };

  if (!call->op->infer (call, error))
    return FALSE;
  read_sizes (&g);
  read_inputs (&g);
  if (!takes (&g) || !read_angles (&g) || !read_lengths (&g))
    return ir_ref_run (call, error);
  if (g.half > 0 &&
      (g.turned = g_try_malloc_n ((gsize) (g.batch * g.length),
                                  sizeof (float) * (gsize) (g.heads * g.size))) == NULL)
    return ir_call_fail (call, error, IR_OP_ERROR_LIMIT, "no memory for turned queries");
  const gint64 dims[] = { g.batch, g.length, g.heads * g.size };
  float *y = cpu_new_floats_shaped (call, 0, 3, dims, error);
  if (y == NULL || (g.keys = cache_new (&g, 1, error)) == NULL ||
      (g.values = cache_new (&g, 2, error)) == NULL)
    return FALSE;
  return (fill (&g) && attend (&g, y)) ||
         (!ir_call_fail_if_stopped (call, error) && ir_ref_run (call, error));
}

const IrCpuKernel cpu_group_query = { .name = "oneDNN sgemm, row softmax",
                                      .refuses = cpu_needs_first_float,
                                      .run = run_group_query };
