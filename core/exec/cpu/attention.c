/* Attention in float32: for each head and each block of queries, the scores by dnnl_sgemm, the mask
 * and the softmax in one walk over a row that is still in cache, and the weighted values by
 * dnnl_sgemm again. The scores of one block are all that is held of them. Blocks are shared out
 * among threads; inside of one, oneDNN runs on that thread alone. */
#include "config.h"

#include "core/exec/cpu/attention.h"
#include "core/exec/ref/ref.h"

#include <math.h>
#include <oneapi/dnnl/dnnl.h>
#include <string.h>

#define BLOCK_ROWS 64   /* queries at a time: enough for sgemm, scores stay in L2 */
#define LEAST_TASK 1024 /* elements of a vector loop: the least that a block takes */

static CpuRows
rows_of (const IrTensor *tensor, gint64 n_heads, gint64 *heads, gint64 *length, gint64 *size)
{
  const gint64 *dims = ir_tensor_dims (tensor);
  CpuRows rows = { .data = ir_tensor_data (tensor) };

  if (ir_tensor_rank (tensor) == 4)
    {
      *heads = dims[1];
      *length = dims[2];
      *size = rows.row = dims[3];
      rows.head = *length * *size;
      rows.batch = *heads * rows.head;
      return rows;
    }
  *heads = n_heads;
  *length = dims[1];
  *size = rows.head = dims[2] / n_heads;
  rows.row = dims[2];
  rows.batch = dims[1] * dims[2];
  return rows;
}

static gboolean
is_packed (const IrOp *op)
{
  return ir_op_attr (op, "num_heads") != NULL;
}

/* Where the mask is among the inputs. */
static guint
mask_slot (const IrOp *op)
{
  return is_packed (op) ? 1 : 3;
}

/* Queries, keys and values that lie side by side in the last axis of one input. */
static void
packed_init (CpuAttention *a, const IrTensor *qkv, gint64 n_heads)
{
  a->q = rows_of (qkv, n_heads, &a->q_heads, &a->queries, &a->size);
  a->size = a->v_size = a->q.head = a->size / 3;
  a->kv_heads = a->q_heads;
  a->keys = a->queries;
  a->k = a->v = a->q;
  a->k.data += a->q_heads * a->size;
  a->v.data += 2 * a->q_heads * a->size;
}

static void
separate_init (CpuAttention *a, const IrCall *call)
{
  gint64 heads, length;

  a->q = rows_of (ir_call_input (call, 0), ir_call_int (call, "q_num_heads", 1), &a->q_heads,
                  &a->queries, &a->size);
  a->k = rows_of (ir_call_input (call, 1), ir_call_int (call, "kv_num_heads", 1), &a->kv_heads,
                  &a->keys, &a->size);
  a->v = rows_of (ir_call_input (call, 2), ir_call_int (call, "kv_num_heads", 1), &heads, &length,
                  &a->v_size);
}

static void
attention_init (CpuAttention *a, const IrCall *call)
{
  const IrTensor *nonpad = ir_call_input (call, 6);
  gboolean ours = g_strcmp0 (call->op->domain, "irscope") == 0;

  a->batch = ir_tensor_dims (ir_call_input (call, 0))[0];
  if (is_packed (call->op))
    packed_init (a, ir_call_input (call, 0), ir_call_int (call, "num_heads", 1));
  else
    separate_init (a, call);
  a->past = ir_call_has_input (call, 4) ? ir_tensor_dims (ir_call_input (call, 4))[2] : 0;
  a->mask = ir_call_input (call, mask_slot (call->op));
  a->selects = ir_op_attr (call->op, "fill") != NULL;
  a->fill = (float) ir_call_float (call, "fill", 0);
  a->safe = (call->op->flags & IR_OP_SAFE_WEIGHTS) != 0;
  a->empty = ours && !a->safe ? NAN : 0;
  a->valid = nonpad != NULL ? ir_tensor_data (nonpad) : NULL;
  /* Far beyond any position, yet positions can be added to it. */
  a->left = MIN (ir_call_int (call, "left_window_size", -1), G_MAXINT64 / 4);
  a->right = MIN (ir_call_int (call, "right_window_size", -1), G_MAXINT64 / 4);
  a->causal = ir_call_int (call, "is_causal", 0) != 0;
  a->pads_mask = !ours && (call->opset <= 0 || call->opset >= 24);
  a->scale = (float) ir_call_float (call, "scale", 1 / sqrt ((double) MAX (a->size, 1)));
  a->softcap = (float) ir_call_float (call, "softcap", 0);
}

/* -- keys and values with the past before them -- */

static void
join (const IrCall *call,
      const float *past,
      gint64 n_past,
      const CpuRows *now,
      const CpuAttention *a,
      gint64 length,
      gint64 size,
      float *to)
{
  for (gint64 i = 0; i < a->batch * a->kv_heads; i++)
    {
      const float *from = now->data + i / a->kv_heads * now->batch + i % a->kv_heads * now->head;
      if (n_past > 0)
        memcpy (to, past + i * n_past * size, sizeof (float) * n_past * size);
      to += n_past * size;
      for (gint64 row = 0; row < length; row++, to += size)
        memcpy (to, from + row * now->row, sizeof (float) * size);
    }
}

/* Where the rows of past and present are needed in one place: the present output, or @scratch. */
static gboolean
join_input (IrCall *call,
            const CpuAttention *a,
            guint slot,
            gint64 size,
            CpuRows *rows,
            float **scratch,
            GError **error)
{
  gint64 total = a->past + a->keys, dims[] = { a->batch, a->kv_heads, total, size };
  gboolean wanted = ir_call_has_output (call, slot);
  float *to;

  if (a->past == 0 && !wanted)
    return TRUE;
  if (wanted)
    to = cpu_new_floats_shaped (call, slot, 4, dims, error);
  else
    to = *scratch = g_try_malloc_n (MAX (a->batch * a->kv_heads * total * size, 1), sizeof (float));
  if (to == NULL)
    return wanted ? FALSE
                  : ir_call_fail (call, error, IR_OP_ERROR_LIMIT,
                                  "no memory for past and present together");
  join (call, cpu_floats (call, 3 + slot), a->past, rows, a, a->keys, size, to);
  *rows = (CpuRows){ to, a->kv_heads * total * size, total * size, size };
  return TRUE;
}

/* -- one row of scores -- */

/* Keys [first, end) that the query sees by window, causality and padding. */
static void
visible (const CpuAttention *a, gint64 batch, gint64 row, gint64 *first, gint64 *end)
{
  gint64 total = a->past + a->keys;
  gint64 valid = a->valid != NULL ? a->valid[batch] : total;
  gint64 position = row + (a->valid != NULL ? valid - a->queries : a->past);

  *first = a->left >= 0 ? MAX (position - a->left, 0) : 0;
  *end = MIN (valid, total);
  if (a->causal)
    *end = MIN (*end, position + 1);
  if (a->right >= 0)
    *end = MIN (*end, position + a->right + 1);
  *end = MAX (*end, *first);
}

CPU_VECTORIZED static void
add_floats (float *x, const float *y, gint64 n)
{
  for (gint64 i = 0; i < n; i++)
    x[i] += y[i];
}

CPU_VECTORIZED static void
hide (float *x, const guint8 *keep, gint64 n)
{
  for (gint64 i = 0; i < n; i++)
    x[i] += keep[i] ? 0 : -INFINITY;
}

/* Whether a score stays NaN, or becomes it, when -infinity is added to it. */
CPU_VECTORIZED static gboolean
outlives_mask (const float *x, gint64 n, gboolean capped)
{
  guint32 found = 0;

  if (capped)
    for (gint64 i = 0; i < n; i++)
      found |= x[i] != x[i];
  else
    for (gint64 i = 0; i < n; i++)
      found |= !(x[i] < INFINITY);
  return found != 0;
}

CPU_VECTORIZED static void
replace (float *x, const guint8 *keep, float fill, gint64 n)
{
  for (gint64 i = 0; i < n; i++)
    x[i] = keep[i] ? x[i] : fill;
}

/* Adds the mask to the visible scores; narrows @end where the mask is short. Its own row is read in
 * place: axes of size 1 repeat. %FALSE: all keys are masked. */
static gboolean
apply_mask (const CpuAttention *a,
            gint64 batch,
            gint64 head,
            gint64 row,
            gint64 first,
            gint64 *end,
            float *x)
{
  guint rank = ir_tensor_rank (a->mask);
  const gint64 *dims = ir_tensor_dims (a->mask);
  gint64 place[] = { batch, head, row }, start = 0, width = dims[rank - 1];
  gboolean bools = ir_tensor_dtype (a->mask) == IR_DTYPE_BOOL, some = FALSE;

  for (guint i = 0; i + 1 < rank; i++)
    start = start * dims[i] + (dims[i] == 1 ? 0 : place[4 - rank + i]);
  start *= width;
  gboolean repeats = width == 1 && !a->pads_mask;
  if (!repeats)
    *end = MAX (MIN (*end, width), first);
  const float *add = bools ? NULL : (const float *) ir_tensor_data (a->mask) + start;
  const guint8 *keep = bools ? (const guint8 *) ir_tensor_data (a->mask) + start : NULL;
  if (a->selects && repeats)
    for (gint64 j = first; j < *end; j++)
      x[j] = keep[0] ? x[j] : a->fill;
  else if (a->selects)
    replace (x + first, keep + first, a->fill, *end - first);
  if (a->selects)
    return TRUE;
  for (gint64 j = first; j < *end && !some; j++)
    some = bools ? keep[repeats ? 0 : j] != 0 : add[repeats ? 0 : j] != -INFINITY;
  if (!some)
    return FALSE;
  if (repeats)
    for (gint64 j = first; j < *end; j++)
      x[j] += bools ? 0 : add[0];
  else if (bools)
    hide (x + first, keep + first, *end - first);
  else
    add_floats (x + first, add + first, *end - first);
  return TRUE;
}

static void
cap (float *x, gint64 n, float bound)
{
  for (gint64 i = 0; i < n; i++)
    x[i] = tanhf (x[i] / bound) * bound;
}

/* Scores to weights; keys that are not seen weigh 0, unless they poison the row as a sum would. */
static void
weigh_row (const CpuAttention *a, gint64 batch, gint64 head, gint64 row, float *x)
{
  gint64 total = a->past + a->keys, first, end;
  gboolean capped = a->softcap > 0, some;

  visible (a, batch, row, &first, &end);
  if (capped)
    cap (x + first, end - first, a->softcap);
  some = first < end && (a->mask == NULL || apply_mask (a, batch, head, row, first, &end, x));
  if (some && ((first > 0 && outlives_mask (x, first, capped)) ||
               (end < total && outlives_mask (x + end, total - end, capped))))
    x[first] = NAN;
  if (!some)
    {
      for (gint64 j = 0; j < total; j++)
        x[j] = a->empty;
      return;
    }
  if (first > 0)
    memset (x, 0, sizeof (float) * first);
  if (end > first)
    cpu_softmax_row (x + first, x + first, end - first);
  if (end > first && a->safe && isnan (x[first])) /* then all of the row are */
    memset (x + first, 0, sizeof (float) * (end - first));
  if (end < total)
    memset (x + end, 0, sizeof (float) * (total - end));
}

/* -- blocks -- */

/* CpuRows [first, first + n) of one head of queries. */
static gboolean
attend_block (const IrCall *call,
              const CpuAttention *a,
              gint64 batch,
              gint64 head,
              gint64 first,
              gint64 n,
              float *scores,
              const CpuRows *y)
{
  gint64 total = a->past + a->keys, kv_head = head / (a->q_heads / a->kv_heads);
  const float *q = a->q.data + batch * a->q.batch + head * a->q.head + first * a->q.row;
  const float *k = a->k.data + batch * a->k.batch + kv_head * a->k.head;
  const float *v = a->v.data + batch * a->v.batch + kv_head * a->v.head;
  float *out = (float *) y->data + batch * y->batch + head * y->head + first * y->row;

  CpuProduct scored = { .m = n, .n = total, .k = a->size, .alpha = a->scale, .y = scores };
  scored.a = (CpuMatrix){ q, a->q.row, FALSE };
  scored.b = (CpuMatrix){ k, a->k.row, TRUE };
  scored.y_distance = total;
  if (!cpu_multiply (call, &scored))
    return FALSE;
  for (gint64 i = 0; i < n; i++)
    weigh_row (a, batch, head, first + i, scores + i * total);
  CpuProduct weighed = { .m = n, .n = a->v_size, .k = total, .alpha = 1, .y = out };
  weighed.a = (CpuMatrix){ scores, total, FALSE };
  weighed.b = (CpuMatrix){ v, a->v.row, FALSE };
  weighed.y_distance = y->row;
  return cpu_multiply (call, &weighed);
}

/* All of it; FALSE: it was to stop, or something failed. */
gboolean
cpu_attend (const IrCall *call, const CpuAttention *a, const CpuRows *y)
{
  gint64 total = a->past + a->keys, n_blocks = (a->queries + BLOCK_ROWS - 1) / BLOCK_ROWS;
  gint64 n_tasks = a->batch * a->q_heads * n_blocks;
  guint64 work = (guint64) (a->batch * a->q_heads * a->queries) * (guint64) total *
                 (guint64) (a->size + a->v_size) / 64;
  int n_threads = (int) MIN (cpu_n_threads (call, work), n_tasks);
  gboolean done = TRUE;
  gint64 next = 0; /* atomic: the task that nobody has taken yet */

  CpuWatch watch = cpu_watch (call, MAX ((gint64) (work / MAX ((guint64) n_tasks, 1)), LEAST_TASK));
  cpu_library_threads (call, n_threads); /* where one is a region that OpenMP does not count */
#pragma omp parallel num_threads(n_threads)
  {
    float *scores = g_try_malloc_n (MIN (a->queries, BLOCK_ROWS) * total, sizeof (float));
    for (gint64 task; (task = __atomic_fetch_add (&next, 1, __ATOMIC_RELAXED)) < n_tasks &&
                      !cpu_watch_stopped (&watch, task);)
      {
        gint64 head = task / n_blocks, first = task % n_blocks * BLOCK_ROWS;
        if (scores == NULL || !attend_block (call, a, head / a->q_heads, head % a->q_heads, first,
                                             MIN (BLOCK_ROWS, a->queries - first), scores, y))
#pragma omp atomic write
          done = FALSE;
      }
    g_free (scores);
  }
  return done;
}

/* What is rare, or has no elements to multiply, is left to the reference. */
static gboolean
takes (const IrCall *call, const CpuAttention *a)
{
  gint64 precision = ir_call_int (call, "softmax_precision", IR_DTYPE_FLOAT);
  gint64 total = a->past + a->keys;

  return !ir_call_has_output (call, 3) && ir_call_has_output (call, 0) &&
         precision == IR_DTYPE_FLOAT && a->batch > 0 && a->q_heads > 0 && a->kv_heads > 0 &&
         a->queries > 0 && total > 0 && a->size > 0 && a->v_size > 0 && a->scale > 0 &&
         total <= CPU_MOST_KEYS &&
         (a->mask == NULL || ir_tensor_dtype (a->mask) == IR_DTYPE_BOOL ||
          (ir_tensor_dtype (a->mask) == IR_DTYPE_FLOAT && !a->selects));
}

static gboolean
nonpad_fits (const IrCall *call, const CpuAttention *a)
{
  const IrTensor *nonpad = ir_call_input (call, 6);

  if (nonpad != NULL && ir_tensor_dtype (nonpad) != IR_DTYPE_INT64)
    return FALSE;
  for (gint64 i = 0; a->valid != NULL && i < a->batch; i++)
    if (a->valid[i] < 0 || a->valid[i] > a->keys)
      return FALSE;
  return TRUE;
}

static gboolean
run_attention (IrCall *call, GError **error)
{
  g_autofree float *keys = NULL;
  g_autofree float *values = NULL;
  gint64 dims[4], heads, length, size;
  CpuAttention a;

  if (!call->op->infer (call, error))
    return FALSE;
  attention_init (&a, call);
  if (!takes (call, &a) || !nonpad_fits (call, &a))
    return ir_ref_run (call, error);
  const IrTensor *q = ir_call_input (call, 0);
  memcpy (dims, ir_tensor_dims (q), sizeof *dims * ir_tensor_rank (q));
  dims[ir_tensor_rank (q) - 1] = ir_tensor_rank (q) == 4 ? a.v_size : a.q_heads * a.v_size;
  if (cpu_new_floats_shaped (call, 0, ir_tensor_rank (q), dims, error) == NULL ||
      !join_input (call, &a, 1, a.size, &a.k, &keys, error) ||
      !join_input (call, &a, 2, a.v_size, &a.v, &values, error))
    return FALSE;
  CpuRows y = rows_of (call->outputs[0].tensor, a.q_heads, &heads, &length, &size);
  return cpu_attend (call, &a, &y) ||
         (!ir_call_fail_if_stopped (call, error) && ir_ref_run (call, error));
}

static const char *
refuses_attention (const IrNode *node)
{
  return cpu_needs_floats (node, 0x3f & ~(1u << mask_slot (node->op)));
}

const IrCpuKernel cpu_attention = { .name = "oneDNN sgemm, row softmax",
                                    .refuses = refuses_attention,
                                    .run = run_attention };
const IrCpuKernel cpu_packed_attention = { .name = "oneDNN sgemm, row softmax",
                                           .refuses = refuses_attention,
                                           .run = run_attention };
