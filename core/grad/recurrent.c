/* Recurrent layers as a Scan over their steps, which is derived in their place.
 *
 *   Y, Y_h, Y_c = LSTM (X, W, R, B, lens, h0, c0, P)
 *
 *     for each direction: Z = X W^T + Wb
 *     h, c, ys = Scan (h0, c0, Z) { gates from z + h R^T + Rb, cell, h }
 *     Y = the directions side by side
 *
 * Where sequences have lengths, a mask is cut with Z: steps behind an end leave the states as they are
 * and give 0; the reverse direction reads each sequence from its own end. Source: ONNX, RNN, GRU, LSTM. */
#include "config.h"

#include "core/grad/body.h"
#include "core/grad/rules.h"

#include <string.h>

#define MAX_STATES 2 /* h and c */

typedef struct _Layer Layer;

struct _Layer
{
  const IrVjp *emit; /* around the Scan */
  const IrNode *node;
  guint n_gates, n_states, n_activations;
  const char *const *activations; /* the defaults */
  gint64 hidden;
  guint n_directions, direction; /* which of them is built */
  gboolean batch_first, backwards;
  IrValue *lengths;        /* (nullable) int64 [batch] */
  IrValue *r, *r_bias, *p; /* of the direction; [gates hidden, hidden]; the others nullable */
  /* One step: @z is what comes from X, @states are replaced. */
  void (*step) (const Layer *layer, const IrVjp *in, IrValue *z, IrValue **states);
};

/* -- small things -- */

static IrValue *
add (const IrVjp *in, IrValue *a, IrValue *b)
{
  return a == NULL ? b : b == NULL ? a : ir_emit2 (in, "Add", a, b);
}

/* Blocks @first to @end of @size each, along @axis; (nullable) of nothing */
static IrValue *
blocks (const IrVjp *in, IrValue *value, gint64 axis, gint64 size, gint64 first, gint64 end)
{
  const gint64 starts = first * size, ends = end * size;

  return value != NULL ? ir_emit_slice (in, value, &starts, &ends, &axis, 1) : NULL;
}

static IrValue *
times_transposed (const IrVjp *in, IrValue *a, IrValue *b)
{
  static const gint64 perm[] = { 1, 0 };

  return ir_emit2 (in, "MatMul", a, ir_emit_transpose (in, b, perm, 2));
}

static IrValue *
gate (const Layer *layer, const IrVjp *in, IrValue *z, guint which)
{
  return blocks (in, z, -1, layer->hidden, which, which + 1);
}

/* -- activations -- */

typedef struct
{
  const char *name;
  gboolean takes_alpha, takes_beta;
  double alpha, beta; /* where they are not given */
} Activation;

static const Activation kinds[] = {
  { "Relu", FALSE, FALSE, 0, 0 },        { "Tanh", FALSE, FALSE, 0, 0 },
  { "Sigmoid", FALSE, FALSE, 0, 0 },     { "Affine", TRUE, TRUE, 1, 0 },
  { "LeakyRelu", TRUE, FALSE, 0.01, 0 }, { "ThresholdedRelu", TRUE, FALSE, 1, 0 },
  { "ScaledTanh", TRUE, TRUE, 1, 1 },    { "HardSigmoid", TRUE, TRUE, 0.2, 0.5 },
  { "Elu", TRUE, FALSE, 1, 0 },          { "Softsign", FALSE, FALSE, 0, 0 },
  { "Softplus", FALSE, FALSE, 0, 0 },
};

/* (nullable) */
static const Activation *
kind_at (const Layer *layer, guint place)
{
  const IrAttr *names = ir_node_attr (layer->node, "activations");
  const char *name = names != NULL && names->kind == IR_ATTR_STRINGS && place < names->n
                         ? names->strings[place].data
                         : layer->activations[place % layer->n_activations];

  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    if (g_ascii_strcasecmp (kinds[i].name, name) == 0)
      return &kinds[i];
  return NULL;
}

/* Lists of parameters have entries for those activations alone that take one. */
static double
parameter (const Layer *layer, const char *list, guint place, gboolean beta)
{
  const IrAttr *given = ir_node_attr (layer->node, list);
  const Activation *kind = kind_at (layer, place);
  guint used = 0;

  for (guint i = 0; i < place; i++)
    used += beta ? kind_at (layer, i)->takes_beta : kind_at (layer, i)->takes_alpha;
  if (given != NULL && given->kind == IR_ATTR_FLOATS && used < given->n)
    return (double) given->floats[used];
  return beta ? kind->beta : kind->alpha;
}

static void
set_float (const IrVjp *in, IrNode *node, const char *name, double value)
{
  ir_edit_set_attr (in->edit, node,
                    ir_attr_float (ir_edit_model (in->edit)->context, name, (float) value));
}

/* Activation @which of the direction, of what is limited by the attribute clip */
static IrValue *
activate (const Layer *layer, const IrVjp *in, guint which, IrValue *x)
{
  const guint place = layer->direction * layer->n_activations + which;
  const Activation *kind = kind_at (layer, place);
  const double alpha = parameter (layer, "activation_alpha", place, FALSE);
  const double beta = parameter (layer, "activation_beta", place, TRUE);
  const float clip = ir_node_attr_float (layer->node, "clip", 0);

  if (clip > 0)
    x = ir_emit3 (in, "Clip", x, ir_emit_number_like (in, x, (double) -clip),
                  ir_emit_number_like (in, x, (double) clip));
  if (strcmp (kind->name, "Affine") == 0)
    return add (in, ir_emit2 (in, "Mul", x, ir_emit_number_like (in, x, alpha)),
                ir_emit_number_like (in, x, beta));
  if (strcmp (kind->name, "ScaledTanh") == 0)
    return ir_emit2 (
        in, "Mul", ir_emit_number_like (in, x, alpha),
        ir_emit1 (in, "Tanh", ir_emit2 (in, "Mul", ir_emit_number_like (in, x, beta), x)));
  IrNode *node = ir_emit_node (in, kind->name, 1, &x, 1);
  if (kind->takes_alpha)
    set_float (in, node, "alpha", alpha);
  if (kind->takes_beta)
    set_float (in, node, "beta", beta);
  return ir_emit_end (in, node);
}

/* -- cells -- */

static IrValue *
from_state (const Layer *layer, const IrVjp *in, IrValue *h, guint first, guint end)
{
  return add (in, times_transposed (in, h, blocks (in, layer->r, 0, layer->hidden, first, end)),
              blocks (in, layer->r_bias, 0, layer->hidden, first, end));
}

static void
rnn_step (const Layer *layer, const IrVjp *in, IrValue *z, IrValue **states)
{
  states[0] = activate (layer, in, 0, add (in, z, from_state (layer, in, states[0], 0, 1)));
}

/* a (x - y) + y */
static IrValue *
between (const IrVjp *in, IrValue *a, IrValue *x, IrValue *y)
{
  return add (in, ir_emit2 (in, "Mul", a, ir_emit2 (in, "Sub", x, y)), y);
}

/* Gates: update, reset, hidden */
static void
gru_step (const Layer *layer, const IrVjp *in, IrValue *z, IrValue **states)
{
  IrValue *h = states[0];
  IrValue *both = activate (
      layer, in, 0,
      add (in, blocks (in, z, -1, layer->hidden, 0, 2), from_state (layer, in, h, 0, 2)));
  IrValue *reset = gate (layer, in, both, 1), *before = gate (layer, in, z, 2);

  before = ir_node_attr_int (layer->node, "linear_before_reset", 0) != 0
               ? add (in, before, ir_emit2 (in, "Mul", reset, from_state (layer, in, h, 2, 3)))
               : add (in, before, from_state (layer, in, ir_emit2 (in, "Mul", reset, h), 2, 3));
  states[0] = between (in, gate (layer, in, both, 0), h, activate (layer, in, 1, before));
}

/* @x and, where there are peepholes, what of them, in the order input, output, forget, looks at @c */
static IrValue *
peep (const Layer *layer, const IrVjp *in, IrValue *x, guint which, IrValue *c)
{
  IrValue *p = blocks (in, layer->p, 0, layer->hidden, which, which + 1);

  return p != NULL ? add (in, x, ir_emit2 (in, "Mul", p, c)) : x;
}

/* Gates: input, output, forget, cell */
static void
lstm_step (const Layer *layer, const IrVjp *in, IrValue *z, IrValue **states)
{
  IrValue *c = states[1];
  IrValue *all = add (in, z, from_state (layer, in, states[0], 0, 4));
  IrValue *input = activate (layer, in, 0, peep (layer, in, gate (layer, in, all, 0), 0, c));
  IrValue *forget = ir_node_attr_int (layer->node, "input_forget", 0) != 0
                        ? ir_emit2 (in, "Sub", ir_emit_number_like (in, z, 1), input)
                        : activate (layer, in, 0, peep (layer, in, gate (layer, in, all, 2), 2, c));
  IrValue *cell = activate (layer, in, 1, gate (layer, in, all, 3));

  states[1] = add (in, ir_emit2 (in, "Mul", forget, c), ir_emit2 (in, "Mul", input, cell));
  states[0] = ir_emit2 (
      in, "Mul", activate (layer, in, 0, peep (layer, in, gate (layer, in, all, 1), 1, states[1])),
      activate (layer, in, 2, states[1]));
}

/* -- one direction -- */

/* [steps, batch, 1]: whether a step is before the end of its sequence */
static IrValue *
mask_of (const Layer *layer, IrValue *x)
{
  static const gint64 zero = 0, one = 1, column[] = { 0, 2 }, behind[] = { 1, 2 };
  const IrVjp *in = layer->emit;
  IrValue *n = ir_emit_pick (in, ir_emit_shape (in, x), 0, 0);
  IrValue *steps = ir_emit3 (in, "Range", ir_emit_ints (in, &zero, -1), n,
                             ir_emit_ints (in, &one, -1));

  return ir_emit2 (in, "Less", ir_emit_unsqueeze (in, steps, behind, 2),
                   ir_emit_unsqueeze (in, layer->lengths, column, 2));
}

/* Each sequence from its own end */
static IrValue *
reversed (const Layer *layer, IrValue *x)
{
  IrValue *inputs[] = { x, layer->lengths };
  IrNode *node = ir_emit_node (layer->emit, "ReverseSequence", 2, inputs, 1);

  ir_emit_attr_int (layer->emit, node, "time_axis", 0);
  ir_emit_attr_int (layer->emit, node, "batch_axis", 1);
  return ir_emit_end (layer->emit, node);
}

static IrValue *
initial_state (const Layer *layer, guint which, IrValue *z)
{
  const IrVjp *in = layer->emit;
  IrValue *given = ir_node_input (layer->node, 5 + which);

  if (given != NULL)
    return ir_emit_pick (in, given, layer->batch_first ? 1 : 0, layer->direction);
  return ir_emit_filled (in, blocks (in, ir_emit_pick (in, z, 0, 0), -1, layer->hidden, 0, 1), 0);
}

/* The body: a step, and where it is behind the end of a sequence, the states as they were, and 0 */
static void
build_step (const Layer *layer, IrGradBody *body, IrValue *z, IrValue *mask)
{
  const IrVjp *in = &body->emit;
  IrValue *states[MAX_STATES] = { NULL };

  for (guint i = 0; i < layer->n_states; i++)
    states[i] = body->inputs->pdata[i];
  layer->step (layer, in, z, states);
  IrValue *y = states[0];
  if (mask != NULL)
    y = ir_emit3 (in, "Where", mask, y, ir_emit_number_like (in, y, 0));
  for (guint i = 0; i < layer->n_states; i++)
    ir_grad_body_add_output (
        body,
        mask != NULL ? ir_emit3 (in, "Where", mask, states[i], body->inputs->pdata[i]) : states[i]);
  ir_grad_body_add_output (body, y);
}

static const IrType *
without_first_axis (const IrVjp *in, const IrValue *value)
{
  const IrType *type = value->type;

  return type != NULL && type->rank > 0
             ? ir_type_tensor (ir_edit_model (in->edit)->context, type->dtype, type->rank - 1,
                               type->dims + 1)
             : NULL;
}

/* @results: Y of the direction, and the last states */
static void
build_direction (Layer *layer, IrValue *x, gboolean backwards, IrValue **results)
{
  const IrVjp *in = layer->emit;
  const IrNode *node = layer->node;
  const gint64 way = backwards && layer->lengths == NULL;
  const gint64 ways[] = { way, way };
  IrValue *bias = ir_emit_pick (in, ir_node_input (node, 3), 0, layer->direction);
  IrValue *inputs[MAX_STATES + 2] = { NULL }, *mask = NULL;
  guint n = layer->n_states;
  g_auto (IrGradBody) body = { 0 };

  if (layer->lengths !=
      NULL) /* what lies behind an end may be anything, and 0 times that is no 0 */
    {
      mask = mask_of (layer, x);
      x = ir_emit3 (in, "Where", mask, x, ir_emit_number_like (in, x, 0));
    }
  if (backwards && layer->lengths != NULL)
    x = reversed (layer, x);
  layer->r = ir_emit_pick (in, node->inputs[2], 0, layer->direction);
  layer->r_bias = blocks (in, bias, 0, layer->hidden, layer->n_gates, 2 * layer->n_gates);
  layer->p = ir_emit_pick (in, ir_node_input (node, 7), 0, layer->direction);
  IrValue *z = add (
      in, times_transposed (in, x, ir_emit_pick (in, node->inputs[1], 0, layer->direction)),
      blocks (in, bias, 0, layer->hidden, 0, layer->n_gates));
  for (guint i = 0; i < layer->n_states; i++)
    inputs[i] = initial_state (layer, i, z);
  inputs[n++] = z;
  if (layer->lengths != NULL)
    inputs[n++] = mask;
  IrNode *scan = ir_emit_node (in, "Scan", n, inputs, layer->n_states + 1);
  ir_grad_body_open (&body, in, NULL, scan, "body");
  for (guint i = 0; i < n; i++)
    ir_grad_body_add_input (&body, i < layer->n_states ? inputs[i]->type
                                                       : without_first_axis (in, inputs[i]));
  build_step (layer, &body, body.inputs->pdata[layer->n_states],
              layer->lengths != NULL ? body.inputs->pdata[n - 1] : NULL);
  ir_grad_body_close (&body);
  ir_emit_attr_int (in, scan, "num_scan_inputs", n - layer->n_states);
  ir_emit_attr_ints (in, scan, "scan_input_directions", ways, n - layer->n_states);
  ir_emit_attr_ints (in, scan, "scan_output_directions", ways, 1);
  ir_emit_end (in, scan);
  results[0] = scan->outputs[layer->n_states];
  if (backwards && layer->lengths != NULL)
    results[0] = reversed (layer, results[0]);
  for (guint i = 0; i < layer->n_states; i++)
    results[1 + i] = scan->outputs[i];
}

/* -- all directions -- */

static gboolean
layer_init (Layer *layer, const IrVjp *emit, GError **error)
{
  const IrNode *node = emit->node;
  const char *direction = ir_node_attr_string (node, "direction", "forward");
  const IrType *r = node->n_inputs > 2 && node->inputs[2] != NULL ? node->inputs[2]->type : NULL;

  layer->emit = emit;
  layer->node = node;
  layer->n_directions = strcmp (direction, "bidirectional") == 0 ? 2 : 1;
  layer->backwards = strcmp (direction, "reverse") == 0;
  layer->batch_first = ir_node_attr_int (node, "layout", 0) != 0;
  layer->hidden = ir_node_attr_int (node, "hidden_size", 0);
  if (layer->hidden <= 0 && r != NULL && r->rank == 3 && r->dims[2] > 0)
    layer->hidden = r->dims[2];
  if (layer->hidden <= 0)
    return ir_emit_fail (emit, error,
                         "neither hidden_size nor the type of R says how many units it has");
  for (guint i = 0; i < layer->n_directions * layer->n_activations; i++)
    if (kind_at (layer, i) == NULL)
      return ir_emit_fail (emit, error, "it has an activation that is not known");
  layer->lengths = ir_node_input (node, 4);
  if (layer->lengths != NULL)
    layer->lengths = ir_emit_cast (emit, layer->lengths, IR_DTYPE_INT64);
  return TRUE;
}

static IrValue *
side_by_side (const Layer *layer, IrValue *const *parts, gint64 axis)
{
  const IrVjp *in = layer->emit;
  IrValue *wide[2] = { NULL };

  for (guint i = 0; i < layer->n_directions; i++)
    wide[i] = ir_emit_unsqueeze (in, parts[i], &axis, 1);
  if (layer->n_directions == 1)
    return wide[0];
  IrNode *concat = ir_emit_node (in, "Concat", 2, wide, 1);
  ir_emit_attr_int (in, concat, "axis", axis);
  return ir_emit_end (in, concat);
}

static gboolean
expand (Layer *layer, const IrVjp *emit, IrValue **outputs, GError **error)
{
  static const gint64 swapped[] = { 1, 0, 2 }, batch_first[] = { 2, 0, 1, 3 };
  IrValue *results[2][1 + MAX_STATES] = { { NULL } };

  if (!layer_init (layer, emit, error))
    return FALSE;
  IrValue *x = emit->node->inputs[0];
  if (layer->batch_first)
    x = ir_emit_transpose (emit, x, swapped, 3);
  for (layer->direction = 0; layer->direction < layer->n_directions; layer->direction++)
    build_direction (layer, x, layer->backwards || layer->direction == 1,
                     results[layer->direction]);
  for (guint i = 0; i < MIN (emit->node->n_outputs, 1 + layer->n_states); i++)
    {
      IrValue *parts[] = { results[0][i], results[1][i] };
      outputs[i] = side_by_side (layer, parts, i == 0 || layer->batch_first ? 1 : 0);
      if (i == 0 && layer->batch_first)
        outputs[i] = ir_emit_transpose (emit, outputs[i], batch_first, 4);
    }
  return TRUE;
}

gboolean
ir_expand_rnn (const IrVjp *emit, IrValue **outputs, GError **error)
{
  static const char *const names[] = { "Tanh" };
  Layer layer = {
    .n_gates = 1, .n_states = 1, .n_activations = 1, .activations = names, .step = rnn_step
  };

  return expand (&layer, emit, outputs, error);
}

gboolean
ir_expand_gru (const IrVjp *emit, IrValue **outputs, GError **error)
{
  static const char *const names[] = { "Sigmoid", "Tanh" };
  Layer layer = {
    .n_gates = 3, .n_states = 1, .n_activations = 2, .activations = names, .step = gru_step
  };

  return expand (&layer, emit, outputs, error);
}

gboolean
ir_expand_lstm (const IrVjp *emit, IrValue **outputs, GError **error)
{
  static const char *const names[] = { "Sigmoid", "Tanh", "Tanh" };
  Layer layer = {
    .n_gates = 4, .n_states = 2, .n_activations = 3, .activations = names, .step = lstm_step
  };

  return expand (&layer, emit, outputs, error);
}
