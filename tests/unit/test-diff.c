/* Differences: within one history by id, between models by name and likeness. */
#include "config.h"

#include "core/diff/diff.h"
#include "core/io/io.h"
#include "core/ir/history.h"

#include <string.h>

/* x -> Conv -> Relu -> Add (with itself) -> out; names begin with @prefix, "" gives none. */
static IrModel *
new_net (const char *prefix, float alpha)
{
  IrModel *model = ir_model_new ();
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);
  g_autoptr (IrTensor) tensor = ir_tensor_new_scalar (IR_DTYPE_FLOAT, 2);
  IrValue *x = ir_edit_add_value (edit, model->main, "x", NULL);
  IrValue *w = ir_edit_add_initializer (edit, model->main, prefix[0] != '\0' ? "w" : "w0", tensor);
  IrValue *inputs[] = { x, w };
  static const char *const ops[] = { "Conv", "LeakyRelu", "Add" };
  IrNode *node = NULL;

  ir_edit_set_opset (edit, "", 17);
  ir_edit_set_graph_inputs (edit, model->main, &x, 1);
  for (guint i = 0; i < 3; i++)
    {
      g_autofree char *name = g_strdup_printf ("%s%s", prefix, prefix[0] != '\0' ? ops[i] : "");
      node = ir_edit_add_node (edit, model->main, ops[i], NULL, name, i == 1 ? 1 : 2, inputs, 1);
      if (prefix[0] == '\0')
        {
          g_autofree char *unlike = g_strdup_printf ("tensor%u", i);
          ir_edit_rename_value (edit, node->outputs[0], unlike);
        }
      if (i == 1)
        ir_edit_set_attr (edit, node, ir_attr_float (model->context, "alpha", alpha));
      inputs[0] = inputs[1] = node->outputs[0];
    }
  ir_edit_set_graph_outputs (edit, model->main, node->outputs, 1);
  return model;
}

static void
test_same (void)
{
  g_autoptr (IrModel) a = new_net ("n", 0.1f);
  g_autoptr (IrModel) b = new_net ("n", 0.1f);
  g_autoptr (IrDiff) diff = ir_diff_new (a, b, FALSE);

  for (guint i = 0; i < diff->nodes->len; i++)
    {
      const IrNodeDiff *item = &g_array_index (diff->nodes, IrNodeDiff, i);
      for (guint k = 0; item->changes != NULL && k < item->changes->len; k++)
        g_test_message ("%s", (char *) item->changes->pdata[k]);
    }
  g_assert_cmpuint (diff->n_nodes[IR_DIFF_SAME], ==, 3);
  g_assert_cmpuint (diff->nodes->len, ==, 3);
  g_assert_cmpuint (diff->values->len, ==, 0);
}

static void
test_changed (void)
{
  g_autoptr (IrModel) a = new_net ("n", 0.1f);
  g_autoptr (IrModel) b = new_net ("n", 0.2f);
  g_autoptr (IrDiff) diff = ir_diff_new (a, b, FALSE);
  const IrNodeDiff *item = ir_diff_of_b (diff, 2);

  g_assert_cmpuint (diff->n_nodes[IR_DIFF_SAME], ==, 2);
  g_assert_cmpint (item->kind, ==, IR_DIFF_CHANGED);
  g_assert_cmpuint (item->changes->len, ==, 1);
  g_assert_nonnull (strstr (item->changes->pdata[0], "attribute alpha: 0.1"));
  g_assert_true (ir_diff_of_a (diff, 2) == item);
  g_assert_null (ir_diff_of_a (diff, 99));
}

static void
test_likeness (void)
{
  g_autoptr (IrModel) a = new_net ("n", 0.1f);
  g_autoptr (IrModel) b = new_net ("", 0.1f);
  g_autoptr (IrDiff) diff = ir_diff_new (a, b, FALSE);

  /* Nothing but the input has the same name; each node is found by what it reads. */
  g_assert_cmpuint (diff->n_nodes[IR_DIFF_ADDED], ==, 0);
  g_assert_cmpuint (diff->n_nodes[IR_DIFF_REMOVED], ==, 0);
  for (guint i = 0; i < 3; i++)
    {
      const IrNodeDiff *item = &g_array_index (diff->nodes, IrNodeDiff, i);
      g_assert_cmpstr (ir_model_node (a, item->a)->op_type, ==,
                       ir_model_node (b, item->b)->op_type);
    }
}

static void
test_history (void)
{
  g_autoptr (IrModel) model = new_net ("n", 0.1f);
  g_autoptr (IrModel) before = NULL;
  g_autoptr (IrModel) after = NULL;
  g_autoptr (IrDiff) diff = NULL;
  IrNode *old = ir_model_node (model, 2), *node;
  const IrNodeDiff *items;

  {
    g_autoptr (IrEdit) edit = ir_edit_new (model);
    ir_edit_begin_step (edit, "replace", IR_CLASS_EXACT, old->id);
    node = ir_edit_add_node (edit, model->main, "Relu", NULL, "new", 1, old->inputs, 1);
    ir_edit_replace_uses (edit, old->outputs[0], node->outputs[0]);
    ir_edit_remove_node (edit, old);
    ir_edit_end_step (edit);
  }
  before = ir_history_snapshot (model, 0);
  after = ir_history_snapshot (model, 1);
  diff = ir_diff_new (before, after, TRUE);
  items = (const IrNodeDiff *) diff->nodes->data;
  g_assert_cmpuint (diff->nodes->len, ==, 4);
  g_assert_cmpuint (diff->n_nodes[IR_DIFF_ADDED], ==, 1);
  g_assert_cmpuint (diff->n_nodes[IR_DIFF_REMOVED], ==, 1);
  g_assert_cmpuint (diff->n_nodes[IR_DIFF_CHANGED], ==, 1);
  /* The removed one stands behind its predecessor. */
  g_assert_cmpuint (items[0].a, ==, 1);
  g_assert_cmpint (items[1].kind, ==, IR_DIFF_REMOVED);
  g_assert_cmpuint (items[1].a, ==, old->id);
  g_assert_cmpuint (ir_diff_of_b (diff, node->id)->a, ==, 0);
  g_assert_nonnull (strstr (ir_diff_of_b (diff, 3)->changes->pdata[0], "input 0: "));
}

static void
test_values (void)
{
  g_autoptr (IrModel) a = new_net ("n", 0.1f);
  g_autoptr (IrModel) b = ir_model_clone (a);
  g_autoptr (IrDiff) diff = NULL;
  g_autoptr (IrTensor) tensor = ir_tensor_new_scalar (IR_DTYPE_FLOAT, 3);

  {
    g_autoptr (IrEdit) edit = ir_edit_new_import (b);
    ir_edit_set_initializer (edit, ir_graph_find_value (b->main, "w"), tensor);
    ir_edit_set_type (edit, ir_graph_find_value (b->main, "x"),
                      ir_type_tensor (b->context, IR_DTYPE_FLOAT, 0, NULL));
  }
  diff = ir_diff_new (a, b, TRUE);
  g_assert_cmpuint (diff->values->len, ==, 2);
  g_assert_cmpstr (g_array_index (diff->values, IrValueDiff, 0).changes->pdata[0], ==,
                   "type: ? -> float[]");
  g_assert_cmpstr (g_array_index (diff->values, IrValueDiff, 1).changes->pdata[0], ==,
                   "initializer changed");
}

#define LENGTH 3000

/* A chain of two operators in turn; another one at every place that @step divides, one more node
 * at @extra; names with @prefix. */
static IrModel *
new_chain (const char *prefix, guint step, guint extra)
{
  IrModel *model = ir_model_new ();
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);
  IrValue *value = ir_edit_add_value (edit, model->main, "x", NULL);

  ir_edit_set_opset (edit, "", 17);
  ir_edit_set_graph_inputs (edit, model->main, &value, 1);
  for (guint i = 1; i <= LENGTH; i++)
    {
      const char *op = step != 0 && i % step == 0 ? "Abs" : i % 2 != 0 ? "Exp" : "Neg";

      for (guint k = 0; k < (i == extra ? 2 : 1); k++)
        {
          g_autofree char *name = g_strdup_printf ("%s%u_%u", prefix, i, k);
          IrNode *node = ir_edit_add_node (edit, model->main, k == 0 ? op : "Sin", NULL, name, 1,
                                           &value, 1);
          value = node->outputs[0];
          g_free (g_steal_pointer (&name));
          name = g_strdup_printf ("%sv%u_%u", prefix, i, k);
          ir_edit_rename_value (edit, value, name);
        }
    }
  ir_edit_set_graph_outputs (edit, model->main, &value, 1);
  return model;
}

static void
test_renamed (void)
{
  g_autoptr (IrModel) a = new_chain ("a", 0, 0);
  g_autoptr (IrModel) replaced = new_chain ("b", 100, 0);
  g_autoptr (IrModel) inserted = new_chain ("c", 0, LENGTH / 2);
  g_autoptr (IrDiff) first = ir_diff_new (a, replaced, FALSE);
  g_autoptr (IrDiff) second = ir_diff_new (a, inserted, FALSE);
  g_autoptr (GPtrArray) groups = ir_diff_groups (first);
  guint n_replaced = 0;

  g_assert_cmpuint (first->n_nodes[IR_DIFF_ADDED] + first->n_nodes[IR_DIFF_REMOVED], ==, 0);
  for (guint i = 0; i < groups->len; i++)
    {
      const IrDiffGroup *group = groups->pdata[i];
      if (!group->of_values && group->op == NULL)
        n_replaced += group->items->len;
    }
  g_assert_cmpuint (n_replaced, ==, LENGTH / 100);
  g_assert_cmpuint (second->n_nodes[IR_DIFF_ADDED], ==, 1);
  g_assert_cmpuint (second->n_nodes[IR_DIFF_REMOVED], ==, 0);
  for (guint i = 0; i < second->nodes->len; i++)
    {
      const IrNodeDiff *item = &g_array_index (second->nodes, IrNodeDiff, i);
      if (item->a == 0)
        g_assert_cmpstr (ir_model_node (inserted, item->b)->op_type, ==, "Sin");
      else
        g_assert_cmpstr (ir_model_node (inserted, item->b)->op_type, ==,
                         ir_model_node (a, item->a)->op_type);
    }
}

/* x -> @first -> @second; only Neg has a name, and values have @prefix. */
static IrModel *
new_pair (const char *first, const char *second, const char *prefix)
{
  IrModel *model = ir_model_new ();
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);
  IrValue *value = ir_edit_add_value (edit, model->main, "x", NULL);
  const char *const ops[] = { first, second };

  ir_edit_set_opset (edit, "", 17);
  ir_edit_set_graph_inputs (edit, model->main, &value, 1);
  for (guint i = 0; i < 2; i++)
    {
      g_autofree char *name = g_strdup_printf ("%s%u", prefix, i);
      IrNode *node = ir_edit_add_node (edit, model->main, ops[i], NULL,
                                       strcmp (ops[i], "Neg") == 0 ? "named" : "", 1, &value, 1);
      value = node->outputs[0];
      ir_edit_rename_value (edit, value, name);
    }
  ir_edit_set_graph_outputs (edit, model->main, &value, 1);
  return model;
}

/* What stands before a pair on one side and behind it on the other is no pair, wherever the first is. */
static void
test_crossing (void)
{
  g_autoptr (IrModel) a = new_pair ("Exp", "Neg", "a");
  g_autoptr (IrModel) b = new_pair ("Neg", "Exp", "b");

  for (guint swap = 0; swap < 2; swap++)
    {
      g_autoptr (IrDiff) diff = swap ? ir_diff_new (b, a, FALSE) : ir_diff_new (a, b, FALSE);

      g_assert_cmpuint (diff->n_nodes[IR_DIFF_ADDED], ==, 1);
      g_assert_cmpuint (diff->n_nodes[IR_DIFF_REMOVED], ==, 1);
    }
}

/* Products with weights of their own, each behind another: what two exporters write of one network, with other names and
 * weights, one layer left out (@without) and little nodes in between (@every). */
static IrModel *
new_layers (const char *prefix, guint n, guint without, guint every)
{
  IrModel *model = ir_model_new ();
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);
  const IrType *type = ir_type_tensor (model->context, IR_DTYPE_FLOAT, 2, (IrDim[]){ 4, 4 });
  IrValue *value = ir_edit_add_value (edit, model->main, "x", type);

  ir_edit_set_opset (edit, "", 17);
  ir_edit_set_graph_inputs (edit, model->main, &value, 1);
  for (guint i = 0; i < n; i++)
    for (guint part = 0; part < 3; part++)
      {
        static const char *const ops[] = { "MatMul", "Relu", "Sigmoid" };
        g_autofree char *name = g_strdup_printf ("%s%u_%u", prefix, i, part);
        if (i == without || (part == 2 && (every == 0 || i % every != 0)))
          continue;
        g_autoptr (IrTensor)
            weights = ir_tensor_new_alloc (IR_DTYPE_FLOAT, 2, (gint64[]){ 4, 4 }, NULL);
        for (guint k = 0; k < 16; k++)
          ((float *) ir_tensor_data_writable (weights))[k] = (float) (prefix[0] + i * 16 + k);
        IrValue *w = part == 0 ? ir_edit_add_initializer (edit, model->main, name, weights) : NULL;
        IrNode *node = ir_edit_add_node (edit, model->main, ops[part], NULL, name,
                                         part == 0 ? 2 : 1, (IrValue *[]){ value, w }, 1);
        value = node->outputs[0];
        ir_edit_set_type (edit, value, type);
      }
  ir_edit_set_graph_outputs (edit, model->main, &value, 1);
  return model;
}

/* Layers are paired in their order; nothing else tells them apart. @n: up to more than are aligned all with all. */
static void
test_layers (gconstpointer data)
{
  const guint n = GPOINTER_TO_UINT (data), without = n / 3;
  g_autoptr (IrModel) a = new_layers ("a", n, G_MAXUINT, 0);
  g_autoptr (IrModel) b = new_layers ("b", n, without, 4);
  g_autoptr (IrDiff) diff = ir_diff_new (a, b, FALSE);
  guint n_right = 0, n_added = 0;

  for (guint i = 0; i < diff->nodes->len; i++)
    {
      const IrNodeDiff *item = &g_array_index (diff->nodes, IrNodeDiff, i);
      n_added += item->a == 0;
      if (item->a != 0 && item->b != 0)
        n_right += strcmp (ir_model_node (a, item->a)->name + 1,
                           ir_model_node (b, item->b)->name + 1) == 0;
    }
  g_assert_cmpuint (diff->n_nodes[IR_DIFF_REMOVED], ==, 2);
  g_assert_cmpuint (n_added, ==, (n + 3) / 4 - (without % 4 == 0));
  g_assert_cmpuint (n_right, >=,
                    2 * (n - 1) -
                        2 * (n - without)); /* any of a row of equals may be the one that is gone */
}

static void
set_attrs (IrEdit *edit, IrNode *node, gint64 each, float epsilon)
{
  IrContext *context = node->graph->model->context;

  if (strcmp (node->op_type, "Conv") == 0)
    {
      ir_edit_set_attr (edit, node, ir_attr_string (context, "auto_pad", "NOTSET", -1));
      ir_edit_set_attr (edit, node, ir_attr_ints (context, "strides", (gint64[]){ each, 1 }, 2));
      ir_edit_set_attr (edit, node, ir_attr_ints (context, "pads", (gint64[]){ 0, 0, 0, 0 }, 4));
      ir_edit_set_attr (edit, node, ir_attr_int (context, "group", 1));
    }
  else
    ir_edit_set_attr (edit, node, ir_attr_float (context, "alpha", epsilon));
}

/* Conv and LeakyRelu with attributes that have their defaults, or others. */
static IrModel *
new_spelled_out (gint64 each, float alpha)
{
  IrModel *model = new_net ("n", 0.01f);
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);

  for (guint id = 1; id <= 2; id++)
    set_attrs (edit, ir_model_node (model, id), each, alpha);
  return model;
}

static void
test_defaults (void)
{
  g_autoptr (IrModel) a = new_net ("n", 0.01f);
  g_autoptr (IrModel) spelled = new_spelled_out (1, 0.01f);
  g_autoptr (IrModel) other = new_spelled_out (2, 0.01f);
  g_autoptr (IrModel) bare = new_net ("n", 0.01f);
  g_autoptr (IrEdit) edit = ir_edit_new_import (bare);

  ir_edit_unset_attr (edit, ir_model_node (bare, 2), "alpha");
  for (guint swap = 0; swap < 2; swap++)
    {
      g_autoptr (IrDiff) same = swap ? ir_diff_new (spelled, bare, FALSE)
                                     : ir_diff_new (bare, spelled, FALSE);
      g_autoptr (IrDiff) diff = swap ? ir_diff_new (other, a, FALSE)
                                     : ir_diff_new (a, other, FALSE);
      const IrNodeDiff *conv = ir_diff_of_a (diff, 1);

      g_assert_cmpuint (same->n_nodes[IR_DIFF_SAME], ==, 3);
      g_assert_cmpuint (diff->n_nodes[IR_DIFF_SAME], ==, 2);
      g_assert_cmpint (conv->kind, ==, IR_DIFF_CHANGED);
      g_assert_cmpuint (conv->changes->len, ==, 1);
      g_assert_true (g_str_has_prefix (conv->changes->pdata[0], "attribute strides: "));
    }
}

/* What a Softmax without an axis means depends on its opset, and only the newest default is known. */
static void
test_defaults_of_opsets (void)
{
  for (guint opset = 11; opset <= 13; opset += 2)
    {
      g_autoptr (GError) error = NULL;
      IrModel *models[2];
      for (guint i = 0; i < 2; i++)
        {
          g_autofree char *text = g_strdup_printf (
              "<ir_version: 8, opset_import: [\"\" : %u]> g (float[2,3] x) => (float[2,3] y) { [a] y = Softmax %s "
              "(x) }",
              opset, i == 0 ? "" : "<axis = -1>");
          models[i] = ir_text_read (text, -1, NULL, &error);
          g_assert_no_error (error);
        }
      g_autoptr (IrDiff) diff = ir_diff_new (models[0], models[1], FALSE);
      g_assert_cmpuint (diff->n_nodes[IR_DIFF_SAME], ==, opset == 13);
      ir_diff_free (g_steal_pointer (&diff));
      ir_model_unref (models[0]);
      ir_model_unref (models[1]);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/diff/equal models have no difference", test_same);
  g_test_add_func ("/diff/a changed attribute is named", test_changed);
  g_test_add_func ("/diff/an attribute with its default is as good as none", test_defaults);
  g_test_add_func ("/diff/a default is that of the opset", test_defaults_of_opsets);
  g_test_add_func ("/diff/nodes without names are paired by what they read", test_likeness);
  g_test_add_func ("/diff/two steps are compared by id", test_history);
  g_test_add_func ("/diff/values differ in type and contents", test_values);
  g_test_add_data_func ("/diff/layers are paired in their order", GUINT_TO_POINTER (13),
                        test_layers);
  g_test_add_data_func ("/diff/many layers are paired in their order", GUINT_TO_POINTER (1500),
                        test_layers);
  g_test_add_func ("/diff/pairs do not cross", test_crossing);
  g_test_add_func ("/diff/a long graph is paired through renaming, replacing and inserting",
                   test_renamed);
  return g_test_run ();
}
