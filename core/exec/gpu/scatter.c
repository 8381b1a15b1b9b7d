/* What goes to places that are computed, and what comes from there by tuples of indices. */
#include "config.h"

#include "core/exec/gpu/writer.h"
#include "core/op/infer-window.h"

#define I64 "%" G_GINT64_FORMAT

#define PART         16    /* places of a line that one thread has at least */
#define MOST_THREADS 32768 /* of a line with many places, unless it takes more for other reasons */

/* What becomes of an element a when b comes to it, by the attribute reduction. */
static const struct
{
  const char *name, *real, *whole;
} combines[] = {
  { "none", "b", "b" },
  { "add", "a + b", "(k_i64) ((k_u64) a + (k_u64) b)" },
  { "mul", "a * b", "(k_i64) ((k_u64) a * (k_u64) b)" },
  { "max", "a > b || a != a ? a : b", "a < b ? b : a" },
  { "min", "a < b || a != a ? a : b", "a < b ? a : b" },
};

static const char *
combine_text (const IrCall *call, const GpuElement *element)
{
  const char *name = ir_call_string (call, "reduction", "none");

  for (guint i = 0; i < G_N_ELEMENTS (combines); i++)
    if (g_str_equal (combines[i].name, name))
      return gpu_is_real (element->compute) ? combines[i].real : combines[i].whole;
  return NULL;
}

/* Parameters x, indices, updates, y. Elements that are replaced keep their bits. */
static gboolean
put_scatter (GpuWriter *w)
{
  const GpuElement *e = gpu_element (ir_call_input_dtype (w->call, 0));
  gboolean replace = g_str_equal (ir_call_string (w->call, "reduction", "none"), "none");

  if (e == NULL || gpu_element (ir_call_input_dtype (w->call, 2)) != e ||
      combine_text (w->call, e) == NULL)
    {
      gpu_refuse (w, gpu_no_element);
      return FALSE;
    }
  gpu_put_moved (w, "x", IR_GPU_INPUT, 0);
  gpu_put_input (w, "indices", 1);
  gpu_put_moved (w, "updates", IR_GPU_INPUT, 2);
  gpu_put_moved (w, "y", IR_GPU_OUTPUT, 0);
  gpu_put_fault (w);
  gpu_put (w, "combine", "%s", combine_text (w->call, e));
  gpu_put (w, "copied", "K_LOAD (x, o0 + k * $stride)");
  /* The words in memory have the types of moved elements: floats of four and eight bytes by their bits. */
  gpu_put (w, "compute", "%s", replace ? gpu_word (e->dtype) : e->compute);
  gpu_put (w, "load", "%s", replace ? "" : e->load);
  gpu_put (w, "store", "%s", replace ? "" : e->store);
  if (!replace)
    {
      w->n_args = 0;
      g_string_truncate (w->parameters, 0);
      gpu_put_input (w, "x", 0);
      gpu_put_input (w, "indices", 1);
      gpu_put_input (w, "updates", 2);
      gpu_put_output (w, "y", 0);
      gpu_put_fault (w);
    }
  return w->why == NULL;
}

static const char *
write_scatter (GpuWriter *w, guint64 lines, gint64 size, gint64 stride, gint64 n_updates)
{
  gint64 part;

  if (lines == 0 || size == 0)
    return w->why;
  part = MAX (PART, (gint64) ((guint64) size / MAX (MOST_THREADS / lines, 1) + 1));
  gpu_put_int (w, "lines", (gint64) lines);
  gpu_put_int (w, "size", size);
  gpu_put_int (w, "stride", stride);
  gpu_put_int (w, "part", part);
  gpu_put_int (w, "n_updates", n_updates);
  return gpu_write_each (w, "scatter", lines * (guint64) ((size + part - 1) / part));
}

/* Text that makes index @place of an axis of @size a place, and tells where it is outside. */
static void
print_index (GString *text, const char *place, gint64 size)
{
  g_string_append_printf (text,
                          "      j = (k_i64) $load_indices (K_LOAD (indices, %s));\n"
                          "      j += j < 0 ? " I64 " : 0;\n"
                          "      outside = outside || j < 0 || j >= " I64 ";\n"
                          "      t = t * " I64 " + j;\n",
                          place, size, size, size);
}

/* A line goes along the axis; of the indices it has those at the same place off the axis. */
static const char *
emit_scatter_elements (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  gint64 axis = ir_call_int (call, "axis", 0), own[IR_MAX_RANK], at[IR_MAX_RANK];
  g_auto (GpuWriter) w;
  GpuShape x, indices, lines;
  GpuLoop loop;

  gpu_writer_init (&w, program, call, "scatter");
  if (!put_scatter (&w) || !gpu_shape_of_input (&w, 0, &x) ||
      !gpu_shape_of_input (&w, 1, &indices) || x.rank == 0 || indices.rank != x.rank)
    return gpu_refuse (&w, gpu_unknown_shape);
  axis += axis < 0 ? x.rank : 0;
  gpu_contiguous_strides (&x, own);
  gpu_contiguous_strides (&indices, at);
  lines = x;
  lines.dims[axis] = 1;
  lines.n = 1;
  GString *inside = g_string_new ("  int has_updates = 1;\n");
  for (guint i = 0; i < x.rank; i++)
    lines.n *= (guint64) lines.dims[i];
  gpu_loop_init (&loop, &lines);
  gpu_loop_add (&loop, own, 0);
  gpu_loop_add (&loop, at, 0);
  /* Not joined: the axes are asked whether the indices reach that far. */
  gpu_put_loop (&w, "offsets", &loop, "line");
  for (guint i = 0; i < x.rank; i++)
    if (i != (guint) axis && indices.dims[i] < x.dims[i])
      g_string_append_printf (inside, "  has_updates = has_updates && d%u < " I64 ";\n", i,
                              indices.dims[i]);
  gpu_put_text (&w, "has_updates", g_string_free (inside, FALSE));
  GString *target = g_string_new (NULL);
  g_autofree char *place = g_strdup_printf ("o1 + k * " I64, at[axis]);
  print_index (target, place, x.dims[axis]);
  gpu_put_text (&w, "target", g_string_free (target, FALSE));
  gpu_put (&w, "update", "%s", place);
  return write_scatter (&w, lines.n, x.dims[axis], own[axis], indices.dims[axis]);
}

/* The places of a line are the slices that tuples name, and there is a line for each element of one. */
static const char *
emit_scatter_nd (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  g_auto (GpuWriter) w;
  GpuShape x, indices;
  gint64 run = 1, size = 1, tuple;

  gpu_writer_init (&w, program, call, "scatter");
  if (!put_scatter (&w) || !gpu_shape_of_input (&w, 0, &x) ||
      !gpu_shape_of_input (&w, 1, &indices) || indices.rank == 0)
    return gpu_refuse (&w, gpu_unknown_shape);
  tuple = indices.dims[indices.rank - 1];
  if (tuple < 1 || tuple > x.rank)
    return gpu_refuse (&w, "its tuples do not fit the data");
  GString *target = g_string_new (NULL);
  for (guint i = 0; i < x.rank; i++)
    *(i < tuple ? &size : &run) *= x.dims[i];
  for (gint64 c = 0; c < tuple; c++)
    {
      g_autofree char *place = g_strdup_printf ("k * " I64 " + " I64, tuple, c);
      print_index (target, place, x.dims[c]);
    }
  gpu_put_text (&w, "target", g_string_free (target, FALSE));
  gpu_put (&w, "update", "k * " I64 " + line", run);
  gpu_put (&w, "offsets", "  $index o0 = line;\n");
  gpu_put (&w, "has_updates", "  int has_updates = 1;\n");
  return write_scatter (&w, (guint64) run, size, run, (gint64) indices.n / tuple);
}

/* What X was pooled from: all of it is one line, and places of it are said by I. Where the result is larger,
 * its axes go on behind. */
static const char *
emit_max_unpool (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  g_auto (GpuWriter) w;
  GpuShape x, out;
  IrWindow window;
  gint64 pooled = 1, place = 1, step = 1;

  gpu_writer_init (&w, program, call, "max_unpool");
  if (!gpu_shape_of_input (&w, 0, &x) || !gpu_shape_of_output (&w, 0, &out) || x.rank < 3 ||
      !ir_window_init_transposed (&window, call, x.rank - 2, x.dims + 2, NULL, NULL))
    return gpu_refuse (&w, gpu_unknown_shape);
  GString *target = g_string_new (NULL), *parts = g_string_new (NULL);
  for (guint i = x.rank; i-- > 0;)
    {
      gint64 size = i < 2 ? x.dims[i] : window.out[i - 2];
      g_string_append_printf (parts, "      t += j / " I64 " %% " I64 " * " I64 ";\n", place,
                              MAX (size, 1), step);
      place *= MAX (size, 1);
      pooled *= size;
      step *= out.dims[i];
    }
  g_string_append_printf (target,
                          "      j = K_LOAD (indices, k);\n"
                          "      outside = j < 0 || j >= " I64 ";\n%s",
                          pooled, parts->str);
  g_string_free (parts, TRUE);
  gpu_put_text (&w, "target", g_string_free (target, FALSE));
  gpu_put_moved (&w, "updates", IR_GPU_INPUT, 0);
  gpu_put_input (&w, "indices", 1);
  gpu_put_moved (&w, "y", IR_GPU_OUTPUT, 0);
  gpu_put_fault (&w);
  gpu_put (&w, "combine", "b");
  gpu_put (&w, "copied", "0");
  gpu_put (&w, "compute", "$type_y");
  gpu_put (&w, "load", "%s", "");
  gpu_put (&w, "store", "%s", "");
  gpu_put (&w, "update", "k");
  gpu_put (&w, "offsets", "  $index o0 = line;\n");
  gpu_put (&w, "has_updates", "  int has_updates = 1;\n");
  return write_scatter (&w, 1, (gint64) out.n, 1, (gint64) x.n);
}

/* -- a thread for each element of the result -- */

/* Launches the template; $offsets, $target and $from are there: t is the place along what is chosen from. */
static const char *
write_picked (GpuWriter *w, const GpuShape *out)
{
  return gpu_write_each (w, "pick", out->n);
}

static const char *
emit_gather_nd (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  gint64 batch = ir_call_int (call, "batch_dims", 0), run = 1, size = 1, tuple, per_batch = 1;
  g_auto (GpuWriter) w;
  GpuShape x, indices, out;

  gpu_writer_init (&w, program, call, "gather_nd");
  if (!gpu_shape_of_input (&w, 0, &x) || !gpu_shape_of_input (&w, 1, &indices) ||
      !gpu_shape_of_output (&w, 0, &out) || indices.rank == 0)
    return gpu_refuse (&w, gpu_unknown_shape);
  tuple = indices.dims[indices.rank - 1];
  if (batch < 0 || tuple < 1 || batch + tuple > x.rank || batch >= indices.rank)
    return gpu_refuse (&w, "its tuples do not fit the data");
  gpu_put_moved (&w, "x", IR_GPU_INPUT, 0);
  gpu_put_input (&w, "indices", 1);
  gpu_put_moved (&w, "y", IR_GPU_OUTPUT, 0);
  gpu_put_fault (&w);
  for (guint i = (guint) batch; i < x.rank; i++)
    *(i < batch + tuple ? &size : &run) *= x.dims[i];
  for (guint i = (guint) batch; i + 1 < indices.rank; i++)
    per_batch *= indices.dims[i];
  GString *target = g_string_new (NULL);
  for (gint64 c = 0; c < tuple; c++)
    {
      g_autofree char *place = g_strdup_printf ("k * " I64 " + " I64, tuple, c);
      print_index (target, place, x.dims[batch + c]);
    }
  gpu_put (&w, "offsets", "  k_i64 k = i / " I64 ";\n", MAX (run, 1));
  gpu_put_text (&w, "target", g_string_free (target, FALSE));
  gpu_put (&w, "from", "K_LOAD (x, ((k / " I64 ") * " I64 " + t) * " I64 " + i %% " I64 ")",
           MAX (per_batch, 1), size, run, MAX (run, 1));
  return write_picked (&w, &out);
}

static const char *
emit_reverse_sequence (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  gint64 time = ir_call_int (call, "time_axis", 0), own[IR_MAX_RANK];
  g_auto (GpuWriter) w;
  GpuShape x;

  gpu_writer_init (&w, program, call, "reverse_sequence");
  if (!gpu_shape_of_input (&w, 0, &x) || x.rank < 2 || time < 0 || time > 1)
    return gpu_refuse (&w, gpu_unknown_shape);
  gpu_contiguous_strides (&x, own);
  gpu_put_moved (&w, "x", IR_GPU_INPUT, 0);
  gpu_put_input (&w, "indices", 1);
  gpu_put_moved (&w, "y", IR_GPU_OUTPUT, 0);
  gpu_put_fault (&w);
  gpu_put (&w, "offsets", "  k_i64 at = i / " I64 " %% " I64 ", k = i / " I64 " %% " I64 ";\n",
           MAX (own[time], 1), MAX (x.dims[time], 1), MAX (own[1 - time], 1),
           MAX (x.dims[1 - time], 1));
  gpu_put (&w, "target",
           "      j = (k_i64) $load_indices (K_LOAD (indices, k));\n"
           "      outside = j < 0 || j > " I64 ";\n      t = at < j ? j - 1 - at : at;\n",
           x.dims[time]);
  gpu_put (&w, "from", "K_LOAD (x, i + (t - at) * " I64 ")", own[time]);
  return write_picked (&w, &x);
}

/* A cache, and an update of it that begins somewhere else in each sample. */
static const char *
emit_tensor_scatter (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  gboolean circular = g_str_equal (ir_call_string (call, "mode", "linear"), "circular");
  gint64 axis = ir_call_int (call, "axis", -2), own[IR_MAX_RANK], at[IR_MAX_RANK], length, n;
  g_auto (GpuWriter) w;
  GpuShape x, update;

  gpu_writer_init (&w, program, call, "tensor_scatter");
  if (!gpu_shape_of_input (&w, 0, &x) || !gpu_shape_of_input (&w, 1, &update))
    return w.why;
  axis += axis < 0 ? x.rank : 0;
  if (axis < 1 || axis >= x.rank || update.rank != x.rank)
    return gpu_refuse (&w, "its axis does not fit");
  gpu_contiguous_strides (&x, own);
  gpu_contiguous_strides (&update, at);
  length = x.dims[axis];
  n = update.dims[axis];
  gpu_put_moved (&w, "x", IR_GPU_INPUT, 0);
  gpu_put_moved (&w, "update", IR_GPU_INPUT, 1);
  if (ir_call_has_input (call, 2))
    gpu_put_input (&w, "indices", 2);
  gpu_put_moved (&w, "y", IR_GPU_OUTPUT, 0);
  gpu_put_fault (&w);
  gpu_put (&w, "offsets",
           "  k_i64 at = i / " I64 " %% " I64 ", outer = i / " I64 ", inner = i %% " I64 ";\n",
           own[axis], MAX (length, 1), own[axis] * MAX (length, 1), own[axis]);
  gpu_put (&w, "target",
           "      j = %s;\n      outside = %d && (j < 0 || j > " I64 ");\n"
           "      t = at - j %% " I64 ";\n      t = %d ? (t %% " I64 " + " I64 ") %% " I64
           " : at - j;\n",
           ir_call_has_input (call, 2) ? "(k_i64) $load_indices (K_LOAD (indices, i / $sample))"
                                       : "0",
           !circular, length - n, MAX (length, 1), circular, MAX (length, 1), MAX (length, 1),
           MAX (length, 1));
  gpu_put_int (&w, "sample", MAX (own[0], 1));
  gpu_put (&w, "from",
           "t >= 0 && t < " I64 " ? K_LOAD (update, (outer * " I64 " + t) * " I64
           " + inner) : K_LOAD (x, i)",
           n, n, own[axis]);
  return write_picked (&w, &x);
}

const IrGpuKernel gpu_scatter_elements = { "scatter-elements", emit_scatter_elements };
const IrGpuKernel gpu_scatter_nd = { "scatter-nd", emit_scatter_nd };
const IrGpuKernel gpu_max_unpool = { "max-unpool", emit_max_unpool };
const IrGpuKernel gpu_gather_nd = { "gather-nd", emit_gather_nd };
const IrGpuKernel gpu_reverse_sequence = { "reverse-sequence", emit_reverse_sequence };
const IrGpuKernel gpu_tensor_scatter = { "tensor-scatter", emit_tensor_scatter };
