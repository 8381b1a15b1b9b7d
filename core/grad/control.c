/* Derivatives of control flow. What a body computes is computed again in the backward part, on what
 * it read, and derived there; so the result is control flow itself, and can be derived in turn.
 *
 *   y = If (c) { then: f (u) }     u' = If (c) { then: f again, its vjp by u }
 *              { else: g (w) }                 { else: 0 }
 *   and so for each value that a branch captures
 *
 *   v.., s.. = Loop (M, c, v0..)   v.., s.., t, k.. = Loop (M, c, v0..)  t: the iterations
 *     { v.., s.. = f (i, v, u) }                                         k: v of each, where needed
 *                                  v0'.., u'.. = Loop (Size (t), , v'.., 0..)
 *                                    { j = Size (t) - 1 - iteration
 *                                      f (t[j], k[j], u) again, its vjp from v' and s'[j];
 *                                      v' of the round before, and u' added up }
 *
 * A Scan is derived by a Scan in the other direction; a SequenceMap by one over its items and what
 * came to its results. A state whose shape may change from round to round is kept in a sequence.
 * Sources: Griewank and Walther, Evaluating Derivatives, chapter 12 (what is kept and what computed
 * again); Yu et al. 2018, Dynamic Control Flow in Large-Scale Machine Learning, 5.1 (stacks). */
#include "config.h"

#include "core/grad/body.h"
#include "core/grad/rules.h"
#include "core/op/infer.h"
#include "core/op/op.h"

/* -- If -- */

static gboolean
derive_branch (IrVjp *vjp, IrNode *back, const char *attr, GError **error)
{
  const IrGraph *from = ir_node_attr_graph (vjp->node, attr);
  g_auto (IrGradBody) body = { 0 };

  if (from == NULL || ir_graph_n_outputs (from) < vjp->node->n_outputs)
    return ir_emit_fail (vjp, error, "its %s has too few outputs", attr);
  ir_grad_body_open (&body, vjp, from, back, attr);
  ir_grad_body_copy (&body);
  g_autoptr (IrReverse) reverse = ir_grad_body_reverse (&body);
  for (guint i = 0; i < vjp->node->n_outputs; i++)
    if (vjp->dy[i] != NULL)
      ir_reverse_give (reverse, ir_grad_body_at (&body, ir_graph_output (from, i)), vjp->dy[i]);
  if (!ir_reverse_run (reverse, NULL, NULL, (IrNode *const *) body.path->pdata, body.path->len,
                       error))
    return FALSE;
  for (guint i = 0; i < vjp->n_captured; i++)
    {
      IrValue *gradient = ir_reverse_gradient (reverse, vjp->captured[i]);
      ir_grad_body_add_output (
          &body, gradient != NULL ? gradient : ir_emit_filled (&body.emit, vjp->captured[i], 0));
    }
  ir_grad_body_close (&body);
  return TRUE;
}

gboolean
ir_vjp_if (IrVjp *vjp, GError **error)
{
  static const char *const branches[] = { "then_branch", "else_branch" };
  IrNode *back;

  for (guint i = 0; i < G_N_ELEMENTS (branches); i++)
    if (!ir_grad_refuse_random (vjp, ir_node_attr_graph (vjp->node, branches[i]), error))
      return FALSE;
  back = ir_emit_node (vjp, "If", 1, vjp->node->inputs, vjp->n_captured);
  for (guint i = 0; i < G_N_ELEMENTS (branches); i++)
    if (!derive_branch (vjp, back, branches[i], error))
      return FALSE;
  for (guint i = 0; i < vjp->n_captured; i++)
    {
      ir_edit_set_type (vjp->edit, back->outputs[i], vjp->captured[i]->type);
      vjp->by_captured[i] = back->outputs[i];
    }
  return TRUE;
}

/* -- rounds: Loop and Scan -- */

typedef struct
{
  IrVjp *vjp;
  const IrGraph *from;
  IrGradRounds rounds;
  gboolean *carries; /* per state: something comes back through it */
  IrGradBody body;
  IrReverse *reverse;
  IrNode *back;
  IrValue **stand_ins; /* per input of the body from the first state on */
  IrValue **adjoints;  /* per state (nullable): what comes to it in a round */
  IrValue **sums;      /* per captured value: what came so far */
  GPtrArray *inputs;   /* (element-type IrValue): of @back */
  guint n_outputs;     /* of the derived node, before it keeps anything */
} Rounds;

static void
rounds_clear (Rounds *r)
{
  g_clear_pointer (&r->carries, g_free);
  g_clear_pointer (&r->reverse, ir_reverse_free);
  g_clear_pointer (&r->stand_ins, g_free);
  g_clear_pointer (&r->adjoints, g_free);
  g_clear_pointer (&r->sums, g_free);
  g_clear_pointer (&r->inputs, g_ptr_array_unref);
  ir_grad_body_clear (&r->body);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Rounds, rounds_clear)

static IrValue *
body_input (const Rounds *r, guint i)
{
  return ir_graph_input (r->from, r->rounds.body_in + i);
}

static IrValue *
body_output (const Rounds *r, guint i)
{
  return ir_graph_output (r->from, r->rounds.body_out + i);
}

/* Whether @output of the body is computed from @input */
static gboolean
leads_to (const IrReverse *activity, const IrValue *input, const IrValue *output)
{
  g_autoptr (GHashTable) sources = ir_reverse_sources (activity, output);
  GHashTableIter iter;
  gpointer node;

  if (input == output)
    return TRUE;
  g_hash_table_iter_init (&iter, sources);
  while (g_hash_table_iter_next (&iter, &node, NULL))
    if (ir_reverse_reads (node, input))
      return TRUE;
  return FALSE;
}

/* Which states have to be carried back: those that what is derived depends on, in some round */
static void
find_carried (Rounds *r)
{
  const IrVjp *vjp = r->vjp;
  const IrGradRounds *rounds = &r->rounds;
  g_autoptr (IrReverse) activity = ir_grad_rounds_activity (rounds, vjp, r->from);
  g_autofree gboolean *useful = g_new0 (gboolean, rounds->n_states + rounds->n_scans + 1);
  gboolean more = TRUE;

  for (guint i = 0; i < rounds->n_states + rounds->n_scans; i++)
    useful[i] = i < r->n_outputs && vjp->dy[i] != NULL;
  while (more)
    {
      more = FALSE;
      for (guint i = 0; i < rounds->n_states; i++)
        for (guint k = 0; k < rounds->n_states + rounds->n_scans && !useful[i]; k++)
          if (useful[k] && ir_reverse_is_active (activity, body_input (r, i)) &&
              leads_to (activity, body_input (r, i), body_output (r, k)))
            more = useful[i] = TRUE;
    }
  for (guint i = 0; i < rounds->n_states; i++)
    r->carries[i] = useful[i] && ir_reverse_is_active (activity, body_input (r, i));
}

/* What comes to the last of a state */
static IrValue *
adjoint_of_state (const Rounds *r, guint state)
{
  const IrVjp *vjp = r->vjp;
  IrValue *dy = state < r->n_outputs ? vjp->dy[state] : NULL;

  return dy != NULL ? dy : ir_emit_filled (vjp, ir_emit_extra_output (vjp, state), 0);
}

static IrDtype
dtype_of_sum (const IrValue *value)
{
  IrDtype dtype = ir_value_dtype (value);

  return dtype == IR_DTYPE_FLOAT16 || dtype == IR_DTYPE_BFLOAT16 ? IR_DTYPE_FLOAT : dtype;
}

/* States of the way back: what comes to the states, and what came to captured values so far. */
static void
add_states (Rounds *r)
{
  const IrVjp *vjp = r->vjp;

  for (guint i = 0; i < r->rounds.n_states; i++)
    if (r->carries[i])
      {
        r->adjoints[i] = ir_grad_body_add_input (&r->body, body_input (r, i)->type);
        g_ptr_array_add (r->inputs, adjoint_of_state (r, i));
      }
  for (guint i = 0; i < vjp->n_captured; i++)
    {
      IrValue *zero = ir_emit_filled (vjp, vjp->captured[i], 0);
      if (ir_type_is_tensor (zero->type))
        zero = ir_emit_cast (vjp, zero, dtype_of_sum (zero));
      r->sums[i] = ir_grad_body_add_input (&r->body, zero->type);
      g_ptr_array_add (r->inputs, zero);
    }
}

static void
copy_body (Rounds *r)
{
  for (guint i = 0; i < r->rounds.n_states + r->rounds.n_slices; i++)
    r->stand_ins[i] = ir_grad_body_stand_for (&r->body, body_input (r, i));
  ir_grad_body_copy (&r->body);
  r->reverse = ir_grad_body_reverse (&r->body);
  for (guint i = 0; i < r->rounds.n_states; i++)
    if (r->carries[i])
      ir_reverse_by (r->reverse, r->stand_ins[i]);
  for (guint i = r->rounds.n_states; i < r->rounds.n_states + r->rounds.n_slices; i++)
    if (r->vjp->wanted[r->rounds.node_in + i])
      ir_reverse_by (r->reverse, r->stand_ins[i]);
}

static void
give (const Rounds *r, guint output, IrValue *part)
{
  ir_reverse_give (r->reverse, ir_grad_body_at (&r->body, body_output (r, output)), part);
}

static gboolean
derive_round (Rounds *r, GError **error)
{
  const IrGradBody *body = &r->body;

  for (guint i = 0; i < r->rounds.n_states; i++)
    if (r->carries[i])
      give (r, i, r->adjoints[i]);
  return ir_reverse_run (r->reverse, NULL, NULL, (IrNode *const *) body->path->pdata,
                         body->path->len, error);
}

/* Behind a round, in the order of the inputs: what comes to the states before it, and the sums. */
static void
end_states (Rounds *r)
{
  IrGradBody *body = &r->body;

  for (guint i = 0; i < r->rounds.n_states; i++)
    if (r->carries[i])
      {
        IrValue *gradient = ir_reverse_gradient (r->reverse, r->stand_ins[i]);
        ir_grad_body_add_output (
            body, gradient != NULL ? gradient : ir_emit_filled (&body->emit, r->stand_ins[i], 0));
      }
  for (guint i = 0; i < r->vjp->n_captured; i++)
    {
      IrValue *gradient = ir_reverse_gradient (r->reverse, r->vjp->captured[i]);
      if (gradient != NULL && ir_type_is_tensor (r->sums[i]->type))
        gradient = ir_emit_cast (&body->emit, gradient, ir_value_dtype (r->sums[i]));
      ir_grad_body_add_output (
          body, gradient != NULL ? ir_emit_add (&body->emit, r->sums[i], gradient) : r->sums[i]);
    }
}

/* The first outputs of the way back */
static void
give_states (const Rounds *r)
{
  IrVjp *vjp = r->vjp;
  guint slot = 0;

  for (guint i = 0; i < r->rounds.n_states; i++)
    if (r->carries[i])
      {
        guint input = r->rounds.node_in + i;
        IrValue *gradient = r->back->outputs[slot++];
        ir_edit_set_type (vjp->edit, gradient, vjp->node->inputs[input]->type);
        if (vjp->wanted[input])
          vjp->dx[input] = gradient;
      }
  for (guint i = 0; i < vjp->n_captured; i++)
    {
      IrValue *sum = r->back->outputs[slot++];
      ir_edit_set_type (vjp->edit, sum, r->sums[i]->type);
      vjp->by_captured[i] = ir_type_is_tensor (sum->type)
                                ? ir_emit_cast (vjp, sum, ir_value_dtype (vjp->captured[i]))
                                : sum;
    }
}

static gboolean
rounds_init (Rounds *r, IrVjp *vjp, GError **error)
{
  r->vjp = vjp;
  r->n_outputs = vjp->node->n_outputs;
  r->from = ir_node_attr_graph (vjp->node, "body");
  if (!ir_grad_rounds_init (&r->rounds, vjp, error) || !ir_grad_refuse_random (vjp, r->from, error))
    return FALSE;
  r->carries = g_new0 (gboolean, r->rounds.n_states + 1);
  r->stand_ins = g_new0 (IrValue *, r->rounds.n_states + r->rounds.n_slices + 1);
  r->adjoints = g_new0 (IrValue *, r->rounds.n_states + 1);
  r->sums = g_new0 (IrValue *, vjp->n_captured + 1);
  r->inputs = g_ptr_array_new ();
  find_carried (r);
  return TRUE;
}

static guint
n_carried (const Rounds *r)
{
  guint n = r->vjp->n_captured;

  for (guint i = 0; i < r->rounds.n_states; i++)
    n += r->carries[i];
  return n;
}

/* -- what forward rounds keep -- */

/* @value of the body, of all rounds: an output of the derived node along a new first axis */
static IrValue *
keep_scanned (const Rounds *r, IrValue *value)
{
  const IrVjp *vjp = r->vjp;
  IrGraph *from = (IrGraph *) r->from;
  const IrVjp inside = { .edit = vjp->edit, .node = vjp->node, .graph = from, .rank = vjp->rank };
  const guint n = ir_graph_n_outputs (from);
  g_autofree IrValue **outputs = g_new (IrValue *, n + 1);
  guint n_axes;

  for (guint i = 0; i < n; i++)
    outputs[i] = ir_graph_output (from, i);
  outputs[n] = ir_emit1 (&inside, "Identity", value);
  ir_edit_set_graph_outputs (vjp->edit, from, outputs, n + 1);
  /* Attributes of a Scan have an entry for each of them, or are absent. */
  static const char *const lists[] = { "scan_output_axes", "scan_output_directions" };
  for (guint i = 0; i < G_N_ELEMENTS (lists); i++)
    {
      const gint64 *given = ir_node_attr_ints (vjp->node, lists[i], &n_axes);
      if (given == NULL)
        continue;
      g_autofree gint64 *longer = g_new0 (gint64, n_axes + 1);
      for (guint k = 0; k < n_axes; k++)
        longer[k] = given[k];
      ir_emit_attr_ints (vjp, (IrNode *) vjp->node, lists[i], longer, n_axes + 1);
    }
  return ir_emit_extra_output (vjp, n - r->rounds.body_out);
}

static gboolean
changes_shape (const IrValue *value)
{
  const IrType *type = value->type;

  if (!ir_type_is_tensor (type) || !ir_type_has_rank (type))
    return TRUE;
  for (int i = 0; i < type->rank; i++)
    if (!ir_dim_is_known (type->dims[i]))
      return TRUE;
  return FALSE;
}

/* The same where shapes may change: a sequence that is carried, and gets one more in each round. */
static IrValue *
keep_in_sequence (const Rounds *r, IrValue *value)
{
  const IrVjp *vjp = r->vjp;
  IrNode *node = (IrNode *) vjp->node;
  IrGraph *from = (IrGraph *) r->from;
  IrContext *context = ir_edit_model (vjp->edit)->context;
  const IrVjp inside = { .edit = vjp->edit, .node = node, .graph = from, .rank = vjp->rank };
  const IrType *type = ir_type_sequence (
      context, ir_type_tensor (context, ir_value_dtype (value), IR_RANK_UNKNOWN, NULL));
  const guint place = r->rounds.n_states, n_in = ir_graph_n_inputs (from);
  const guint n_out = ir_graph_n_outputs (from);
  g_autofree IrValue **ends = g_new (IrValue *, MAX (n_in, n_out) + 1);
  IrNode *empty = ir_emit_node (vjp, "SequenceEmpty", 0, NULL, 1);

  ir_emit_attr_int (vjp, empty, "dtype", (gint64) ir_value_dtype (value));
  ir_edit_set_rank (vjp->edit, empty, node->rank);
  for (guint i = 0; i < n_in; i++)
    ends[i] = ir_graph_input (from, i);
  ends[n_in] = ir_edit_add_value (vjp->edit, from, NULL, type);
  IrValue *longer = ir_emit2 (&inside, "SequenceInsert", ends[n_in], value);
  ir_edit_set_graph_inputs (vjp->edit, from, ends, n_in + 1);
  for (guint i = 0; i < n_out; i++)
    ends[i < place + 1 ? i : i + 1] = ir_graph_output (from, i);
  ends[place + 1] = longer;
  ir_edit_set_graph_outputs (vjp->edit, from, ends, n_out + 1);
  ir_edit_set_n_inputs (vjp->edit, node, node->n_inputs + 1);
  ir_edit_set_input (vjp->edit, node, node->n_inputs - 1, ir_emit_end (vjp, empty));
  ir_edit_set_n_outputs (vjp->edit, node, MAX (node->n_outputs, place) + 1);
  for (guint i = node->n_outputs - 1; i > place; i--)
    {
      IrValue *moved = node->outputs[i - 1];
      ir_edit_set_output (vjp->edit, node, i - 1, NULL);
      ir_edit_set_output (vjp->edit, node, i, moved);
    }
  IrValue *kept = ir_edit_add_value (vjp->edit, node->graph, NULL, type);
  ir_edit_set_output (vjp->edit, node, place, kept);
  return kept;
}

/* -- Loop -- */

/* @value of round @at of those that @kept has */
static void
bring_back (Rounds *r, IrValue *stand_in, const char *op, IrValue *kept, IrValue *at)
{
  IrVjp *emit = &r->body.emit;
  IrValue *inputs[] = { kept, at };
  IrNode *node = ir_edit_add_node_with_outputs (emit->edit, emit->graph, op, "", NULL, 2, inputs, 1,
                                                &stand_in);

  ir_edit_set_rank (emit->edit, node, emit->rank);
}

static void
set_inputs (const Rounds *r)
{
  ir_edit_set_n_inputs (r->vjp->edit, r->back, r->inputs->len);
  for (guint i = 0; i < r->inputs->len; i++)
    ir_edit_set_input (r->vjp->edit, r->back, i, r->inputs->pdata[i]);
}

static gboolean
is_used (const IrValue *value)
{
  return value->n_uses > 0;
}

/* What the copy reads of earlier rounds is kept; what it does not goes. */
static gboolean
bring_back_states (Rounds *r, IrValue *at, GError **error)
{
  const IrVjp *vjp = r->vjp;
  g_autoptr (GPtrArray) in_sequences = g_ptr_array_new ();

  for (guint i = 0; i < r->rounds.n_states; i++)
    {
      IrValue *value = body_input (r, i), *stand_in = r->stand_ins[i];
      if (!is_used (stand_in))
        ir_edit_remove_value (vjp->edit, stand_in);
      else if (value->type == NULL || !ir_type_is_tensor (value->type))
        return ir_emit_fail (vjp, error,
                             "its derivative needs the contents of %s in each round, and there are "
                             "no sequences of sequences; carry tensors",
                             value->name);
      else if (changes_shape (value))
        g_ptr_array_add (in_sequences, GUINT_TO_POINTER (i));
      else
        bring_back (r, stand_in, "Gather", keep_scanned (r, value), at);
    }
  /* These come last: they shift the outputs of what is scanned. */
  for (guint i = 0; i < in_sequences->len; i++)
    {
      guint state = GPOINTER_TO_UINT (in_sequences->pdata[i]);
      IrValue *kept = keep_in_sequence (r, body_input (r, state));
      r->rounds.n_states++; /* through which nothing comes back */
      r->carries = g_renew (gboolean, r->carries, r->rounds.n_states + 1);
      r->carries[r->rounds.n_states - 1] = r->carries[r->rounds.n_states] = FALSE;
      bring_back (r, r->stand_ins[state], "SequenceAt", kept, at);
    }
  return TRUE;
}

static IrValue *
one (const IrVjp *emit)
{
  return ir_emit_ints (emit, (gint64[]){ 1 }, -1);
}

/* How often it ran, as a scalar: how many iterations there are */
static IrValue *
trip_count (const Rounds *r, IrValue *iterations)
{
  const IrVjp *vjp = r->vjp;
  IrValue *shape = ir_emit1 (vjp, "Shape", iterations);

  return ir_emit2 (vjp, "Gather", shape, ir_emit_ints (vjp, (gint64[]){ 0 }, -1));
}

/* What comes to what is scanned, a round each */
static void
give_scanned (const Rounds *r, IrValue *at)
{
  const IrVjp *vjp = r->vjp;

  for (guint i = r->rounds.n_states; i < r->n_outputs; i++)
    if (vjp->dy[i] != NULL)
      give (r, i, ir_emit2 (&r->body.emit, "Gather", vjp->dy[i], at));
}

static IrValue *
truth (const IrVjp *emit)
{
  g_autoptr (IrTensor) tensor = ir_tensor_new_scalar (IR_DTYPE_BOOL, 1);

  return ir_edit_add_initializer (emit->edit, emit->graph, NULL, tensor);
}

gboolean
ir_vjp_loop (IrVjp *vjp, GError **error)
{
  IrContext *context = ir_edit_model (vjp->edit)->context;
  g_auto (Rounds) r = { 0 };
  guint first_node, first_value;

  if (!rounds_init (&r, vjp, error))
    return FALSE;
  IrValue *iterations = keep_scanned (&r, ir_graph_input (r.from, 0));
  r.rounds.n_scans++;
  IrValue *count = trip_count (&r, iterations);
  IrValue *last = ir_emit2 (vjp, "Sub", count, one (vjp));
  g_ptr_array_add (r.inputs, count);
  g_ptr_array_add (r.inputs, NULL);
  first_node = ir_edit_model (vjp->edit)->nodes->len;
  first_value = ir_edit_model (vjp->edit)->values->len;
  r.back = ir_emit_node (vjp, "Loop", 0, NULL, n_carried (&r));
  ir_grad_body_open (&r.body, vjp, r.from, r.back, "body");
  IrValue *round = ir_grad_body_add_input (&r.body,
                                           ir_type_tensor (context, IR_DTYPE_INT64, 0, NULL));
  ir_grad_body_add_input (&r.body, ir_type_tensor (context, IR_DTYPE_BOOL, 0, NULL));
  add_states (&r);
  IrValue *at = ir_emit2 (&r.body.emit, "Sub", last, round);
  g_hash_table_insert (r.body.values, ir_graph_input (r.from, 0),
                       ir_emit2 (&r.body.emit, "Gather", iterations, at));
  g_hash_table_insert (r.body.values, ir_graph_input (r.from, 1), truth (&r.body.emit));
  copy_body (&r);
  give_scanned (&r, at);
  if (!derive_round (&r, error))
    return FALSE;
  ir_grad_body_add_output (&r.body, truth (&r.body.emit));
  end_states (&r);
  ir_grad_body_close (&r.body);
  set_inputs (&r);
  g_autoptr (GPtrArray) kept = g_ptr_array_new ();
  for (guint i = 0; i < r.back->n_outputs; i++)
    g_ptr_array_add (kept, r.back->outputs[i]);
  g_ptr_array_add (kept, at);
  ir_emit_sweep (vjp->edit, first_node, first_value, (IrValue *const *) kept->pdata, kept->len);
  if (!bring_back_states (&r, at, error))
    return FALSE;
  give_states (&r);
  return TRUE;
}

/* -- Scan -- */

typedef struct
{
  GPtrArray *values; /* (element-type IrValue): what is cut */
  GArray *axes;      /* of gint64 */
  GArray *backwards; /* of gint64: 1: from the end */
} Slices;

static gint64
entry_of (const IrVjp *vjp, const char *list, guint i)
{
  guint n = 0;
  const gint64 *entries = ir_node_attr_ints (vjp->node, list, &n);

  return entries != NULL && i < n ? entries[i] : 0;
}

static void
add_slices (
    Rounds *r, Slices *slices, IrValue *stand_in, IrValue *value, gint64 axis, gint64 backwards)
{
  if (!is_used (stand_in))
    {
      ir_edit_remove_value (r->vjp->edit, stand_in);
      return;
    }
  g_ptr_array_add (r->body.inputs, stand_in);
  g_ptr_array_add (slices->values, value);
  g_array_append_val (slices->axes, axis);
  g_array_append_val (slices->backwards, backwards);
}

/* All that a round reads beside what is carried, in the other direction */
static void
cut (Rounds *r, Slices *slices, IrValue *const *by_scans)
{
  const IrVjp *vjp = r->vjp;
  const IrGradRounds *rounds = &r->rounds;

  for (guint i = 0; i < rounds->n_scans; i++)
    if (by_scans[i] != NULL)
      add_slices (r, slices, by_scans[i], vjp->dy[rounds->n_states + i],
                  entry_of (vjp, "scan_output_axes", i),
                  1 - entry_of (vjp, "scan_output_directions", i));
  for (guint i = 0; i < rounds->n_slices; i++)
    add_slices (r, slices, r->stand_ins[rounds->n_states + i],
                vjp->node->inputs[rounds->n_states + i], entry_of (vjp, "scan_input_axes", i),
                1 - entry_of (vjp, "scan_input_directions", i));
  for (guint i = 0; i < rounds->n_states; i++)
    add_slices (r, slices, r->stand_ins[i],
                is_used (r->stand_ins[i]) ? keep_scanned (r, body_input (r, i)) : NULL, 0, 1);
  if (slices->values->len > 0)
    return;
  const gint64 axis = entry_of (vjp, "scan_input_axes", 0), zero = 0; /* for their number */
  ir_grad_body_add_input (&r->body, body_input (r, rounds->n_states)->type);
  g_ptr_array_add (slices->values, vjp->node->inputs[rounds->n_states]);
  g_array_append_val (slices->axes, axis);
  g_array_append_val (slices->backwards, zero);
}

static void
set_scan_attrs (const Rounds *r, const Slices *slices)
{
  const IrVjp *vjp = r->vjp;
  g_autoptr (GArray) axes = g_array_new (FALSE, FALSE, sizeof (gint64));
  g_autoptr (GArray) backwards = g_array_new (FALSE, FALSE, sizeof (gint64));

  for (guint i = 0; i < r->rounds.n_slices; i++)
    if (vjp->wanted[r->rounds.n_states + i])
      {
        gint64 axis = entry_of (vjp, "scan_input_axes", i);
        gint64 backward = 1 - entry_of (vjp, "scan_input_directions", i);
        g_array_append_val (axes, axis);
        g_array_append_val (backwards, backward);
      }
  ir_emit_attr_int (vjp, r->back, "num_scan_inputs", slices->values->len);
  ir_emit_attr_ints (vjp, r->back, "scan_input_axes", (const gint64 *) slices->axes->data,
                     slices->axes->len);
  ir_emit_attr_ints (vjp, r->back, "scan_input_directions",
                     (const gint64 *) slices->backwards->data, slices->backwards->len);
  ir_emit_attr_ints (vjp, r->back, "scan_output_axes", (const gint64 *) axes->data, axes->len);
  ir_emit_attr_ints (vjp, r->back, "scan_output_directions", (const gint64 *) backwards->data,
                     backwards->len);
}

/* What comes to the slices of inputs: scanned in turn */
static guint
end_slices (Rounds *r, IrValue **gradients)
{
  guint n = 0;

  for (guint i = r->rounds.n_states; i < r->rounds.n_states + r->rounds.n_slices; i++)
    if (r->vjp->wanted[i])
      {
        IrValue *gradient = ir_reverse_gradient (r->reverse, r->stand_ins[i]);
        gradients[n++] = gradient != NULL ? gradient
                                          : ir_emit_filled (&r->body.emit, r->stand_ins[i], 0);
      }
  return n;
}

static void
give_slices (const Rounds *r)
{
  const IrVjp *vjp = r->vjp;
  guint slot = n_carried (r);

  for (guint i = r->rounds.n_states; i < r->rounds.n_states + r->rounds.n_slices; i++)
    if (vjp->wanted[i])
      {
        vjp->dx[i] = r->back->outputs[slot++];
        ir_edit_set_type (vjp->edit, vjp->dx[i], vjp->node->inputs[i]->type);
      }
}

gboolean
ir_vjp_scan (IrVjp *vjp, GError **error)
{
  g_auto (Rounds) r = { 0 };
  g_autoptr (GPtrArray) values = g_ptr_array_new ();
  g_autoptr (GArray) axes = g_array_new (FALSE, FALSE, sizeof (gint64));
  g_autoptr (GArray) backwards = g_array_new (FALSE, FALSE, sizeof (gint64));
  Slices slices = { values, axes, backwards };

  if (!rounds_init (&r, vjp, error))
    return FALSE;
  g_autofree IrValue **by_scans = g_new0 (IrValue *, r.rounds.n_scans + 1);
  g_autofree IrValue **gradients = g_new0 (IrValue *, r.rounds.n_slices + 1);
  const guint first_node = ir_edit_model (vjp->edit)->nodes->len;
  const guint first_value = ir_edit_model (vjp->edit)->values->len;
  r.back = ir_emit_node (vjp, "Scan", 0, NULL, 0);
  ir_grad_body_open (&r.body, vjp, r.from, r.back, "body");
  add_states (&r);
  copy_body (&r);
  for (guint i = 0; i < r.rounds.n_scans; i++)
    if (r.rounds.n_states + i < r.n_outputs && vjp->dy[r.rounds.n_states + i] != NULL)
      {
        IrValue *scanned = body_output (&r, r.rounds.n_states + i);
        by_scans[i] = ir_edit_add_value (vjp->edit, r.body.emit.graph, NULL, scanned->type);
        give (&r, r.rounds.n_states + i, by_scans[i]);
      }
  if (!derive_round (&r, error))
    return FALSE;
  end_states (&r);
  guint n = end_slices (&r, gradients);
  for (guint i = 0; i < n; i++)
    ir_grad_body_add_output (&r.body, gradients[i]);
  ir_edit_set_n_outputs (vjp->edit, r.back, n_carried (&r) + n);
  for (guint i = 0; i < r.back->n_outputs; i++)
    ir_edit_set_output (vjp->edit, r.back, i,
                        ir_edit_add_value (vjp->edit, vjp->graph, NULL, NULL));
  set_inputs (&r);
  ir_grad_body_close (&r.body);
  ir_emit_sweep (vjp->edit, first_node, first_value, r.back->outputs, r.back->n_outputs);
  cut (&r, &slices, by_scans);
  g_ptr_array_extend (r.inputs, values, NULL, NULL);
  set_inputs (&r);
  ir_grad_body_close (&r.body);
  set_scan_attrs (&r, &slices);
  give_states (&r);
  give_slices (&r);
  return TRUE;
}
