/* Whether each pass applies when one thing about its examples and its golden graphs is another: an attribute, a type, a
 * size, a constant, the opset, a device, or one more reader. Which rules take how many steps, and how many nodes are
 * left, is in variants.txt (tests/table/snapshot.h). That what they do is right is tried elsewhere. */
#include "config.h"

#include "core/ir/edit.h"
#include "core/op/infer.h"
#include "tests/rules/pass-test.h"
#include "tests/table/snapshot.h"

#include <string.h>

typedef struct
{
  const IrPass *pass;
  IrPipeline *pipeline;
  GString *said;
  guint n_tried, n_taken;
} Trial;

/* A place of a model, and which change is made there; FALSE: there are no more. */
typedef gboolean (*Change) (IrModel *model, IrEdit *edit, guint index, GString *said);

/* -- changes -- */

static gboolean
change_nothing (IrModel *model, IrEdit *edit, guint index, GString *said)
{
  return index == 0;
}

static gboolean
change_opset (IrModel *model, IrEdit *edit, guint index, GString *said)
{
  static const guint opsets[] = { 7, 9, 11, 12, 13, 14, 17, 18, 20, 21, 23, 24 };

  if (index >= G_N_ELEMENTS (opsets))
    return FALSE;
  ir_edit_set_opset (edit, "", opsets[index]);
  g_string_append_printf (said, "opset %u", opsets[index]);
  return TRUE;
}

static gboolean
change_input (IrModel *model, IrEdit *edit, guint index, GString *said)
{
  static const IrDtype dtypes[] = { IR_DTYPE_DOUBLE, IR_DTYPE_FLOAT16, IR_DTYPE_INT32,
                                    IR_DTYPE_BFLOAT16 };
  enum
  {
    DTYPES = G_N_ELEMENTS (dtypes),
    AXES = 5,
    EACH = DTYPES + 2 + 2 * AXES
  };
  const guint n = ir_graph_n_inputs (model->main);

  if (index >= EACH * n)
    return FALSE;
  IrValue *value = ir_graph_input (model->main, index / EACH);
  const IrType *type = value->type;
  IrDim dims[IR_MAX_RANK] = { 0 };
  guint change = index % EACH;
  if (!ir_type_is_tensor (type) || !ir_type_has_rank (type))
    return TRUE;
  memcpy (dims, type->dims, sizeof *dims * (guint) type->rank);
  IrDtype dtype = type->dtype;
  int rank = type->rank;
  if (change < DTYPES)
    dtype = dtypes[change];
  else if (change == DTYPES)
    rank = IR_RANK_UNKNOWN;
  else if (change == DTYPES + 1 && rank < 6)
    dims[rank++] = 2;
  else if (change > DTYPES + 1)
    {
      guint axis = (change - DTYPES - 2) / 2;
      if (axis >= (guint) rank)
        return TRUE;
      dims[axis] = change % 2 == 0                ? 1
                   : ir_dim_is_known (dims[axis]) ? dims[axis] + 1
                                                  : ir_dim_symbol (model->context, "other");
    }
  ir_edit_set_type (edit, value, ir_type_tensor (model->context, dtype, rank, dims));
  g_string_append_printf (said, "input %s change %u", value->name, change);
  return TRUE;
}

/* (nullable) */
static const IrAttr *
other_attr (IrContext *context, const IrAttr *attr, guint change)
{
  g_autofree gint64 *ints = NULL;

  if (attr->kind == IR_ATTR_INT)
    return ir_attr_int (context, attr->name, attr->ints[0] + (change == 0 ? 1 : -1));
  if (attr->kind == IR_ATTR_FLOAT)
    return ir_attr_float (context, attr->name, change == 0 ? attr->floats[0] * 1.5f : 0);
  if (attr->kind == IR_ATTR_STRING)
    return ir_attr_string (context, attr->name, "other", -1);
  if (attr->kind != IR_ATTR_INTS || attr->n == 0)
    return NULL;
  ints = g_memdup2 (attr->ints, attr->n * sizeof *ints);
  ints[change == 0 ? 0 : attr->n - 1]++;
  return ir_attr_ints (context, attr->name, ints, attr->n);
}

static IrTensor *
other_tensor (const IrTensor *tensor, guint change)
{
  guint64 n = tensor != NULL ? ir_tensor_n_elements (tensor) : 0;
  guint rank = tensor != NULL ? ir_tensor_rank (tensor) : 0;
  gint64 dims[IR_MAX_RANK] = { 1 };

  if (n == 0 || n > 4096 || ir_tensor_is_container (tensor) || rank + 1 > IR_MAX_RANK ||
      ir_dtype_kind (ir_tensor_dtype (tensor)) == IR_DTYPE_KIND_STRING)
    return NULL;
  memcpy (dims + (change == 2), ir_tensor_dims (tensor), rank * sizeof *dims);
  IrTensor *other = ir_tensor_new_alloc (ir_tensor_dtype (tensor), rank + (change == 2), dims,
                                         NULL);
  for (guint64 i = 0; i < n; i++)
    {
      double is = ir_tensor_get_double (tensor, i);
      gboolean moves = change == 0 ? i == 0 : change == 1 && i == n - 1;
      ir_dtype_set_double (ir_tensor_dtype (tensor), ir_tensor_data_writable (other), i,
                           moves ? is + 1 : is);
    }
  return other;
}

/* Each node by itself. */
static gboolean
change_node (IrModel *model, IrEdit *edit, guint index, GString *said)
{
  enum
  {
    ATTRS = 6,
    INPUTS = 4,
    EACH = 2 + 3 * ATTRS + 3 + INPUTS
  };
  g_autoptr (GPtrArray) nodes = ir_graph_nodes (model->main);
  guint change = index % EACH;

  if (index / EACH >= nodes->len)
    return FALSE;
  IrNode *node = nodes->pdata[index / EACH];
  g_string_append_printf (said, "node %u (%s) change %u", node->id, node->op_type, change);
  if (change == 0)
    ir_edit_set_device (edit, node, "gpu:1");
  else if (change == 1)
    {
      g_autoptr (GPtrArray) outputs = g_ptr_array_new ();
      for (guint i = 0; i < ir_graph_n_outputs (model->main); i++)
        g_ptr_array_add (outputs, ir_graph_output (model->main, i));
      g_ptr_array_add (outputs, node->outputs[0]);
      ir_edit_set_graph_outputs (edit, model->main, (IrValue *const *) outputs->pdata,
                                 outputs->len);
    }
  else if (change < 2 + 3 * ATTRS && (change - 2) / 3 < node->n_attrs)
    {
      const IrAttr *attr = node->attrs[(change - 2) / 3];
      const IrAttr *other = (change - 2) % 3 < 2
                                ? other_attr (model->context, attr, (change - 2) % 3)
                                : NULL;
      if (other != NULL)
        ir_edit_set_attr (edit, node, other);
      else if ((change - 2) % 3 == 2 && attr->kind != IR_ATTR_GRAPH)
        ir_edit_unset_attr (edit, node, attr->name);
    }
  else if (change >= EACH - INPUTS && change + INPUTS - EACH < node->n_inputs)
    ir_edit_set_input (edit, node, change + INPUTS - EACH, NULL);
  else if (change >= 2 + 3 * ATTRS && change < EACH - INPUTS && ir_node_is_constant (node))
    {
      g_autoptr (IrTensor)
          other = other_tensor (ir_value_constant (node->outputs[0]), change - 2 - 3 * ATTRS);
      if (other != NULL)
        ir_edit_set_attr (edit, node, ir_attr_tensor (model->context, "value", other));
    }
  return TRUE;
}

static gboolean
change_initializer (IrModel *model, IrEdit *edit, guint index, GString *said)
{
  guint n;
  IrValue *const *values = ir_graph_values (model->main, &n);

  if (index / 3 >= n)
    return FALSE;
  IrValue *value = values[index / 3];
  g_autoptr (IrTensor)
      other = value->initializer != NULL ? other_tensor (value->initializer, index % 3) : NULL;
  if (other != NULL)
    ir_edit_set_initializer (edit, value, other);
  g_string_append_printf (said, "initializer %s change %u", value->name, index % 3);
  return TRUE;
}

/* -- trying them -- */

static void
run_pass (Trial *t, IrModel *model)
{
  IrPipelineOptions options = { .max_class = IR_CLASS_ROUNDING };
  g_autoptr (GError) error = NULL;

  if (!ir_pipeline_run (model, t->pipeline, &options, NULL, NULL, &error))
    g_string_append (t->said, " fails");
  guint n_steps = ir_history_n_steps (model);
  for (guint i = 1; i <= n_steps; i++)
    g_string_append_printf (t->said, " %s", ir_history_step (model, i)->rule);
  g_string_append_printf (t->said, ": %u nodes\n", ir_model_n_counted_nodes (model));
  t->n_tried++;
  t->n_taken += n_steps > 0;
}

static void
try_model (Trial *t, IrModel *model)
{
  static const Change changes[] = { change_nothing, change_opset, change_input, change_node,
                                    change_initializer };

  for (guint i = 0; i < G_N_ELEMENTS (changes); i++)
    for (guint index = 0;; index++)
      {
        g_autoptr (IrModel) other = ir_model_clone (model);
        gsize before = t->said->len;
        {
          g_autoptr (IrEdit) edit = ir_edit_new_import (other);
          if (!changes[i](other, edit, index, t->said))
            break;
          if (i > 0 && t->said->len == before)
            continue;
          ir_infer_model (edit, IR_INFER_DEFAULT, NULL);
        }
        run_pass (t, other);
      }
}

static int
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

static char *
say (gconstpointer data, guint *n_tried, guint *n_taken)
{
  const IrPass *pass = data;
  g_autoptr (IrPipeline) pipeline = test_pipeline (pass);
  g_autofree char *folder = g_test_build_filename (G_TEST_DIST, "..", "golden", pass->name, NULL);
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  Trial t = { pass, pipeline, g_string_new (NULL), 0, 0 };
  const char *name;

  const IrRule *rule = pass->rules != NULL ? pass->rules : pass->documented_rules;
  for (; rule != NULL && rule->name != NULL; rule++)
    if (test_rule_example (rule) != NULL)
      {
        g_autoptr (GRand) rand = g_rand_new_with_seed (5);
        g_autoptr (IrModel) model = test_model (test_rule_example (rule));
        test_model_randomize (model, rand);
        try_model (&t, model);
      }
  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    if (g_str_has_suffix (name, ".onnxtxt") && !g_str_has_suffix (name, ".expect.onnxtxt"))
      g_ptr_array_add (names, g_strdup (name));
  g_ptr_array_sort (names, compare_names);
  for (guint i = 0; i < names->len; i++)
    {
      g_autofree char *path = g_build_filename (folder, names->pdata[i], NULL);
      g_autoptr (GError) error = NULL;
      g_autoptr (IrModel) model = ir_model_load (path, NULL, NULL, &error);
      g_assert_no_error (error);
      try_model (&t, model);
    }
  *n_tried = t.n_tried;
  *n_taken = t.n_taken;
  return g_string_free (t.said, FALSE);
}

int
main (int argc, char **argv)
{
  guint n;
  const IrPass *const *passes = ir_passes (&n);

  for (guint i = 0; i < n; i++)
    if (!passes[i]->once)
      snapshot_add (passes[i]->name, say, passes[i]);
  return snapshot_run (argc, argv, "variants.txt");
}
