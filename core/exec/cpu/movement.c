/* Operators that move elements without arithmetic: views, joins, cuts, lookups. They take every
 * type whose elements have 1, 2, 4 or 8 bytes. All but lookups are one loop: a walk over the output
 * with a stride per axis in the input, which is 0 where the input is repeated and negative where it
 * is read backwards; what lies together in both is copied at once. */
#include "config.h"

#include "core/exec/cpu/cpu.h"
#include "core/exec/ref/twister.h"
#include "core/op/infer-util.h"

#include <string.h>

#define MAX_AXES (2 * IR_MAX_RANK) /* Tile has two per axis of its input */

typedef struct
{
  guint rank;
  gint64 dims[MAX_AXES]; /* outermost first */
  gint64 in[MAX_AXES];   /* strides in elements */
  gint64 out[MAX_AXES];
  gsize size; /* bytes of an element */
} Walk;

static const char *
refuses_first (const IrNode *node)
{
  return cpu_needs_whole_bytes (node, 0);
}

static const char *
refuses_second (const IrNode *node)
{
  return cpu_needs_whole_bytes (node, 1);
}

static gsize
element_size (const IrTensor *tensor)
{
  return ir_dtype_bits (ir_tensor_dtype (tensor)) / 8;
}

/* -- the walk -- */

static void
walk_add (Walk *walk, gint64 dim, gint64 in, gint64 out)
{
  guint last = walk->rank - 1;

  if (dim == 1)
    return;
  if (walk->rank > 0 && walk->in[last] == dim * in && walk->out[last] == dim * out)
    {
      walk->dims[last] *= dim;
      walk->in[last] = in;
      walk->out[last] = out;
      return;
    }
  walk->dims[walk->rank] = dim;
  walk->in[walk->rank] = in;
  walk->out[walk->rank++] = out;
}

static void
strides_of (const gint64 *dims, guint rank, gint64 *strides)
{
  gint64 stride = 1;

  for (guint i = rank; i > 0; i--)
    {
      strides[i - 1] = stride;
      stride *= dims[i - 1];
    }
}

#define COPY_RUN(Type)                                                                             \
  static void copy_run_##Type (const Type *in, gint64 in_step, Type *out, gint64 out_step,         \
                               gint64 n)                                                           \
  {                                                                                                \
    for (gint64 i = 0; i < n; i++)                                                                 \
      out[i * out_step] = in[i * in_step];                                                         \
  }
COPY_RUN (guint8)
COPY_RUN (guint16)
COPY_RUN (guint32)
COPY_RUN (guint64)

static void
copy_run (const Walk *walk, const guint8 *in, guint8 *out)
{
  guint last = walk->rank - 1;
  gint64 in_step = walk->in[last], out_step = walk->out[last], n = walk->dims[last];

  if (in_step == 1 && out_step == 1)
    memcpy (out, in, (gsize) n * walk->size);
  else if (walk->size == 4)
    copy_run_guint32 ((const guint32 *) in, in_step, (guint32 *) out, out_step, n);
  else if (walk->size == 8)
    copy_run_guint64 ((const guint64 *) in, in_step, (guint64 *) out, out_step, n);
  else if (walk->size == 2)
    copy_run_guint16 ((const guint16 *) in, in_step, (guint16 *) out, out_step, n);
  else
    copy_run_guint8 (in, in_step, out, out_step, n);
}

/* The memory plan may let a part lie in the whole. */
static gboolean
is_there (const Walk *walk, const guint8 *in, const guint8 *out)
{
  for (guint i = 0; i < walk->rank && in == out; i++)
    if (walk->in[i] != walk->out[i])
      return FALSE;
  return in == out;
}

/* A run along the innermost axis: which one, and where it lies. */
typedef struct
{
  gint64 index[MAX_AXES];
  gint64 in, out; /* in elements */
} Place;

static Place
place_of (const Walk *walk, gint64 row)
{
  Place place = { 0 };

  for (guint i = walk->rank - 1; i > 0; i--)
    {
      place.index[i - 1] = row % walk->dims[i - 1];
      place.in += place.index[i - 1] * walk->in[i - 1];
      place.out += place.index[i - 1] * walk->out[i - 1];
      row /= walk->dims[i - 1];
    }
  return place;
}

/* The run behind it; no division, as runs may be short. */
static inline void
place_next (const Walk *walk, Place *place)
{
  for (guint i = walk->rank - 1; i > 0; i--)
    {
      place->in += walk->in[i - 1];
      place->out += walk->out[i - 1];
      if (++place->index[i - 1] < walk->dims[i - 1])
        return;
      place->index[i - 1] = 0;
      place->in -= walk->dims[i - 1] * walk->in[i - 1];
      place->out -= walk->dims[i - 1] * walk->out[i - 1];
    }
}

/* Runs along the innermost axis, shared over the threads of the call. */
static void
walk_run (const IrCall *call, Walk *walk, const guint8 *in, guint8 *out)
{
  gint64 rows = 1;

  if (is_there (walk, in, out))
    return;
  if (walk->rank == 0)
    {
      walk->dims[0] = walk->in[0] = walk->out[0] = 1;
      walk->rank = 1;
    }
  for (guint i = 0; i + 1 < walk->rank; i++)
    rows *= walk->dims[i];
  int n_threads = cpu_n_threads (call, (guint64) (rows * walk->dims[walk->rank - 1]));
  CpuWatch watch = cpu_watch (call, walk->dims[walk->rank - 1]);
#pragma omp parallel num_threads(n_threads)
  {
    gint64 row = cpu_share (rows, 0), until = cpu_share (rows, 1);
    Place place = row < until ? place_of (walk, row) : (Place){ 0 };

    for (; row < until && !cpu_watch_stopped (&watch, row); row++, place_next (walk, &place))
      copy_run (walk, in + place.in * (gint64) walk->size, out + place.out * (gint64) walk->size);
  }
}

/* -- views -- */

static gboolean
run_view (IrCall *call, GError **error)
{
  const IrTensor *in = ir_call_input (call, 0);
  gsize n_bytes = ir_tensor_n_bytes (in);
  guint8 *y;

  if (ir_tensor_is_container (in) || call->n_outputs != 1 ||
      (call->outputs[0].type != NULL && !ir_type_is_static (call->outputs[0].type)))
    return ir_ref_run (call, error);
  y = cpu_new_output (call, 0, error);
  if (y == NULL)
    return FALSE;
  if (ir_tensor_n_bytes (call->outputs[0].tensor) != n_bytes)
    return ir_ref_run (call, error);
  if (n_bytes > 0 && (gconstpointer) y != ir_tensor_data (in))
    memcpy (y, ir_tensor_data (in), n_bytes);
  return TRUE;
}

const IrCpuKernel cpu_view = { .name = "view", .refuses = refuses_first, .run = run_view };

/* -- Concat, Split -- */

static void
split_at (const IrTensor *tensor, gint64 axis, gint64 *outer, gint64 *inner)
{
  const gint64 *dims = ir_tensor_dims (tensor);

  *outer = *inner = 1;
  for (guint i = 0; i < ir_tensor_rank (tensor); i++)
    *((gint64) i < axis ? outer : inner) *= dims[i];
}

static gboolean
run_concat (IrCall *call, GError **error)
{
  const IrTensor *first = ir_call_input (call, 0);
  gint64 axis, outer, all, at = 0;
  gsize size = element_size (first);
  guint8 *y;

  if (!ir_call_axis (call, ir_call_int (call, "axis", 0), (int) ir_tensor_rank (first), &axis,
                     error))
    return FALSE;
  for (guint i = 0; i < call->n_inputs; i++)
    if (ir_tensor_dtype (ir_call_input (call, i)) != ir_tensor_dtype (first))
      return ir_ref_run (call, error);
  y = cpu_new_output (call, 0, error);
  if (y == NULL)
    return FALSE;
  split_at (call->outputs[0].tensor, axis, &outer, &all);
  for (guint i = 0; i < call->n_inputs; i++)
    {
      const IrTensor *in = ir_call_input (call, i);
      Walk walk = { .size = size };
      gint64 own_outer, own;

      split_at (in, axis, &own_outer, &own);
      walk_add (&walk, outer, own, all);
      walk_add (&walk, own, 1, 1);
      if (ir_tensor_n_elements (in) > 0)
        walk_run (call, &walk, ir_tensor_data (in), y + at * (gint64) size);
      at += own;
    }
  return TRUE;
}

static gboolean
run_split (IrCall *call, GError **error)
{
  const IrTensor *in = ir_call_input (call, 0);
  gint64 axis, outer, all, at = 0;
  gsize size = element_size (in);

  if (!ir_call_axis (call, ir_call_int (call, "axis", 0), (int) ir_tensor_rank (in), &axis, error))
    return FALSE;
  split_at (in, axis, &outer, &all);
  for (guint i = 0; i < call->n_outputs; i++)
    {
      const IrType *type = call->outputs[i].type;
      Walk walk = { .size = size };
      gint64 own = 1;
      guint8 *y;

      if (type == NULL || !ir_type_is_static (type))
        return ir_ref_run (call, error);
      for (int k = (int) axis; k < type->rank; k++)
        own *= type->dims[k];
      if (ir_call_has_output (call, i))
        {
          y = cpu_new_output (call, i, error);
          if (y == NULL)
            return FALSE;
          walk_add (&walk, outer, all, own);
          walk_add (&walk, own, 1, 1);
          if (outer * own > 0)
            walk_run (call, &walk, (const guint8 *) ir_tensor_data (in) + at * (gint64) size, y);
        }
      at += own;
    }
  return TRUE;
}

const IrCpuKernel cpu_concat = {
  .name = "block copy", .refuses = refuses_first, .run = run_concat, .blocks = &cpu_concat_blocks
};
const IrCpuKernel cpu_split = { .name = "block copy", .refuses = refuses_first, .run = run_split };

/* -- Slice, Expand, Tile, Pad -- */

static gboolean
run_slice (IrCall *call, GError **error)
{
  const IrTensor *in = ir_call_input (call, 0);
  guint rank = ir_tensor_rank (in), n = 0, n_axes = 0, n_steps = 0;
  g_autofree gint64 *starts = NULL, *axes = NULL, *steps = NULL;
  gint64 in_strides[IR_MAX_RANK], out_strides[IR_MAX_RANK], from = 0;
  gint64 step_of[IR_MAX_RANK];
  const gint64 *dims = ir_tensor_dims (in), *out_dims;
  Walk walk = { .size = element_size (in) };
  guint8 *y = NULL;

  if (ir_call_input_ints (call, 1, &starts, &n) &&
      (!ir_call_has_input (call, 3) || ir_call_input_ints (call, 3, &axes, &n_axes)) &&
      (!ir_call_has_input (call, 4) || ir_call_input_ints (call, 4, &steps, &n_steps)))
    y = cpu_new_output (call, 0, error);
  else
    return ir_ref_run (call, error);
  if (y == NULL)
    return FALSE;
  if (ir_tensor_n_elements (call->outputs[0].tensor) == 0)
    return TRUE;
  out_dims = ir_tensor_dims (call->outputs[0].tensor);
  strides_of (dims, rank, in_strides);
  strides_of (out_dims, rank, out_strides);
  for (guint i = 0; i < rank; i++)
    step_of[i] = 1;
  for (guint i = 0; i < n; i++)
    {
      gint64 axis = axes != NULL ? axes[i] : i, step = steps != NULL ? steps[i] : 1, start;

      axis += axis < 0 ? rank : 0;
      start = starts[i] < 0 ? starts[i] + dims[axis] : starts[i];
      start = CLAMP (start, 0, dims[axis] - 1);
      step_of[axis] = step;
      from += start * in_strides[axis];
    }
  for (guint i = 0; i < rank; i++)
    walk_add (&walk, out_dims[i], out_dims[i] > 1 ? step_of[i] * in_strides[i] : 0, out_strides[i]);
  walk_run (call, &walk, (const guint8 *) ir_tensor_data (in) + from * (gint64) walk.size, y);
  return TRUE;
}

static gboolean
run_expand (IrCall *call, GError **error)
{
  const IrTensor *in = ir_call_input (call, 0);
  guint in_rank = ir_tensor_rank (in), rank;
  gint64 in_strides[IR_MAX_RANK], out_strides[IR_MAX_RANK];
  Walk walk = { .size = element_size (in) };
  guint8 *y = cpu_new_output (call, 0, error);

  if (y == NULL)
    return FALSE;
  rank = ir_tensor_rank (call->outputs[0].tensor);
  strides_of (ir_tensor_dims (in), in_rank, in_strides);
  strides_of (ir_tensor_dims (call->outputs[0].tensor), rank, out_strides);
  for (guint i = 0; i < rank; i++)
    {
      gint64 dim = ir_tensor_dims (call->outputs[0].tensor)[i];
      guint own = i + in_rank - rank; /* wraps where the input has no such axis */
      gboolean repeated = i + in_rank < rank || ir_tensor_dims (in)[own] == 1;

      walk_add (&walk, dim, repeated ? 0 : in_strides[own], out_strides[i]);
    }
  if (ir_tensor_n_elements (call->outputs[0].tensor) > 0)
    walk_run (call, &walk, ir_tensor_data (in), y);
  return TRUE;
}

static gboolean
run_tile (IrCall *call, GError **error)
{
  const IrTensor *in = ir_call_input (call, 0);
  guint rank = ir_tensor_rank (in);
  gint64 in_strides[IR_MAX_RANK], out_strides[IR_MAX_RANK];
  Walk walk = { .size = element_size (in) };
  guint8 *y = cpu_new_output (call, 0, error);

  if (y == NULL)
    return FALSE;
  if (ir_tensor_n_elements (call->outputs[0].tensor) == 0)
    return TRUE;
  strides_of (ir_tensor_dims (in), rank, in_strides);
  strides_of (ir_tensor_dims (call->outputs[0].tensor), rank, out_strides);
  for (guint i = 0; i < rank; i++)
    {
      gint64 dim = ir_tensor_dims (in)[i];

      walk_add (&walk, ir_tensor_dims (call->outputs[0].tensor)[i] / dim, 0, dim * out_strides[i]);
      walk_add (&walk, dim, in_strides[i], out_strides[i]);
    }
  walk_run (call, &walk, ir_tensor_data (in), y);
  return TRUE;
}

static void
fill (const IrCall *call, guint8 *y, guint64 n, const guint8 *element, gsize size)
{
  gboolean zero = TRUE;

  for (gsize i = 0; i < size; i++)
    zero &= element[i] == 0;
  if (zero && n > 0)
    memset (y, 0, n * size);
  for (guint64 i = 0; !zero && i < n; i++)
    memcpy (y + i * size, element, size);
}

/* Constant mode without negative pads; the rest is the reference kernel's. */
static gboolean
run_pad (IrCall *call, GError **error)
{
  const IrTensor *in = ir_call_input (call, 0), *value = ir_call_input (call, 2);
  guint rank = ir_tensor_rank (in), n = 0;
  gint64 in_strides[IR_MAX_RANK], out_strides[IR_MAX_RANK], to = 0;
  g_autofree gint64 *pads = NULL;
  guint8 nothing[8] = { 0 }, *y;
  Walk walk = { .size = element_size (in) };
  gboolean plain = strcmp (ir_call_string (call, "mode", "constant"), "constant") == 0 &&
                   !ir_call_has_input (call, 3) && ir_call_input_ints (call, 1, &pads, &n) &&
                   n == 2 * rank &&
                   (value == NULL || (ir_tensor_dtype (value) == ir_tensor_dtype (in) &&
                                      ir_tensor_n_elements (value) == 1));

  for (guint i = 0; plain && i < n; i++)
    plain = pads[i] >= 0;
  if (!plain)
    return ir_ref_run (call, error);
  y = cpu_new_output (call, 0, error);
  if (y == NULL)
    return FALSE;
  fill (call, y, ir_tensor_n_elements (call->outputs[0].tensor),
        value != NULL ? ir_tensor_data (value) : nothing, walk.size);
  strides_of (ir_tensor_dims (in), rank, in_strides);
  strides_of (ir_tensor_dims (call->outputs[0].tensor), rank, out_strides);
  for (guint i = 0; i < rank; i++)
    {
      walk_add (&walk, ir_tensor_dims (in)[i], in_strides[i], out_strides[i]);
      to += pads[i] * out_strides[i];
    }
  if (ir_tensor_n_elements (in) > 0)
    walk_run (call, &walk, ir_tensor_data (in), y + to * (gint64) walk.size);
  return TRUE;
}

const IrCpuKernel cpu_slice = { .name = "strided copy",
                                .refuses = refuses_first,
                                .run = run_slice };
const IrCpuKernel cpu_expand = { .name = "strided copy",
                                 .refuses = refuses_first,
                                 .run = run_expand };
const IrCpuKernel cpu_tile = { .name = "strided copy", .refuses = refuses_first, .run = run_tile };
const IrCpuKernel cpu_pad = { .name = "strided copy", .refuses = refuses_first, .run = run_pad };

/* -- Dropout, which lets all through but in training -- */

/* The numbers of the reference kernel: they come one after the other. */
static gboolean
drop (IrCall *call, GError **error)
{
  const IrTensor *in = ir_call_input (call, 0), *given = ir_call_input (call, 1);
  double ratio = given != NULL ? ir_tensor_get_double (given, 0) : 0.5;
  const float *x = ir_tensor_data (in);
  float *y = cpu_new_output (call, 0, error);
  guint8 *mask = NULL;
  IrTwister twister;

  if (y == NULL ||
      (ir_call_has_output (call, 1) && (mask = cpu_new_output (call, 1, error)) == NULL))
    return FALSE;
  ir_twister_init_call (&twister, call);
  for (guint64 i = 0; i < ir_tensor_n_elements (in); i++)
    {
      gboolean kept = ir_twister_uniform (&twister) >= ratio;
      y[i] = (float) (kept ? x[i] * (1 / (1 - ratio)) : x[i] * 0.0);
      if (mask != NULL)
        mask[i] = (guint8) kept;
      if ((i & (CPU_POLL - 1)) == CPU_POLL - 1 && ir_call_stopped (call))
        break;
    }
  return TRUE;
}

/* In float, at a ratio that drops some. */
static gboolean
may_drop (const IrCall *call)
{
  const IrTensor *ratio = ir_call_input (call, 1);

  return cpu_floats (call, 0) != NULL &&
         (ratio == NULL ||
          (ir_tensor_n_elements (ratio) == 1 && ir_dtype_is_float (ir_tensor_dtype (ratio)) &&
           ir_tensor_get_double (ratio, 0) > 0 && ir_tensor_get_double (ratio, 0) < 1));
}

static gboolean
run_dropout (IrCall *call, GError **error)
{
  const IrTensor *in = ir_call_input (call, 0), *training = ir_call_input (call, 2);
  const IrType *type = ir_call_has_output (call, 1) ? call->outputs[1].type : NULL;
  guint8 *y, *mask;

  /* Before opset 10 the mask is of the type of the input. */
  if (type != NULL && type->dtype != IR_DTYPE_BOOL)
    return ir_ref_run (call, error);
  if (training != NULL &&
      (ir_tensor_n_elements (training) != 1 || ir_tensor_dtype (training) != IR_DTYPE_BOOL ||
       *(const guint8 *) ir_tensor_data (training) != 0))
    return ir_tensor_n_elements (training) == 1 && ir_tensor_dtype (training) == IR_DTYPE_BOOL &&
                   may_drop (call)
               ? drop (call, error)
               : ir_ref_run (call, error);
  y = cpu_new_output (call, 0, error);
  if (y == NULL)
    return FALSE;
  if (ir_tensor_n_bytes (in) > 0 && (gconstpointer) y != ir_tensor_data (in))
    memcpy (y, ir_tensor_data (in), ir_tensor_n_bytes (in));
  if (!ir_call_has_output (call, 1))
    return TRUE;
  mask = cpu_new_output (call, 1, error);
  if (mask != NULL && ir_tensor_n_elements (in) > 0)
    memset (mask, 1, (gsize) ir_tensor_n_elements (in));
  return mask != NULL;
}

const IrCpuKernel cpu_dropout = { .name = "copy",
                                  .refuses = cpu_needs_first_float,
                                  .run = run_dropout };

/* -- DepthToSpace, SpaceToDepth: six axes in another order -- */

static gboolean
copy_blocks (IrCall *call, const gint64 dims[6], const guint order[6], GError **error)
{
  const IrTensor *in = ir_call_input (call, 0);
  gint64 in_strides[6], out_dims[6], out_strides[6];
  Walk walk = { .size = element_size (in) };
  guint8 *y = cpu_new_output (call, 0, error);

  if (y == NULL)
    return FALSE;
  strides_of (dims, 6, in_strides);
  for (guint i = 0; i < 6; i++)
    out_dims[i] = dims[order[i]];
  strides_of (out_dims, 6, out_strides);
  for (guint i = 0; i < 6; i++)
    walk_add (&walk, out_dims[i], in_strides[order[i]], out_strides[i]);
  if (ir_tensor_n_elements (in) > 0)
    walk_run (call, &walk, ir_tensor_data (in), y);
  return TRUE;
}

static gboolean
run_depth_to_space (IrCall *call, GError **error)
{
  static const guint dcr[6] = { 0, 3, 4, 1, 5, 2 }, crd[6] = { 0, 1, 4, 2, 5, 3 };
  const char *mode = ir_call_string (call, "mode", "DCR");
  const gint64 *in = ir_tensor_dims (ir_call_input (call, 0));
  gint64 b = ir_call_int (call, "blocksize", 1);

  if (b > 0 && strcmp (mode, "DCR") == 0)
    return copy_blocks (call, (gint64[]){ in[0], b, b, in[1] / b / b, in[2], in[3] }, dcr, error);
  if (b > 0 && strcmp (mode, "CRD") == 0)
    return copy_blocks (call, (gint64[]){ in[0], in[1] / b / b, b, b, in[2], in[3] }, crd, error);
  return ir_ref_run (call, error);
}

static gboolean
run_space_to_depth (IrCall *call, GError **error)
{
  static const guint dcr[6] = { 0, 3, 5, 1, 2, 4 }, crd[6] = { 0, 1, 3, 5, 2, 4 };
  const char *mode = ir_call_string (call, "mode", "DCR");
  const gint64 *in = ir_tensor_dims (ir_call_input (call, 0));
  gint64 b = ir_call_int (call, "blocksize", 1);
  gboolean depth_first = strcmp (mode, "DCR") == 0;

  if (b <= 0 || (!depth_first && strcmp (mode, "CRD") != 0))
    return ir_ref_run (call, error);
  return copy_blocks (call, (gint64[]){ in[0], in[1], in[2] / b, b, in[3] / b, b },
                      depth_first ? dcr : crd, error);
}

const IrCpuKernel cpu_depth_to_space = { .name = "strided copy",
                                         .refuses = refuses_first,
                                         .run = run_depth_to_space };
const IrCpuKernel cpu_space_to_depth = { .name = "strided copy",
                                         .refuses = refuses_first,
                                         .run = run_space_to_depth };

/* -- Gather -- */

static gboolean
read_indices (IrCall *call, const IrTensor *indices, gint64 size, gint64 *places, GError **error)
{
  guint64 n = ir_tensor_n_elements (indices);

  for (guint64 i = 0; i < n; i++)
    {
      gint64 index = ir_tensor_get_int64 (indices, i);

      if (index < -size || index >= size)
        return ir_call_fail (call, error, IR_OP_ERROR_VALUE,
                             "index %" G_GINT64_FORMAT " at place %" G_GUINT64_FORMAT
                             " is outside an axis of %" G_GINT64_FORMAT,
                             index, i, size);
      places[i] = index < 0 ? index + size : index;
    }
  return TRUE;
}

static gboolean
run_gather (IrCall *call, GError **error)
{
  const IrTensor *data = ir_call_input (call, 0), *indices = ir_call_input (call, 1);
  gint64 axis, outer, inner, size, n = (gint64) ir_tensor_n_elements (indices);
  gsize element = element_size (data);
  const guint8 *x = ir_tensor_raw (data); /* of a large table few rows are read */
  guint8 *y;

  if ((ir_tensor_dtype (indices) != IR_DTYPE_INT64 &&
       ir_tensor_dtype (indices) != IR_DTYPE_INT32) ||
      !ir_call_axis (call, ir_call_int (call, "axis", 0), (int) ir_tensor_rank (data), &axis, NULL))
    return ir_ref_run (call, error);
  size = ir_tensor_dims (data)[axis];
  g_autofree gint64 *places = g_try_new (gint64, MAX (n, 1));
  if (places == NULL)
    return ir_call_fail (call, error, IR_OP_ERROR_LIMIT, "the indices do not fit into memory");
  y = cpu_new_output (call, 0, error);
  if (y == NULL)
    return FALSE;
  if (ir_tensor_n_elements (call->outputs[0].tensor) == 0)
    return TRUE;
  if (!read_indices (call, indices, size, places, error))
    return FALSE;
  split_at (data, axis, &outer, &inner);
  inner = size > 0 ? inner / size : 0;
  gsize run = (gsize) inner * element;
  if (run == 0)
    return TRUE;
  int n_threads = cpu_n_threads (call, (guint64) (outer * n * inner));
  CpuWatch watch = cpu_watch (call, inner);
#pragma omp parallel num_threads(n_threads)
  for (gint64 k = cpu_share (outer * n, 0), until = cpu_share (outer * n, 1);
       k < until && !cpu_watch_stopped (&watch, k); k++)
    memcpy (y + (gsize) k * run, x + (gsize) (k / n * size + places[k % n]) * run, run);
  return TRUE;
}

const IrCpuKernel cpu_gather = { .name = "block copy",
                                 .refuses = refuses_first,
                                 .unaligned = 1,
                                 .run = run_gather,
                                 .blocks = &cpu_gather_blocks };

/* -- Where -- */

/* Rows along the innermost axis; each operand has its own stride there, 0 or 1. */
typedef struct
{
  guint rank;
  gint64 dims[IR_MAX_RANK], strides[3][IR_MAX_RANK];
} Choice;

static void
choice_init (Choice *choice, const IrTensor *const *operands, const IrTensor *out)
{
  choice->rank = MAX (ir_tensor_rank (out), 1);
  choice->dims[0] = 1;
  for (guint i = 0; i < ir_tensor_rank (out); i++)
    choice->dims[i] = ir_tensor_dims (out)[i];
  for (guint k = 0; k < 3; k++)
    {
      guint own = ir_tensor_rank (operands[k]), rank = ir_tensor_rank (out);
      gint64 stride = 1;

      for (guint i = choice->rank; i > 0; i--)
        {
          gint64 dim = i - 1 + own >= rank && own > 0
                           ? ir_tensor_dims (operands[k])[i - 1 + own - rank]
                           : 1;

          choice->strides[k][i - 1] = dim == 1 ? 0 : stride;
          stride *= dim;
        }
    }
}

#define CHOOSE(Type)                                                                               \
  static inline void choose_steps_##Type (const guint8 *c, gint64 sc, const Type *x, gint64 sx,    \
                                          const Type *y, gint64 sy, Type *out, gint64 n)           \
  {                                                                                                \
    for (gint64 i = 0; i < n; i++)                                                                 \
      {                                                                                            \
        Type mask = (Type) - (Type) (c[i * sc] != 0);                                              \
        out[i] = (Type) ((x[i * sx] & mask) | (y[i * sy] & (Type) ~mask));                         \
      }                                                                                            \
  }                                                                                                \
  CPU_VECTORIZED static void choose_##Type (const guint8 *c, gint64 sc, const Type *x, gint64 sx,  \
                                            const Type *y, gint64 sy, Type *out, gint64 n)         \
  {                                                                                                \
    if (sc == 1 && sx == 1 && sy == 1)                                                             \
      choose_steps_##Type (c, 1, x, 1, y, 1, out, n);                                              \
    else if (sc == 1 && sx == 1 && sy == 0)                                                        \
      choose_steps_##Type (c, 1, x, 1, y, 0, out, n);                                              \
    else                                                                                           \
      choose_steps_##Type (c, sc, x, sx, y, sy, out, n);                                           \
  }
CHOOSE (guint8)
CHOOSE (guint16)
CHOOSE (guint32)
CHOOSE (guint64)

static void
choose_row (gsize size,
            const guint8 *c,
            gint64 sc,
            const guint8 *x,
            gint64 sx,
            const guint8 *y,
            gint64 sy,
            guint8 *out,
            gint64 n)
{
  if (size == 4)
    choose_guint32 (c, sc, (const guint32 *) x, sx, (const guint32 *) y, sy, (guint32 *) out, n);
  else if (size == 8)
    choose_guint64 (c, sc, (const guint64 *) x, sx, (const guint64 *) y, sy, (guint64 *) out, n);
  else if (size == 2)
    choose_guint16 (c, sc, (const guint16 *) x, sx, (const guint16 *) y, sy, (guint16 *) out, n);
  else
    choose_guint8 (c, sc, x, sx, y, sy, out, n);
}

static gboolean
run_where (IrCall *call, GError **error)
{
  const IrTensor *operands[] = { ir_call_input (call, 0), ir_call_input (call, 1),
                                 ir_call_input (call, 2) };
  gsize size = element_size (operands[1]);
  const guint8 *c = ir_tensor_data (operands[0]), *x = ir_tensor_data (operands[1]),
               *y = ir_tensor_data (operands[2]);
  guint8 *out;
  Choice choice;
  gint64 n, rows;

  if (ir_tensor_dtype (operands[0]) != IR_DTYPE_BOOL ||
      ir_tensor_dtype (operands[1]) != ir_tensor_dtype (operands[2]))
    return ir_ref_run (call, error);
  out = cpu_new_output (call, 0, error);
  if (out == NULL)
    return FALSE;
  choice_init (&choice, operands, call->outputs[0].tensor);
  n = choice.dims[choice.rank - 1];
  rows = n > 0 ? (gint64) ir_tensor_n_elements (call->outputs[0].tensor) / n : 0;
  int n_threads = cpu_n_threads (call, (guint64) (rows * n));
  CpuWatch watch = cpu_watch (call, n);
#pragma omp parallel num_threads(n_threads)
  for (gint64 row = cpu_share (rows, 0), until = cpu_share (rows, 1);
       row < until && !cpu_watch_stopped (&watch, row); row++)
    {
      gint64 at[3] = { 0 }, index = row;
      const gint64 last = choice.rank - 1;

      for (gint64 i = last; i > 0; i--)
        {
          for (guint k = 0; k < 3; k++)
            at[k] += index % choice.dims[i - 1] * choice.strides[k][i - 1];
          index /= choice.dims[i - 1];
        }
      gint64 sc = choice.strides[0][last], sx = choice.strides[1][last],
             sy = choice.strides[2][last];
      choose_row (size, c + at[0], sc, x + at[1] * (gint64) size, sx, y + at[2] * (gint64) size, sy,
                  out + row * n * (gint64) size, n);
    }
  return TRUE;
}

const IrCpuKernel cpu_where = { .name = "loop", .refuses = refuses_second, .run = run_where };

/* -- ConstantOfShape -- */

static gboolean
run_fill (IrCall *call, GError **error)
{
  const IrAttr *attr = ir_call_attr (call, "value");
  const IrTensor *value = attr != NULL && attr->kind == IR_ATTR_TENSOR ? attr->tensors[0] : NULL;
  guint8 nothing[4] = { 0 };
  guint8 *y;

  if (value != NULL && (ir_dtype_bits (ir_tensor_dtype (value)) % 8 != 0 ||
                        ir_dtype_bits (ir_tensor_dtype (value)) == 0 ||
                        ir_tensor_n_elements (value) != 1 || ir_tensor_data (value) == NULL))
    return ir_ref_run (call, error);
  y = cpu_new_output (call, 0, error);
  if (y == NULL)
    return FALSE;
  fill (call, y, ir_tensor_n_elements (call->outputs[0].tensor),
        value != NULL ? ir_tensor_data (value) : nothing,
        value != NULL ? element_size (value) : sizeof nothing);
  return TRUE;
}

const IrCpuKernel cpu_fill = { .name = "fill", .run = run_fill };

/* -- Constant: the tensor of the attribute itself, not a copy -- */

static gboolean
run_constant (IrCall *call, GError **error)
{
  const IrAttr *attr = ir_call_attr (call, "value");
  IrTensor *dense;

  if (attr == NULL || attr->kind != IR_ATTR_TENSOR)
    return ir_ref_run (call, error);
  dense = ir_tensor_densify (attr->tensors[0], error);
  if (dense != NULL)
    ir_call_take_output (call, 0, dense);
  return dense != NULL;
}

const IrCpuKernel cpu_constant = { .name = "view", .run = run_constant };

/* -- items of sequences and optionals -- */

/* Items are shared, not copied, and pieces are cut and joined in blocks: there is nothing to do
 * faster than the reference does it. */
static gboolean
run_items (IrCall *call, GError **error)
{
  return ir_ref_run (call, error);
}

const IrCpuKernel cpu_items = { .name = "shared items", .run = run_items };
