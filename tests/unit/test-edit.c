/* Every verb of the edit does what it says, and undo and redo do so too: a row has a verb, and what the dump of the
 * model says with it and without it. And whatever is changed, what is kept of the checks of nodes is what they say anew. */
#include "config.h"

#include "core/io/io.h"
#include "core/ir/dump.h"
#include "core/ir/edit.h"
#include "core/ir/history.h"
#include "core/op/check.h"
#include "core/op/infer.h"

#include <string.h>

/* y = Relu (n), n = Add (x, w), both with names, attributes, metadata; the second waits for the first. */
static IrModel *
new_model (void)
{
  IrModel *model = ir_model_new ();
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);
  g_autoptr (IrTensor) tensor = ir_tensor_new_scalar (IR_DTYPE_FLOAT, 2);
  IrValue *x = ir_edit_add_value (edit, model->main, "x", NULL);
  IrValue *w = ir_edit_add_initializer (edit, model->main, "w", tensor);
  IrNode *first = ir_edit_add_node (edit, model->main, "Add", NULL, "first", 2,
                                    (IrValue *[]){ x, w }, 1);
  IrNode *second = ir_edit_add_node (edit, model->main, "Relu", NULL, "second", 1, first->outputs,
                                     1);

  ir_edit_add_value (edit, model->main, "spare", NULL);
  ir_edit_set_attr (edit, second, ir_attr_int (model->context, "kept", 5));
  ir_edit_add_control (edit, second, first);
  ir_edit_set_opset (edit, "", 17);
  ir_edit_set_opset (edit, "other", 2);
  ir_edit_set_metadata (edit, "had", "before");
  ir_edit_add_graph (edit, IR_GRAPH_FUNCTION, "function");
  ir_edit_set_graph_inputs (edit, model->main, &x, 1);
  ir_edit_set_graph_outputs (edit, model->main, second->outputs, 1);
  return model;
}

#define FIRST    ir_model_node (m, 1)
#define SECOND   ir_model_node (m, 2)
#define VALUE(N) ir_graph_find_value (m->main, N)
#define FUNCTION ((IrGraph *) m->graphs->pdata[2])
#define NOTE     ir_extra_new (m->context, "documented", NULL, NULL)
#define FLOATS   ir_type_tensor (m->context, IR_DTYPE_FLOAT, 1, (IrDim[]){ 7 })

#define VERB(NAME, CODE)                                                                           \
  static void verb_##NAME (IrEdit *e, IrModel *m) { CODE; }
VERB (set_input, ir_edit_set_input (e, SECOND, 0, VALUE ("x")))
VERB (set_n_inputs, ir_edit_set_n_inputs (e, SECOND, 3))
VERB (set_output, ir_edit_set_output (e, FIRST, 0, VALUE ("spare")))
VERB (set_n_outputs, ir_edit_set_n_outputs (e, SECOND, 3))
VERB (set_attr, ir_edit_set_attr (e, FIRST, ir_attr_int (m->context, "fresh", 7)))
VERB (change_attr, ir_edit_set_attr (e, SECOND, ir_attr_int (m->context, "kept", 6)))
VERB (unset_attr, ir_edit_unset_attr (e, SECOND, "kept"))
VERB (set_op, ir_edit_set_op (e, FIRST, "Mul", "domain.x", "over"))
VERB (rename_node, ir_edit_rename_node (e, FIRST, "renamed"))
VERB (set_scope, ir_edit_set_scope (e, FIRST, "in/side"))
VERB (set_device, ir_edit_set_device (e, FIRST, "gpu:3"))
VERB (set_rank, ir_edit_set_rank (e, FIRST, 4242))
VERB (add_control, ir_edit_remove_control (e, SECOND, FIRST);
      ir_edit_add_control (e, FIRST, SECOND))
VERB (remove_control, ir_edit_remove_control (e, SECOND, FIRST))
VERB (set_node_extra, ir_edit_set_node_extra (e, FIRST, NOTE))
VERB (set_type, ir_edit_set_type (e, VALUE ("x"), FLOATS))
VERB (set_claim, ir_edit_set_claim (e, VALUE ("x"), FLOATS))
VERB (set_flags, ir_edit_set_flags (e, VALUE ("spare"), 1))
VERB (drop_initializer, ir_edit_set_initializer (e, VALUE ("w"), NULL))
VERB (rename_value, ir_edit_rename_value (e, VALUE ("x"), "renamed"))
VERB (set_value_extra, ir_edit_set_value_extra (e, VALUE ("x"), NOTE))
VERB (remove_value, ir_edit_remove_value (e, VALUE ("spare")))
VERB (move_value, ir_edit_move_value (e, VALUE ("spare"), FUNCTION))
VERB (replace_uses, ir_edit_replace_uses (e, FIRST->outputs[0], VALUE ("x")))
VERB (move_node, ir_edit_remove_control (e, SECOND, FIRST); ir_edit_move_node (e, FIRST, FUNCTION))
VERB (add_graph, ir_edit_add_graph (e, IR_GRAPH_SUBGRAPH, "fresh"))
VERB (remove_graph, ir_edit_remove_graph (e, FUNCTION))
VERB (set_graph_owner, ir_edit_set_graph_owner (e, FUNCTION, FIRST))
VERB (rename_graph, ir_edit_rename_graph (e, FUNCTION, "renamed"))
VERB (set_graph_inputs,
      ir_edit_set_graph_inputs (e, m->main, (IrValue *[]){ VALUE ("x"), VALUE ("spare") }, 2))
VERB (set_graph_outputs, ir_edit_set_graph_outputs (e, m->main, FIRST->outputs, 1))
VERB (set_graph_extra, ir_edit_set_graph_extra (e, m->main, NOTE))
VERB (set_opset, ir_edit_set_opset (e, "", 18))
VERB (remove_opset, ir_edit_set_opset (e, "other", 0))
VERB (set_metadata, ir_edit_set_metadata (e, "key", "documented"))
VERB (unset_metadata, ir_edit_set_metadata (e, "had", NULL))
VERB (remove_node, ir_edit_remove_control (e, SECOND, FIRST);
      ir_edit_replace_uses (e, FIRST->outputs[0], VALUE ("x"));
      ir_edit_remove_node (e, FIRST))

static const struct
{
  const char *name;
  void (*verb) (IrEdit *edit, IrModel *model);
  const char *gained, *lost; /* (nullable) in the dump */
} verbs[] = {
#define ROW(NAME, GAINED, LOST)                                                                    \
  {                                                                                                \
#NAME, verb_##NAME, GAINED, LOST                                                               \
  }
  ROW (set_input, NULL, "inputs=3 "),
  ROW (set_n_inputs, "inputs=3,0,0", NULL),
  ROW (set_output, "outputs=5", "outputs=3 "),
  ROW (set_n_outputs, "outputs=4,", NULL),
  ROW (set_attr, "\"fresh\"", NULL),
  ROW (change_attr, "n=1 6", "n=1 5"),
  ROW (unset_attr, NULL, "\"kept\""),
  ROW (set_op, "domain.x", "op=\"Add\""),
  ROW (rename_node, "\"renamed\"", "\"first\""),
  ROW (set_scope, "in/side", NULL),
  ROW (set_device, "gpu:3", NULL),
  ROW (set_rank, "rank=4242", NULL),
  ROW (add_control, "controls=2", "controls=1"),
  ROW (remove_control, NULL, "controls=1"),
  ROW (set_node_extra, "documented", NULL),
  ROW (set_type, "[7]", NULL),
  ROW (set_claim, "claim", NULL),
  ROW (set_flags, "flags=1", NULL),
  ROW (drop_initializer, NULL, NULL),
  ROW (rename_value, "\"renamed\"", "\"x\""),
  ROW (set_value_extra, "documented", NULL),
  ROW (remove_value, "removed", NULL),
  ROW (move_value, NULL, NULL),
  ROW (replace_uses, NULL, "inputs=3 "),
  ROW (move_node, NULL, NULL),
  ROW (add_graph, "\"fresh\"", NULL),
  ROW (remove_graph, "removed", NULL),
  ROW (set_graph_owner, "owner=1", NULL),
  ROW (rename_graph, "\"renamed\"", "\"function\""),
  ROW (set_graph_inputs, "inputs=1,5", NULL),
  ROW (set_graph_outputs, "inputs=1 outputs=3", "inputs=1 outputs=4"),
  ROW (set_graph_extra, "documented", NULL),
  ROW (set_opset, "18", "17"),
  ROW (remove_opset, NULL, "other"),
  ROW (set_metadata, "documented", NULL),
  ROW (unset_metadata, NULL, "before"),
  ROW (remove_node, "removed", NULL),
#undef ROW
};

static void
assert_says (const char *dump, const char *text, gboolean says)
{
  if (text != NULL && (strstr (dump, text) != NULL) != says)
    g_error ("%s %s:\n%s", text, says ? "is missing" : "is there", dump);
}

static void
test_verb (gconstpointer data)
{
  const guint i = GPOINTER_TO_UINT (data);
  g_autoptr (IrModel) model = new_model ();
  g_autofree char *before = ir_model_dump (model), *after = NULL, *undone = NULL, *redone = NULL;

  {
    g_autoptr (IrEdit) edit = ir_edit_new (model);
    ir_edit_begin_step (edit, "verb", IR_CLASS_EDIT, 0);
    verbs[i].verb (edit, model);
    ir_edit_end_step (edit);
  }
  after = ir_model_dump (model);
  g_assert_cmpstr (before, !=, after);
  g_assert_cmpuint (ir_history_n_steps (model), ==, 1);
  assert_says (before, verbs[i].gained, FALSE);
  assert_says (after, verbs[i].gained, TRUE);
  assert_says (before, verbs[i].lost, TRUE);
  assert_says (after, verbs[i].lost, FALSE);
  ir_history_goto (model, 0);
  undone = ir_model_dump (model);
  g_assert_cmpstr (undone, ==, before);
  ir_history_goto (model, 1);
  redone = ir_model_dump (model);
  g_assert_cmpstr (redone, ==, after);
}

/* -- what is kept of checks -- */

#define CHANGES 3000

/* What constants hold, where values come from and what a branch gives decides whether nodes are right. */
static const char checked_text[] =
    "<ir_version: 10, opset_import: [\"\" : 17]>\n"
    "g (float[2,3] x, bool b) => (y) <int64[2] s = {3, 2}> {\n"
    "  c = Constant <value = int64[2] {6, 1}> ()\n"
    "  r = Reshape (x, s)\n"
    "  q = Reshape (x, c)\n"
    "  i = If (b) <then_branch = yes () => (t) { t = Relu (x) t2 = Shape (x) t3 = SequenceConstruct (x) },\n"
    "              else_branch = no () => (e) { e = Neg (x) }>\n"
    "  k = Relu (i)\n"
    "  n = Reshape (r, c)\n"
    "  y = Add (n, k)\n"
    "}\n";

static guint
draw (GRand *rand, guint n)
{
  return (guint) g_rand_int_range (rand, 0, (gint32) n);
}

static IrTensor *
new_sizes (GRand *rand)
{
  const gint64 dim = 2;
  IrTensor *tensor = ir_tensor_new_alloc (IR_DTYPE_INT64, 1, &dim, NULL);
  gint64 *sizes = ir_tensor_data_writable (tensor);

  sizes[0] = draw (rand, 2) ? 6 : 4;
  sizes[1] = 1;
  return tensor;
}

static const IrType *
draw_type (GRand *rand, IrContext *context)
{
  const IrDim dims[] = { draw (rand, 2) ? 2 : 4, 3 };
  const IrType *type = ir_type_tensor (context, IR_DTYPE_FLOAT, 2, dims);

  switch (draw (rand, 4))
    {
    case 0:
      return NULL;
    case 1:
      return ir_type_sequence (context, type);
    default:
      return type;
    }
}

static IrValue *
draw_value (GRand *rand, const IrModel *model)
{
  IrValue *value = NULL;

  while (value == NULL)
    value = ir_model_live_value (model, 1 + draw (rand, model->values->len - 1));
  return value;
}

static void
change (GRand *rand, IrModel *model, IrEdit *edit)
{
  IrNode *node = ir_model_node (model, 1 + draw (rand, model->nodes->len - 1));
  IrValue *value = draw_value (rand, model), *x = ir_graph_find_value (model->main, "x"),
          *b = ir_graph_find_value (model->main, "b"), *inputs[] = { b, x };
  IrGraph *branch = ir_model_graph (model, 2 + draw (rand, 2));
  g_autoptr (IrTensor) sizes = new_sizes (rand);
  guint n;

  switch (draw (rand, 8))
    {
    case 0:
      value = ir_graph_find_value (model->main, "s");
      ir_edit_set_initializer (edit, value, draw (rand, 3) ? sizes : NULL);
      break;
    case 1:
      if (ir_node_is_constant (node))
        ir_edit_set_attr (edit, node, ir_attr_tensor (model->context, "value", sizes));
      break;
    case 2:
      if (node->n_inputs > 0 && value->graph == node->graph)
        ir_edit_set_input (edit, node, draw (rand, node->n_inputs), value);
      break;
    case 3:
      if (value->producer == NULL && value->initializer == NULL && value->graph == node->graph &&
          !ir_value_is_graph_input (value))
        ir_edit_set_output (edit, node, 0, value);
      else if (node->outputs[0] != NULL)
        ir_edit_set_output (edit, node, 0, NULL);
      break;
    case 4:
      ir_edit_set_type (edit, value, draw_type (rand, model->context));
      break;
    case 5:
      ir_edit_set_graph_inputs (edit, model->main, inputs, 1 + draw (rand, 2));
      break;
    case 6:
      {
        IrValue *const *values = ir_graph_values (branch, &n);
        value = values[draw (rand, n)];
        ir_edit_set_graph_outputs (edit, branch, &value, 1);
        break;
      }
    default:
      ir_edit_set_opset (edit, "", draw (rand, 2) ? 17 : 1);
    }
}

static guint
check_kept (const IrModel *model)
{
  guint n_wrong = 0;

  for (guint i = 1; i < model->nodes->len; i++)
    {
      IrNode *node = ir_model_node (model, i);
      gboolean formed = ir_node_is_well_formed (node), valid = ir_node_is_valid (node);
      node->checked = 0;
      if (formed != ir_node_is_well_formed (node) || valid != ir_node_is_valid (node))
        g_error ("node %u (%s) was not checked again after a change", node->id, node->op_type);
      n_wrong += !valid;
    }
  return n_wrong;
}

static void
test_checks (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (3);
  guint n_wrong = 0;

  for (guint i = 0; i < CHANGES / 20; i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (IrModel) model = ir_text_read (checked_text, -1, NULL, &error);

      g_assert_no_error (error);
      {
        g_autoptr (IrEdit) edit = ir_edit_new_import (model);
        ir_infer_model (edit, IR_INFER_DEFAULT, NULL);
      }
      check_kept (model);
      for (guint k = 0; k < 20; k++)
        {
          g_autoptr (IrEdit) edit = ir_edit_new (model);
          ir_edit_begin_step (edit, "change", IR_CLASS_EDIT, 0);
          change (rand, model, edit);
          ir_edit_end_step (edit);
          n_wrong += check_kept (model);
        }
      for (guint step = ir_history_n_steps (model); step > 0; step--)
        {
          ir_history_goto (model, step - 1);
          check_kept (model);
        }
      ir_history_goto (model, ir_history_n_steps (model));
      check_kept (model);
    }
  g_assert_cmpuint (n_wrong, >, CHANGES);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (verbs); i++)
    {
      g_autofree char *path = g_strdup_printf ("/edit/%s", verbs[i].name);

      g_test_add_data_func (path, GUINT_TO_POINTER (i), test_verb);
    }
  g_test_add_func ("/edit/what is kept of checks is what they say anew", test_checks);
  return g_test_run ();
}
