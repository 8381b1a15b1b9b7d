/* Rotary positions: each element of a head is turned against the other one of its pair. */
#include "config.h"

#include "core/exec/gpu/writer.h"
#include "core/op/infer-util.h"

#include <string.h>

#define I64 "%" G_GINT64_FORMAT

static const GpuElement *
put_operands (GpuWriter *w)
{
  const GpuElement *e = gpu_put_input (w, "x", 0);

  if (e == NULL || !gpu_is_real (e->compute) || gpu_put_input (w, "cosines", 1) != e ||
      gpu_put_input (w, "sines", 2) != e)
    {
      gpu_refuse (w, gpu_no_element);
      return NULL;
    }
  gpu_put_element (w, e);
  gpu_put_output (w, "y", 0);
  return e;
}

/* -- of the standard -- */

static const char *
emit_rotary (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  gint64 rotated = ir_call_int (call, "rotary_embedding_dim", 0), size, heads, length;
  gboolean pairs = ir_call_int (call, "interleaved", 0) != 0;
  g_auto (GpuWriter) w;
  GpuShape x, cosines;

  gpu_writer_init (&w, program, call, "rotary");
  if (put_operands (&w) == NULL || !gpu_shape_of_input (&w, 0, &x) ||
      !gpu_shape_of_input (&w, 1, &cosines))
    return w.why;
  if (x.n == 0)
    return NULL;
  heads = x.rank == 4 ? x.dims[1] : ir_call_int (call, "num_heads", 1);
  length = x.rank == 4 ? x.dims[2] : x.dims[1];
  if ((x.rank != 3 && x.rank != 4) || heads < 1)
    return gpu_refuse (&w, "its heads do not fit");
  size = x.rank == 4 ? x.dims[3] : x.dims[2] / heads;
  gpu_put_int (&w, "size", size);
  gpu_put_int (&w, "half", MAX ((rotated > 0 ? rotated : size) / 2, 1));
  gpu_put_int (&w, "rotated", (rotated > 0 ? rotated : size) / 2 * 2);
  gpu_put_int (&w, "positions", cosines.dims[0]);
  GString *places = g_string_new ("  k_i64 d = i % $size, p, first, at;\n");
  g_string_append_printf (places, "  at = i / " I64 " * " I64 " + i / " I64 " %% " I64 ";\n",
                          heads * length * size, length, x.rank == 4 ? size : heads * size, length);
  g_string_append (places, pairs ? "  p = d / 2, first = d % 2 == 0;\n"
                                 : "  p = d % $half, first = d < $half;\n");
  if (ir_call_has_input (call, 3))
    {
      gpu_put_input (&w, "ids", 3);
      gpu_put_fault (&w);
      g_string_append (places,
                       "  at = (k_i64) K_LOAD (ids, at);\n  at += at < 0 ? $positions : 0;\n"
                       "  if (at < 0 || at >= $positions)\n"
                       "    {\n      K_FAULT (fault, 2u);\n      return;\n    }\n");
    }
  g_string_append (places, "  if (d >= $rotated)\n    {\n      K_STORE (y, i, K_LOAD (x, i));\n"
                           "      return;\n    }\n");
  g_string_append_printf (
      places,
      "  $compute here = $load (K_LOAD (x, i)), there = $load (K_LOAD (x, first "
      "? i + %s : i - %s));\n"
      "  $compute c = $load (K_LOAD (cosines, at * $half + p));\n"
      "  $compute s = $load (K_LOAD (sines, at * $half + p));",
      pairs ? "1" : "$half", pairs ? "1" : "$half");
  gpu_put_text (&w, "places", g_string_free (places, FALSE));
  gpu_put (
      &w, "result",
      "first ? r_$name (c * here) - r_$name (s * there) : r_$name (s * there) + r_$name (c * here)");
  return gpu_write_each (&w, "rotary", x.n);
}

/* -- of the domain irscope -- */

/* Where cosines or sines are: they broadcast to X, or to [batch, heads, positions, size] where X is
 * [batch, positions, heads, size]. */
static gboolean
add_angles (GpuWriter *w, GpuLoop *loop, guint slot, gboolean swapped)
{
  GpuShape own;

  if (!gpu_shape_of_input (w, slot, &own))
    return FALSE;
  if (own.rank > loop->rank)
    {
      gpu_refuse (w, "cosines or sines do not broadcast to X");
      return FALSE;
    }
  if (!swapped)
    {
      gpu_loop_add_broadcast (loop, &own);
      return TRUE;
    }
  gint64 dim = loop->dims[1];
  loop->dims[1] = loop->dims[2];
  loop->dims[2] = dim;
  gpu_loop_add_broadcast (loop, &own);
  gint64 *strides = loop->strides[loop->n_operands - 1], stride = strides[1];
  strides[1] = strides[2];
  strides[2] = stride;
  loop->dims[2] = loop->dims[1];
  loop->dims[1] = dim;
  return TRUE;
}

static const char *
emit_turned (IrCall *call, IrGpuProgram *program, gboolean pairs)
{
  gint64 heads = ir_call_int (call, "num_heads", 0), size;
  g_auto (GpuWriter) w;
  GpuShape x;
  GpuLoop loop;

  gpu_writer_init (&w, program, call, "rotary");
  if (put_operands (&w) == NULL || !gpu_shape_of_input (&w, 0, &x) || x.rank == 0)
    return gpu_refuse (&w, gpu_unknown_shape);
  if (x.n == 0)
    return NULL;
  if (heads > 0)
    {
      if (x.rank != 3)
        return gpu_refuse (&w, "its heads do not fit");
      x.dims[3] = x.dims[2] / heads;
      x.dims[2] = heads;
      x.rank = 4;
    }
  size = x.dims[x.rank - 1];
  gpu_loop_init (&loop, &x);
  if (!add_angles (&w, &loop, 1, heads > 0) || !add_angles (&w, &loop, 2, heads > 0))
    return w.why;
  gpu_loop_join (&loop);
  gpu_put_loop (&w, "offsets", &loop, "i");
  gpu_put_int (&w, "half", size / 2);
  gpu_put_int (&w, "first", size - size / 2);
  gpu_put (&w, "places",
           "$offsets  k_i64 d = i %% " I64 ";\n"
           "  $compute there = %s;",
           size,
           pairs ? "d % 2 == 0 ? -$load (K_LOAD (x, i + 1)) : $load (K_LOAD (x, i - 1))"
                 : "d < $first ? -$load (K_LOAD (x, i + $half)) : $load (K_LOAD (x, i - $first))");
  gpu_put (
      &w, "result",
      "r_$name ($load (K_LOAD (x, i)) * $load (K_LOAD (cosines, o0))) + r_$name (there * $load (K_LOAD (sines, o1)))");
  return gpu_write_each (&w, "rotary", x.n);
}

static const char *
emit_half_rotary (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  return emit_turned (call, program, FALSE);
}

static const char *
emit_pair_rotary (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  return emit_turned (call, program, TRUE);
}

const IrGpuKernel gpu_rotary = { "rotary", emit_rotary };
const IrGpuKernel gpu_half_rotary = { "half-rotary", emit_half_rotary };
const IrGpuKernel gpu_pair_rotary = { "pair-rotary", emit_pair_rotary };
