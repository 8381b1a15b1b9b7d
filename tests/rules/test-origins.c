/* What a saved file says of where its nodes come from, and what became of those that are gone, when the graph was
 * optimized, saved, opened, optimized further and saved again: in metadata of the nodes, and of the model where the
 * version of the file is too old for that. */
#include "config.h"

#include "core/ir/origin.h"
#include "tests/rules/pass-test.h"

#include <string.h>

static const char *const versions[] = { "10", "8" };

static const char nodes[] =
    "g (float[1,3,6,6] x) => (float[1,4,6,6] y) <float[4] s = {1, 2, 3, 4}, float[4] b = {0, 1, 0, 1},\n"
    "  float[4] m = {1, 1, 2, 2}, float[4] v = {1, 4, 1, 4}, float[4,3,1,1] w = {1,2,3,4,5,6,7,8,9,10,11,12}, float one = {1}, float two = {2}> {\n"
    "  [conv] a = Conv (x, w)\n  [norm] n = BatchNormalization (a, s, b, m, v)\n  [act] r = Relu (n)\n"
    "  [left] e = Exp (r)\n  [right] f = Exp (r)\n  [sum] t = Add (e, f)\n  [idle] i = Identity (t)\n"
    "  [known] k = Add (one, two)\n  [scale] q = Mul (i, k)\n  [there] u = Transpose <perm = [0, 2, 3, 1]> (q)\n"
    "  [back] y = Transpose <perm = [0, 3, 1, 2]> (u)\n  [unread] z = Neg (a)\n}\n";

static const char once[] = "Conv conv: from conv+norm for n by fold-conv-bn/fold-conv-bn\n"
                           "Relu act:\n"
                           "Exp left:\n"
                           "Exp right:\n"
                           "Add sum:\n"
                           "Mul scale:\n"
                           "Transpose there:\n"
                           "Transpose back:\n"
                           "gone idle: eliminate-identity/identity into t\n"
                           "gone known: fold-constants/fold-constants into k\n"
                           "gone unread: eliminate-dead-code/dead-node into\n";

static const char twice[] =
    "ConvRelu conv: from conv+norm+act for r by fold-conv-bn/fold-conv-bn+fuse-activation/fuse-conv-relu\n"
    "Exp left: from left+right for e by merge-common-subexpressions/merge-nodes\n"
    "Add sum:\n"
    "Mul scale: from scale for q by\n"
    "gone idle: eliminate-identity/identity into t\n"
    "gone known: fold-constants/fold-constants into k\n"
    "gone unread: eliminate-dead-code/dead-node into\n"
    "gone there: eliminate-dead-code/dead-node into y\n"
    "gone back: cancel-transposes/cancel-transposes into y\n";

static IrModel *
read_model (const char *version)
{
  g_autofree char *text = g_strdup_printf ("<ir_version: %s, opset_import: [\"\" : 17]>\n%s",
                                           version, nodes);
  g_autoptr (GError) error = NULL;
  IrModel *model = ir_text_read (text, -1, NULL, &error);

  g_assert_no_error (error);
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);
  ir_infer_model (edit, IR_INFER_DEFAULT, NULL);
  return model;
}

static void
optimize (IrModel *model, const char *passes)
{
  g_auto (GStrv) names = g_strsplit (passes, " ", -1);
  IrPipelineOptions options = { .max_class = IR_CLASS_ROUNDING, .verify = TRUE };
  g_autoptr (GError) error = NULL;
  g_autoptr (IrPipeline)
      pipeline = ir_pipeline_new_from_names ((const char *const *) names, &error);

  g_assert_no_error (error);
  g_assert_true (ir_pipeline_run (model, pipeline, &options, NULL, NULL, &error));
  g_assert_no_error (error);
}

static IrModel *
save_and_open (IrModel *model)
{
  g_autoptr (IrModel) copy = ir_model_with_origins (model);
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) bytes = ir_onnx_write_bytes (copy, &error);

  g_assert_no_error (error);
  IrModel *again = ir_onnx_read_bytes (bytes, NULL, NULL, &error);
  g_assert_no_error (error);
  g_autoptr (IrEdit) edit = ir_edit_new_import (again);
  ir_infer_model (edit, IR_INFER_DEFAULT, NULL);
  return again;
}

static void
put_list (GString *text, const char *label, const GPtrArray *list)
{
  g_string_append_printf (text, " %s", label);
  for (guint i = 0; i < list->len; i++)
    g_string_append_printf (text, "%s%s", i > 0 ? "+" : " ", (const char *) list->pdata[i]);
}

/* All that the file says, a line per node, constant and node that is gone. */
static char *
describe (const IrModel *model)
{
  static const char *const originals[] = { "conv", "norm",  "act",   "left",   "right", "sum",
                                           "idle", "known", "scale", "unread", "there", "back" };
  g_autoptr (IrOrigins) origins = ir_origins_read (model);
  g_autoptr (GPtrArray) list = ir_graph_nodes (model->main);
  GString *text = g_string_new (NULL);
  guint n;
  IrValue *const *values = ir_graph_values (model->main, &n);

  g_assert_nonnull (origins);
  for (guint i = 0; i < list->len; i++)
    {
      const IrNode *node = list->pdata[i];
      const IrOrigin *origin = ir_origins_of (origins, node->id);
      g_string_append_printf (text, "%s %s:", node->op_type, ir_origins_name (origins, node));
      if (origin != NULL)
        {
          put_list (text, "from", origin->nodes);
          put_list (text, "for", origin->values);
          put_list (text, "by", origin->rules);
        }
      g_string_append_c (text, '\n');
    }
  for (guint i = 0; i < n; i++)
    if (values[i]->initializer != NULL && ir_origins_of_constant (origins, values[i]->name) != NULL)
      g_string_append_printf (text, "constant %s: %s\n", values[i]->name,
                              ir_origins_of_constant (origins, values[i]->name));
  for (guint i = 0; i < G_N_ELEMENTS (originals); i++)
    {
      const IrGone *gone = ir_origins_gone (origins, originals[i]);
      if (gone == NULL)
        continue;
      g_string_append_printf (text, "gone %s: %s", originals[i], gone->rule);
      put_list (text, "into", gone->into);
      g_string_append_c (text, '\n');
    }
  return g_string_free (text, FALSE);
}

static void
test_origins (gconstpointer version)
{
  g_autoptr (IrModel) first = read_model (version);
  optimize (first, "fold-constants eliminate-identity eliminate-dead-code fold-conv-bn");
  g_autoptr (IrModel) second = save_and_open (first);
  g_autofree char *found = describe (second);
  g_assert_cmpstr (found, ==, once);
  optimize (second,
            "merge-common-subexpressions fuse-activation cancel-transposes eliminate-dead-code");
  g_autoptr (IrModel) third = save_and_open (second);
  g_autofree char *again = describe (third);
  g_assert_cmpstr (again, ==, twice);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (versions); i++)
    {
      g_autofree char *path = g_strdup_printf ("/origins/version %s", versions[i]);

      g_test_add_data_func (path, versions[i], test_origins);
    }
  return g_test_run ();
}
