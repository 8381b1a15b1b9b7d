/* What only moves elements, by their width: copies between strides, and places that are computed. */
#include "config.h"

#include "core/exec/gpu/emit.h"
#include "core/op/infer-util.h"

#include <string.h>

static const char unknown_shape[] = "a shape is not known before the run";
static const char unknown_contents[] = "what another input holds is not known before the run";
static const char no_word[] = "no GPU kernel takes its element type";
static const char too_many[] = "it has more elements than a launch has threads";

/* Launches the template for each element of @loop; FALSE: there are too many. */
static IrGpuLaunch *
launch_for (IrGpuProgram *program, const char *family, const GpuLoop *loop, char *text)
{
  guint64 blocks = gpu_blocks (loop->n, GPU_THREADS);

  if (blocks > 0)
    return gpu_launch (program, family, text, blocks, GPU_THREADS);
  g_free (text);
  return NULL;
}

/* "123u", or "123ull" where places need that. */
static char *
index_text (const GpuLoop *loop, gint64 value)
{
  return g_strdup_printf ("%" G_GINT64_FORMAT "%s", value,
                          gpu_index_type (loop)[9] == 'l' ? "ull" : "u");
}

#define THREADS_TEXT G_STRINGIFY (GPU_THREADS) "u"

/* Copies from input @in to output @out; operand 0 of @loop is where they are read, 1 where written. */
static const char *
add_copy (IrGpuProgram *program, GpuLoop *loop, IrDtype dtype, guint in, guint out)
{
  const char *word = gpu_word (dtype);
  GString *offsets = g_string_new (NULL);
  IrGpuLaunch *launch;

  if (loop->n == 0 || word == NULL)
    {
      g_string_free (offsets, TRUE);
      return word == NULL ? no_word : NULL;
    }
  gpu_loop_join (loop);
  gpu_loop_print (loop, "i", offsets);
  g_autofree char *n = index_text (loop, (gint64) loop->n);
  launch = launch_for (program, "copy", loop,
                       gpu_fill ("copy", "word", word, "index", gpu_index_type (loop), "threads",
                                 THREADS_TEXT, "n", n, "offsets", offsets->str, NULL));
  g_string_free (offsets, TRUE);
  if (launch == NULL)
    return too_many;
  gpu_launch_arg (launch, IR_GPU_INPUT, in);
  gpu_launch_arg (launch, IR_GPU_OUTPUT, out);
  return NULL;
}

/* Shapes of input 0 and output 0. */
static const char *
read_shapes (const IrCall *call, GpuShape *in, GpuShape *out)
{
  if (!gpu_shape (ir_call_input_type (call, 0), in) || !gpu_shape (call->outputs[0].type, out))
    return unknown_shape;
  return in->rank > 32 || out->rank > 32 ? "it has more than 32 axes" : NULL;
}

/* Reads input 0 at @strides for each element of output 0, which lies in order. */
static const char *
add_view (IrGpuProgram *program,
          const IrCall *call,
          const GpuShape *shape,
          const gint64 *strides,
          gint64 base)
{
  GpuLoop loop;
  gint64 own[IR_MAX_RANK];

  gpu_loop_init (&loop, shape);
  gpu_loop_add (&loop, strides, base);
  gpu_contiguous_strides (shape, own);
  gpu_loop_add (&loop, own, 0);
  return add_copy (program, &loop, call->outputs[0].type->dtype, 0, 0);
}

/* The same bytes in another shape: a copy, where whoever runs it does not share them. */
static const char *
emit_view (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  GpuShape in, out;
  gint64 strides[IR_MAX_RANK];
  const char *why = read_shapes (call, &in, &out);

  if (why != NULL)
    return why;
  gpu_contiguous_strides (&in, strides);
  return add_view (program, call, &in, strides, 0);
}

static const char *
emit_transpose (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  GpuShape in, out;
  gint64 own[IR_MAX_RANK], strides[IR_MAX_RANK];
  guint n;
  const gint64 *perm = ir_call_ints (call, "perm", &n);
  const char *why = read_shapes (call, &in, &out);

  if (why != NULL)
    return why;
  gpu_contiguous_strides (&in, own);
  for (guint i = 0; i < in.rank; i++)
    strides[i] = own[perm != NULL ? perm[i] : in.rank - 1 - i];
  return add_view (program, call, &out, strides, 0);
}

static const char *
emit_expand (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  GpuShape in, out;
  GpuLoop loop;
  gint64 own[IR_MAX_RANK];
  const char *why = read_shapes (call, &in, &out);

  if (why != NULL)
    return why;
  gpu_loop_init (&loop, &out);
  gpu_loop_add_broadcast (&loop, &in);
  gpu_contiguous_strides (&out, own);
  gpu_loop_add (&loop, own, 0);
  return add_copy (program, &loop, call->outputs[0].type->dtype, 0, 0);
}

/* Each axis is one of repetitions, which need no step, and one of places. */
static const char *
emit_tile (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  GpuShape in, out, split = { .n = 1 };
  gint64 own[IR_MAX_RANK], strides[IR_MAX_RANK];
  const char *why = read_shapes (call, &in, &out);

  if (why != NULL)
    return why;
  if (out.n == 0)
    return NULL;
  gpu_contiguous_strides (&in, own);
  for (guint i = 0; i < in.rank; i++)
    {
      strides[split.rank] = 0;
      split.dims[split.rank++] = out.dims[i] / in.dims[i];
      strides[split.rank] = own[i];
      split.dims[split.rank++] = in.dims[i];
    }
  split.n = out.n;
  return add_view (program, call, &split, strides, 0);
}

static const char *
emit_slice (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  GpuShape in, out;
  gint64 strides[IR_MAX_RANK], base = 0;
  g_autofree gint64 *starts = NULL;
  g_autofree gint64 *axes = NULL;
  g_autofree gint64 *steps = NULL;
  guint n, n_axes, n_steps;
  const char *why = read_shapes (call, &in, &out);

  if (why != NULL)
    return why;
  if (!ir_call_input_ints (call, 1, &starts, &n) ||
      (ir_call_has_input (call, 3) && !ir_call_input_ints (call, 3, &axes, &n_axes)) ||
      (ir_call_has_input (call, 4) && !ir_call_input_ints (call, 4, &steps, &n_steps)))
    return unknown_contents;
  if (out.n == 0)
    return NULL;
  gpu_contiguous_strides (&in, strides);
  for (guint i = 0; i < n; i++)
    {
      gint64 axis = axes == NULL ? i : axes[i] < 0 ? axes[i] + in.rank : axes[i];
      gint64 step = steps != NULL ? steps[i] : 1;
      gint64 start = starts[i] < 0 ? starts[i] + in.dims[axis] : starts[i];
      base += CLAMP (start, 0, step > 0 ? in.dims[axis] : in.dims[axis] - 1) * strides[axis];
      /* One element needs no stride, and the step may be huge. */
      strides[axis] = out.dims[axis] > 1 ? strides[axis] * step : 0;
    }
  return add_view (program, call, &out, strides, base);
}

static gint64
axis_of (const IrCall *call, gint64 fallback, guint rank)
{
  gint64 axis = ir_call_int (call, "axis", fallback);

  return axis < 0 ? axis + rank : axis;
}

static const char *
emit_concat (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  GpuShape in, out;
  gint64 whole[IR_MAX_RANK], own[IR_MAX_RANK], place = 0;
  const char *why = read_shapes (call, &in, &out);

  if (why != NULL)
    return why;
  gint64 axis = axis_of (call, 0, out.rank);
  gpu_contiguous_strides (&out, whole);
  for (guint i = 0; why == NULL && i < call->n_inputs; i++)
    {
      GpuLoop loop;
      if (!gpu_shape (ir_call_input_type (call, i), &in))
        return unknown_shape;
      gpu_contiguous_strides (&in, own);
      gpu_loop_init (&loop, &in);
      gpu_loop_add (&loop, own, 0);
      gpu_loop_add (&loop, whole, place * whole[axis]);
      why = add_copy (program, &loop, call->outputs[0].type->dtype, i, 0);
      place += in.dims[axis];
    }
  return why;
}

static const char *
emit_split (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  GpuShape in, out;
  gint64 whole[IR_MAX_RANK], own[IR_MAX_RANK], place = 0;
  const char *why = NULL;

  if (!gpu_shape (ir_call_input_type (call, 0), &in) || in.rank > 32)
    return unknown_shape;
  gint64 axis = axis_of (call, 0, in.rank);
  gpu_contiguous_strides (&in, whole);
  for (guint i = 0; why == NULL && i < call->n_outputs; i++)
    {
      GpuLoop loop;
      if (!gpu_shape (call->outputs[i].type, &out))
        return unknown_shape;
      gpu_contiguous_strides (&out, own);
      gpu_loop_init (&loop, &out);
      gpu_loop_add (&loop, whole, place * whole[axis]);
      gpu_loop_add (&loop, own, 0);
      if (call->outputs[i].present)
        why = add_copy (program, &loop, call->outputs[i].type->dtype, 0, i);
      place += out.dims[axis];
    }
  return why;
}

/* [N, C, H, W]: channels are blocks of places, or places become blocks of channels. The axes of the
 * result, outermost first, are picked from the six of the input. */
static const char *
add_blocks (IrGpuProgram *program, const IrCall *call, const gint64 *dims, const guint *order)
{
  GpuShape from = { .rank = 6, .n = 1 }, to = { .rank = 6, .n = 1 };
  gint64 own[6], strides[6];

  for (guint i = 0; i < 6; i++)
    from.dims[i] = dims[i];
  gpu_contiguous_strides (&from, own);
  for (guint i = 0; i < 6; i++)
    {
      to.dims[i] = dims[order[i]];
      to.n *= (guint64) to.dims[i];
      strides[i] = own[order[i]];
    }
  return add_view (program, call, &to, strides, 0);
}

static const char *
emit_depth_to_space (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  static const guint dcr[] = { 0, 3, 4, 1, 5, 2 }, crd[] = { 0, 1, 4, 2, 5, 3 };
  GpuShape in, out;
  gint64 b = ir_call_int (call, "blocksize", 1);
  gboolean is_crd = g_str_equal (ir_call_string (call, "mode", "DCR"), "CRD");
  const char *why = read_shapes (call, &in, &out);

  if (why != NULL || out.n == 0)
    return why;
  const gint64 split_dcr[] = { in.dims[0], b, b, in.dims[1] / (b * b), in.dims[2], in.dims[3] };
  const gint64 split_crd[] = { in.dims[0], in.dims[1] / (b * b), b, b, in.dims[2], in.dims[3] };
  return add_blocks (program, call, is_crd ? split_crd : split_dcr, is_crd ? crd : dcr);
}

static const char *
emit_space_to_depth (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  static const guint dcr[] = { 0, 3, 5, 1, 2, 4 }, crd[] = { 0, 1, 3, 5, 2, 4 };
  GpuShape in, out;
  gint64 b = ir_call_int (call, "blocksize", 1);
  gboolean is_crd = g_str_equal (ir_call_string (call, "mode", "DCR"), "CRD");
  const char *why = read_shapes (call, &in, &out);

  if (why != NULL || out.n == 0)
    return why;
  const gint64 split[] = { in.dims[0], in.dims[1], in.dims[2] / b, b, in.dims[3] / b, b };
  return add_blocks (program, call, split, is_crd ? crd : dcr);
}

/* -- places that are read -- */

static const char *
add_gather (
    IrGpuProgram *program, const IrCall *call, const GpuLoop *loop, gint64 size, gint64 stride)
{
  IrDtype dtype = call->outputs[0].type->dtype, integer = ir_call_input_dtype (call, 1);
  const char *word = gpu_word (dtype);
  IrGpuLaunch *launch;

  if (word == NULL || (integer != IR_DTYPE_INT32 && integer != IR_DTYPE_INT64))
    return no_word;
  if (loop->n == 0)
    return NULL;
  GString *offsets = g_string_new (NULL);
  gpu_loop_print (loop, "i", offsets);
  g_autofree char *n = index_text (loop, (gint64) loop->n);
  g_autofree char *stride_text = index_text (loop, stride);
  g_autofree char *size_text = g_strdup_printf ("%" G_GINT64_FORMAT "ll", size);
  launch = launch_for (program, "gather", loop,
                       gpu_fill ("gather", "word", word, "integer", gpu_element (integer)->storage,
                                 "index", gpu_index_type (loop), "threads", THREADS_TEXT, "n", n,
                                 "size", size_text, "stride", stride_text, "offsets", offsets->str,
                                 NULL));
  g_string_free (offsets, TRUE);
  if (launch == NULL)
    return too_many;
  gpu_launch_arg (launch, IR_GPU_INPUT, 0);
  gpu_launch_arg (launch, IR_GPU_INPUT, 1);
  gpu_launch_arg (launch, IR_GPU_OUTPUT, 0);
  gpu_launch_arg (launch, IR_GPU_FAULT, 0);
  return NULL;
}

/* The axes of the indices stand in the result where the data has its axis. */
static const char *
emit_gather (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  GpuShape in, out, indices;
  GpuLoop loop;
  gint64 data[IR_MAX_RANK] = { 0 }, at[IR_MAX_RANK] = { 0 }, own[IR_MAX_RANK],
         own_indices[IR_MAX_RANK];
  const char *why = read_shapes (call, &in, &out);

  if (why != NULL || !gpu_shape (ir_call_input_type (call, 1), &indices))
    return why != NULL ? why : unknown_shape;
  guint axis = (guint) axis_of (call, 0, in.rank);
  gpu_contiguous_strides (&in, own);
  gpu_contiguous_strides (&indices, own_indices);
  for (guint i = 0; i < out.rank; i++)
    if (i < axis)
      data[i] = own[i];
    else if (i < axis + indices.rank)
      at[i] = own_indices[i - axis];
    else
      data[i] = own[i - indices.rank + 1];
  gpu_loop_init (&loop, &out);
  gpu_loop_add (&loop, data, 0);
  gpu_loop_add (&loop, at, 0);
  gpu_loop_join (&loop);
  return add_gather (program, call, &loop, in.dims[axis], own[axis]);
}

static const char *
emit_gather_elements (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  GpuShape in, out;
  GpuLoop loop;
  gint64 own[IR_MAX_RANK], at[IR_MAX_RANK], stride;
  const char *why = read_shapes (call, &in, &out);

  if (why != NULL)
    return why;
  guint axis = (guint) axis_of (call, 0, in.rank);
  gpu_contiguous_strides (&in, own);
  stride = own[axis];
  own[axis] = 0;
  gpu_contiguous_strides (&out, at);
  gpu_loop_init (&loop, &out);
  gpu_loop_add (&loop, own, 0);
  gpu_loop_add (&loop, at, 0);
  gpu_loop_join (&loop);
  return add_gather (program, call, &loop, in.dims[axis], stride);
}

/* -- padding -- */

/* How far axis @i of the result begins before the input. */
static const char *
read_pads (const IrCall *call, guint rank, gint64 *begin)
{
  g_autofree gint64 *pads = NULL;
  g_autofree gint64 *axes = NULL;
  guint n = 0, n_axes = rank;

  memset (begin, 0, rank * sizeof begin[0]);
  if (!ir_call_input_ints (call, 1, &pads, &n) ||
      (ir_call_has_input (call, 3) && !ir_call_input_ints (call, 3, &axes, &n_axes)))
    return unknown_contents;
  for (guint i = 0; i < n_axes && i < n; i++)
    begin[axes == NULL ? i : axes[i] < 0 ? axes[i] + rank : axes[i]] = pads[i];
  return NULL;
}

/* The text that finds place c of the input, or that it lies outside. */
static void
print_place (GString *text, const char *mode, guint axis, gint64 begin, gint64 size, gint64 stride)
{
  g_string_append_printf (text, "  k_i64 c%u = (k_i64) d%u - (%" G_GINT64_FORMAT "ll);\n", axis,
                          axis, begin);
  if (g_str_equal (mode, "edge"))
    g_string_append_printf (text,
                            "  c%u = c%u < 0 ? 0 : c%u >= %" G_GINT64_FORMAT
                            "ll ? %" G_GINT64_FORMAT "ll : c%u;\n",
                            axis, axis, axis, size, size - 1, axis);
  else if (g_str_equal (mode, "wrap"))
    g_string_append_printf (text,
                            "  c%u = (c%u %% %" G_GINT64_FORMAT "ll + %" G_GINT64_FORMAT
                            "ll) %% %" G_GINT64_FORMAT "ll;\n",
                            axis, axis, size, size, size);
  else if (g_str_equal (mode, "reflect"))
    {
      gint64 period = MAX (2 * size - 2, 1);
      g_string_append_printf (
          text,
          "  c%u = (c%u %% %" G_GINT64_FORMAT "ll + %" G_GINT64_FORMAT "ll) %% %" G_GINT64_FORMAT
          "ll;\n"
          "  c%u = c%u < %" G_GINT64_FORMAT "ll ? c%u : %" G_GINT64_FORMAT "ll - c%u;\n",
          axis, axis, period, period, period, axis, axis, size, axis, period, axis);
    }
  else
    g_string_append_printf (
        text, "  inside = inside && c%u >= 0 && c%u < %" G_GINT64_FORMAT "ll;\n", axis, axis, size);
  g_string_append_printf (text, "  o += c%u * %" G_GINT64_FORMAT "ll;\n", axis, stride);
}

static const char *
emit_pad (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  GpuShape in, out;
  GpuLoop loop;
  gint64 begin[IR_MAX_RANK], own[IR_MAX_RANK];
  const char *mode = ir_call_string (call, "mode", "constant"),
             *why = read_shapes (call, &in, &out), *word;
  gboolean has_value = ir_call_has_input (call, 2);
  IrGpuLaunch *launch;

  if (why == NULL)
    why = read_pads (call, in.rank, begin);
  if (why != NULL)
    return why;
  word = gpu_word (call->outputs[0].type->dtype);
  if (word == NULL)
    return no_word;
  if (out.n == 0)
    return NULL;
  if (in.n == 0 && !g_str_equal (mode, "constant"))
    return "there is nothing to pad with";
  gpu_contiguous_strides (&in, own);
  gpu_loop_init (&loop, &out);
  GString *offsets = g_string_new (NULL), *places = g_string_new (NULL);
  gpu_loop_print (&loop, "i", offsets);
  for (guint i = 0; i < in.rank; i++)
    print_place (places, mode, i, begin[i], in.dims[i], own[i]);
  g_autofree char *n = index_text (&loop, (gint64) out.n);
  g_autofree char *parameter = g_strdup_printf ("const %s *value, ", word);
  launch = launch_for (program, "pad", &loop,
                       gpu_fill ("pad", "word", word, "index", gpu_index_type (&loop), "threads",
                                 THREADS_TEXT, "n", n, "offsets", offsets->str, "places",
                                 places->str, "value_parameter", has_value ? parameter : "",
                                 "value", has_value ? "K_LOAD (value, 0)" : "0", NULL));
  g_string_free (offsets, TRUE);
  g_string_free (places, TRUE);
  if (launch == NULL)
    return too_many;
  gpu_launch_arg (launch, IR_GPU_INPUT, 0);
  if (has_value)
    gpu_launch_arg (launch, IR_GPU_INPUT, 2);
  gpu_launch_arg (launch, IR_GPU_OUTPUT, 0);
  return NULL;
}

const IrGpuKernel gpu_view = { "view", emit_view };
const IrGpuKernel gpu_transpose = { "transpose", emit_transpose };
const IrGpuKernel gpu_expand = { "expand", emit_expand };
const IrGpuKernel gpu_tile = { "tile", emit_tile };
const IrGpuKernel gpu_slice = { "slice", emit_slice };
const IrGpuKernel gpu_concat = { "concat", emit_concat };
const IrGpuKernel gpu_split = { "split", emit_split };
const IrGpuKernel gpu_depth_to_space = { "depth-to-space", emit_depth_to_space };
const IrGpuKernel gpu_space_to_depth = { "space-to-depth", emit_space_to_depth };
const IrGpuKernel gpu_gather = { "gather", emit_gather };
const IrGpuKernel gpu_gather_elements = { "gather-elements", emit_gather_elements };
const IrGpuKernel gpu_pad = { "pad", emit_pad };
