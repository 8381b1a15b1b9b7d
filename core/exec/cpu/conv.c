/* Convolution with the fused forms: directly over blocks of channels (direct.c) where the machine
 * and the groups allow it, of three by three perhaps by Winograd's way (winograd.c), else on oneDNN
 * (2.6, C API). Weights that are constant are packed once.
 * On oneDNN activations come and go as NCHW and are reordered where the primitive wants blocks, and
 * what follows the convolution (residual, activation) is a loop of our own over the result: its
 * Relu turns NaN into 0, and a debugger must not hide a NaN. */
#include "config.h"

#include "core/exec/cpu/winograd.h"
#include "core/exec/kernel/prepack.h"
#include "core/io/mapped-file.h"
#include "core/op/infer-window.h"

#include <omp.h>
#include <oneapi/dnnl/dnnl.h>
#include <string.h>

#define MAX_AXES  3
#define MOST_TAPS 65536 /* of a window: oneDNN makes code for each */
#define PIECE     5e8   /* multiply-adds between two looks at whether the call is to stop */
#define MOVING    16 /* of them in the time that an element takes to be brought into another order */
#define LEAST     16384 /* likewise, that a sample or a group takes, however small it is */
#define WIDE_STEP 64    /* maps of a piece are a multiple, which all blocked layouts divide */
#define MAP_STEP  8     /* or of this, where so many take too long */
#define RESIDUAL  3     /* input that is added, of the forms that have one */

typedef struct
{
  int ndims; /* of X */
  dnnl_dims_t x, w, b, y;
  dnnl_dims_t strides, dilations, pad_begin, pad_end;
  dnnl_dims_t x_of, y_of; /* what x and y are cut out from, by spatial axes */
  dnnl_dim_t group;
  gboolean has_bias;
  int n_threads; /* that the primitive is made for */
} Shape;

/* Its scratch memory is ours. The library's own belongs to the thread that makes the primitive,
 * while concurrent nodes run, and plans are freed, on any thread. */
typedef struct
{
  dnnl_primitive_t primitive; /* NULL: there is none */
  dnnl_memory_t scratch;      /* (nullable) its handle is set before each use */
  gsize scratch_bytes;
} Primitive;

typedef struct
{
  Shape shape;
  dnnl_engine_t engine;
  dnnl_stream_t stream;
  dnnl_primitive_desc_t desc;
  dnnl_primitive_attr_t attr;
  Primitive conv, reorder_x, reorder_w, reorder_y;     /* no reorders where layouts agree */
  dnnl_memory_t x_plain, x, w_plain, w, b, y, y_plain; /* handles are set before each use */
  gpointer x_buffer, w_buffer, y_buffer;
  IrScratch *lent;          /* (nullable) scratch memory of the call under way */
  IrScratch own;            /* where it has none */
  GHashTable *packed;       /* (nullable) of constant weights: element of the first -> memory */
  const float *packed_from; /* weights that @packed was made of */
} Plan;

static const char *
refuses (const IrNode *node)
{
  const char *why = cpu_needs_float (node);
  int rank = node->n_inputs > 0 && node->inputs[0] != NULL ? ir_value_rank (node->inputs[0])
                                                           : IR_RANK_UNKNOWN;

  if (why != NULL)
    return why;
  return rank == 3 || rank == 4 || rank == 5
             ? NULL
             : "oneDNN convolves along 1 to 3 axes, and the rank of X is another or unknown";
}

/* -- shapes -- */

static void
shape_of (Shape *shape, const IrCall *call, const IrWindow *window)
{
  const gint64 *x = ir_tensor_dims (ir_call_input (call, 0)),
               *w = ir_tensor_dims (ir_call_input (call, 1));
  int at = 0;

  memset (shape, 0, sizeof *shape);
  shape->ndims = (int) window->n_axes + 2;
  shape->group = ir_call_int (call, "group", 1);
  shape->has_bias = ir_call_has_input (call, 2);
  shape->x[0] = shape->y[0] = x[0];
  shape->x[1] = x[1];
  shape->b[0] = shape->y[1] = w[0];
  if (shape->group > 1)
    shape->w[at++] = shape->group;
  shape->w[at++] = w[0] / shape->group;
  shape->w[at++] = w[1];
  for (guint i = 0; i < window->n_axes; i++)
    {
      shape->w[at++] = window->kernel[i];
      shape->x[i + 2] = window->in[i];
      shape->y[i + 2] = window->out[i];
      shape->x_of[i + 2] = window->in[i];
      shape->y_of[i + 2] = window->out[i];
      shape->strides[i] = window->stride[i];
      shape->dilations[i] = window->dilation[i] - 1;
      shape->pad_begin[i] = window->pad_begin[i];
      shape->pad_end[i] = window->pad_end[i];
    }
}

static dnnl_format_tag_t
plain_tag (int ndims)
{
  static const dnnl_format_tag_t tags[] = {
    [3] = dnnl_abc, [4] = dnnl_abcd, [5] = dnnl_abcde, [6] = dnnl_abcdef
  };
  return tags[ndims];
}

/* -- plans -- */

static void
plan_free (gpointer data)
{
  Plan *plan = data;
  dnnl_memory_t memories[] = { plan->x_plain, plan->x, plan->w_plain, plan->w,
                               plan->b,       plan->y, plan->y_plain };
  const Primitive primitives[] = { plan->conv, plan->reorder_x, plan->reorder_w, plan->reorder_y };

  for (guint i = 0; i < G_N_ELEMENTS (memories); i++)
    if (memories[i] != NULL)
      dnnl_memory_destroy (memories[i]);
  for (guint i = 0; i < G_N_ELEMENTS (primitives); i++)
    {
      if (primitives[i].primitive != NULL)
        dnnl_primitive_destroy (primitives[i].primitive);
      if (primitives[i].scratch != NULL)
        dnnl_memory_destroy (primitives[i].scratch);
    }
  if (plan->attr != NULL)
    dnnl_primitive_attr_destroy (plan->attr);
  if (plan->desc != NULL)
    dnnl_primitive_desc_destroy (plan->desc);
  if (plan->stream != NULL)
    dnnl_stream_destroy (plan->stream);
  if (plan->engine != NULL)
    dnnl_engine_destroy (plan->engine);
  g_clear_pointer (&plan->packed, g_hash_table_unref);
  free (plan->x_buffer);
  free (plan->w_buffer);
  free (plan->y_buffer);
  ir_scratch_clear (&plan->own);
  g_free (plan);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Plan, plan_free)

/* Plain; @of: (nullable): spatial sizes of what it is cut out from. */
static gboolean
describe_plain (dnnl_memory_desc_t *desc, const dnnl_dims_t dims, const dnnl_dims_t of, int ndims)
{
  dnnl_dims_t strides;

  if (of == NULL || memcmp (dims + 2, of + 2, (gsize) (ndims - 2) * sizeof *dims) == 0)
    return dnnl_memory_desc_init_by_tag (desc, ndims, dims, dnnl_f32, plain_tag (ndims)) ==
           dnnl_success;
  strides[ndims - 1] = 1;
  for (int i = ndims - 2; i > 0; i--)
    strides[i] = strides[i + 1] * of[i + 1];
  strides[0] = strides[1] * dims[1];
  return dnnl_memory_desc_init_by_strides (desc, ndims, dims, dnnl_f32, strides) == dnnl_success;
}

static gboolean
make_primitive (const Plan *plan, dnnl_primitive_desc_t desc, Primitive *made)
{
  const dnnl_memory_desc_t *scratch = dnnl_primitive_desc_query_md (desc, dnnl_query_scratchpad_md,
                                                                    0);

  made->scratch_bytes = scratch != NULL ? dnnl_memory_desc_get_size (scratch) : 0;
  return dnnl_primitive_create (&made->primitive, desc) == dnnl_success &&
         (made->scratch_bytes == 0 || dnnl_memory_create (&made->scratch, scratch, plan->engine,
                                                          DNNL_MEMORY_NONE) == dnnl_success);
}

/* @args has room for one more. */
static gboolean
run_primitive (Plan *plan, const Primitive *made, dnnl_exec_arg_t *args, int n)
{
  if (made->scratch != NULL)
    {
      IrScratch *scratch = plan->lent != NULL ? plan->lent : &plan->own;
      gpointer memory = ir_scratch_get (scratch, IR_SCRATCH_KERNEL, made->scratch_bytes);

      if (memory == NULL || dnnl_memory_set_data_handle (made->scratch, memory) != dnnl_success)
        return FALSE;
      args[n++] = (dnnl_exec_arg_t){ DNNL_ARG_SCRATCHPAD, made->scratch };
    }
  return dnnl_primitive_execute (made->primitive, plan->stream, n, args) == dnnl_success;
}

/* One side of the convolution: a plain memory, and where the primitive wants another layout a
 * buffer in that layout, if @buffer is given, with the reorder between the two. */
static gboolean
plan_side (Plan *plan,
           dnnl_query_t query,
           int index,
           const dnnl_dims_t dims,
           const dnnl_dims_t of,
           int ndims,
           gboolean outwards,
           dnnl_memory_t *plain,
           dnnl_memory_t *blocked,
           Primitive *reorder,
           gpointer *buffer)
{
  const dnnl_memory_desc_t *wanted = dnnl_primitive_desc_query_md (plan->desc, query, index);
  dnnl_memory_desc_t given;
  dnnl_primitive_desc_t desc;
  gsize bytes = dnnl_memory_desc_get_size (wanted);

  if (!describe_plain (&given, dims, of, ndims) ||
      dnnl_memory_create (plain, &given, plan->engine, DNNL_MEMORY_NONE) != dnnl_success)
    return FALSE;
  if (dnnl_memory_desc_equal (wanted, &given))
    return dnnl_memory_create (blocked, &given, plan->engine, DNNL_MEMORY_NONE) == dnnl_success;
  if (buffer != NULL && posix_memalign (buffer, 64, MAX (bytes, 64)) != 0)
    return FALSE;
  if (dnnl_memory_create (blocked, wanted, plan->engine,
                          buffer != NULL ? *buffer : DNNL_MEMORY_NONE) != dnnl_success ||
      dnnl_reorder_primitive_desc_create (&desc, outwards ? wanted : &given, plan->engine,
                                          outwards ? &given : wanted, plan->engine,
                                          plan->attr) != dnnl_success)
    return FALSE;
  gboolean made = make_primitive (plan, desc, reorder);
  dnnl_primitive_desc_destroy (desc);
  return made;
}

static gboolean
describe (Plan *plan)
{
  const Shape *s = &plan->shape;
  int w_ndims = s->ndims + (s->group > 1);
  dnnl_memory_desc_t x, w, b, y;
  dnnl_convolution_desc_t conv;

  if (dnnl_memory_desc_init_by_tag (&x, s->ndims, s->x, dnnl_f32, dnnl_format_tag_any) !=
          dnnl_success ||
      dnnl_memory_desc_init_by_tag (&w, w_ndims, s->w, dnnl_f32, dnnl_format_tag_any) !=
          dnnl_success ||
      dnnl_memory_desc_init_by_tag (&y, s->ndims, s->y, dnnl_f32, dnnl_format_tag_any) !=
          dnnl_success ||
      dnnl_memory_desc_init_by_tag (&b, 1, s->b, dnnl_f32, dnnl_a) != dnnl_success)
    return FALSE;
  return dnnl_dilated_convolution_forward_desc_init (
             &conv, dnnl_forward_inference, dnnl_convolution_direct, &x, &w,
             s->has_bias ? &b : NULL, &y, s->strides, s->dilations, s->pad_begin,
             s->pad_end) == dnnl_success &&
         dnnl_primitive_desc_create (&plan->desc, &conv, plan->attr, plan->engine, NULL) ==
             dnnl_success &&
         make_primitive (plan, plan->desc, &plan->conv);
}

static Plan *
plan_new (const Shape *shape)
{
  g_autoptr (Plan) plan = g_new0 (Plan, 1);
  dnnl_memory_desc_t b;
  int w_ndims = shape->ndims + (shape->group > 1);

  plan->shape = *shape;
  if (dnnl_engine_create (&plan->engine, dnnl_cpu, 0) != dnnl_success ||
      dnnl_stream_create (&plan->stream, plan->engine, dnnl_stream_default_flags) != dnnl_success ||
      dnnl_primitive_attr_create (&plan->attr) != dnnl_success ||
      dnnl_primitive_attr_set_scratchpad_mode (plan->attr, dnnl_scratchpad_mode_user) !=
          dnnl_success ||
      !describe (plan) ||
      !plan_side (plan, dnnl_query_src_md, 0, shape->x, shape->x_of, shape->ndims, FALSE,
                  &plan->x_plain, &plan->x, &plan->reorder_x, &plan->x_buffer) ||
      !plan_side (plan, dnnl_query_weights_md, 0, shape->w, NULL, w_ndims, FALSE, &plan->w_plain,
                  &plan->w, &plan->reorder_w, NULL) ||
      !plan_side (plan, dnnl_query_dst_md, 0, shape->y, shape->y_of, shape->ndims, TRUE,
                  &plan->y_plain, &plan->y, &plan->reorder_y, &plan->y_buffer))
    return NULL;
  if (shape->has_bias &&
      (dnnl_memory_desc_init_by_tag (&b, 1, shape->b, dnnl_f32, dnnl_a) != dnnl_success ||
       dnnl_memory_create (&plan->b, &b, plan->engine, DNNL_MEMORY_NONE) != dnnl_success))
    return NULL;
  return g_steal_pointer (&plan);
}

static gboolean
reorder (Plan *plan, const Primitive *made, dnnl_memory_t from, dnnl_memory_t to)
{
  dnnl_exec_arg_t args[3] = { { DNNL_ARG_FROM, from }, { DNNL_ARG_TO, to } };
  return run_primitive (plan, made, args, 2);
}

/* Those of a piece, from element @first of the weights on. */
typedef struct
{
  const float *weights;
  gint64 first;
  gboolean constant; /* they are, so that they are packed but once */
} Weights;

/* Memory for a piece in the order of the primitive. */
static gpointer
packed_memory (Plan *plan, const Weights *w)
{
  gpointer memory = NULL;
  gsize bytes = dnnl_memory_desc_get_size (
      dnnl_primitive_desc_query_md (plan->desc, dnnl_query_weights_md, 0));

  if (!w->constant && plan->w_buffer != NULL)
    return plan->w_buffer;
  if (posix_memalign (&memory, 64, MAX (bytes, 64)) != 0)
    return NULL;
  if (!w->constant)
    return plan->w_buffer = memory;
  if (plan->packed == NULL || plan->packed_from != w->weights)
    {
      g_clear_pointer (&plan->packed, g_hash_table_unref);
      plan->packed = g_hash_table_new_full (NULL, NULL, NULL, free);
      plan->packed_from = w->weights;
    }
  g_hash_table_insert (plan->packed, GSIZE_TO_POINTER (w->first), memory);
  return memory;
}

/* Constant weights are packed once; others each time, since a run may bring new ones. */
static gboolean
bring_weights (Plan *plan, const Weights *w)
{
  void *from = (void *) (w->weights + w->first);
  gpointer memory = NULL;

  if (plan->reorder_w.primitive == NULL)
    return dnnl_memory_set_data_handle (plan->w, from) == dnnl_success;
  if (w->constant && plan->packed != NULL && plan->packed_from == w->weights)
    memory = g_hash_table_lookup (plan->packed, GSIZE_TO_POINTER (w->first));
  if (memory != NULL)
    return dnnl_memory_set_data_handle (plan->w, memory) == dnnl_success;
  memory = packed_memory (plan, w);
  return memory != NULL && dnnl_memory_set_data_handle (plan->w, memory) == dnnl_success &&
         dnnl_memory_set_data_handle (plan->w_plain, from) == dnnl_success &&
         reorder (plan, &plan->reorder_w, plan->w_plain, plan->w);
}

static gboolean
execute (Plan *plan, IrScratch *scratch, const float *x, const Weights *w, const float *b, float *y)
{
  dnnl_exec_arg_t args[5] = { { DNNL_ARG_SRC, plan->x },
                              { DNNL_ARG_WEIGHTS, plan->w },
                              { DNNL_ARG_DST, plan->y },
                              { DNNL_ARG_BIAS, plan->b } };

  plan->lent = scratch;
  if (dnnl_memory_set_data_handle (plan->reorder_x.primitive != NULL ? plan->x_plain : plan->x,
                                   (void *) x) != dnnl_success ||
      dnnl_memory_set_data_handle (plan->reorder_y.primitive != NULL ? plan->y_plain : plan->y,
                                   y) != dnnl_success ||
      (plan->b != NULL && dnnl_memory_set_data_handle (plan->b, (void *) b) != dnnl_success) ||
      !bring_weights (plan, w))
    return FALSE;
  if (plan->reorder_x.primitive != NULL &&
      !reorder (plan, &plan->reorder_x, plan->x_plain, plan->x))
    return FALSE;
  if (!run_primitive (plan, &plan->conv, args, plan->b != NULL ? 4 : 3))
    return FALSE;
  if (plan->reorder_y.primitive != NULL &&
      !reorder (plan, &plan->reorder_y, plan->y, plan->y_plain))
    return FALSE;
  return dnnl_stream_wait (plan->stream) == dnnl_success;
}

/* -- the kernel -- */

/* How a node is computed. */
typedef struct
{
  CpuDirectShape shape;
  gboolean direct;   /* over blocks of channels, and so is what follows */
  gboolean winograd; /* and by Winograd's way, if all is finite */
  gboolean constant; /* weights and bias are */
} Choice;

/* What is made in the first run, when all shapes are known for sure, and kept. */
typedef struct
{
  const IrNode *chosen_for; /* (nullable) whose @choice it is: of a call that is settled */
  const IrType *chosen_x, *chosen_w;
  Choice choice;
  Plan *plan, *rest;                /* (nullable) on oneDNN: pieces, and what is left */
  CpuDirect *direct;                /* (nullable) over blocks of channels */
  const CpuLooseFloat *packed_from; /* what @direct was packed from */
  const float *packed_bias;
  CpuWinograd *winograd; /* (nullable) likewise */
  const CpuLooseFloat *winograd_from;
  const float *winograd_bias;
} State;

static gpointer
prepare (IrCall *call, GError **error)
{
  return g_new0 (State, 1);
}

static void
release (gpointer data)
{
  State *state = data;

  g_clear_pointer (&state->plan, plan_free);
  g_clear_pointer (&state->rest, plan_free);
  g_clear_pointer (&state->direct, cpu_direct_free);
  g_clear_pointer (&state->winograd, cpu_winograd_free);
  g_free (state);
}

static gboolean
epilogue_of (const IrCall *call, const IrTensor *y, CpuEpilogue *epilogue)
{
  if (!cpu_epilogue_of (call, epilogue))
    return FALSE;
  if (call->op->addend == 0)
    return TRUE;
  epilogue->add = cpu_floats (call, RESIDUAL);
  return epilogue->add != NULL &&
         (y == NULL ||
          ir_tensor_n_elements (ir_call_input (call, RESIDUAL)) == ir_tensor_n_elements (y));
}

/* Small convolutions run on one thread: waking others takes longer, and far longer where the cores
 * are busy. A multiplication counts as a thirty-second of an element of a vector loop. Always the
 * same number for one shape, as oneDNN splits the work when the primitive is made. */
static int
n_threads_of (const IrCall *call, const IrTensor *y)
{
  const IrTensor *w = ir_call_input (call, 1);
  guint64 per_element = ir_tensor_n_elements (w) / (guint64) ir_tensor_dims (w)[0];

  return cpu_n_threads (call, ir_tensor_n_elements (y) * per_element / 32);
}

/* Elements of a tensor of oneDNN, the first @skip axes left out. */
static gint64
volume (const dnnl_dims_t dims, int ndims, int skip)
{
  gint64 n = 1;

  for (int i = skip; i < ndims; i++)
    n *= dims[i];
  return n;
}

/* A convolution that takes long is done in pieces, so that cancelling is seen in time: some
 * samples, or of one sample some groups, or some maps of its only group. Those are contiguous.
 * Where even few maps take too long, they are cut along their longest axis, too. */
typedef struct
{
  gint64 samples, maps, rows; /* of a piece; the last ones may have fewer */
  int axis;                   /* along which rows are counted */
} Pieces;

/* Elements of the input that a window reaches over. */
static gint64
reach (const Shape *s, int axis)
{
  gint64 taps = s->w[axis + (s->group > 1)];

  return (taps - 1) * (s->dilations[axis - 2] + 1) + 1;
}

/* Rows whose windows lie in the padding alone would need no input at all: there is no such piece.
 */
static gboolean
may_cut (const Shape *s, int axis)
{
  return s->pad_begin[axis - 2] < reach (s, axis) && s->pad_end[axis - 2] < reach (s, axis);
}

static int
longest_axis (const Shape *s)
{
  int axis = 2;

  for (int i = 3; i < s->ndims; i++)
    if (s->y[i] > s->y[axis])
      axis = i;
  return axis;
}

static Pieces
pieces_of (const Shape *s)
{
  int grouped = s->group > 1, axis = longest_axis (s);
  Pieces each = { 1, s->y[1], s->y[axis], axis };
  double plane = (double) volume (s->y, s->ndims, 2), x = (double) volume (s->x, s->ndims, 1);
  double weights = (double) volume (s->w, s->ndims + grouped, 1 + grouped); /* of a map */
  double own = grouped ? x / (double) s->y[1] : 0; /* of the input, that other pieces do not read */
  double sums = plane * weights, moved = MOVING * (plane + own), packed = MOVING * weights;
  double least = grouped ? LEAST : 0; /* of a map: its group has few */
  double map = MAX (MAX (sums, moved + packed), least), n_maps = (double) s->y[1];
  double shared = grouped ? 0 : MOVING * x; /* of each piece */

  if (MAX (map * n_maps, shared) <= PIECE)
    {
      double sample = MAX (MAX (MAX (sums, moved), least) * n_maps, shared);
      each.samples = CLAMP ((gint64) (PIECE / MAX (sample, LEAST)), 1, s->x[0]);
      return each;
    }
  gint64 maps = (gint64) (PIECE / map);
  gint64 unit = grouped                          ? s->y[1] / s->group
                : maps >= WIDE_STEP              ? WIDE_STEP
                : packed * MAP_STEP <= 2 * PIECE ? MAP_STEP
                                                 : 1;
  maps = maps / unit * unit;
  each.maps = CLAMP (maps, MIN (unit, s->y[1]), s->y[1]);
  double piece = MAX (map * (double) each.maps, shared);
  if (piece > 2 * PIECE && may_cut (s, axis))
    each.rows = CLAMP ((gint64) ((double) each.rows * (PIECE / piece)), 1, each.rows);
  return each;
}

/* Rows [first, first + rows) of the output along @axis, and what of the input they need. Returns:
 * the first element of that. */
static gint64
cut_rows (Shape *wanted, int axis, gint64 first, gint64 rows)
{
  gint64 from = first * wanted->strides[axis - 2] - wanted->pad_begin[axis - 2];
  gint64 to = from + (rows - 1) * wanted->strides[axis - 2] + reach (wanted, axis);

  if (rows == wanted->y[axis])
    return 0;
  wanted->pad_begin[axis - 2] = MAX (-from, 0);
  wanted->pad_end[axis - 2] = MAX (to - wanted->x[axis], 0);
  wanted->x[axis] = MIN (to, wanted->x[axis]) - MAX (from, 0);
  wanted->y[axis] = rows;
  return MAX (from, 0);
}

/* Whether oneDNN would work too long on the smallest piece, or on making itself ready for it. */
static gboolean
takes_long (const Shape *s)
{
  int grouped = s->group > 1, ndims = s->ndims + grouped;

  return volume (s->w, ndims, 2 + grouped) > MOST_TAPS ||
         MOVING * (double) volume (s->w, ndims, 1 + grouped) > 2 * PIECE;
}

/* The plan for @samples and @maps, made anew unless @plan is it. */
static Plan *
plan_for (Plan **plan, const Shape *shape, gint64 samples, gint64 maps)
{
  Shape wanted = *shape;

  wanted.x[0] = wanted.y[0] = samples;
  wanted.y[1] = wanted.b[0] = maps;
  if (shape->group > 1 && maps != shape->y[1])
    {
      wanted.group = maps / (shape->y[1] / shape->group);
      wanted.x[1] = shape->x[1] / shape->group * wanted.group;
      wanted.w[0] = wanted.group;
      if (wanted.group == 1) /* then the axis of groups is not there */
        {
          memmove (wanted.w, wanted.w + 1, sizeof wanted.w - sizeof *wanted.w);
          wanted.w[shape->ndims] = 0;
        }
    }
  else if (shape->group <= 1)
    wanted.w[0] = maps;
  if (*plan != NULL && memcmp (&(*plan)->shape, &wanted, sizeof wanted) == 0)
    return *plan;
  g_clear_pointer (plan, plan_free);
  return *plan = plan_new (&wanted);
}

/* FALSE: it was to stop, or it is not for oneDNN. */
static gboolean
execute_pieces (State *state, const IrCall *call, const Shape *s, float *y)
{
  if (takes_long (s) || !ir_call_align ((IrCall *) call, NULL))
    return FALSE;
  const float *x = cpu_floats (call, 0), *w = cpu_floats (call, 1), *b = cpu_floats (call, 2);
  Pieces each = pieces_of (s);
  gboolean constant = call->node->inputs[1] != NULL &&
                      ir_value_constant (call->node->inputs[1]) != NULL &&
                      ir_packed_keeps (call->packed);
  gint64 plane = volume (s->y, s->ndims, 2), in_plane = volume (s->x, s->ndims, 2);
  gint64 n_rows = s->y[each.axis], row = volume (s->y, s->ndims, each.axis + 1),
         in_row = volume (s->x, s->ndims, each.axis + 1);
  gint64 group_maps = s->y[1] / s->group, group_channels = s->x[1] / s->group;
  gint64 map_weights = volume (s->w, s->ndims + (s->group > 1), s->group > 1 ? 2 : 1);

  for (gint64 n = 0; n < s->x[0]; n += each.samples)
    for (gint64 at = 0; at < n_rows; at += each.rows)
      for (gint64 m = 0; m < s->y[1]; m += each.maps)
        {
          gint64 samples = MIN (each.samples, s->x[0] - n), maps = MIN (each.maps, s->y[1] - m);
          gint64 channel = s->group > 1 ? m / group_maps * group_channels : 0;
          gint64 rows = MIN (each.rows, n_rows - at);
          gboolean whole = samples == each.samples && maps == each.maps &&
                           (rows == n_rows || (at > 0 && at + rows < n_rows));
          Shape cut = *s;
          gint64 from = cut_rows (&cut, each.axis, at, rows);
          Plan *plan = plan_for (whole ? &state->plan : &state->rest, &cut, samples, maps);

          Weights weights = { w, m * map_weights, constant };

          if ((n > 0 || at > 0 || m > 0) && ir_call_stopped (call))
            return FALSE;
          if (plan == NULL ||
              !execute (plan, call->scratch, x + (n * s->x[1] + channel) * in_plane + from * in_row,
                        &weights, b != NULL ? b + m : NULL,
                        y + (n * s->y[1] + m) * plane + at * row))
            return FALSE;
        }
  return TRUE;
}

/* oneDNN writes the output before anything is added to it. */
static gboolean
move_residual (IrCall *call, const IrTensor *y, GError **error)
{
  const IrTensor *add = ir_call_input (call, RESIDUAL);
  IrTensor *copy;

  if (add == NULL || ir_tensor_data (add) != ir_tensor_data (y))
    return TRUE;
  copy = ir_tensor_new_alloc (ir_tensor_dtype (add), ir_tensor_rank (add), ir_tensor_dims (add),
                              error);
  if (copy == NULL)
    return FALSE;
  ir_call_copy (call, ir_tensor_data_writable (copy), ir_tensor_data (add),
                ir_tensor_n_bytes (add));
  ir_call_set_input_tensor (call, RESIDUAL, copy);
  return TRUE;
}

/* On oneDNN, all operands plain. */
static gboolean
run_plain (IrCall *call, GError **error)
{
  State *state = call->kernel_state, local = { 0 };
  IrWindow window;
  Shape shape;
  CpuEpilogue epilogue;
  IrTensor *y;
  gboolean done;

  if (!ir_window_of_conv (&window, call, error))
    return FALSE;
  shape_of (&shape, call, &window);
  y = ir_call_new_output (call, 0, IR_DTYPE_FLOAT, (guint) shape.ndims, (const gint64 *) shape.y,
                          error);
  if (y == NULL || (call->op->addend != 0 && !move_residual (call, y, error)))
    return FALSE;
  if (ir_tensor_n_elements (y) == 0)
    return TRUE;
  if (!epilogue_of (call, y, &epilogue))
    return cpu_run_ref (call, error); /* which says what does not fit */
  if (ir_tensor_n_elements (ir_call_input (call, 0)) == 0 ||
      ir_tensor_n_elements (ir_call_input (call, 1)) == 0)
    return cpu_run_ref (call, error);
  shape.n_threads = n_threads_of (call, y);
  cpu_library_threads (call, shape.n_threads);
  if (state == NULL)
    state = &local;
  done = execute_pieces (state, call, &shape, ir_tensor_data_writable (y));
  g_clear_pointer (&local.plan, plan_free);
  g_clear_pointer (&local.rest, plan_free);
  if (!done) /* what is not for oneDNN is left to the reference */
    return !ir_call_fail_if_stopped (call, error) && cpu_run_ref (call, error);
  cpu_epilogue_all (call, &epilogue, ir_tensor_data_writable (y), ir_tensor_n_elements (y));
  return TRUE;
}

/* -- over blocks of channels -- */

#define DIRECT   "direct"
#define ONEDNN   "onednn"
#define WINOGRAD "winograd"

static gboolean
asks_for (const IrNode *node, const char *kernel)
{
  return g_strcmp0 (ir_node_wanted_kernel (node), kernel) == 0;
}

/* From the types of the inputs; FALSE if they do not say all, or direct.c cannot do it. */
static gboolean
possible_shape (const IrCall *call, CpuDirectShape *shape)
{
  const IrType *x = ir_call_input_type (call, 0), *w = ir_call_input_type (call, 1);
  IrWindow window;

  if (x == NULL || w == NULL || x->rank != 4 || w->rank != 4 || !ir_type_is_static (x) ||
      !ir_type_is_static (w) || !ir_window_of_conv (&window, call, NULL))
    return FALSE;
  memset (shape, 0, sizeof *shape);
  shape->batch = x->dims[0];
  shape->groups = ir_call_int (call, "group", 1);
  if (shape->groups < 1 || w->dims[0] % shape->groups != 0 ||
      x->dims[1] != w->dims[1] * shape->groups)
    return FALSE;
  shape->channels = w->dims[1];
  shape->maps = w->dims[0] / shape->groups;
  for (guint i = 0; i < 2; i++)
    {
      shape->in[i] = window.in[i];
      shape->out[i] = window.out[i];
      shape->kernel[i] = window.kernel[i];
      shape->stride[i] = window.stride[i];
      shape->dilation[i] = window.dilation[i];
      shape->pad[i] = window.pad_begin[i];
    }
  return cpu_direct_takes (shape, cpu_lanes ());
}

/* Likewise, and nobody asks for another. */
static gboolean
direct_shape (const IrCall *call, CpuDirectShape *shape)
{
  return !asks_for (call->node, ONEDNN) && possible_shape (call, shape);
}

static gboolean
node_direct_shape (const IrNode *node, CpuDirectShape *shape)
{
  IrCall call;
  gboolean fits;

  ir_call_init (&call, node);
  fits = direct_shape (&call, shape);
  ir_call_clear (&call);
  return fits;
}

/* Whether what is added has an element for each of the output. */
static gboolean
takes_residual (const IrNode *node)
{
  CpuPlanes out, residual;

  return node->op->addend != 0 && cpu_planes_of (ir_node_input (node, RESIDUAL), &residual) &&
         cpu_planes_of (ir_node_output (node, 0), &out) &&
         memcmp (ir_node_input (node, RESIDUAL)->type->dims, ir_node_output (node, 0)->type->dims,
                 4 * sizeof (IrDim)) == 0;
}

/* Pictures have too few channels for a block, and are read plain. */
static IrLayouts
reads (const IrNode *node, guint slot, guint lanes)
{
  CpuDirectShape shape;

  if ((slot != 0 && slot != RESIDUAL) || !node_direct_shape (node, &shape))
    return IR_LAYOUT_PLAIN;
  if (slot == 0)
    return cpu_direct_in_block (&shape, lanes) == 0 ? IR_LAYOUT_PLAIN : IR_LAYOUT_BLOCKS;
  return takes_residual (node) ? IR_LAYOUT_BLOCKS : IR_LAYOUT_PLAIN;
}

static IrLayouts
gives (const IrNode *node, guint lanes)
{
  CpuDirectShape shape;

  return node_direct_shape (node, &shape) ? IR_LAYOUT_BLOCKS : IR_LAYOUT_PLAIN;
}

static gboolean
has_constant_weights (const IrNode *node)
{
  const IrValue *bias = ir_node_input (node, 2);

  return ir_value_constant (node->inputs[1]) != NULL &&
         (bias == NULL || ir_value_constant (bias) != NULL);
}

/* What is packed is not read again. */
static void
give_back_weights (const IrCall *call, const Choice *choice)
{
  const IrTensor *weights = ir_call_input (call, 1);

  if (choice->constant)
    ir_mapped_file_give_back (ir_tensor_raw (weights), ir_tensor_n_bytes (weights));
}

/* Asked for, or likely to be faster; weights of each run are not worth transforming. */
static gboolean
takes_winograd (const IrNode *node, const CpuDirectShape *shape)
{
  if (!cpu_winograd_takes (shape, cpu_lanes ()))
    return FALSE;
  return asks_for (node, WINOGRAD) || (!asks_for (node, DIRECT) && has_constant_weights (node) &&
                                       cpu_winograd_wins (shape, cpu_lanes ()));
}

/* FALSE: the direct convolution has to do it. */
static gboolean
run_winograd (State *state,
              IrCall *call,
              const Choice *choice,
              const CpuEpilogue *epilogue,
              const float *x,
              float *y)
{
  const CpuDirectShape *shape = &choice->shape;
  const CpuLooseFloat *w = cpu_loose_floats (call, 1);
  const float *b = cpu_floats (call, 2);

  if (epilogue->add == y)
    return FALSE; /* the sum could not be made a second time */
  if (state->winograd == NULL ||
      memcmp (cpu_winograd_shape (state->winograd), shape, sizeof *shape) != 0)
    {
      g_clear_pointer (&state->winograd, cpu_winograd_free);
      state->winograd = cpu_winograd_new (shape, cpu_lanes ());
      state->winograd_from = NULL;
    }
  if (!choice->constant || state->winograd_from != w || state->winograd_bias != b)
    {
      state->winograd_from = NULL;
      if (!cpu_winograd_pack (state->winograd, call, w, b))
        return FALSE;
      state->winograd_from = w;
      state->winograd_bias = b;
      give_back_weights (call, choice);
    }
  return cpu_winograd_run (state->winograd, call, epilogue, x, y);
}

/* Packs the weights where that has not been done, or where a run may bring new ones. */
static gboolean
pack_direct (State *state, const IrCall *call, const Choice *choice)
{
  const CpuDirectShape *shape = &choice->shape;
  const CpuLooseFloat *w = cpu_loose_floats (call, 1);
  const float *b = cpu_floats (call, 2);

  if (state->direct == NULL || memcmp (cpu_direct_shape (state->direct), shape, sizeof *shape) != 0)
    {
      g_clear_pointer (&state->direct, cpu_direct_free);
      state->direct = cpu_direct_new (shape, call, cpu_lanes ());
      state->packed_from = NULL;
    }
  if (state->direct == NULL)
    return FALSE;
  if (choice->constant && state->packed_from == w && state->packed_bias == b)
    return TRUE;
  state->packed_from = NULL;
  if (!cpu_direct_pack (state->direct, call, w, b))
    return FALSE;
  state->packed_from = w;
  state->packed_bias = b;
  give_back_weights (call, choice);
  return TRUE;
}

/* Everything in place; FALSE without an error: this convolution is not for direct.c after all. */
static gboolean
run_direct (State *state, IrCall *call, const Choice *choice, GError **error)
{
  const CpuDirectShape *shape = &choice->shape;
  gint64 in[] = { shape->batch, shape->groups * shape->channels, shape->in[0], shape->in[1] };
  gint64 out[] = { shape->batch, shape->groups * shape->maps, shape->out[0], shape->out[1] };
  guint lanes = cpu_lanes ();
  CpuEpilogue epilogue;
  IrTensor *blocks;

  if (!choice->winograd && !pack_direct (state, call, choice))
    {
      ir_call_fail_if_stopped (call, error);
      return FALSE;
    }
  guint in_block = cpu_direct_in_block (shape, lanes);
  const float *x = in_block == 0 ? cpu_floats (call, 0)
                                 : cpu_blocks_in (call, 0, in, 1, in_block, error);
  if (x == NULL ||
      (call->op->addend != 0 && cpu_blocks_in (call, RESIDUAL, out, 1, lanes, error) == NULL) ||
      !epilogue_of (call, NULL, &epilogue))
    return FALSE;
  float *y = cpu_blocks_out (call, out, 1, lanes, &blocks, error);
  gboolean done = FALSE;

  if (y == NULL)
    return FALSE;
  if (choice->winograd && run_winograd (state, call, choice, &epilogue, x, y))
    done = !ir_call_stopped (call);
  else if (!choice->winograd || pack_direct (state, call, choice))
    done = cpu_direct_run (state->direct, call, &epilogue, x, y);
  if (!done)
    {
      if (call->outputs[0].block == 0)
        ir_tensor_unref (blocks);
      ir_call_fail_if_stopped (call, error);
      return FALSE;
    }
  return cpu_blocks_done (call, out, 1, blocks, error);
}

/* Whether the operands that follow the convolution are as run_direct() needs them. */
static gboolean
fits_direct (const IrCall *call, const CpuDirectShape *shape)
{
  const IrType *residual = ir_call_input_type (call, RESIDUAL);
  gint64 out[] = { shape->batch, shape->groups * shape->maps, shape->out[0], shape->out[1] };
  CpuEpilogue epilogue;

  if (cpu_loose_floats (call, 1) == NULL || cpu_floats (call, 0) == NULL)
    return FALSE;
  if (!cpu_epilogue_of (call, &epilogue))
    return FALSE;
  return call->op->addend == 0 || (cpu_floats (call, RESIDUAL) != NULL && residual->rank == 4 &&
                                   memcmp (residual->dims, out, sizeof out) == 0);
}

/* A settled call is of a plan, in which neither types nor attributes change any more: next to a
 * small convolution finding all this out again would take long, and on one thread. */
static const Choice *
choose (State *state, const IrCall *call)
{
  const IrType *x = ir_call_input_type (call, 0), *w = ir_call_input_type (call, 1);
  Choice *choice = &state->choice;

  if (call->settled && state->chosen_for == call->node && state->chosen_x == x &&
      state->chosen_w == w)
    return choice;
  choice->direct = direct_shape (call, &choice->shape) && fits_direct (call, &choice->shape);
  choice->winograd = choice->direct && takes_winograd (call->node, &choice->shape);
  choice->constant = choice->direct && has_constant_weights (call->node) &&
                     ir_packed_keeps (call->packed);
  state->chosen_for = call->settled ? call->node : NULL;
  state->chosen_x = x;
  state->chosen_w = w;
  return choice;
}

static gboolean
run (IrCall *call, GError **error)
{
  State *state = call->kernel_state, local = { 0 };
  g_autoptr (GError) failed = NULL;
  gboolean done = FALSE;

  if (state == NULL)
    state = &local;
  const Choice *choice = choose (state, call);
  if (choice->direct)
    done = run_direct (state, call, choice, &failed);
  g_clear_pointer (&local.direct, cpu_direct_free);
  g_clear_pointer (&local.winograd, cpu_winograd_free);
  if (done)
    return TRUE;
  if (failed != NULL)
    {
      g_propagate_error (error, g_steal_pointer (&failed));
      return FALSE;
    }
  return cpu_run_in_order (run_plain, call, error);
}

/* Why direct.c computes a convolution of @shape itself, or leaves it to winograd.c. */
static const char *
explain_direct (const IrNode *node, const CpuDirectShape *shape)
{
  if (!cpu_winograd_takes (shape, cpu_lanes ()))
    return "Winograd convolution is for 3×3 windows, stride 1, one group, many channels";
  if (asks_for (node, WINOGRAD))
    return "a property of the node asks for Winograd convolution";
  if (asks_for (node, DIRECT))
    return "a property of the node asks for the direct convolution";
  if (!has_constant_weights (node))
    return "weights that each run brings are not worth transforming for Winograd convolution";
  return cpu_winograd_wins (shape, cpu_lanes ())
             ? "the cost model says that Winograd convolution is faster here"
             : "the cost model says that Winograd convolution gains nothing here";
}

static const char *
variant (const IrNode *node, const char **why)
{
  const IrValue *x = ir_node_input (node, 0), *w = ir_node_input (node, 1);
  CpuDirectShape shape;

  *why = NULL;
  if (node_direct_shape (node, &shape))
    {
      *why = explain_direct (node, &shape);
      return takes_winograd (node, &shape) ? "Winograd convolution" : "direct convolution";
    }
  if (asks_for (node, ONEDNN))
    *why = "a property of the node asks for oneDNN";
  else if (cpu_lanes () == 0)
    *why = "the direct convolution needs AVX2";
  else if (x == NULL || w == NULL || x->type == NULL || w->type == NULL || x->type->rank != 4)
    *why = "the direct convolution has two axes";
  else if (!ir_type_is_static (x->type) || !ir_type_is_static (w->type))
    {
      *why = "direct or on oneDNN: that is seen when the sizes are known";
      return "convolution";
    }
  else
    *why = "groups of few channels would leave most lanes of the direct convolution idle";
  return "oneDNN convolution";
}

static const char *
candidates_for (const IrNode *node)
{
  const IrValue *x = ir_node_input (node, 0), *w = ir_node_input (node, 1);
  CpuDirectShape shape;
  gboolean direct;
  IrCall call;

  if (x == NULL || w == NULL || x->type == NULL || w->type == NULL ||
      !ir_type_is_static (x->type) || !ir_type_is_static (w->type))
    return DIRECT ", " WINOGRAD ", " ONEDNN;
  ir_call_init (&call, node);
  direct = possible_shape (&call, &shape);
  ir_call_clear (&call);
  if (!direct)
    return ONEDNN;
  return cpu_winograd_takes (&shape, cpu_lanes ()) ? DIRECT ", " WINOGRAD ", " ONEDNN
                                                   : DIRECT ", " ONEDNN;
}

/* Winograd's way may find out too late that it cannot do it, when what is added is gone. */
static int
overwrites (const IrNode *node)
{
  CpuDirectShape shape;

  return takes_residual (node) && node_direct_shape (node, &shape) &&
                 cpu_direct_adds_in_place (&shape, cpu_lanes ()) && !takes_winograd (node, &shape)
             ? RESIDUAL
             : -1;
}

static const IrCpuBlocks conv_blocks = {
  .reads = reads, .gives = gives, .run = run, .makes = TRUE
};

const IrCpuKernel cpu_conv = {
  .name = "convolution",
  .refuses = refuses,
  .loose = 2,
  .prepare = prepare,
  .release = release,
  .shares_state = TRUE,
  .run = run,
  .blocks = &conv_blocks,
  .candidates_for = candidates_for,
  .variant = variant,
  .overwrites = overwrites,
};
