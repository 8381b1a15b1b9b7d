/* What only moves elements, by their width: copies between strides, and places that are computed. */
#include "config.h"

#include "core/exec/gpu/writer.h"
#include "core/op/infer-util.h"

#include <string.h>

#define TILE 32

/* The axis along which elements of operand @k are side by side. */
static gboolean
find_line (const GpuLoop *loop, guint k, guint *axis)
{
  for (*axis = 0; *axis < loop->rank; (*axis)++)
    if (loop->strides[k][*axis] == 1 && loop->dims[*axis] >= TILE / 2)
      return TRUE;
  return FALSE;
}

/* By tiles over the axis @a along which it is read, and @b, along which it is written. A tile has a word for
 * each element, as lanes that write parts of one word would meet in its bank. */
static const char *
write_tiles (GpuWriter *w, const GpuLoop *loop, IrDtype dtype, guint a, guint b)
{
  gint64 tiles_a = (loop->dims[a] + TILE - 1) / TILE, tiles_b = (loop->dims[b] + TILE - 1) / TILE;
  GpuLoop rest = *loop;

  gpu_put_extent (w, gpu_index_type (loop)[9] == 'l' ? G_MAXUINT64 : 0);
  gpu_put (w, "cell", "%s", gpu_word (ir_dtype_bits (dtype) < 32 ? IR_DTYPE_UINT32 : dtype));
  gpu_put_int (w, "a", loop->dims[a]);
  gpu_put_int (w, "b", loop->dims[b]);
  gpu_put_int (w, "tiles_a", tiles_a);
  gpu_put_int (w, "tiles_b", tiles_b);
  gpu_put_int (w, "step_a", loop->strides[1][a]);
  gpu_put_int (w, "step_b", loop->strides[0][b]);
  rest.n /= (guint64) (loop->dims[a] * loop->dims[b]);
  rest.dims[a] = rest.dims[b] = 1;
  gpu_loop_join (&rest);
  gpu_put_loop (w, "offsets", &rest, "rest");
  return gpu_write (w, "transpose", rest.n * (guint64) (tiles_a * tiles_b), GPU_THREADS);
}

/* Copies from input @in to output @out; operand 0 of @loop is where they are read, 1 where written. */
static const char *
add_copy (IrGpuProgram *program, const IrCall *call, GpuLoop *loop, guint in, guint out)
{
  g_auto (GpuWriter) w;
  guint a, b;

  gpu_writer_init (&w, program, call, "copy");
  gpu_put_moved (&w, "x", IR_GPU_INPUT, in);
  gpu_put_moved (&w, "y", IR_GPU_OUTPUT, out);
  gpu_loop_join (loop);
  if (loop->n > 0 && find_line (loop, 0, &a) && find_line (loop, 1, &b) && a != b)
    return write_tiles (&w, loop, ir_call_input_dtype (call, in), a, b);
  gpu_put_loop (&w, "offsets", loop, "i");
  return gpu_write_each (&w, "copy", loop->n);
}

/* Shapes of input 0 and output 0. */
static const char *
read_shapes (const IrCall *call, GpuShape *in, GpuShape *out)
{
  if (!gpu_shape (ir_call_input_type (call, 0), in) || !gpu_shape (call->outputs[0].type, out))
    return gpu_unknown_shape;
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
  return add_copy (program, call, &loop, 0, 0);
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
  return add_copy (program, call, &loop, 0, 0);
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
    return gpu_unknown_contents;
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
        return gpu_unknown_shape;
      gpu_contiguous_strides (&in, own);
      gpu_loop_init (&loop, &in);
      gpu_loop_add (&loop, own, 0);
      gpu_loop_add (&loop, whole, place * whole[axis]);
      why = add_copy (program, call, &loop, i, 0);
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
    return gpu_unknown_shape;
  gint64 axis = axis_of (call, 0, in.rank);
  gpu_contiguous_strides (&in, whole);
  for (guint i = 0; why == NULL && i < call->n_outputs; i++)
    {
      GpuLoop loop;
      if (!gpu_shape (call->outputs[i].type, &out))
        return gpu_unknown_shape;
      gpu_contiguous_strides (&out, own);
      gpu_loop_init (&loop, &out);
      gpu_loop_add (&loop, whole, place * whole[axis]);
      gpu_loop_add (&loop, own, 0);
      if (call->outputs[i].present)
        why = add_copy (program, call, &loop, 0, i);
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
  g_auto (GpuWriter) w;

  gpu_writer_init (&w, program, call, "gather");
  gpu_put_moved (&w, "x", IR_GPU_INPUT, 0);
  gpu_put_input (&w, "indices", 1);
  gpu_put_moved (&w, "y", IR_GPU_OUTPUT, 0);
  gpu_put_fault (&w);
  gpu_put_int (&w, "size", size);
  gpu_put_int (&w, "stride", stride);
  gpu_put_extent (&w, (guint64) size * (guint64) stride);
  gpu_put_loop (&w, "offsets", loop, "i");
  return gpu_write_each (&w, "gather", loop->n);
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
    return why != NULL ? why : gpu_unknown_shape;
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
    return gpu_unknown_contents;
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

/* The result begins @begin places before the input, along each axis. */
static const char *
add_pad (GpuWriter *w,
         const GpuShape *in,
         const GpuShape *out,
         const gint64 *begin,
         const char *mode,
         gboolean has_value)
{
  gint64 own[IR_MAX_RANK];
  GpuLoop loop;

  if (out->n == 0)
    return NULL;
  if (in->n == 0 && !g_str_equal (mode, "constant"))
    return gpu_refuse (w, "there is nothing to pad with");
  gpu_contiguous_strides (in, own);
  gpu_loop_init (&loop, out);
  GString *places = g_string_new (NULL);
  for (guint i = 0; i < in->rank; i++)
    print_place (places, mode, i, begin[i], in->dims[i], own[i]);
  gpu_put_loop (w, "offsets", &loop, "i");
  gpu_put_text (w, "places", g_string_free (places, FALSE));
  gpu_put_moved (w, "x", IR_GPU_INPUT, 0);
  if (has_value)
    gpu_put_moved (w, "value", IR_GPU_INPUT, 2);
  gpu_put_moved (w, "y", IR_GPU_OUTPUT, 0);
  gpu_put (w, "value", "%s", has_value ? "K_LOAD (value, 0)" : "0");
  return gpu_write_each (w, "pad", out->n);
}

static const char *
emit_pad (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  g_auto (GpuWriter) w;
  GpuShape in, out;
  gint64 begin[IR_MAX_RANK];
  const char *why = read_shapes (call, &in, &out);

  gpu_writer_init (&w, program, call, "pad");
  if (why == NULL)
    why = read_pads (call, in.rank, begin);
  return why != NULL ? why
                     : add_pad (&w, &in, &out, begin, ir_call_string (call, "mode", "constant"),
                                ir_call_has_input (call, 2));
}

/* An odd element counts for the end, whether it is cut off or added. */
static const char *
emit_center_crop_pad (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  g_auto (GpuWriter) w;
  GpuShape in, out;
  gint64 begin[IR_MAX_RANK];
  const char *why = read_shapes (call, &in, &out);

  gpu_writer_init (&w, program, call, "pad");
  for (guint i = 0; why == NULL && i < in.rank; i++)
    {
      gint64 common = MIN (in.dims[i], out.dims[i]);
      begin[i] = (out.dims[i] - common) / 2 - (in.dims[i] - common) / 2;
    }
  return why != NULL ? why : add_pad (&w, &in, &out, begin, "constant", FALSE);
}

/* Rows and columns from the top and from the left on. */
static const char *
emit_crop (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  GpuShape in, out;
  gint64 own[IR_MAX_RANK];
  guint n;
  const gint64 *border = ir_call_ints (call, "border", &n);
  const char *why = read_shapes (call, &in, &out);

  if (why != NULL || out.n == 0)
    return why;
  if (border == NULL || n != 4 || in.rank != 4)
    return "it is no picture, or its border has not four sides";
  gpu_contiguous_strides (&in, own);
  return add_view (program, call, &out, own, border[1] * own[2] + border[0]);
}

/* Without training everything stays. */
static const char *
emit_dropout (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  g_autofree gint64 *training = NULL;
  guint n = 0;
  const char *why;

  if (ir_call_has_input (call, 2) &&
      (!ir_call_input_ints (call, 2, &training, &n) || n != 1 || training[0] != 0))
    return "no GPU kernel draws what is dropped";
  why = emit_view (kernel, call, program);
  if (why == NULL && call->n_outputs > 1 && call->outputs[1].present)
    why = gpu_write_kept (program, call, 1);
  return why;
}

/* The same bytes as elements of another type. */
static const char *
emit_bit_cast (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  return ir_dtype_bits (ir_call_input_dtype (call, 0)) ==
                 ir_dtype_bits (call->outputs[0].type->dtype)
             ? emit_view (kernel, call, program)
             : "its elements become others of another width";
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
const IrGpuKernel gpu_center_crop_pad = { "center-crop-pad", emit_center_crop_pad };
const IrGpuKernel gpu_crop = { "crop", emit_crop };
const IrGpuKernel gpu_dropout = { "dropout", emit_dropout };
const IrGpuKernel gpu_bit_cast = { "bit-cast", emit_bit_cast };
