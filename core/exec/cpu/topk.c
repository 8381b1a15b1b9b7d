/* TopK in float32: a heap of the best so far, the worst of them at its root. NaN counts as the
 * largest; of equals the first is better. */
#include "config.h"

#include "core/exec/cpu/cpu.h"
#include "core/op/infer-util.h"

#include <math.h>

#define SIFTED 64 /* elements of a vector loop in the time that one goes down the whole heap */

typedef struct
{
  float value;
  gint64 place;
} Candidate;

static inline gboolean
better (const Candidate *a, const Candidate *b, gboolean largest)
{
  gboolean nan_a = isnan (a->value), nan_b = isnan (b->value);

  if (nan_a != nan_b)
    return nan_a == largest;
  if (a->value == b->value || nan_a)
    return a->place < b->place;
  return (a->value > b->value) == largest;
}

/* The element at @i goes down to where it is worse than those below it. */
static void
sift_down (Candidate *heap, gint64 n, gint64 i, gboolean largest)
{
  Candidate moved = heap[i];

  for (gint64 child = 2 * i + 1; child < n; child = 2 * i + 1)
    {
      if (child + 1 < n && better (&heap[child], &heap[child + 1], largest))
        child++;
      if (!better (&moved, &heap[child], largest))
        break;
      heap[i] = heap[child];
      i = child;
    }
  heap[i] = moved;
}

static void
select_best (const float *x, gint64 n, gint64 step, Candidate *heap, gint64 k, gboolean largest)
{
  for (gint64 i = 0; i < k; i++)
    heap[i] = (Candidate){ x[i * step], i };
  for (gint64 i = k / 2; i > 0; i--)
    sift_down (heap, k, i - 1, largest);
  for (gint64 i = k; i < n; i++)
    {
      Candidate next = { x[i * step], i };

      if (!better (&next, &heap[0], largest))
        continue;
      heap[0] = next;
      sift_down (heap, k, 0, largest);
    }
  for (gint64 left = k - 1; left > 0; left--)
    {
      Candidate worst = heap[0];

      heap[0] = heap[left];
      heap[left] = worst;
      sift_down (heap, left, 0, largest);
    }
}

static gboolean
run (IrCall *call, GError **error)
{
  const IrTensor *in = ir_call_input (call, 0);
  gboolean largest = ir_call_int (call, "largest", 1) != 0;
  const float *x = ir_tensor_data (in);
  float *values = NULL;
  gint64 *places = NULL;
  gint64 axis, k;

  if (!ir_call_axis (call, ir_call_int (call, "axis", -1), (int) ir_tensor_rank (in), &axis, error))
    return FALSE;
  CpuSplit split = cpu_split_axes (in, axis, axis + 1);
  for (guint slot = 0; slot < 2; slot++)
    if (call->outputs[slot].type == NULL || !ir_type_is_static (call->outputs[slot].type))
      return ir_ref_run (call, error);
  k = call->outputs[0].type->dims[axis];
  if (ir_call_has_output (call, 0) && (values = cpu_new_output (call, 0, error)) == NULL)
    return FALSE;
  if (ir_call_has_output (call, 1) && (places = cpu_new_output (call, 1, error)) == NULL)
    return FALSE;
  g_autofree Candidate *heap = g_try_new (Candidate, MAX (k, 1));
  if (heap == NULL || k > split.middle)
    return ir_ref_run (call, error);
  CpuWatch watch = cpu_watch (call, split.middle * SIFTED);
  for (gint64 line = 0; k > 0 && line < split.outer * split.inner; line++)
    {
      gint64 outer = line / split.inner, inner = line % split.inner;

      if (cpu_watch_stopped (&watch, line))
        break;
      select_best (x + outer * split.middle * split.inner + inner, split.middle, split.inner, heap,
                   k, largest);
      for (gint64 i = 0; i < k; i++)
        {
          gint64 to = (outer * k + i) * split.inner + inner;

          if (values != NULL)
            values[to] = heap[i].value;
          if (places != NULL)
            places[to] = heap[i].place;
        }
    }
  return TRUE;
}

const IrCpuKernel cpu_top_k = { .name = "heap", .refuses = cpu_needs_first_float, .run = run };
