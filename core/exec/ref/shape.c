/* Reference kernels that move elements without looking at them. Most are one copy through a layout:
 * Transpose permutes strides, Slice scales them, Expand and Tile set some to 0. */
#include "config.h"

#include "core/exec/ref/block.h"
#include "core/exec/ref/ref-util.h"
#include "core/exec/ref/ref.h"
#include <string.h>

/* Output @slot = elements of input 0 through @layout. */
static gboolean
copy_through (IrCall *call, guint slot, const IrRefLayout *layout, gint64 base, GError **error)
{
  g_auto (IrRefReader) in = { 0 };
  g_auto (IrRefWriter) out = { 0 };
  if (!ir_ref_reader_init (&in, call, ir_call_input (call, 0), error) ||
      !ir_ref_writer_init (&out, call, slot, error))
    return FALSE;
  if (out.n > 0)
    ir_ref_copy_layout (&out, 0, &in, layout, base);
  return ir_ref_writer_finish (&out, error);
}

/* -- the same elements under another shape -- */

/* Output 0 = input 0's elements in the inferred shape. */
static gboolean
copy_reshaped (IrCall *call, GError **error)
{
  IrRefLayout layout = { .rank = 0 };
  ir_ref_layout_add (&layout, (gint64) ir_tensor_n_elements (ir_call_input (call, 0)), 1);
  return copy_through (call, 0, &layout, 0, error);
}

gboolean
ir_ref_reshape_to_output (IrCall *call, GError **error)
{
  if (!ir_ref_prepare (call, error))
    return FALSE;
  const IrTensor *in = ir_call_input (call, 0);
  if (ir_ref_count (call->outputs[0].type) != ir_tensor_n_elements (in))
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                         "the input has %" G_GUINT64_FORMAT
                         " elements, the output needs %" G_GUINT64_FORMAT,
                         ir_tensor_n_elements (in), ir_ref_count (call->outputs[0].type));
  return copy_reshaped (call, error);
}

gboolean
ir_ref_identity (IrCall *call, GError **error)
{
  const IrTensor *in = ir_call_has_input (call, 0) ? ir_call_input (call, 0) : NULL;
  if (in != NULL && ir_tensor_is_container (in))
    {
      ir_call_take_output (call, 0, ir_tensor_ref ((IrTensor *) in));
      return TRUE;
    }
  return ir_ref_reshape_to_output (call, error);
}

/* A -1 that inference could not work out: an input without elements. */
gboolean
ir_ref_reshape (IrCall *call, GError **error)
{
  return ir_ref_reshape_to_output (call, error);
}

/* -- Transpose -- */

gboolean
ir_ref_transpose (IrCall *call, GError **error)
{
  if (!ir_ref_prepare (call, error))
    return FALSE;
  const IrTensor *in = ir_call_input (call, 0);
  IrRefLayout all, layout = { .rank = 0 };
  guint n = 0;
  const gint64 *perm = ir_call_ints (call, "perm", &n);
  ir_ref_layout_init (&all, ir_tensor_rank (in), ir_tensor_dims (in));
  for (guint i = 0; i < all.rank; i++)
    {
      gint64 from = perm != NULL ? perm[i] : (gint64) (all.rank - 1 - i);
      from = from < 0 ? from + all.rank : from;
      ir_ref_layout_add (&layout, all.dims[from], all.strides[from]);
    }
  return copy_through (call, 0, &layout, 0, error);
}

/* -- Concat, Split -- */

gboolean
ir_ref_concat (IrCall *call, GError **error)
{
  g_auto (IrRefWriter) out = { 0 };
  gint64 axis, outer, inner, done = 0;
  if (!ir_ref_prepare (call, error) || !ir_ref_writer_init (&out, call, 0, error))
    return FALSE;
  const IrType *type = call->outputs[0].type;
  if (!ir_call_axis (call, ir_call_int (call, "axis", 0), type->rank, &axis, error))
    return FALSE;
  ir_ref_split_at ((guint) type->rank, type->dims, (guint) axis, &outer, &inner);
  for (guint slot = 0; out.n > 0 && slot < call->n_inputs; slot++)
    {
      g_auto (IrRefReader) in = { 0 };
      const IrTensor *tensor = ir_call_input (call, slot);
      if (!ir_ref_reader_init (&in, call, tensor, error))
        return FALSE;
      gint64 part = ir_tensor_dims (tensor)[axis];
      for (gint64 o = 0; o < outer; o++)
        ir_ref_copy_run (&out, (guint64) ((o * type->dims[axis] + done) * inner), &in,
                         (guint64) (o * part * inner), (guint64) (part * inner));
      done += part;
    }
  return ir_ref_writer_finish (&out, error);
}

gboolean
ir_ref_split (IrCall *call, GError **error)
{
  gint64 axis, start = 0;
  if (!ir_ref_prepare (call, error))
    return FALSE;
  const IrTensor *in = ir_call_input (call, 0);
  if (!ir_call_axis (call, ir_call_int (call, "axis", 0), (int) ir_tensor_rank (in), &axis, error))
    return FALSE;
  for (guint slot = 0; slot < call->n_outputs; slot++)
    {
      IrRefLayout layout;
      ir_ref_layout_init (&layout, ir_tensor_rank (in), ir_tensor_dims (in));
      layout.dims[axis] = call->outputs[slot].type->dims[axis];
      if (start + layout.dims[axis] > ir_tensor_dims (in)[axis])
        return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                             "the parts are larger than the axis of %" G_GINT64_FORMAT,
                             ir_tensor_dims (in)[axis]);
      if (!copy_through (call, slot, &layout, start * layout.strides[axis], error))
        return FALSE;
      start += layout.dims[axis];
    }
  return TRUE;
}

/* -- Slice -- */

gboolean
ir_ref_slice (IrCall *call, GError **error)
{
  g_autofree gint64 *starts = NULL;
  g_autofree gint64 *axes = NULL;
  g_autofree gint64 *steps = NULL;
  guint n = 0, n_axes = 0, n_steps = 0;
  if (!ir_ref_prepare (call, error))
    return FALSE;
  const IrTensor *in = ir_call_input (call, 0);
  const IrType *type = call->outputs[0].type;
  gint64 rank = type->rank, base = 0;
  IrRefLayout layout;
  ir_ref_layout_init (&layout, (guint) rank, ir_tensor_dims (in));
  if (!ir_call_input_ints (call, 1, &starts, &n) || n > (guint) rank)
    return ir_call_fail (call, error, IR_OP_ERROR_VALUE, "too many starts");
  ir_call_input_ints (call, 3, &axes, &n_axes);
  ir_call_input_ints (call, 4, &steps, &n_steps);
  if (ir_ref_count (type) == 0)
    return copy_through (call, 0, &layout, 0, error);
  for (guint i = 0; i < n; i++)
    {
      gint64 axis = axes != NULL ? (axes[i] < 0 ? axes[i] + rank : axes[i]) : i;
      gint64 size = layout.dims[axis], step = steps != NULL ? steps[i] : 1;
      gint64 start = starts[i] < 0 ? starts[i] + size : starts[i];
      start = CLAMP (start, 0, step > 0 ? size : size - 1);
      base += start * layout.strides[axis];
      layout.dims[axis] = type->dims[axis];
      /* One element needs no stride, and the step may be huge. */
      layout.strides[axis] = type->dims[axis] > 1 ? layout.strides[axis] * step : 0;
    }
  return copy_through (call, 0, &layout, base, error);
}

/* -- Shape, Size -- */

gboolean
ir_ref_shape (IrCall *call, GError **error)
{
  if (!ir_ref_prepare (call, error))
    return FALSE;
  IrTensor *out = ir_block_new_output (call, 0, error);
  if (out == NULL)
    return FALSE;
  const IrTensor *in = ir_call_input (call, 0);
  gint64 rank = ir_tensor_rank (in), start = ir_call_int (call, "start", 0);
  start = CLAMP (start < 0 ? start + rank : start, 0, rank);
  for (guint64 i = 0; i < ir_tensor_n_elements (out); i++)
    ir_ref_store_int (out, i, 1, &ir_tensor_dims (in)[start + (gint64) i]);
  return TRUE;
}

gboolean
ir_ref_size (IrCall *call, GError **error)
{
  if (!ir_ref_prepare (call, error))
    return FALSE;
  IrTensor *out = ir_block_new_output (call, 0, error);
  if (out == NULL)
    return FALSE;
  gint64 n = (gint64) ir_tensor_n_elements (ir_call_input (call, 0));
  ir_ref_store_int (out, 0, 1, &n);
  return TRUE;
}

/* -- Expand, Tile -- */

gboolean
ir_ref_expand (IrCall *call, GError **error)
{
  IrRefLayout layout;
  if (!ir_ref_prepare (call, error))
    return FALSE;
  const IrType *type = call->outputs[0].type;
  ir_ref_layout_broadcast (&layout, ir_call_input (call, 0), (guint) type->rank, type->dims);
  return copy_through (call, 0, &layout, 0, error);
}

/* Each axis becomes two: the repetition, which stays where it is, and the elements. */
gboolean
ir_ref_tile (IrCall *call, GError **error)
{
  g_autofree gint64 *repeats = NULL;
  guint n = 0;
  if (!ir_ref_prepare (call, error))
    return FALSE;
  const IrTensor *in = ir_call_input (call, 0);
  IrRefLayout all, layout = { .rank = 0 };
  ir_ref_layout_init (&all, ir_tensor_rank (in), ir_tensor_dims (in));
  if (!ir_call_input_ints (call, 1, &repeats, &n) || n != all.rank)
    return ir_call_fail (call, error, IR_OP_ERROR_VALUE, "one repeat per axis is needed");
  for (guint i = 0; i < all.rank; i++)
    {
      ir_ref_layout_add (&layout, repeats[i], 0);
      ir_ref_layout_add (&layout, all.dims[i], all.strides[i]);
    }
  return copy_through (call, 0, &layout, 0, error);
}

/* -- Pad -- */

typedef enum
{
  PAD_CONSTANT,
  PAD_REFLECT,
  PAD_EDGE,
  PAD_WRAP,
  N_PAD_MODES
} PadMode;

/* The place in [0, size) that stands at @i, which may lie outside; -1: the constant. */
static gint64
pad_source (PadMode mode, gint64 i, gint64 size)
{
  if (i >= 0 && i < size)
    return i;
  if (mode == PAD_CONSTANT || size == 0)
    return -1;
  if (mode == PAD_EDGE || size == 1)
    return i < 0 ? 0 : size - 1;
  gint64 period = mode == PAD_WRAP ? size : 2 * (size - 1);
  gint64 at = i % period;
  at = at < 0 ? at + period : at;
  return at < size ? at : period - at;
}

static gboolean
pad_mode (IrCall *call, PadMode *mode, GError **error)
{
  static const char *const names[N_PAD_MODES] = { "constant", "reflect", "edge", "wrap" };
  const char *name = ir_call_string (call, "mode", "constant");
  for (guint i = 0; i < N_PAD_MODES; i++)
    if (g_str_equal (name, names[i]))
      {
        *mode = (PadMode) i;
        return TRUE;
      }
  return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                       "mode is \"%s\"; constant, reflect, edge or wrap is needed", name);
}

/* How many elements come before each axis; negative: are cut off. */
static gboolean
pads_before (IrCall *call, gint64 rank, gint64 *before, GError **error)
{
  g_autofree gint64 *pads = NULL;
  g_autofree gint64 *axes = NULL;
  guint n = 0, n_axes = 0;
  memset (before, 0, (gsize) rank * sizeof *before);
  if (!ir_call_input_ints (call, 1, &pads, &n))
    return ir_call_fail (call, error, IR_OP_ERROR_VALUE, "pads must be integers");
  gboolean has_axes = ir_call_input_ints (call, 3, &axes, &n_axes);
  for (guint i = 0; i < n / 2; i++)
    before[has_axes ? (axes[i] < 0 ? axes[i] + rank : axes[i]) : i] = pads[i];
  return TRUE;
}

/* One element of the data's type: the constant, or 0 bits. */
static gboolean
pad_constant (IrCall *call, const IrRefReader *in, guint8 *element, GError **error)
{
  const IrTensor *constant = ir_call_input (call, 2);
  memset (element, 0, 16);
  if (constant == NULL || ir_tensor_n_elements (constant) == 0)
    return TRUE;
  if (ir_tensor_dtype (constant) == in->dtype)
    {
      g_auto (IrRefReader) reader = { 0 };
      if (!ir_ref_reader_init (&reader, call, constant, error))
        return FALSE;
      memcpy (element, reader.data, reader.size);
      return TRUE;
    }
  if (ir_ref_kind (in->dtype) == IR_REF_OTHER ||
      ir_ref_kind (ir_tensor_dtype (constant)) == IR_REF_OTHER)
    return ir_ref_fail_dtype (call, ir_tensor_dtype (constant), error);
  ir_dtype_set_double (in->dtype, element, 0, ir_tensor_get_double (constant, 0));
  return TRUE;
}

gboolean
ir_ref_pad (IrCall *call, GError **error)
{
  g_auto (IrRefReader) in = { 0 };
  g_auto (IrRefWriter) out = { 0 };
  PadMode mode = PAD_CONSTANT;
  gint64 before[IR_MAX_RANK], offsets[IR_REF_CHUNK];
  guint8 constant[16];
  IrRefLayout source, places;
  if (!ir_ref_prepare (call, error))
    return FALSE;
  const IrTensor *tensor = ir_call_input (call, 0);
  const IrType *type = call->outputs[0].type;
  if (!pad_mode (call, &mode, error) || !pads_before (call, type->rank, before, error) ||
      !ir_ref_reader_init (&in, call, tensor, error) ||
      !pad_constant (call, &in, constant, error) || !ir_ref_writer_init (&out, call, 0, error))
    return FALSE;
  ir_ref_layout_init (&source, (guint) type->rank, ir_tensor_dims (tensor));
  ir_ref_layout_init (&places, (guint) type->rank, type->dims);
  for (guint64 first = 0; first < out.n; first += IR_REF_CHUNK)
    {
      guint n = (guint) MIN (out.n - first, IR_REF_CHUNK);
      for (guint i = 0; i < n; i++)
        {
          gint64 rest = (gint64) (first + i), offset = 0;
          for (int axis = 0; axis < type->rank && offset >= 0; axis++)
            {
              gint64 at = rest / places.strides[axis];
              rest %= places.strides[axis];
              at = pad_source (mode, at - before[axis], source.dims[axis]);
              offset = at < 0 ? -1 : offset + at * source.strides[axis];
            }
          offsets[i] = offset;
        }
      for (guint i = 0; i < n; i++)
        memcpy (out.data + (first + i) * out.size,
                offsets[i] < 0 ? constant : in.data + (gsize) offsets[i] * in.size, out.size);
    }
  return ir_ref_writer_finish (&out, error);
}

/* -- DepthToSpace, SpaceToDepth -- */

/* A view of [N, C, H, W] as six axes, which are then copied in another order. */
static gboolean
copy_blocks (IrCall *call, const gint64 dims[6], const guint order[6], GError **error)
{
  IrRefLayout all, layout = { .rank = 0 };
  ir_ref_layout_init (&all, 6, dims);
  for (guint i = 0; i < 6; i++)
    ir_ref_layout_add (&layout, all.dims[order[i]], all.strides[order[i]]);
  return copy_through (call, 0, &layout, 0, error);
}

gboolean
ir_ref_depth_to_space (IrCall *call, GError **error)
{
  static const guint dcr[6] = { 0, 3, 4, 1, 5, 2 }, crd[6] = { 0, 1, 4, 2, 5, 3 };
  if (!ir_ref_prepare (call, error))
    return FALSE;
  const gint64 *in = ir_tensor_dims (ir_call_input (call, 0));
  gint64 b = ir_call_int (call, "blocksize", 1);
  const char *mode = ir_call_string (call, "mode", "DCR");
  if (g_str_equal (mode, "DCR"))
    return copy_blocks (call, (const gint64[]){ in[0], b, b, in[1] / b / b, in[2], in[3] }, dcr,
                        error);
  if (g_str_equal (mode, "CRD"))
    return copy_blocks (call, (const gint64[]){ in[0], in[1] / b / b, b, b, in[2], in[3] }, crd,
                        error);
  return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE, "mode is \"%s\"; DCR or CRD is needed",
                       mode);
}

gboolean
ir_ref_space_to_depth (IrCall *call, GError **error)
{
  static const guint dcr[6] = { 0, 3, 5, 1, 2, 4 }, crd[6] = { 0, 1, 3, 5, 2, 4 };
  if (!ir_ref_prepare (call, error))
    return FALSE;
  const gint64 *in = ir_tensor_dims (ir_call_input (call, 0));
  gint64 b = ir_call_int (call, "blocksize", 1);
  const gint64 dims[6] = { in[0], in[1], in[2] / b, b, in[3] / b, b };
  const char *mode = ir_call_string (call, "mode", "DCR");
  if (!g_str_equal (mode, "DCR") && !g_str_equal (mode, "CRD"))
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE, "mode is \"%s\"; DCR or CRD is needed",
                         mode);
  return copy_blocks (call, dims, g_str_equal (mode, "CRD") ? crd : dcr, error);
}
