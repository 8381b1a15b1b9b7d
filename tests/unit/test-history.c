/* The edit log: whatever is edited, in whatever order, undone, redone or cut off, the model at a
 * step is always the model that was there when the step was first reached. Random sequences over
 * all verbs are compared by the canonical dump. */
#include "config.h"

#include "core/ir/dump.h"
#include "core/ir/history.h"
#include "core/op/verify.h"

#include <string.h>

/* -- choosing -- */

static guint
pick (guint n)
{
  return n > 0 ? (guint) g_test_rand_int_range (0, (gint) n) : 0;
}

static IrNode *
pick_node (const IrModel *model)
{
  for (guint tries = 0; tries < 8 && model->nodes->len > 1; tries++)
    {
      IrNode *node = ir_model_live_node (model, 1 + pick (model->nodes->len - 1));
      if (node != NULL)
        return node;
    }
  return NULL;
}

static IrValue *
pick_value (const IrModel *model)
{
  for (guint tries = 0; tries < 8 && model->values->len > 1; tries++)
    {
      IrValue *value = ir_model_live_value (model, 1 + pick (model->values->len - 1));
      if (value != NULL)
        return value;
    }
  return NULL;
}

static IrGraph *
pick_graph (const IrModel *model)
{
  IrGraph *graph = ir_model_graph (model, 1 + pick (model->graphs->len - 1));
  return graph != NULL && graph->state == IR_STATE_LIVE ? graph : model->main;
}

static const char *
pick_name (void)
{
  static const char *const names[] = { "", "a", "b", "x", "weight", "block/1", "Conv_3" };
  return names[pick (G_N_ELEMENTS (names))];
}

static const char *
pick_op (void)
{
  static const char *const ops[] = { "Add", "Relu", "Conv", "If", "Constant", "NoSuchOperator" };
  return ops[pick (G_N_ELEMENTS (ops))];
}

static const IrType *
pick_type (IrContext *context)
{
  const IrDim dims[] = { 2, ir_dim_symbol (context, "n"), IR_DIM_UNKNOWN };
  return pick (4) == 0 ? NULL
                       : ir_type_tensor (context, (IrDtype) (1 + pick (16)), (int) pick (4), dims);
}

static IrTensor *
random_tensor (void)
{
  const gint64 values[] = { (gint64) pick (5), 7, 8 };
  return ir_tensor_new_int64s (values, (gssize) pick (4) - 1);
}

static const IrExtra *
pick_extra (IrContext *context)
{
  const char *keys[] = { "k", "l" }, *values[] = { pick_name (), "v" };
  g_autoptr (GBytes) unknown = g_bytes_new_static ("\x0a\x01\xff", pick (4));

  return ir_extra_new (context, pick_name (), ir_props_new (context, pick (3), keys, values),
                       unknown);
}

/* A value that could be an input of a graph: nothing makes it. */
static gboolean
is_free (const IrValue *value)
{
  return value->producer == NULL && value->initializer == NULL;
}

static gboolean
is_input_somewhere (const IrModel *model, const IrValue *value)
{
  for (guint i = 1; i < model->graphs->len; i++)
    if (ir_graph_has_input (ir_model_graph (model, i), value))
      return TRUE;
  return FALSE;
}

static gboolean
lies_inside (const IrGraph *inner, const IrGraph *graph)
{
  for (; inner != NULL; inner = ir_graph_outer (inner))
    if (inner == graph)
      return TRUE;
  return FALSE;
}

/* Nothing outside of @graph reads what is in it, so it can be removed. */
static gboolean
is_closed (const IrModel *model, const IrGraph *graph)
{
  for (guint i = 1; i < model->values->len; i++)
    {
      const IrValue *value = ir_model_live_value (model, i);
      if (value == NULL || !lies_inside (value->graph, graph))
        continue;
      for (guint k = 0; k < value->n_uses; k++)
        if (!lies_inside (ir_value_use (value, k).graph, graph))
          return FALSE;
    }
  return TRUE;
}

static gboolean
is_removable (const IrModel *model, const IrNode *node)
{
  g_autoptr (GPtrArray) subgraphs = ir_node_subgraphs (node);

  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] != NULL && node->outputs[i]->n_uses > 0)
      return FALSE;
  for (guint i = 0; i < subgraphs->len; i++)
    if (!is_closed (model, subgraphs->pdata[i]))
      return FALSE;
  return TRUE;
}

static gboolean
owns_graphs (const IrModel *model, const IrNode *node)
{
  for (guint i = 1; i < model->graphs->len; i++)
    if (ir_model_graph (model, i)->owner == node->id)
      return TRUE;
  return FALSE;
}

/* -- verbs: one random application each; nothing where the preconditions fail -- */

static void
verb_add_node (IrEdit *edit, IrModel *model)
{
  IrValue *inputs[4];
  guint n = pick (4);

  for (guint i = 0; i < n; i++)
    inputs[i] = pick (5) == 0 ? NULL : pick_value (model);
  ir_edit_add_node (edit, pick_graph (model), pick_op (), pick (3) == 0 ? "com.example" : NULL,
                    pick_name (), n, inputs, pick (3));
}

static gboolean
can_be_output (const IrModel *model, const IrValue *value)
{
  return value != NULL && value->initializer == NULL && !is_input_somewhere (model, value);
}

static void
verb_add_node_with_outputs (IrEdit *edit, IrModel *model)
{
  IrValue *input = pick_value (model), *outputs[2] = { pick_value (model), NULL };

  if (!can_be_output (model, outputs[0]))
    outputs[0] = NULL;
  ir_edit_add_node_with_outputs (edit, outputs[0] != NULL ? outputs[0]->graph : pick_graph (model),
                                 pick_op (), NULL, NULL, 1, &input, 1 + pick (2), outputs);
}

static void
verb_remove_node (IrEdit *edit, IrModel *model)
{
  IrNode *node = pick_node (model);
  if (node != NULL && is_removable (model, node))
    ir_edit_remove_node (edit, node);
}

static void
verb_set_input (IrEdit *edit, IrModel *model)
{
  IrNode *node = pick_node (model);
  if (node != NULL && node->n_inputs > 0)
    ir_edit_set_input (edit, node, pick (node->n_inputs), pick (4) ? pick_value (model) : NULL);
}

static void
verb_set_n_inputs (IrEdit *edit, IrModel *model)
{
  IrNode *node = pick_node (model);
  if (node != NULL)
    ir_edit_set_n_inputs (edit, node, pick (6));
}

static void
verb_set_output (IrEdit *edit, IrModel *model)
{
  IrNode *node = pick_node (model);
  IrValue *value = pick (4) ? pick_value (model) : NULL;

  if (node == NULL || node->n_outputs == 0)
    return;
  if (value != NULL && (!can_be_output (model, value) || value->graph != node->graph))
    return;
  ir_edit_set_output (edit, node, pick (node->n_outputs), value);
}

static void
verb_set_n_outputs (IrEdit *edit, IrModel *model)
{
  IrNode *node = pick_node (model);
  if (node != NULL)
    ir_edit_set_n_outputs (edit, node, pick (4));
}

static void
verb_set_attr (IrEdit *edit, IrModel *model)
{
  IrNode *node = pick_node (model);
  const char *name = pick (2) ? "alpha" : pick (2) ? "axis" : "value";
  IrContext *context = model->context;
  const gint64 ints[] = { 1, 2, 3 };
  g_autoptr (IrTensor) tensor = random_tensor ();
  const IrGraph *graph = pick_graph (model);

  if (node == NULL)
    return;
  switch (pick (6))
    {
    case 0:
      ir_edit_set_attr (edit, node, ir_attr_float (context, name, pick (2) ? 0.0f : -0.0f));
      break;
    case 1:
      ir_edit_set_attr (edit, node, ir_attr_ints (context, name, ints, pick (4)));
      break;
    case 2:
      ir_edit_set_attr (edit, node, ir_attr_string (context, name, pick_name (), -1));
      break;
    case 3:
      ir_edit_set_attr (edit, node, ir_attr_tensor (context, name, tensor));
      break;
    case 4:
      ir_edit_set_attr (edit, node, ir_attr_ref (context, name, IR_ATTR_INT, "outer"));
      break;
    default:
      /* Owners come before what they own, so that no graph lies in itself. */
      if (graph->kind == IR_GRAPH_SUBGRAPH && node->graph->id < graph->id)
        ir_edit_set_attr (edit, node, ir_attr_graph (context, "body", graph->id));
    }
}

static void
verb_unset_attr (IrEdit *edit, IrModel *model)
{
  IrNode *node = pick_node (model);
  if (node != NULL && node->n_attrs > 0)
    ir_edit_unset_attr (edit, node, node->attrs[pick (node->n_attrs)]->name);
}

static void
verb_set_op (IrEdit *edit, IrModel *model)
{
  IrNode *node = pick_node (model);
  if (node != NULL)
    ir_edit_set_op (edit, node, pick_op (), pick (2) ? "irscope" : "", pick (4) ? "" : "v2");
}

static void
verb_node_strings (IrEdit *edit, IrModel *model)
{
  IrNode *node = pick_node (model);

  if (node == NULL)
    return;
  switch (pick (4))
    {
    case 0:
      ir_edit_rename_node (edit, node, pick_name ());
      break;
    case 1:
      ir_edit_set_scope (edit, node, pick_name ());
      break;
    case 2:
      ir_edit_set_device (edit, node, pick_name ());
      break;
    default:
      ir_edit_set_rank (edit, node, pick (100));
    }
}

static void
verb_controls (IrEdit *edit, IrModel *model)
{
  IrNode *node = pick_node (model), *before = pick_node (model);

  if (node == NULL || before == NULL)
    return;
  if (pick (3) > 0)
    ir_edit_add_control (edit, node, before);
  else
    ir_edit_remove_control (edit, node, before);
}

static void
verb_node_extra (IrEdit *edit, IrModel *model)
{
  IrNode *node = pick_node (model);
  if (node != NULL)
    ir_edit_set_node_extra (edit, node, pick_extra (model->context));
}

static void
verb_move_node (IrEdit *edit, IrModel *model)
{
  IrNode *node = pick_node (model);
  if (node != NULL && !owns_graphs (model, node))
    ir_edit_move_node (edit, node, pick_graph (model));
}

static void
verb_add_value (IrEdit *edit, IrModel *model)
{
  ir_edit_add_value (edit, pick_graph (model), pick (2) ? pick_name () : NULL,
                     pick_type (model->context));
}

static void
verb_add_initializer (IrEdit *edit, IrModel *model)
{
  g_autoptr (IrTensor) tensor = random_tensor ();
  ir_edit_add_initializer (edit, pick_graph (model), pick (2) ? pick_name () : NULL, tensor);
}

static void
verb_remove_value (IrEdit *edit, IrModel *model)
{
  IrValue *value = pick_value (model);
  if (value != NULL && value->n_uses == 0 && value->producer == NULL &&
      !is_input_somewhere (model, value))
    ir_edit_remove_value (edit, value);
}

static void
verb_value_fields (IrEdit *edit, IrModel *model)
{
  IrValue *value = pick_value (model);
  g_autoptr (IrTensor) tensor = random_tensor ();

  if (value == NULL)
    return;
  switch (pick (6))
    {
    case 0:
      ir_edit_set_type (edit, value, pick_type (model->context));
      break;
    case 1:
      ir_edit_set_flags (edit, value, (IrValueFlags) pick (4));
      break;
    case 2:
      if (value->producer == NULL)
        ir_edit_set_initializer (edit, value, pick (2) ? tensor : NULL);
      break;
    case 3:
      ir_edit_rename_value (edit, value, pick_name ());
      break;
    case 4:
      ir_edit_set_value_extra (edit, value, pick_extra (model->context));
      break;
    default:
      if (value->producer == NULL && !is_input_somewhere (model, value))
        ir_edit_move_value (edit, value, pick_graph (model));
    }
}

static void
verb_replace_uses (IrEdit *edit, IrModel *model)
{
  IrValue *old = pick_value (model), *with = pick_value (model);
  if (old != NULL && with != NULL && old != with)
    ir_edit_replace_uses (edit, old, with);
}

static void
verb_graphs (IrEdit *edit, IrModel *model)
{
  IrGraph *graph = pick_graph (model);
  IrNode *node = pick_node (model);

  switch (pick (5))
    {
    case 0:
      if (model->graphs->len < 12)
        ir_edit_add_graph (edit, pick (3) ? IR_GRAPH_SUBGRAPH : IR_GRAPH_FUNCTION, pick_name ());
      break;
    case 1:
      if (graph != model->main && is_closed (model, graph))
        ir_edit_remove_graph (edit, graph);
      break;
    case 2:
      if (graph->kind == IR_GRAPH_SUBGRAPH && (node == NULL || node->graph->id < graph->id))
        ir_edit_set_graph_owner (edit, graph, node);
      break;
    case 3:
      ir_edit_rename_graph (edit, graph, pick_name ());
      break;
    default:
      ir_edit_set_graph_extra (edit, graph, pick_extra (model->context));
    }
}

static void
verb_graph_ends (IrEdit *edit, IrModel *model)
{
  IrGraph *graph = pick_graph (model);
  IrValue *values[3];
  guint n = 0;
  gboolean inputs = pick (2) == 0;

  for (guint i = 0; i < 3; i++)
    {
      IrValue *value = pick_value (model);
      if (value != NULL && value->graph == graph && (!inputs || is_free (value)))
        values[n++] = value;
    }
  if (inputs)
    ir_edit_set_graph_inputs (edit, graph, values, n);
  else
    ir_edit_set_graph_outputs (edit, graph, values, n);
}

static void
verb_function_info (IrEdit *edit, IrModel *model)
{
  IrGraph *graph = pick_graph (model);
  IrFunctionInfo info = { .domain = ir_context_intern (model->context, "com.example"),
                          .name = ir_context_intern (model->context, pick_name ()),
                          .overload = ir_context_intern (model->context, "") };

  if (graph->kind == IR_GRAPH_FUNCTION)
    ir_edit_set_function_info (edit, graph, pick (4) ? &info : NULL);
}

static void
verb_model (IrEdit *edit, IrModel *model)
{
  IrModelInfo info = *model->info;

  switch (pick (3))
    {
    case 0:
      ir_edit_set_opset (edit, pick (2) ? "" : "com.example", pick (20));
      break;
    case 1:
      info.model_version = pick (9);
      info.producer_name = ir_context_intern (model->context, pick_name ());
      ir_edit_set_info (edit, &info);
      break;
    default:
      ir_edit_set_metadata (edit, pick_name (), pick (3) ? pick_name () : NULL);
    }
}

typedef void (*Verb) (IrEdit *edit, IrModel *model);

static const Verb verbs[] = {
  verb_add_node,     verb_add_node,      verb_add_node,      verb_add_node_with_outputs,
  verb_remove_node,  verb_remove_node,   verb_set_input,     verb_set_n_inputs,
  verb_set_output,   verb_set_n_outputs, verb_set_attr,      verb_set_attr,
  verb_unset_attr,   verb_set_op,        verb_node_strings,  verb_controls,
  verb_node_extra,   verb_move_node,     verb_add_value,     verb_add_initializer,
  verb_remove_value, verb_value_fields,  verb_value_fields,  verb_replace_uses,
  verb_graphs,       verb_graph_ends,    verb_function_info, verb_model,
};

/* -- the run -- */

typedef struct
{
  IrModel *model;
  GPtrArray *texts; /* dump when step i was first reached */
} Run;

static void
assert_same (const char *found, const char *wanted, const char *where)
{
  const char *f = found, *w = wanted;

  if (strcmp (found, wanted) == 0)
    return;
  for (; *f != '\0' && *f == *w; f++, w++)
    ;
  while (f > found && f[-1] != '\n')
    f--, w--;
  g_error ("%s differs:\n  found  %.*s\n  wanted %.*s", where, (int) strcspn (f, "\n"), f,
           (int) strcspn (w, "\n"), w);
}

static void
assert_at_cursor (const Run *run, const char *where)
{
  g_autofree char *dump = ir_model_dump (run->model);
  assert_same (dump, run->texts->pdata[ir_history_cursor (run->model)], where);
}

static void
build_start (IrModel *model)
{
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);

  ir_edit_set_opset (edit, "", 17);
  for (guint i = 0; i < 12; i++)
    verbs[pick (G_N_ELEMENTS (verbs))](edit, model);
}

static void
random_step (Run *run, IrEdit *edit)
{
  guint n = 1 + pick (8);
  const IrNode *anchor = pick_node (run->model);
  guint before = ir_history_n_steps (run->model);

  ir_edit_begin_step (edit, pick (2) ? "rule-a" : "rule-b", IR_CLASS_EXACT,
                      anchor != NULL ? anchor->id : 0);
  ir_edit_step_reason (edit, "because %u", n);
  for (guint i = 0; i < n; i++)
    verbs[pick (G_N_ELEMENTS (verbs))](edit, run->model);
  if (pick (5) == 0)
    {
      g_autofree char *dump = NULL;
      ir_edit_abort_step (edit);
      dump = ir_model_dump (run->model);
      assert_same (dump, run->texts->pdata[before], "an aborted step");
      return;
    }
  ir_edit_end_step (edit);
  if (ir_history_n_steps (run->model) > before)
    g_ptr_array_add (run->texts, ir_model_dump (run->model));
  g_assert_cmpuint (run->texts->len, ==, ir_history_n_steps (run->model) + 1);
}

static void
random_edit (Run *run)
{
  guint cursor = ir_history_cursor (run->model);
  g_autoptr (IrEdit) edit = ir_edit_new (run->model);

  g_assert_cmpuint (ir_history_n_steps (run->model), ==, cursor);
  g_ptr_array_set_size (run->texts, (gint) cursor + 1);
  if (pick (2))
    ir_edit_begin_pass (edit, "some-pass");
  for (guint i = 1 + pick (4); i > 0; i--)
    random_step (run, edit);
}

static void
random_travel (Run *run)
{
  guint n = ir_history_n_steps (run->model), cursor = ir_history_cursor (run->model);

  switch (pick (4))
    {
    case 0:
      g_assert_cmpint (ir_history_undo (run->model), ==, cursor > 0);
      break;
    case 1:
      g_assert_cmpint (ir_history_redo (run->model), ==, cursor < n);
      break;
    default:
      ir_history_goto (run->model, pick (n + 1));
    }
  assert_at_cursor (run, "a step travelled to");
}

static void
random_snapshot (Run *run)
{
  guint step = pick (ir_history_n_steps (run->model) + 1);
  g_autoptr (IrModel) snapshot = ir_history_snapshot (run->model, step);
  g_autofree char *dump = ir_model_dump (snapshot);

  g_assert_true (snapshot->frozen);
  assert_same (dump, run->texts->pdata[step], "a snapshot");
  assert_at_cursor (run, "the model behind a snapshot");
}

static void
random_records (Run *run)
{
  for (guint i = 1; i <= ir_history_n_steps (run->model); i++)
    {
      const IrStep *step = ir_history_step (run->model, i);
      g_autofree char *text = ir_record_to_string (
          run->model, ir_history_record (run->model, step->first_record));
      g_assert_cmpuint (strlen (text), >, 0);
    }
}

/* Links are whole in every state that the verbs can make. */
static void
assert_links (const Run *run)
{
  g_autoptr (GPtrArray) problems = ir_problems_new ();

  ir_verify_structure (run->model, problems);
  for (guint i = 0; i < problems->len; i++)
    {
      const IrProblem *problem = problems->pdata[i];
      if (problem->code == IR_PROBLEM_BROKEN_LINK && problem->severity == IR_SEVERITY_ERROR)
        g_error ("%s", problem->message);
    }
}

/* A log applies to every copy of its model: a copy gives the same steps, wherever it travels. */
static void
assert_copy_travels (Run *run)
{
  g_autoptr (IrModel) copy = ir_history_clone (run->model);

  g_assert_cmpuint (ir_history_n_steps (copy), ==, ir_history_n_steps (run->model));
  g_assert_cmpuint (ir_history_cursor (copy), ==, ir_history_cursor (run->model));
  for (guint i = 0; i <= ir_history_n_steps (copy); i++)
    {
      guint step = (i + ir_history_cursor (run->model)) % (ir_history_n_steps (copy) + 1);
      g_autofree char *dump = NULL;

      ir_history_goto (copy, step);
      dump = ir_model_dump (copy);
      assert_same (dump, run->texts->pdata[step], "a step of a copy");
    }
  assert_at_cursor (run, "the model behind a copy that travelled");
  for (guint i = 1; i <= ir_history_n_steps (copy); i++)
    {
      const IrStep *a = ir_history_step (copy, i), *b = ir_history_step (run->model, i);
      g_assert_cmpstr (a->rule, ==, b->rule);
      g_assert_cmpstr (a->reason, ==, b->reason);
      g_assert_cmpuint (a->occurrence, ==, b->occurrence);
      g_assert_cmpuint (a->n_records, ==, b->n_records);
      g_assert_cmpstr (ir_history_pass_of (copy, i), ==, ir_history_pass_of (run->model, i));
    }
}

/* What a passing edit changes holds until it is freed, and the history goes on as it was. */
static void
assert_passes (Run *run)
{
  IrModel *model = run->model;
  guint n_steps = ir_history_n_steps (model);
  IrEdit *edit = ir_edit_new_passing (model);
  g_autofree char *dump = NULL;

  for (guint i = 0; i < 8; i++)
    {
      IrValue *value = pick_value (model);
      IrNode *node = pick_node (model);

      if (value != NULL)
        ir_edit_set_type (edit, value,
                          ir_type_tensor (model->context, IR_DTYPE_INT8, 1, (gint64[]){ 70 + i }));
      if (node != NULL)
        ir_edit_set_attr (edit, node, ir_attr_int (model->context, "passing", i));
      if (node != NULL && node->n_inputs > 0)
        ir_edit_set_input (edit, node, pick (node->n_inputs), value);
    }
  dump = ir_model_dump (model);
  if (model->nodes->len > 1 && strstr (dump, "passing") != NULL)
    g_assert_cmpstr (dump, !=, run->texts->pdata[ir_history_cursor (model)]);
  ir_edit_free (edit);
  g_assert_cmpuint (ir_history_n_steps (model), ==, n_steps);
  assert_at_cursor (run, "the model behind an edit that passed");
}

static void
run_once (guint n_actions)
{
  Run run = { ir_model_new (), g_ptr_array_new_with_free_func (g_free) };

  build_start (run.model);
  g_ptr_array_add (run.texts, ir_model_dump (run.model));
  for (guint i = 0; i < n_actions; i++)
    switch (pick (6))
      {
      case 0:
      case 1:
      case 2:
        random_edit (&run);
        break;
      case 3:
        random_snapshot (&run);
        break;
      default:
        random_travel (&run);
      }
  assert_links (&run);
  random_records (&run);
  assert_copy_travels (&run);
  assert_passes (&run);
  for (guint i = 0; i < run.texts->len; i++)
    {
      ir_history_goto (run.model, i);
      assert_at_cursor (&run, "a step on the way forward");
    }
  ir_model_unref (run.model);
  g_ptr_array_unref (run.texts);
}

static void
test_random (void)
{
  guint rounds = g_test_slow () ? 20000 : 2000;

  for (guint i = 0; i < rounds; i++)
    run_once (12);
  for (guint i = 0; i < rounds / 50; i++)
    run_once (150);
}

static void
test_empty_steps (void)
{
  g_autoptr (IrModel) model = ir_model_new ();
  g_autoptr (IrEdit) edit = ir_edit_new (model);

  ir_edit_begin_step (edit, "nothing", IR_CLASS_EXACT, 0);
  ir_edit_end_step (edit);
  g_assert_cmpuint (ir_history_n_steps (model), ==, 0);
  g_assert_false (ir_history_undo (model));
}

/* Flags are told by their names. */
static void
test_flags_text (void)
{
  g_autoptr (IrModel) model = ir_model_new ();
  g_autoptr (IrEdit) edit = ir_edit_new (model);
  const struct
  {
    IrValueFlags flags;
    const char *text;
  } cases[] = {
    { IR_VALUE_DECLARED | IR_VALUE_MUTABLE, "x: flags: none -> declared type, mutable" },
    { IR_VALUE_NAMED_BY_USER, "x: flags: declared type, mutable -> name of the file" },
    { 0, "x: flags: name of the file -> none" },
  };

  ir_edit_begin_step (edit, "value", IR_CLASS_EDIT, 0);
  IrValue *value = ir_edit_add_value (edit, model->main, "x", NULL);
  ir_edit_set_flags (edit, value, 0);
  ir_edit_end_step (edit);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      ir_edit_begin_step (edit, "flags", IR_CLASS_EDIT, 0);
      ir_edit_set_flags (edit, value, cases[i].flags);
      ir_edit_end_step (edit);
      const IrStep *step = ir_history_step (model, ir_history_n_steps (model));
      g_autofree char *text = ir_record_to_string (model,
                                                   ir_history_record (model, step->first_record));
      g_assert_cmpstr (text, ==, cases[i].text);
    }
}

static void
test_cut (void)
{
  g_autoptr (IrModel) model = ir_model_new ();
  IrEdit *edit = ir_edit_new (model);
  guint32 first_id;

  for (guint i = 0; i < 3; i++)
    {
      ir_edit_begin_step (edit, "add", IR_CLASS_EDIT, 0);
      ir_edit_add_node (edit, model->main, "Relu", NULL, NULL, 0, NULL, 1);
      ir_edit_end_step (edit);
    }
  ir_edit_free (edit);
  first_id = model->nodes->len;
  ir_history_goto (model, 1);
  edit = ir_edit_new (model);
  g_assert_cmpuint (ir_history_n_steps (model), ==, 1);
  ir_edit_begin_step (edit, "add", IR_CLASS_EDIT, 0);
  /* Ids that were given out once are not used again. */
  g_assert_cmpuint (ir_edit_add_node (edit, model->main, "Relu", NULL, NULL, 0, NULL, 1)->id, ==,
                    first_id);
  ir_edit_end_step (edit);
  g_assert_cmpuint (ir_history_step (model, 2)->occurrence, ==, 1);
  ir_edit_free (edit);
  g_assert_cmpuint (ir_model_n_nodes (model), ==, 2);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/history/a step without records leaves no trace", test_empty_steps);
  g_test_add_func ("/history/an edit cuts off what lies ahead and reuses no id", test_cut);
  g_test_add_func ("/history/records name flags", test_flags_text);
  g_test_add_func ("/history/every step is what it was when first reached", test_random);
  return g_test_run ();
}
