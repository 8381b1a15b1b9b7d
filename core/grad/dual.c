/* Control flow in forward mode: beside a node that owns subgraphs comes another, whose bodies compute
 * the same once more, and its tangent.
 *
 *   y = If (c) { then: f (u) }      y' = If (c) { then: f again, and its tangent }
 *   v, s = Loop (M, c, v0)          _, v', s' = Loop (M, c, v0, v0')
 *     { v, s = f (i, v, u) }          { v, v', s' = f (i, v, u) again, and its tangent }
 *
 * Nothing has to be kept: values and their tangents go round together. Source: Griewank and Walther,
 * Evaluating Derivatives, chapter 3. */
#include "config.h"

#include "core/grad/body.h"
#include "core/grad/forward.h"
#include "core/grad/rules.h"
#include "core/op/op.h"

/* (transfer full): the derivation of a copied body; @body is copied, and its inputs are not said yet */
static IrForward *
forward_in (const IrDual *dual, const IrGradBody *body)
{
  const IrGradHooks hooks = { .inline_body = dual->emit.inline_body,
                              .data = dual->emit.inline_data };
  IrForward *inner = ir_forward_new (body->emit.edit, body->emit.graph, &hooks);

  for (guint i = 0; i < dual->emit.n_captured; i++)
    ir_forward_by (inner, dual->emit.captured[i],
                   ir_forward_tangent (dual->forward, dual->emit.captured[i]));
  return inner;
}

/* The tangent of @value of the body in the copy, zeros where it has none */
static void
add_tangent (IrGradBody *body, const IrForward *inner, IrValue *value)
{
  IrValue *copy = ir_grad_body_at (body, value), *tangent = ir_forward_tangent (inner, copy);

  ir_grad_body_add_output (body, tangent != NULL ? tangent : ir_emit_filled (&body->emit, copy, 0));
}

static gboolean
gives_tangent (const IrDual *dual, guint output)
{
  const IrValue *value = ir_node_output (dual->node, output);

  return value != NULL && ir_emit_is_float (value);
}

static gboolean
is_read (const IrDual *dual, guint output)
{
  return output < dual->node->n_outputs && dual->node->outputs[output] != NULL;
}

/* One more output of @node, in the type of an output of the derived node */
static IrValue *
add_result (const IrDual *dual, IrNode *node, guint output)
{
  IrEdit *edit = dual->emit.edit;
  IrValue *value = ir_edit_add_value (edit, dual->emit.graph, NULL,
                                      dual->node->outputs[output]->type);

  ir_edit_set_n_outputs (edit, node, node->n_outputs + 1);
  ir_edit_set_output (edit, node, node->n_outputs - 1, value);
  return value;
}

/* What the derived node gives from output @first on, which its copy gives as well */
static void
add_values (
    const IrDual *dual, IrGradBody *body, const IrGraph *from, guint from_output, guint first)
{
  for (guint i = first; i < dual->node->n_outputs; i++)
    if (is_read (dual, i))
      ir_grad_body_add_output (body,
                               ir_grad_body_at (body, ir_graph_output (from, from_output + i)));
}

static void
take_values (const IrDual *dual, IrNode *node, guint first)
{
  for (guint i = first; i < dual->node->n_outputs; i++)
    if (is_read (dual, i))
      dual->values[i] = add_result (dual, node, i);
}

/* One for each output of the derived node from @first on that has a tangent */
static void
take_results (const IrDual *dual, IrNode *node, guint first)
{
  for (guint i = first; i < dual->node->n_outputs; i++)
    if (gives_tangent (dual, i))
      dual->results[i] = add_result (dual, node, i);
}

static void
set_inputs (const IrDual *dual, IrNode *node, const GPtrArray *inputs)
{
  ir_edit_set_n_inputs (dual->emit.edit, node, inputs->len);
  for (guint i = 0; i < inputs->len; i++)
    ir_edit_set_input (dual->emit.edit, node, i, inputs->pdata[i]);
}

/* -- If -- */

gboolean
ir_dual_if (IrDual *dual, GError **error)
{
  static const char *const branches[] = { "then_branch", "else_branch" };
  IrNode *node = ir_emit_node (&dual->emit, "If", 1, dual->node->inputs, 0);

  for (guint b = 0; b < G_N_ELEMENTS (branches); b++)
    {
      const IrGraph *from = ir_node_attr_graph (dual->node, branches[b]);
      g_auto (IrGradBody) body = { 0 };
      if (from == NULL || ir_graph_n_outputs (from) < dual->node->n_outputs)
        return ir_emit_fail (&dual->emit, error, "its %s has too few outputs", branches[b]);
      if (!ir_grad_refuse_random (&dual->emit, from, error))
        return FALSE;
      ir_grad_body_open (&body, &dual->emit, from, node, branches[b]);
      ir_grad_body_copy (&body);
      g_autoptr (IrForward) inner = forward_in (dual, &body);
      if (!ir_forward_each (inner, body.path, error))
        return FALSE;
      add_values (dual, &body, from, 0, 0);
      for (guint i = 0; i < dual->node->n_outputs; i++)
        if (gives_tangent (dual, i))
          add_tangent (&body, inner, ir_graph_output (from, i));
      ir_grad_body_close (&body);
    }
  ir_edit_set_n_outputs (dual->emit.edit, node, 0);
  take_values (dual, node, 0);
  take_results (dual, node, 0);
  return TRUE;
}

/* -- Loop and Scan -- */

typedef struct
{
  IrDual *dual;
  const IrGraph *from;
  IrGradRounds rounds;
  IrReverse *activity;
  IrGradBody body;
  IrForward *inner;
  GPtrArray *inputs; /* (element-type IrValue): of the new node */
} Rounds;

static void
rounds_clear (Rounds *r)
{
  g_clear_pointer (&r->activity, ir_reverse_free);
  g_clear_pointer (&r->inner, ir_forward_free);
  g_clear_pointer (&r->inputs, g_ptr_array_unref);
  ir_grad_body_clear (&r->body);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Rounds, rounds_clear)

static gboolean
rounds_init (Rounds *r, IrDual *dual, GError **error)
{
  r->dual = dual;
  r->from = ir_node_attr_graph (dual->node, "body");
  if (!ir_grad_rounds_init (&r->rounds, &dual->emit, error) ||
      !ir_grad_refuse_random (&dual->emit, r->from, error))
    return FALSE;
  r->activity = ir_grad_rounds_activity (&r->rounds, &dual->emit, r->from);
  r->inputs = g_ptr_array_new ();
  return TRUE;
}

static IrValue *
body_input (const Rounds *r, guint i)
{
  return ir_graph_input (r->from, r->rounds.body_in + i);
}

static gboolean
has_tangent (const Rounds *r, guint i)
{
  return ir_reverse_is_active (r->activity, body_input (r, i));
}

/* States or slices: as they are, and behind them how those move that do */
static void
add_inputs (Rounds *r, guint first, guint n, GPtrArray *tangents)
{
  const IrNode *node = r->dual->node;

  for (guint i = first; i < first + n; i++)
    {
      g_ptr_array_add (r->inputs, node->inputs[r->rounds.node_in + i]);
      g_ptr_array_add (r->body.inputs, ir_grad_body_stand_for (&r->body, body_input (r, i)));
    }
  for (guint i = first; i < first + n; i++)
    if (has_tangent (r, i))
      {
        IrValue *here = node->inputs[r->rounds.node_in + i];
        IrValue *tangent = r->dual->tangents[r->rounds.node_in + i];
        g_ptr_array_add (r->inputs,
                         tangent != NULL ? tangent : ir_emit_filled (&r->dual->emit, here, 0));
        g_ptr_array_add (tangents, body_input (r, i));
        g_ptr_array_add (tangents, ir_grad_body_add_input (&r->body, body_input (r, i)->type));
      }
}

/* @tangents: inputs of the body, each with its tangent */
static gboolean
derive_round (Rounds *r, const GPtrArray *tangents, GError **error)
{
  const IrGradRounds *rounds = &r->rounds;

  ir_grad_body_copy (&r->body);
  r->inner = forward_in (r->dual, &r->body);
  for (guint i = 0; i < tangents->len; i += 2)
    ir_forward_by (r->inner, ir_grad_body_at (&r->body, tangents->pdata[i]),
                   tangents->pdata[i + 1]);
  if (!ir_forward_each (r->inner, r->body.path, error))
    return FALSE;
  for (guint i = 0; i < rounds->n_states; i++)
    ir_grad_body_add_output (
        &r->body, ir_grad_body_at (&r->body, ir_graph_output (r->from, rounds->body_out + i)));
  for (guint i = 0; i < rounds->n_states; i++)
    if (has_tangent (r, i))
      add_tangent (&r->body, r->inner, ir_graph_output (r->from, rounds->body_out + i));
  add_values (r->dual, &r->body, r->from, rounds->body_out, rounds->n_states);
  for (guint i = 0; i < rounds->n_scans; i++)
    if (gives_tangent (r->dual, rounds->n_states + i))
      add_tangent (&r->body, r->inner,
                   ir_graph_output (r->from, rounds->body_out + rounds->n_states + i));
  return TRUE;
}

/* First the states, then how they move, then what is scanned, and how that moves */
static void
give_results (const Rounds *r, IrNode *node)
{
  IrDual *dual = r->dual;
  IrEdit *edit = dual->emit.edit;
  guint slot = 0;

  for (guint twice = 0; twice < 2; twice++)
    for (guint i = 0; i < r->rounds.n_states; i++)
      {
        const IrValue *state = dual->node->inputs[r->rounds.node_in + i];
        if (twice && !has_tangent (r, i))
          continue;
        const IrType *type = ir_type_is_container (state->type) ? state->type : NULL;
        IrValue *value = ir_edit_add_value (edit, dual->emit.graph, NULL, type);
        ir_edit_set_n_outputs (edit, node, slot + 1);
        ir_edit_set_output (edit, node, slot++, value);
        if (!is_read (dual, i))
          continue;
        ir_edit_set_type (edit, value, dual->node->outputs[i]->type);
        (twice ? dual->results : dual->values)[i] = value;
      }
  take_values (dual, node, r->rounds.n_states);
  take_results (dual, node, r->rounds.n_states);
}

gboolean
ir_dual_loop (IrDual *dual, GError **error)
{
  g_auto (Rounds) r = { 0 };
  g_autoptr (GPtrArray) tangents = g_ptr_array_new ();

  if (!rounds_init (&r, dual, error))
    return FALSE;
  IrNode *node = ir_emit_node (&dual->emit, "Loop", 0, NULL, 0);
  ir_grad_body_open (&r.body, &dual->emit, r.from, node, "body");
  for (guint i = 0; i < r.rounds.node_in; i++) /* the number of iterations, the condition */
    {
      g_ptr_array_add (r.inputs, dual->node->inputs[i]);
      g_ptr_array_add (r.body.inputs, ir_grad_body_stand_for (&r.body, ir_graph_input (r.from, i)));
    }
  add_inputs (&r, 0, r.rounds.n_states, tangents);
  IrValue *go_on = ir_graph_output (r.from, 0);
  g_ptr_array_add (r.body.outputs, go_on);
  if (!derive_round (&r, tangents, error))
    return FALSE;
  r.body.outputs->pdata[0] = ir_emit1 (&r.body.emit, "Identity", ir_grad_body_at (&r.body, go_on));
  set_inputs (dual, node, r.inputs);
  ir_grad_body_close (&r.body);
  give_results (&r, node);
  return TRUE;
}

/* Lists of a Scan, entry by entry: once for each slice, and once more for each that has a tangent. */
static void
set_list (const Rounds *r, IrNode *node, const char *name, gboolean of_inputs)
{
  const guint n = of_inputs ? r->rounds.n_slices : r->rounds.n_scans;
  const gint64 *given;
  guint n_given = 0;
  g_autoptr (GArray) list = g_array_new (FALSE, FALSE, sizeof (gint64));

  if ((given = ir_node_attr_ints (r->dual->node, name, &n_given)) == NULL)
    return;
  for (guint i = 0; i < n && i < n_given; i++)
    if (of_inputs || is_read (r->dual, r->rounds.n_states + i))
      g_array_append_val (list, given[i]);
  for (guint i = 0; i < n && i < n_given; i++)
    if (of_inputs ? has_tangent (r, r->rounds.n_states + i)
                  : gives_tangent (r->dual, r->rounds.n_states + i))
      g_array_append_val (list, given[i]);
  ir_emit_attr_ints (&r->dual->emit, node, name, (const gint64 *) list->data, list->len);
}

gboolean
ir_dual_scan (IrDual *dual, GError **error)
{
  g_auto (Rounds) r = { 0 };
  g_autoptr (GPtrArray) tangents = g_ptr_array_new ();

  if (!rounds_init (&r, dual, error))
    return FALSE;
  IrNode *node = ir_emit_node (&dual->emit, "Scan", 0, NULL, 0);
  ir_grad_body_open (&r.body, &dual->emit, r.from, node, "body");
  add_inputs (&r, 0, r.rounds.n_states, tangents);
  const guint n_states = r.inputs->len;
  add_inputs (&r, r.rounds.n_states, r.rounds.n_slices, tangents);
  if (!derive_round (&r, tangents, error))
    return FALSE;
  set_inputs (dual, node, r.inputs);
  ir_grad_body_close (&r.body);
  ir_emit_attr_int (&dual->emit, node, "num_scan_inputs", r.inputs->len - n_states);
  set_list (&r, node, "scan_input_axes", TRUE);
  set_list (&r, node, "scan_input_directions", TRUE);
  set_list (&r, node, "scan_output_axes", FALSE);
  set_list (&r, node, "scan_output_directions", FALSE);
  give_results (&r, node);
  return TRUE;
}

/* -- SequenceMap -- */

gboolean
ir_dual_sequence_map (IrDual *dual, GError **error)
{
  const IrNode *node = dual->node;
  const IrGraph *from = ir_node_attr_graph (node, "body");
  g_auto (IrGradBody) body = { 0 };
  g_autoptr (GPtrArray) inputs = g_ptr_array_new ();

  if (from == NULL || ir_graph_n_inputs (from) != node->n_inputs ||
      ir_graph_n_outputs (from) < node->n_outputs)
    return ir_emit_fail (&dual->emit, error, "its body does not fit its inputs and outputs");
  if (!ir_grad_refuse_random (&dual->emit, from, error))
    return FALSE;
  IrNode *map = ir_emit_node (&dual->emit, "SequenceMap", 0, NULL, 0);
  ir_grad_body_open (&body, &dual->emit, from, map, "body");
  for (guint i = 0; i < node->n_inputs; i++)
    {
      g_ptr_array_add (inputs, node->inputs[i]);
      g_ptr_array_add (body.inputs, ir_grad_body_stand_for (&body, ir_graph_input (from, i)));
    }
  ir_grad_body_copy (&body);
  g_autoptr (IrForward) inner = forward_in (dual, &body);
  for (guint i = 0; i < node->n_inputs; i++)
    if (dual->tangents[i] != NULL)
      {
        g_ptr_array_add (inputs, dual->tangents[i]);
        ir_forward_by (inner, body.inputs->pdata[i],
                       ir_grad_body_add_input (&body, ir_graph_input (from, i)->type));
      }
  if (!ir_forward_each (inner, body.path, error))
    return FALSE;
  add_values (dual, &body, from, 0, 0);
  for (guint i = 0; i < node->n_outputs; i++)
    if (gives_tangent (dual, i))
      add_tangent (&body, inner, ir_graph_output (from, i));
  set_inputs (dual, map, inputs);
  ir_grad_body_close (&body);
  ir_edit_set_n_outputs (dual->emit.edit, map, 0);
  take_values (dual, map, 0);
  take_results (dual, map, 0);
  return TRUE;
}
