/* Whether each pass applies when one thing about its examples, its idioms (tests/fuzz) and its golden graphs is another: an
 * attribute, a type, a size, a constant, the opset, a device, an operator, what an input reads, or
 * one more reader; and when two are, drawn by a fixed seed. Which rules take how many steps, how many
 * nodes are left, and a digest of these and of what is said where rules fire and do not, is in variants.txt (tests/table/snapshot.h). That what they do is right is tried
 * elsewhere. */
#include "config.h"

#include "core/ir/edit.h"
#include "core/op/check.h"
#include "core/op/infer.h"
#include "tests/fuzz/idioms.h"
#include "tests/rules/graph-changes.h"
#include "tests/rules/pass-test.h"
#include "tests/table/snapshot.h"

#include <string.h>

typedef struct
{
  const IrPass *pass;
  IrPipeline *pipeline;
  const char *before;     /* passes that make what changes are made in */
  guint every, n_changes; /* one of @every changes is tried */
  GString *said;
  IrClass max_class;
  guint n_tried, n_taken;
} Trial;

/* -- trying them -- */

/* How many values there are; no two nodes of a graph have one name. */
static guint
count_names (const IrModel *model)
{
  g_autoptr (GPtrArray) nodes = graph_changes_nodes (model);
  g_autoptr (GHashTable) names = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  guint n = 0;

  for (guint i = 1; i < model->values->len; i++)
    n += ir_model_live_value (model, i) != NULL;
  for (guint i = 0; i < nodes->len; i++)
    {
      const IrNode *node = nodes->pdata[i];
      if (node->name[0] != '\0' &&
          !g_hash_table_add (names, g_strdup_printf ("%u %s", node->graph->id, node->name)))
        g_error ("two nodes are called %s", node->name);
    }
  return n;
}

static void
name_nodes (const IrModel *model, IrEdit *edit)
{
  g_autoptr (GPtrArray) nodes = graph_changes_nodes (model);

  for (guint i = 0; i < nodes->len; i++)
    {
      g_autofree char *name = g_strdup_printf ("node %u", i);
      ir_edit_rename_node (edit, nodes->pdata[i], name);
    }
}

static void
digest_tensor (GString *text, const IrModel *model, const IrTensor *tensor)
{
  g_autofree char *type = ir_type_to_string (model->context,
                                             ir_tensor_type (tensor, model->context));

  g_string_append (text, type);
  if (ir_tensor_is_container (tensor) || !ir_dtype_is_integer (ir_tensor_dtype (tensor)))
    return; /* fractions may be rounded otherwise on another machine */
  for (guint64 i = 0; i < MIN (ir_tensor_n_elements (tensor), 64); i++)
    g_string_append_printf (text, ",%.17g", ir_tensor_get_double (tensor, i));
}

static void
digest_attr (GString *text, const IrModel *model, const IrAttr *attr)
{
  g_string_append_printf (text, " %s=%u", attr->name, attr->kind);
  for (guint i = 0; i < attr->n; i++)
    if (attr->kind == IR_ATTR_INT || attr->kind == IR_ATTR_INTS)
      g_string_append_printf (text, ",%" G_GINT64_FORMAT, attr->ints[i]);
    else if (attr->kind == IR_ATTR_FLOAT || attr->kind == IR_ATTR_FLOATS)
      g_string_append_printf (text, ",%.4g", (double) attr->floats[i]);
    else if (attr->kind == IR_ATTR_GRAPH)
      g_string_append_printf (text, ",g%u", attr->graphs[i]);
    else if (attr->kind == IR_ATTR_TENSOR)
      digest_tensor (text, model, attr->tensors[i]);
}

static void
digest_value (GString *text, const IrModel *model, const IrValue *value)
{
  g_autofree char *type = value != NULL && value->type != NULL
                              ? ir_type_to_string (model->context, value->type)
                              : NULL;

  g_string_append_printf (text, " %u:%s", value != NULL ? value->id : 0, type != NULL ? type : "");
  if (value != NULL && value->initializer != NULL)
    digest_tensor (text, model, value->initializer);
}

/* What is left, as one number: nodes, what they read and make, and what graphs take and give. */
static guint
digest (const IrModel *model)
{
  g_autoptr (GPtrArray) nodes = graph_changes_nodes (model);
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i < nodes->len; i++)
    {
      const IrNode *node = nodes->pdata[i];
      g_string_append_printf (text, "\ng%u %s.%s", node->graph->id, node->domain, node->op_type);
      for (guint k = 0; k < node->n_attrs; k++)
        digest_attr (text, model, node->attrs[k]);
      for (guint k = 0; k < node->n_inputs; k++)
        g_string_append_printf (text, " %u", node->inputs[k] != NULL ? node->inputs[k]->id : 0);
      for (guint k = 0; k < node->n_outputs; k++)
        digest_value (text, model, node->outputs[k]);
    }
  for (guint i = 1; i < model->graphs->len; i++)
    {
      const IrGraph *graph = ir_model_graph (model, i);
      if (graph->state != IR_STATE_LIVE)
        continue;
      g_string_append_printf (text, "\ngraph %u", i);
      for (guint k = 0; k < ir_graph_n_inputs (graph); k++)
        digest_value (text, model, ir_graph_input (graph, k));
      for (guint k = 0; k < ir_graph_n_outputs (graph); k++)
        digest_value (text, model, ir_graph_output (graph, k));
    }
  return g_str_hash (text->str);
}

/* What is kept of the checks of nodes is what they would say now. */
static void
check_gates (const IrModel *model)
{
  g_autoptr (GPtrArray) nodes = graph_changes_nodes (model);

  for (guint i = 0; i < nodes->len; i++)
    {
      IrNode *node = nodes->pdata[i];
      gboolean formed = ir_node_is_well_formed (node), valid = ir_node_is_valid (node);
      node->checked = 0;
      if (formed != ir_node_is_well_formed (node) || valid != ir_node_is_valid (node))
        g_error ("node %u (%s) is not checked again after a change", node->id, node->op_type);
    }
}

/* As found, and after steps are undone and done again. */
static void
check_history (IrModel *model, guint n_steps)
{
  check_gates (model);
  for (guint i = n_steps; i > 0; i--)
    {
      ir_history_goto (model, i - 1);
      check_gates (model);
    }
  ir_history_goto (model, n_steps);
  check_gates (model);
}

/* What is said of the steps, and of where a rule did not fire, as one number. */
static guint
digest_reasons (const IrModel *model, guint n_steps)
{
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 1; i <= n_steps; i++)
    g_string_append_printf (text, "%s\n", ir_history_step (model, i)->reason);
  for (guint i = 0; i < ir_history_n_refusals (model); i++)
    {
      const IrRefusal *refusal = ir_history_refusal (model, i);
      g_string_append_printf (text, "%u %s %s\n", refusal->anchor, refusal->rule, refusal->reason);
    }
  return g_str_hash (text->str);
}

static void
run_pass (Trial *t, IrModel *model)
{
  IrPipelineOptions options = { .max_class = t->max_class, .record_refusals = TRUE };
  g_autoptr (GError) error = NULL;

  if (!ir_pipeline_run (model, t->pipeline, &options, NULL, NULL, &error))
    g_string_append (t->said, " fails");
  guint n_steps = ir_history_n_steps (model);
  for (guint i = 1; i <= n_steps; i++)
    g_string_append_printf (t->said, " %s", ir_history_step (model, i)->rule);
  g_string_append_printf (t->said, ": %u nodes, %u values, %08x %08x\n",
                          ir_model_n_counted_nodes (model), count_names (model),
                          n_steps > 0 ? digest (model) : 0, digest_reasons (model, n_steps));
  if (t->n_tried % 8 == 0)
    check_history (model, n_steps);
  t->n_tried++;
  t->n_taken += n_steps > 0;
}

/* What was inferred before the change. */
static void
forget_types (const IrModel *model, IrEdit *edit)
{
  for (guint i = 1; i < model->values->len; i++)
    {
      IrValue *value = ir_model_live_value (model, i);
      if (value != NULL && value->producer != NULL)
        ir_edit_set_type (edit, value, NULL);
    }
}

static void
try_changed (IrModel *model, IrEdit *edit, const char *said, gpointer data)
{
  Trial *t = data;

  if (t->n_changes++ % t->every != 0)
    {
      ir_edit_free (edit);
      return;
    }
  g_string_append (t->said, said);
  forget_types (model, edit);
  name_nodes (model, edit);
  ir_infer_model (edit, IR_INFER_DEFAULT, NULL);
  ir_edit_free (edit);
  run_pass (t, model);
}

static void
try_model (Trial *t, IrModel *model)
{
  g_auto (GStrv) before = g_strsplit (t->before, " ", -1);

  for (guint i = 0; before[i] != NULL; i++)
    {
      g_autoptr (IrPipeline) pipeline = test_pipeline (ir_pass_find (before[i]));
      IrPipelineOptions options = { .max_class = IR_CLASS_UNSAFE };
      g_assert_true (ir_pipeline_run (model, pipeline, &options, NULL, NULL, NULL));
    }
  graph_changes_try (model, try_changed, t);
}

static gboolean
is_of_pass (const Trial *t, const Idiom *idiom)
{
  return idiom->pass == t->pass && idiom->text != idiom->rule->example;
}

static gboolean
has_control_flow (const Trial *t, const Idiom *idiom)
{
  return strstr (idiom->text, "body = ") != NULL || strstr (idiom->text, "_branch = ") != NULL ||
         strstr (idiom->text, " my.") != NULL;
}

/* @idioms: (transfer full) (element-type Idiom) */
static void
try_idioms (Trial *t, GPtrArray *idioms, gboolean (*wanted) (const Trial *t, const Idiom *idiom))
{
  for (guint i = 0; i < idioms->len; i++)
    {
      const Idiom *idiom = idioms->pdata[i];
      if (idiom->text == NULL || !wanted (t, idiom))
        continue;
      g_autoptr (GError) error = NULL;
      g_autoptr (GRand) rand = g_rand_new_with_seed (i);
      g_autoptr (IrModel) model = idiom_read (idiom->text, &error);
      g_assert_no_error (error);
      test_model_randomize (model, rand);
      try_model (t, model);
    }
  g_ptr_array_unref (idioms);
}

static int
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

/* The golden graphs of @folder. */
static void
try_golden (Trial *t, const char *name)
{
  g_autofree char *folder = g_test_build_filename (G_TEST_DIST, "..", "golden", name, NULL);
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);

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
      try_model (t, model);
    }
}

static char *
say (gconstpointer data, guint *n_tried, guint *n_taken)
{
  const IrPass *pass = data;
  g_autoptr (IrPipeline) pipeline = test_pipeline (pass);
  Trial t = {
    pass, pipeline, "", 1, 0, g_string_new (NULL), MAX (pass->step_class, IR_CLASS_ROUNDING), 0, 0
  };

  const IrRule *rule = pass->rules != NULL ? pass->rules : pass->documented_rules;
  for (; rule != NULL && rule->name != NULL; rule++)
    if (test_rule_example (rule) != NULL)
      {
        g_autoptr (GRand) rand = g_rand_new_with_seed (5);
        g_autoptr (IrModel) model = test_model (test_rule_example (rule));
        test_model_randomize (model, rand);
        try_model (&t, model);
      }
  try_idioms (&t, idioms_new (), is_of_pass);
  try_idioms (&t, idiom_traps_new (), is_of_pass);
  try_golden (&t, pass->name);
  *n_tried = t.n_tried;
  *n_taken = t.n_taken;
  return g_string_free (t.said, FALSE);
}

/* -- passes that run once, when they are asked for -- */

#define TRAINED "gradient tangent to-training"

typedef struct
{
  const char *pass, *option, *value; /* @option: (nullable) */
  const char *before;                /* the passes that make what it is for */
  const char *folders; /* (nullable) of golden graphs; else idioms with control flow */
  guint every;         /* 0: 1 */
} Asked;

static const Asked asked[] = {
  { "lower-control-flow", NULL, NULL, "", NULL, 3 },
  { "raise-control-flow", NULL, NULL, "lower-control-flow", NULL, 9 },
  { "to-closures", NULL, NULL, "", NULL, 5 },
  { "from-closures", NULL, NULL, "to-closures", NULL, 13 },
  { "unroll-loops", NULL, NULL, "", NULL, 3 },
  { "unroll-loops", "by", "2", "", NULL, 3 },
  { "unroll-loops", "peel", "1..2", "", NULL, 3 },
  { "to-training", NULL, NULL, "", TRAINED },
  { "to-training", "loss", "cross-entropy", "", TRAINED },
  { "to-training", "loss", "huber", "", TRAINED },
  { "to-inference", NULL, NULL, "to-training", TRAINED },
  { "gradient", NULL, NULL, "", TRAINED },
  { "tangent", NULL, NULL, "", "tangent" },
  { "optimizer", "algorithm", "adamw", "to-training gradient", "gradient", 7 },
  { "optimizer", "form", "onnx", "to-training gradient", "gradient", 7 },
};

static char *
say_asked (gconstpointer data, guint *n_tried, guint *n_taken)
{
  const Asked *a = data;
  g_autoptr (GError) error = NULL;
  const IrPass *plain = ir_pass_find (a->pass);
  g_autoptr (IrPass) set = a->option != NULL ? ir_pass_set (plain, a->option, a->value, &error)
                                             : NULL;
  g_autoptr (IrPipeline) pipeline = test_pipeline (set != NULL ? set : plain);
  g_auto (GStrv) folders = g_strsplit (a->folders != NULL ? a->folders : "", " ", -1);
  Trial t = { plain,           pipeline, a->before, MAX (a->every, 1), 0, g_string_new (NULL),
              IR_CLASS_UNSAFE, 0,        0 };

  g_assert_no_error (error);
  for (guint i = 0; folders[i] != NULL; i++)
    try_golden (&t, folders[i]);
  if (a->folders == NULL)
    try_idioms (&t, idioms_new (), has_control_flow);
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
  for (guint i = 0; i < G_N_ELEMENTS (asked); i++)
    {
      g_autofree char *name = asked[i].option == NULL
                                  ? g_strdup (asked[i].pass)
                                  : g_strconcat (asked[i].pass, " ", asked[i].option, "=",
                                                 asked[i].value, NULL);
      snapshot_add (name, say_asked, &asked[i]);
    }
  return snapshot_run (argc, argv, "variants.txt");
}
