/* Every verb of the edit does what it says, and undo and redo do so too: a row has a verb, and what the dump of the
 * model says with it and without it. */
#include "config.h"

#include "core/ir/dump.h"
#include "core/ir/edit.h"
#include "core/ir/history.h"

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

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (verbs); i++)
    {
      g_autofree char *path = g_strdup_printf ("/edit/%s", verbs[i].name);

      g_test_add_data_func (path, GUINT_TO_POINTER (i), test_verb);
    }
  return g_test_run ();
}
