/* Convolution with the fused forms: directly over NCHWc (direct.c) where the machine
 * and the groups allow it, 3×3 perhaps by Winograd (winograd.c), else on oneDNN
 * (conv-onednn.c, conv-tiles.c). Weights that are constant are packed once.
 * On oneDNN activations come and go as NCHW and are reordered where the primitive wants blocks, and
 * what follows the convolution (residual, activation) is a loop of our own over the result: its
 * Relu turns NaN into 0, and a debugger must not hide a NaN. */
#include "config.h"

#include "core/exec/cpu/conv.h"
#include "core/exec/cpu/winograd.h"
#include "core/exec/kernel/prepack.h"
#include "core/io/mapped-file.h"
#include "core/op/infer-window.h"

#include <string.h>

#define RESIDUAL 3 /* input that is added, of the forms that have one */

static const char *
refuses (const IrNode *node)
{
  const char *why = cpu_needs_float (node);
  int rank = node->n_inputs > 0 && node->inputs[0] != NULL ? ir_value_rank (node->inputs[0])
                                                           : IR_RANK_UNKNOWN;

  return cpu_first_reason (
      why, rank == 3 || rank == 4 || rank == 5
               ? NULL
               : "oneDNN convolves along 1 to 3 axes, and the rank of X is another or unknown");
}

/* -- shapes -- */

static void
shape_of (CpuConvShape *shape, const IrCall *call, const IrWindow *window)
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

/* -- the kernel -- */

/* What computes a convolution. */
typedef enum
{
  ONEDNN,
  DIRECT,
  WINOGRAD
} Way;

static const struct
{
  const char *name;       /* that a property of a node asks for */
  const char *title;      /* in the schedule */
  const char *candidates; /* where it is the last of these that can */
} ways[] = {
  [ONEDNN] = { "onednn", "oneDNN convolution", "onednn" },
  [DIRECT] = { "direct", "direct convolution", "direct, onednn" },
  [WINOGRAD] = { "winograd", "Winograd convolution", "direct, winograd, onednn" },
};

static gboolean
asks_for (const IrNode *node, Way way)
{
  return g_strcmp0 (ir_node_wanted_kernel (node), ways[way].name) == 0;
}

/* How a node is computed. */
typedef struct
{
  CpuDirectShape shape;
  gboolean direct;   /* over NCHWc, and so is what follows */
  gboolean winograd; /* and by Winograd, if all is finite */
  gboolean constant; /* weights and bias are */
} Choice;

/* What is made in the first run, when all shapes are known for sure, and kept. */
typedef struct
{
  const IrNode *chosen_for; /* (nullable) whose @choice it is: of a call of static shapes */
  const IrType *chosen_x, *chosen_w;
  Choice choice;
  CpuConvPlans plans;                   /* on oneDNN */
  CpuDirect *direct;                    /* (nullable) over NCHWc */
  const CpuUnalignedFloat *packed_from; /* what @direct was packed from */
  const float *packed_bias;
  CpuWinograd *winograd; /* (nullable) likewise */
  const CpuUnalignedFloat *winograd_from;
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

  cpu_conv_plans_clear (&state->plans);
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
  memcpy (ir_tensor_data_writable (copy), ir_tensor_data (add), ir_tensor_n_bytes (add));
  ir_call_set_input_tensor (call, RESIDUAL, copy);
  return TRUE;
}

/* On oneDNN, all operands plain. */
static gboolean
run_plain (IrCall *call, GError **error)
{
  State *state = call->kernel_state, local = { 0 };
  IrWindow window;
  CpuConvShape shape;
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
    return ir_ref_run (call, error); /* which says what does not fit */
  if (ir_tensor_n_elements (ir_call_input (call, 0)) == 0 ||
      ir_tensor_n_elements (ir_call_input (call, 1)) == 0)
    return ir_ref_run (call, error);
  shape.n_threads = n_threads_of (call, y);
  cpu_library_threads (call, shape.n_threads);
  if (state == NULL)
    state = &local;
  done = cpu_conv_run_tiles (&state->plans, call, &shape, ir_tensor_data_writable (y));
  cpu_conv_plans_clear (&local.plans);
  if (!done) /* what is not for oneDNN is left to the reference */
    return !ir_call_fail_if_stopped (call, error) && ir_ref_run (call, error);
  cpu_epilogue_all (call, &epilogue, ir_tensor_data_writable (y), ir_tensor_n_elements (y));
  return TRUE;
}

/* -- over NCHWc -- */

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
    return cpu_direct_in_block (&shape, lanes) == 0 ? IR_LAYOUT_PLAIN : IR_LAYOUT_NCHWC;
  return takes_residual (node) ? IR_LAYOUT_NCHWC : IR_LAYOUT_PLAIN;
}

static IrLayouts
gives (const IrNode *node, guint lanes)
{
  CpuDirectShape shape;

  return node_direct_shape (node, &shape) ? IR_LAYOUT_NCHWC : IR_LAYOUT_PLAIN;
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

/* -- which of the two over NCHWc -- */

static gboolean
is_not_for_winograd (const IrNode *node, const CpuDirectShape *shape)
{
  return !cpu_winograd_takes (shape, cpu_lanes ());
}

static gboolean
asks_for_winograd (const IrNode *node, const CpuDirectShape *shape)
{
  return asks_for (node, WINOGRAD);
}

static gboolean
asks_for_direct (const IrNode *node, const CpuDirectShape *shape)
{
  return asks_for (node, DIRECT);
}

static gboolean
brings_weights (const IrNode *node, const CpuDirectShape *shape)
{
  return !has_constant_weights (node);
}

static gboolean
winograd_wins (const IrNode *node, const CpuDirectShape *shape)
{
  return cpu_winograd_wins (shape, cpu_lanes ());
}

static gboolean
otherwise (const IrNode *node, const CpuDirectShape *shape)
{
  return TRUE;
}

/* The first row that holds decides. */
typedef struct
{
  gboolean (*holds) (const IrNode *node, const CpuDirectShape *shape);
  Way way;
  const char *why;
} Rule;

static const Rule rules[] = {
  { is_not_for_winograd, DIRECT,
    "Winograd convolution is for 3×3 windows, stride 1, one group, many channels" },
  { asks_for_winograd, WINOGRAD, "a property of the node asks for Winograd convolution" },
  { asks_for_direct, DIRECT, "a property of the node asks for the direct convolution" },
  { brings_weights, DIRECT,
    "weights that each run brings are not worth transforming for Winograd convolution" },
  { winograd_wins, WINOGRAD, "the cost model says that Winograd convolution is faster here" },
  { otherwise, DIRECT, "the cost model says that Winograd convolution gains nothing here" },
};

static const Rule *
rule_for (const IrNode *node, const CpuDirectShape *shape)
{
  const Rule *rule = rules;

  while (!rule->holds (node, shape))
    rule++;
  return rule;
}

static gboolean
takes_winograd (const IrNode *node, const CpuDirectShape *shape)
{
  return rule_for (node, shape)->way == WINOGRAD;
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
  const CpuUnalignedFloat *w = cpu_unaligned_floats (call, 1);
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
  const CpuUnalignedFloat *w = cpu_unaligned_floats (call, 1);
  const float *b = cpu_floats (call, 2);

  if (state->direct == NULL || memcmp (cpu_direct_shape (state->direct), shape, sizeof *shape) != 0)
    {
      g_clear_pointer (&state->direct, cpu_direct_free);
      state->direct = cpu_direct_new (shape, cpu_lanes ());
      state->packed_from = NULL;
    }
  if (choice->constant && state->packed_from == w && state->packed_bias == b)
    return TRUE;
  state->packed_from = NULL;
  if (!cpu_direct_pack (state->direct, w, b))
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
    return FALSE;
  guint in_block = cpu_direct_in_block (shape, lanes);
  const float *x = in_block == 0 ? cpu_floats (call, 0)
                                 : cpu_blocks_in (call, 0, in, 1, in_block, error);
  if (x == NULL ||
      (call->op->addend != 0 && cpu_blocks_in (call, RESIDUAL, out, 1, lanes, error) == NULL) ||
      !epilogue_of (call, NULL, &epilogue))
    return FALSE;
  float *y = cpu_blocks_out (call, out, 1, lanes, &blocks, error);

  if (y == NULL)
    return FALSE;
  if (!choice->winograd || !run_winograd (state, call, choice, &epilogue, x, y))
    {
      if (choice->winograd && !pack_direct (state, call, choice))
        {
          if (call->outputs[0].block == 0)
            ir_tensor_unref (blocks);
          return FALSE;
        }
      cpu_direct_run (state->direct, call, &epilogue, x, y);
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

  if (cpu_unaligned_floats (call, 1) == NULL || cpu_floats (call, 0) == NULL)
    return FALSE;
  if (!cpu_epilogue_of (call, &epilogue))
    return FALSE;
  return call->op->addend == 0 || (cpu_floats (call, RESIDUAL) != NULL && residual->rank == 4 &&
                                   memcmp (residual->dims, out, sizeof out) == 0);
}

/* A call of static shapes is of a plan, in which neither types nor attributes change any more: next to a
 * small convolution finding all this out again would take long, and on one thread. */
static const Choice *
choose (State *state, const IrCall *call)
{
  const IrType *x = ir_call_input_type (call, 0), *w = ir_call_input_type (call, 1);
  Choice *choice = &state->choice;

  if (call->shape_static && state->chosen_for == call->node && state->chosen_x == x &&
      state->chosen_w == w)
    return choice;
  choice->direct = direct_shape (call, &choice->shape) && fits_direct (call, &choice->shape);
  choice->winograd = choice->direct && takes_winograd (call->node, &choice->shape);
  choice->constant = choice->direct && has_constant_weights (call->node) &&
                     ir_packed_keeps (call->packed);
  state->chosen_for = call->shape_static ? call->node : NULL;
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

static const char *
variant (const IrNode *node, const char **why)
{
  const IrValue *x = ir_node_input (node, 0), *w = ir_node_input (node, 1);
  CpuDirectShape shape;

  *why = NULL;
  if (node_direct_shape (node, &shape))
    {
      const Rule *rule = rule_for (node, &shape);
      *why = rule->why;
      return ways[rule->way].title;
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
  return ways[ONEDNN].title;
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
    return ways[WINOGRAD].candidates;
  ir_call_init (&call, node);
  direct = possible_shape (&call, &shape);
  ir_call_clear (&call);
  if (!direct)
    return ways[ONEDNN].candidates;
  return ways[cpu_winograd_takes (&shape, cpu_lanes ()) ? WINOGRAD : DIRECT].candidates;
}

/* Winograd may find out too late that it cannot do it, when what is added is gone. */
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
  .unaligned = 2,
  .prepare = prepare,
  .release = release,
  .shares_state = TRUE,
  .run = run,
  .blocks = &conv_blocks,
  .candidates_for = candidates_for,
  .variant = variant,
  .overwrites = overwrites,
};
