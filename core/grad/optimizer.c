/* Steps of optimizers as nodes of ai.onnx, with the operations of torch.optim in their order, so
 * that the same numbers come out:
 *
 *   SGD      g += decay p;  v = momentum v + g;  p -= rate v        Nesterov: rate (g + momentum v)
 *   Adam     g += decay p;  m += (1 - b1) (g - m);  s = b2 s + (1 - b2) g g
 *            p -= rate / (1 - b1^t)  m / (sqrt (s) / sqrt (1 - b2^t) + epsilon)
 *   AdamW    p *= 1 - rate decay, then as Adam
 *   Adagrad  s += g g;  p -= rate g / (sqrt (s) + epsilon)
 *
 * What all parameters share, rates and corrections, is computed once, in double. A half-precision
 * parameter has a copy in float that is updated in its place, and is rounded from it.
 *
 * The operators of ai.onnx.preview.training differ: Adam there adds epsilon before the correction,
 * which is the same only where epsilon is small, and shrinks the new X where torch shrinks the old
 * one. Source: torch.optim; Kingma and Ba 2015; Loshchilov and Hutter 2019; Duchi et al. 2011; Micikevicius
 * et al. 2018 (copies in float); ONNX ai.onnx.preview.training 1. */
#include "config.h"

#include "core/grad/optimizer.h"

#include "core/grad/emit.h"
#include "core/op/infer.h"

#include <math.h>
#include <string.h>

#define PREVIEW         "ai.onnx.preview.training"
#define PREVIEW_EPSILON 1e-6 /* up to there its Adam gives the same to 1e-6 of an update */
#define CLIP_EPSILON    1e-6 /* as torch.nn.utils.clip_grad_norm_ */

/* Scalars of one element type that all parameters share. */
typedef struct
{
  IrDtype dtype;
  IrValue *rate, *root, *shrink; /* rate: that of the update; root: of Adam's second correction */
} Shared;

struct _IrUpdates
{
  IrVjp vjp; /* where nodes go */
  IrOptimizer optimizer;
  IrValue *rate, *count, *next;       /* double; int64; count + 1 */
  IrValue *step_rate, *root, *shrink; /* in double */
  IrValue *clip;                      /* (nullable) factor of all derivatives, float or double */
  GArray *shared;                     /* of Shared */
  GHashTable *numbers;                /* text -> IrValue: constants */
  GPtrArray *states, *values;
};

/* -- options -- */

static const struct
{
  const char *name;
  IrOptimizerKind kind;
  double momentum;
  gboolean nesterov;
} names[] = {
  { "sgd", IR_OPTIMIZER_SGD, 0, FALSE },       { "momentum", IR_OPTIMIZER_SGD, 0.9, FALSE },
  { "nesterov", IR_OPTIMIZER_SGD, 0.9, TRUE }, { "adam", IR_OPTIMIZER_ADAM, 0, FALSE },
  { "adamw", IR_OPTIMIZER_ADAMW, 0, FALSE },   { "adagrad", IR_OPTIMIZER_ADAGRAD, 0, FALSE },
};

/**
 * ir_optimizer_name:
 * @kind: an optimizer
 *
 * Returns: "sgd", "adam", "adamw" or "adagrad"
 */
const char *
ir_optimizer_name (IrOptimizerKind kind)
{
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    if (names[i].kind == kind)
      return names[i].name;
  return NULL;
}

/**
 * ir_optimizer_init:
 * @optimizer: (out): gets the defaults of torch.optim
 * @kind: which
 */
void
ir_optimizer_init (IrOptimizer *optimizer, IrOptimizerKind kind)
{
  *optimizer = (IrOptimizer){ .kind = kind,
                              .betas = { 0.9, 0.999 },
                              .epsilon = kind == IR_OPTIMIZER_ADAGRAD ? 1e-10 : 1e-8,
                              .weight_decay = kind == IR_OPTIMIZER_ADAMW ? 0.01 : 0,
                              .loss_scale = 1 };
}

/**
 * ir_optimizer_find:
 * @name: "sgd", "momentum" or "nesterov" (0.9 both), "adam", "adamw" or "adagrad"
 * @optimizer: (out): gets it with its defaults
 * @error: return location for an error
 *
 * Fails with %G_OPTION_ERROR_BAD_VALUE, with the list, if there is none of that name.
 *
 * Returns: %TRUE if there is
 */
gboolean
ir_optimizer_find (const char *name, IrOptimizer *optimizer, GError **error)
{
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    if (strcmp (names[i].name, name) == 0)
      {
        ir_optimizer_init (optimizer, names[i].kind);
        optimizer->momentum = names[i].momentum;
        optimizer->nesterov = names[i].nesterov;
        return TRUE;
      }
  g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
               "there is no optimizer \"%s\"; it is one of sgd, momentum, nesterov, adam, adamw, "
               "adagrad",
               name);
  return FALSE;
}

static gboolean
refuse (GError **error, const char *message)
{
  g_set_error_literal (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, message);
  return FALSE;
}

/* Whether the operator of the preview domain computes the same. */
static gboolean
check_preview (const IrOptimizer *o, GError **error)
{
  if (o->kind == IR_OPTIMIZER_ADAMW)
    return refuse (error, "the operator Adam of " PREVIEW " shrinks the new parameter where AdamW "
                          "shrinks the old one; leave the form at graph");
  if (o->kind == IR_OPTIMIZER_ADAM && o->epsilon > PREVIEW_EPSILON)
    return refuse (error, "the operator Adam of " PREVIEW " adds epsilon before the correction, "
                          "which is the same only up to 1e-6; leave the form at graph");
  return TRUE;
}

/**
 * ir_optimizer_check:
 * @o: an optimizer
 * @error: return location for an error
 *
 * Fails with %G_OPTION_ERROR_BAD_VALUE, saying what is out of range.
 *
 * Returns: %TRUE if its numbers can be used
 */
gboolean
ir_optimizer_check (const IrOptimizer *o, GError **error)
{
  if (!(o->momentum >= 0 && o->momentum < 1))
    return refuse (error, "the momentum must be at least 0 and below 1");
  if (o->momentum != 0 && o->kind != IR_OPTIMIZER_SGD)
    return refuse (error, "only sgd has a momentum; the betas are those of adam and adamw");
  if (o->nesterov && o->momentum == 0)
    return refuse (error, "Nesterov's step needs a momentum above 0");
  for (guint i = 0; i < 2; i++)
    if (!(o->betas[i] >= 0 && o->betas[i] < 1))
      return refuse (error, "the betas must be at least 0 and below 1");
  if (!(o->epsilon >= 0 && isfinite (o->epsilon)))
    return refuse (error, "epsilon must be 0 or more");
  if (!(o->weight_decay >= 0 && isfinite (o->weight_decay)))
    return refuse (error, "the weight decay must be 0 or more");
  if (!(o->clip >= 0 && isfinite (o->clip)))
    return refuse (error, "the norm that derivatives are clipped to must be 0 (any) or more");
  if (!(o->loss_scale > 0 && isfinite (o->loss_scale)))
    return refuse (error, "the scale of the loss must be above 0");
  return !o->preview || check_preview (o, error);
}

/* -- values -- */

static IrValue *
name_value (IrUpdates *u, IrValue *value, const char *base, const char *suffix)
{
  g_autofree char *name = g_strconcat (base, suffix, NULL);

  ir_edit_rename_value (u->vjp.edit, value,
                        !ir_model_has_value (ir_edit_model (u->vjp.edit), name)
                            ? name
                            : ir_edit_unique_name (u->vjp.edit, name));
  ir_edit_set_flags (u->vjp.edit, value, value->flags | IR_VALUE_NAMED_BY_USER);
  return value;
}

static IrValue *
number (IrUpdates *u, IrDtype dtype, double value)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];
  g_autofree char *key = g_strdup_printf ("%d %s", (int) dtype,
                                          g_ascii_dtostr (text, sizeof text, value));
  IrValue *found = g_hash_table_lookup (u->numbers, key);

  if (found != NULL)
    return found;
  g_autoptr (IrTensor) tensor = ir_tensor_new_scalar (dtype, value);
  found = ir_edit_add_initializer (u->vjp.edit, u->vjp.graph, NULL, tensor);
  g_hash_table_insert (u->numbers, g_steal_pointer (&key), found);
  return found;
}

static IrValue *
add (IrUpdates *u, IrValue *a, IrValue *b)
{
  return ir_emit2 (&u->vjp, "Add", a, b);
}

static IrValue *
sub (IrUpdates *u, IrValue *a, IrValue *b)
{
  return ir_emit2 (&u->vjp, "Sub", a, b);
}

static IrValue *
mul (IrUpdates *u, IrValue *a, IrValue *b)
{
  return ir_emit2 (&u->vjp, "Mul", a, b);
}

static IrValue *
divide (IrUpdates *u, IrValue *a, IrValue *b)
{
  return ir_emit2 (&u->vjp, "Div", a, b);
}

static IrValue *
square_root (IrUpdates *u, IrValue *a)
{
  return ir_emit1 (&u->vjp, "Sqrt", a);
}

static IrValue *
times (IrUpdates *u, IrValue *a, double factor)
{
  return mul (u, a, number (u, ir_value_dtype (a), factor));
}

/* A state that begins with @tensor (transfer full). */
static IrValue *
new_state (IrUpdates *u, const char *base, const char *suffix, IrTensor *tensor)
{
  IrValue *state = ir_edit_add_initializer (u->vjp.edit, u->vjp.graph, NULL, tensor);

  ir_tensor_unref (tensor);
  name_value (u, state, base, suffix);
  ir_edit_set_flags (u->vjp.edit, state, state->flags | IR_VALUE_MUTABLE);
  return state;
}

static IrTensor *
zeros (IrDtype dtype, const IrTensor *like)
{
  IrTensor *tensor = ir_tensor_new_alloc (dtype, ir_tensor_rank (like), ir_tensor_dims (like),
                                          NULL);

  if (tensor != NULL)
    memset (ir_tensor_data_writable (tensor), 0, ir_tensor_n_bytes (tensor));
  return tensor;
}

static void
becomes (IrUpdates *u, IrValue *state, IrValue *value)
{
  name_value (u, value, state->name, IR_TRAINING_SUFFIX);
  g_ptr_array_add (u->states, state);
  g_ptr_array_add (u->values, value);
}

/* -- what all share -- */

/**
 * ir_updates_new:
 * @edit: an edit
 * @graph: a graph with parameters and their derivatives
 * @optimizer: how they follow them; ir_optimizer_check() has found nothing
 * @rank: place of new nodes in the order
 *
 * Returns: (transfer full): updates that begin, with ir_updates_begin() in a step
 */
IrUpdates *
ir_updates_new (IrEdit *edit, IrGraph *graph, const IrOptimizer *optimizer, guint64 rank)
{
  IrUpdates *u = g_new0 (IrUpdates, 1);

  u->vjp = (IrVjp){ .edit = edit, .graph = graph, .rank = rank };
  u->optimizer = *optimizer;
  u->shared = g_array_new (FALSE, TRUE, sizeof (Shared));
  u->numbers = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  u->states = g_ptr_array_new ();
  u->values = g_ptr_array_new ();
  return u;
}

/**
 * ir_updates_free:
 * @u: (transfer full): updates
 */
void
ir_updates_free (IrUpdates *u)
{
  g_array_unref (u->shared);
  g_hash_table_unref (u->numbers);
  g_ptr_array_unref (u->states);
  g_ptr_array_unref (u->values);
  g_free (u);
}

static IrValue *
add_rate (IrUpdates *u)
{
  IrGraph *graph = u->vjp.graph;
  IrContext *context = ir_edit_model (u->vjp.edit)->context;
  g_autoptr (GPtrArray) inputs = g_ptr_array_new ();
  IrValue *rate = ir_edit_add_value (u->vjp.edit, graph, NULL,
                                     ir_type_tensor (context, IR_DTYPE_DOUBLE, 0, NULL));

  name_value (u, rate, IR_TRAINING_RATE, "");
  for (guint i = 0; i < ir_graph_n_inputs (graph); i++)
    g_ptr_array_add (inputs, ir_graph_input (graph, i));
  g_ptr_array_add (inputs, rate);
  ir_edit_set_graph_inputs (u->vjp.edit, graph, (IrValue *const *) inputs->pdata, inputs->len);
  return rate;
}

/* 1 - beta^t, in double */
static IrValue *
correction (IrUpdates *u, double beta, IrValue *t)
{
  return sub (u, number (u, IR_DTYPE_DOUBLE, 1),
              ir_emit2 (&u->vjp, "Pow", number (u, IR_DTYPE_DOUBLE, beta), t));
}

/**
 * ir_updates_begin:
 * @u: updates
 *
 * Adds what all parameters share: the learning rate, an input in double; the number of steps so
 * far; and what Adam corrects its means by.
 */
void
ir_updates_begin (IrUpdates *u)
{
  const IrOptimizer *o = &u->optimizer;
  gint64 zero = 0;

  u->rate = add_rate (u);
  u->count = new_state (u, IR_TRAINING_COUNT, "", ir_tensor_new_int64s (&zero, -1));
  u->next = add (u, u->count, number (u, IR_DTYPE_INT64, 1));
  becomes (u, u->count, u->next);
  u->step_rate = u->rate;
  if (o->preview)
    return;
  if (o->kind == IR_OPTIMIZER_ADAM || o->kind == IR_OPTIMIZER_ADAMW)
    {
      IrValue *t = ir_emit_cast (&u->vjp, u->next, IR_DTYPE_DOUBLE);
      u->step_rate = divide (u, u->rate, correction (u, o->betas[0], t));
      u->root = square_root (u, correction (u, o->betas[1], t));
    }
  if (o->kind == IR_OPTIMIZER_ADAMW && o->weight_decay != 0)
    u->shrink = sub (u, number (u, IR_DTYPE_DOUBLE, 1), times (u, u->rate, o->weight_decay));
}

static Shared
shared_of (IrUpdates *u, IrDtype dtype)
{
  for (guint i = 0; i < u->shared->len; i++)
    if (g_array_index (u->shared, Shared, i).dtype == dtype)
      return g_array_index (u->shared, Shared, i);
  Shared shared = { dtype, ir_emit_cast (&u->vjp, u->step_rate, dtype) };
  if (u->root != NULL)
    shared.root = ir_emit_cast (&u->vjp, u->root, dtype);
  if (u->shrink != NULL)
    shared.shrink = ir_emit_cast (&u->vjp, u->shrink, dtype);
  g_array_append_val (u->shared, shared);
  return shared;
}

static IrDtype
dtype_of_update (const IrValue *parameter)
{
  IrDtype dtype = ir_value_dtype (parameter);

  return dtype == IR_DTYPE_FLOAT16 || dtype == IR_DTYPE_BFLOAT16 ? IR_DTYPE_FLOAT : dtype;
}

/* In the type of the update, and without the scale of the loss. */
static IrValue *
unscaled (IrUpdates *u, IrValue *gradient)
{
  IrValue *wide = ir_emit_cast (&u->vjp, gradient, dtype_of_update (gradient));

  return u->optimizer.loss_scale == 1 ? wide : times (u, wide, 1 / u->optimizer.loss_scale);
}

/**
 * ir_updates_clip:
 * @u: updates
 * @gradients: (inout) (array length=n): derivatives by all parameters; those that are updated by
 *   afterwards
 * @n: how many
 *
 * Takes the scale of the loss out, and where the derivatives together are longer than they may be,
 * shortens them.
 */
void
ir_updates_clip (IrUpdates *u, IrValue **gradients, guint n)
{
  g_autoptr (GPtrArray) squares = g_ptr_array_new ();

  for (guint i = 0; i < n; i++)
    gradients[i] = unscaled (u, gradients[i]);
  if (u->optimizer.clip == 0 || n == 0)
    return;
  for (guint i = 0; i < n; i++)
    {
      IrNode *node = ir_emit_node (&u->vjp, "ReduceSumSquare", 1, &gradients[i], 1);
      ir_emit_attr_int (&u->vjp, node, "keepdims", 0);
      g_ptr_array_add (squares, ir_emit_cast (&u->vjp, ir_emit_end (&u->vjp, node),
                                              ir_value_dtype (gradients[0])));
    }
  IrValue *sum = ir_emit (&u->vjp, "Sum", squares->len, (IrValue *const *) squares->pdata);
  IrDtype dtype = ir_value_dtype (sum);
  IrValue *norm = name_value (u, square_root (u, sum), "optimizer.norm", "");
  IrValue *factor = ir_emit2 (&u->vjp, "Min", number (u, dtype, 1),
                              divide (u, number (u, dtype, u->optimizer.clip),
                                      add (u, norm, number (u, dtype, CLIP_EPSILON))));
  for (guint i = 0; i < n; i++)
    gradients[i] = mul (u, gradients[i],
                        ir_emit_cast (&u->vjp, factor, ir_value_dtype (gradients[i])));
}

/* -- one parameter -- */

/* A parameter while it is updated. */
typedef struct
{
  IrValue *parameter; /* as the graph has it */
  IrValue *p, *g;     /* in the type of the update */
  IrDtype dtype;
  Shared shared;
} Update;

static IrValue *
zero_state (IrUpdates *u, const Update *update, const char *suffix)
{
  return new_state (u, update->parameter->name, suffix,
                    zeros (update->dtype, update->parameter->initializer));
}

static IrValue *
step_sgd (IrUpdates *u, Update *update)
{
  const IrOptimizer *o = &u->optimizer;
  IrValue *g = update->g;

  if (o->momentum != 0)
    {
      IrValue *v = zero_state (u, update, ".momentum");
      IrValue *fresh = add (u, times (u, v, o->momentum), g);
      becomes (u, v, fresh);
      g = o->nesterov ? add (u, g, times (u, fresh, o->momentum)) : fresh;
    }
  return sub (u, update->p, mul (u, g, update->shared.rate));
}

static IrValue *
step_adam (IrUpdates *u, Update *update)
{
  const IrOptimizer *o = &u->optimizer;
  IrValue *p = update->p, *g = update->g;
  IrValue *m = zero_state (u, update, ".mean"), *s = zero_state (u, update, ".square");

  if (update->shared.shrink != NULL)
    p = mul (u, p, update->shared.shrink);
  IrValue *mean = add (u, m, times (u, sub (u, g, m), 1 - o->betas[0]));
  IrValue *square = add (u, times (u, s, o->betas[1]), mul (u, times (u, g, 1 - o->betas[1]), g));
  IrValue *root = add (u, divide (u, square_root (u, square), update->shared.root),
                       number (u, update->dtype, o->epsilon));
  becomes (u, m, mean);
  becomes (u, s, square);
  return sub (u, p, mul (u, divide (u, mean, root), update->shared.rate));
}

static IrValue *
step_adagrad (IrUpdates *u, Update *update)
{
  IrValue *s = zero_state (u, update, ".sum");
  IrValue *sum = add (u, s, mul (u, update->g, update->g));
  IrValue *root = add (u, square_root (u, sum), number (u, update->dtype, u->optimizer.epsilon));

  becomes (u, s, sum);
  return sub (u, update->p, mul (u, divide (u, update->g, root), update->shared.rate));
}

static void
attr_float (IrUpdates *u, IrNode *node, const char *name, double value)
{
  ir_edit_set_attr (u->vjp.edit, node,
                    ir_attr_float (ir_edit_model (u->vjp.edit)->context, name, (float) value));
}

/* The operator of the preview domain; (transfer none) the new parameter. */
static IrValue *
step_preview (IrUpdates *u, Update *update)
{
  const IrOptimizer *o = &u->optimizer;
  gboolean adam = o->kind == IR_OPTIMIZER_ADAM, adagrad = o->kind == IR_OPTIMIZER_ADAGRAD;
  IrValue *states[2] = { zero_state (u, update,
                                     adam      ? ".mean"
                                     : adagrad ? ".sum"
                                               : ".momentum"),
                         adam ? zero_state (u, update, ".square") : NULL };
  guint n = adam ? 2 : 1;
  IrValue *inputs[] = { u->rate,  adam ? u->next : u->count, update->p, update->g, states[0],
                        states[1] };
  IrNode *node = ir_edit_add_node (u->vjp.edit, u->vjp.graph,
                                   adam      ? "Adam"
                                   : adagrad ? "Adagrad"
                                             : "Momentum",
                                   PREVIEW, NULL, 4 + n, inputs, 1 + n);

  if (ir_model_opset (ir_edit_model (u->vjp.edit), PREVIEW) == 0)
    ir_edit_set_opset (u->vjp.edit, PREVIEW, 1);
  ir_edit_set_rank (u->vjp.edit, node, u->vjp.rank);
  attr_float (u, node, "norm_coefficient", o->weight_decay);
  if (adam || adagrad)
    attr_float (u, node, "epsilon", o->epsilon);
  if (!adagrad)
    {
      attr_float (u, node, "alpha", adam ? o->betas[0] : o->momentum);
      attr_float (u, node, "beta", adam ? o->betas[1] : 1);
    }
  if (!adam && !adagrad)
    ir_emit_attr_string (&u->vjp, node, "mode", o->nesterov ? "nesterov" : "standard");
  ir_infer_node (u->vjp.edit, node, NULL);
  for (guint i = 0; i < n; i++)
    becomes (u, states[i], node->outputs[1 + i]);
  return node->outputs[0];
}

static IrValue *
step (IrUpdates *u, Update *update)
{
  static IrValue *(*const steps[IR_N_OPTIMIZERS]) (IrUpdates *, Update *) = {
    [IR_OPTIMIZER_SGD] = step_sgd,
    [IR_OPTIMIZER_ADAM] = step_adam,
    [IR_OPTIMIZER_ADAMW] = step_adam,
    [IR_OPTIMIZER_ADAGRAD] = step_adagrad,
  };
  const IrOptimizer *o = &u->optimizer;

  if (o->preview)
    return step_preview (u, update);
  update->shared = shared_of (u, update->dtype);
  if (o->weight_decay != 0 && o->kind != IR_OPTIMIZER_ADAMW)
    update->g = add (u, update->g, times (u, update->p, o->weight_decay));
  return steps[o->kind](u, update);
}

/**
 * ir_updates_add:
 * @u: updates that have begun
 * @parameter: an initializer
 * @gradient: the derivative by it, through ir_updates_clip()
 *
 * Adds what @parameter becomes, and the states that it needs.
 */
void
ir_updates_add (IrUpdates *u, IrValue *parameter, IrValue *gradient)
{
  Update update = {
    .parameter = parameter, .p = parameter, .g = gradient, .dtype = dtype_of_update (parameter)
  };
  gboolean half = update.dtype != ir_value_dtype (parameter);

  if (half)
    {
      update.p = new_state (u, parameter->name, ".float",
                            ir_tensor_cast (parameter->initializer, update.dtype));
    }
  IrValue *fresh = step (u, &update);
  if (half)
    {
      becomes (u, update.p, fresh);
      fresh = ir_emit_cast (&u->vjp, fresh, ir_value_dtype (parameter));
    }
  becomes (u, parameter, fresh);
}

/**
 * ir_updates_states:
 * @u: updates
 *
 * Returns: (transfer none): of #IrValue: initializers that change, parameters and states
 */
const GPtrArray *
ir_updates_states (const IrUpdates *u)
{
  return u->states;
}

/**
 * ir_updates_values:
 * @u: updates
 *
 * Returns: (transfer none): of #IrValue: what each of them becomes
 */
const GPtrArray *
ir_updates_values (const IrUpdates *u)
{
  return u->values;
}
