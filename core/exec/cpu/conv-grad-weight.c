/* The derivative of a convolution by its kernel, on oneDNN (2.6, C API): backward by weights. X and
 * dY come as NCHW and are reordered where the primitive wants blocks; so is dW on its way out. What
 * oneDNN has no primitive for is left to the reference kernel. */
#include "config.h"

#include "core/exec/cpu/cpu.h"

#include <oneapi/dnnl/dnnl.h>
#include <string.h>

#define MAX_AXES 3
#define SIDES    3 /* X, dY, dW */

typedef struct
{
  int ndims, w_ndims;
  dnnl_dims_t dims[SIDES]; /* of dW with the groups first, where there are some */
  dnnl_dims_t strides, dilations, pad_begin, pad_end;
  int n_threads;
} Shape;

/* Its scratch memory is the call's: the library's own belongs to the thread that makes it. */
typedef struct
{
  dnnl_primitive_t primitive; /* (nullable) there is none */
  dnnl_memory_t scratch;      /* (nullable) its handle is set before each use */
  gsize scratch_bytes;
} Primitive;

/* One operand: as the graph has it and as the primitive wants it; equal where there is no reorder. */
typedef struct
{
  dnnl_memory_t plain, own;
  Primitive reorder;
} Side;

typedef struct
{
  Shape shape;
  dnnl_engine_t engine;
  dnnl_stream_t stream;
  dnnl_primitive_attr_t attr;
  Primitive backward;
  IrScratch own; /* where the call has none */
  Side sides[SIDES];
} State;

static void
clear_primitive (Primitive *made)
{
  if (made->primitive != NULL)
    dnnl_primitive_destroy (made->primitive);
  if (made->scratch != NULL)
    dnnl_memory_destroy (made->scratch);
}

static void
clear (State *state)
{
  for (guint i = 0; i < SIDES; i++)
    {
      Side *side = &state->sides[i];
      clear_primitive (&side->reorder);
      if (side->own != NULL && side->own != side->plain)
        dnnl_memory_destroy (side->own);
      if (side->plain != NULL)
        dnnl_memory_destroy (side->plain);
    }
  clear_primitive (&state->backward);
  if (state->attr != NULL)
    dnnl_primitive_attr_destroy (state->attr);
  if (state->stream != NULL)
    dnnl_stream_destroy (state->stream);
  if (state->engine != NULL)
    dnnl_engine_destroy (state->engine);
  ir_scratch_clear (&state->own);
  *state = (State){ 0 };
}

static gpointer
prepare (IrCall *call, GError **error)
{
  return g_new0 (State, 1);
}

static void
release (gpointer data)
{
  clear (data);
  g_free (data);
}

static const char *
refuses (const IrNode *node)
{
  const char *why = cpu_needs_float (node);
  int rank = node->n_inputs > 0 && node->inputs[0] != NULL ? ir_value_rank (node->inputs[0])
                                                           : IR_RANK_UNKNOWN;

  return cpu_first_reason (
      why, rank >= 3 && rank <= 2 + MAX_AXES
               ? NULL
               : "oneDNN walks along 1 to 3 axes, and the rank of X is another or unknown");
}

/* -- the primitive -- */

static dnnl_format_tag_t
plain_tag (int ndims)
{
  static const dnnl_format_tag_t tags[] = {
    [3] = dnnl_abc, [4] = dnnl_abcd, [5] = dnnl_abcde, [6] = dnnl_abcdef
  };
  return tags[ndims];
}

static gboolean
describe (dnnl_memory_desc_t *desc, int ndims, const dnnl_dims_t dims, dnnl_format_tag_t tag)
{
  return dnnl_memory_desc_init_by_tag (desc, ndims, dims, dnnl_f32, tag) == dnnl_success;
}

/* oneDNN wants the convolution forwards as a hint of what is derived. */
static dnnl_primitive_desc_t
make_desc (const State *state)
{
  const Shape *s = &state->shape;
  dnnl_memory_desc_t x, w, y;
  dnnl_convolution_desc_t forward, backward;
  dnnl_primitive_desc_t hint = NULL, desc = NULL;

  if (!describe (&x, s->ndims, s->dims[0], dnnl_format_tag_any) ||
      !describe (&y, s->ndims, s->dims[1], dnnl_format_tag_any) ||
      !describe (&w, s->w_ndims, s->dims[2], dnnl_format_tag_any) ||
      dnnl_dilated_convolution_forward_desc_init (
          &forward, dnnl_forward_training, dnnl_convolution_direct, &x, &w, NULL, &y, s->strides,
          s->dilations, s->pad_begin, s->pad_end) != dnnl_success ||
      dnnl_dilated_convolution_backward_weights_desc_init (
          &backward, dnnl_convolution_direct, &x, &w, NULL, &y, s->strides, s->dilations,
          s->pad_begin, s->pad_end) != dnnl_success ||
      dnnl_primitive_desc_create (&hint, &forward, NULL, state->engine, NULL) != dnnl_success)
    return NULL;
  if (dnnl_primitive_desc_create (&desc, &backward, state->attr, state->engine, hint) !=
      dnnl_success)
    desc = NULL;
  dnnl_primitive_desc_destroy (hint);
  return desc;
}

static gboolean
make_primitive (const State *state, dnnl_primitive_desc_t desc, Primitive *made)
{
  const dnnl_memory_desc_t *scratch = dnnl_primitive_desc_query_md (desc, dnnl_query_scratchpad_md,
                                                                    0);

  made->scratch_bytes = scratch != NULL ? dnnl_memory_desc_get_size (scratch) : 0;
  return dnnl_primitive_create (&made->primitive, desc) == dnnl_success &&
         (made->scratch_bytes == 0 || dnnl_memory_create (&made->scratch, scratch, state->engine,
                                                          DNNL_MEMORY_NONE) == dnnl_success);
}

/* @outwards: from the layout of the primitive */
static gboolean
make_side (
    State *state, dnnl_primitive_desc_t desc, dnnl_query_t query, guint index, gboolean outwards)
{
  const Shape *s = &state->shape;
  Side *side = &state->sides[index];
  const dnnl_memory_desc_t *wanted = dnnl_primitive_desc_query_md (desc, query, 0);
  int ndims = outwards ? s->w_ndims : s->ndims;
  dnnl_memory_desc_t given;
  dnnl_primitive_desc_t reorder;

  if (!describe (&given, ndims, s->dims[index], plain_tag (ndims)) ||
      dnnl_memory_create (&side->plain, &given, state->engine, DNNL_MEMORY_NONE) != dnnl_success)
    return FALSE;
  side->own = side->plain;
  if (dnnl_memory_desc_equal (wanted, &given))
    return TRUE;
  if (dnnl_memory_create (&side->own, wanted, state->engine, DNNL_MEMORY_ALLOCATE) != dnnl_success)
    {
      side->own = side->plain;
      return FALSE;
    }
  if (dnnl_reorder_primitive_desc_create (&reorder, outwards ? wanted : &given, state->engine,
                                          outwards ? &given : wanted, state->engine,
                                          state->attr) != dnnl_success)
    return FALSE;
  gboolean made = make_primitive (state, reorder, &side->reorder);
  dnnl_primitive_desc_destroy (reorder);
  return made;
}

/* FALSE: oneDNN has none for it. */
static gboolean
make (State *state, const Shape *shape)
{
  if (state->backward.primitive != NULL && memcmp (&state->shape, shape, sizeof *shape) == 0)
    return TRUE;
  clear (state);
  state->shape = *shape;
  if (dnnl_engine_create (&state->engine, dnnl_cpu, 0) != dnnl_success ||
      dnnl_stream_create (&state->stream, state->engine, dnnl_stream_default_flags) !=
          dnnl_success ||
      dnnl_primitive_attr_create (&state->attr) != dnnl_success ||
      dnnl_primitive_attr_set_scratchpad_mode (state->attr, dnnl_scratchpad_mode_user) !=
          dnnl_success)
    return FALSE;
  dnnl_primitive_desc_t desc = make_desc (state);
  if (desc == NULL)
    return FALSE;
  gboolean made = make_side (state, desc, dnnl_query_src_md, 0, FALSE) &&
                  make_side (state, desc, dnnl_query_diff_dst_md, 1, FALSE) &&
                  make_side (state, desc, dnnl_query_diff_weights_md, 2, TRUE) &&
                  make_primitive (state, desc, &state->backward);
  dnnl_primitive_desc_destroy (desc);
  return made;
}

/* @args has room for one more. */
static gboolean
run_primitive (
    State *state, const IrCall *call, const Primitive *made, dnnl_exec_arg_t *args, int n)
{
  if (made->scratch != NULL)
    {
      gpointer memory = ir_scratch_get (call->scratch != NULL ? call->scratch : &state->own,
                                        IR_SCRATCH_KERNEL, made->scratch_bytes);
      if (memory == NULL || dnnl_memory_set_data_handle (made->scratch, memory) != dnnl_success)
        return FALSE;
      args[n++] = (dnnl_exec_arg_t){ DNNL_ARG_SCRATCHPAD, made->scratch };
    }
  return dnnl_primitive_execute (made->primitive, state->stream, n, args) == dnnl_success;
}

static gboolean
reorder (State *state, const IrCall *call, const Side *side, gboolean outwards)
{
  dnnl_exec_arg_t args[3] = { { DNNL_ARG_FROM, outwards ? side->own : side->plain },
                              { DNNL_ARG_TO, outwards ? side->plain : side->own } };

  return side->reorder.primitive == NULL || run_primitive (state, call, &side->reorder, args, 2);
}

static gboolean
execute (State *state, const IrCall *call, const float *x, const float *dy, float *dw)
{
  const void *data[SIDES] = { x, dy, dw };
  dnnl_exec_arg_t args[SIDES + 1] = { { DNNL_ARG_SRC, state->sides[0].own },
                                      { DNNL_ARG_DIFF_DST, state->sides[1].own },
                                      { DNNL_ARG_DIFF_WEIGHTS, state->sides[2].own } };

  for (guint i = 0; i < SIDES; i++)
    if (dnnl_memory_set_data_handle (state->sides[i].plain, (void *) data[i]) != dnnl_success)
      return FALSE;
  return reorder (state, call, &state->sides[0], FALSE) &&
         reorder (state, call, &state->sides[1], FALSE) &&
         run_primitive (state, call, &state->backward, args, SIDES) &&
         reorder (state, call, &state->sides[2], TRUE) &&
         dnnl_stream_wait (state->stream) == dnnl_success;
}

/* -- the call -- */

static void
read_window (const IrCall *call, const char *name, guint n, gint64 fallback, gint64 *values)
{
  guint n_given = 0;
  const gint64 *given = ir_call_ints (call, name, &n_given);

  for (guint i = 0; i < n; i++)
    values[i] = given != NULL && i < n_given ? given[i] : fallback;
}

/* What follows dY's size: where the window does not reach the end, less is added there. FALSE: X
 * and dY are of no convolution. */
static gboolean
find_end (Shape *s, guint axis, gint64 kernel, gint64 in, gint64 out)
{
  gint64 reach = (kernel - 1) * (s->dilations[axis] + 1) + 1;
  gint64 needed = (out - 1) * s->strides[axis] + reach - in - s->pad_begin[axis];

  s->pad_end[axis] = needed;
  return out > 0 && s->pad_begin[axis] < reach && needed < reach && needed > -s->strides[axis];
}

static gboolean
shape_of (Shape *s, const IrCall *call, const IrTensor *dw)
{
  const IrTensor *x = ir_call_input (call, 0), *dy = ir_call_input (call, 1);
  guint n = ir_tensor_rank (x) - 2, shift;
  gint64 group = ir_call_int (call, "group", 1), pads[2 * MAX_AXES];

  memset (s, 0, sizeof *s);
  s->ndims = (int) n + 2;
  s->w_ndims = s->ndims + (group > 1);
  shift = group > 1;
  read_window (call, "strides", n, 1, s->strides);
  read_window (call, "dilations", n, 1, s->dilations);
  read_window (call, "pads", 2 * n, 0, pads);
  for (guint i = 0; i < n + 2; i++)
    {
      s->dims[0][i] = ir_tensor_dims (x)[i];
      s->dims[1][i] = ir_tensor_dims (dy)[i];
      s->dims[2][i + shift] = ir_tensor_dims (dw)[i];
    }
  if (group > 1)
    {
      s->dims[2][0] = group;
      s->dims[2][1] /= group;
    }
  for (guint i = 0; i < n; i++)
    {
      s->dilations[i]--;
      s->pad_begin[i] = pads[i];
      if (!find_end (s, i, ir_tensor_dims (dw)[i + 2], ir_tensor_dims (x)[i + 2],
                     ir_tensor_dims (dy)[i + 2]))
        return FALSE;
    }
  return TRUE;
}

static gboolean
run (IrCall *call, GError **error)
{
  State *state = call->kernel_state, local = { 0 };
  const IrTensor *x = ir_call_input (call, 0), *dy = ir_call_input (call, 1);
  Shape shape;

  if (!call->op->infer (call, error))
    return FALSE;
  const IrType *type = call->outputs[0].type;
  if (type == NULL || !ir_type_is_static (type))
    return ir_ref_run (call, error);
  IrTensor *dw = ir_call_new_output (call, 0, IR_DTYPE_FLOAT, (guint) type->rank, type->dims,
                                     error);
  if (dw == NULL)
    return FALSE;
  if (ir_tensor_n_elements (x) == 0 || ir_tensor_n_elements (dy) == 0 ||
      ir_tensor_n_elements (dw) == 0 || cpu_floats (call, 0) == NULL ||
      cpu_floats (call, 1) == NULL || !shape_of (&shape, call, dw))
    return ir_ref_run (call, error);
  guint64 per_element = ir_tensor_n_elements (dw) / (guint64) type->dims[0];
  shape.n_threads = cpu_n_threads (call, ir_tensor_n_elements (dy) * per_element / 32);
  cpu_library_threads (call, shape.n_threads);
  if (state == NULL)
    state = &local;
  gboolean done = make (state, &shape) &&
                  execute (state, call, cpu_floats (call, 0), cpu_floats (call, 1),
                           ir_tensor_data_writable (dw));
  clear (&local);
  return done || ir_ref_run (call, error);
}

const IrCpuKernel cpu_conv_grad_weight = {
  .name = "convolution backward by weights on oneDNN",
  .refuses = refuses,
  .prepare = prepare,
  .release = release,
  .run = run,
};
