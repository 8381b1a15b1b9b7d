/* More nodes, attributes and values than are allowed: whatever there are too many of, and in whichever
 * format, what is over the limit is left out and said once, and a reading that was cancelled ends. */
#include "config.h"

#include "core/io/draft.h"
#include "core/ir/edit.h"
#include "tests/io/models.h"

#include <string.h>

IrDraft *__real_ir_draft_new (IrContext *context, GPtrArray *problems, GCancellable *cancellable);
IrDraft *__wrap_ir_draft_new (IrContext *context, GPtrArray *problems, GCancellable *cancellable);
void __real_ir_draft_free (IrDraft *draft);
void __wrap_ir_draft_free (IrDraft *draft);

static guint budget, n_made, n_spent;
static gboolean with_graphs; /* a graph counts too: each is a message of its own */

static guint
count_values (const GArray *values)
{
  return values != NULL ? values->len : 0;
}

static guint
count_graph (const IrDraftGraph *graph)
{
  guint n = count_values (graph->inputs) + count_values (graph->outputs) +
            count_values (graph->infos) + count_values (graph->initializers) + graph->nodes->len +
            with_graphs;

  for (guint i = 0; i < graph->nodes->len; i++)
    {
      const IrDraftNode *node = graph->nodes->pdata[i];

      n += node->inputs.n + node->outputs.n + node->attrs->len;
      for (guint k = 0; k < node->attrs->len; k++)
        {
          const GPtrArray *graphs = g_array_index (node->attrs, IrDraftAttr, k).graphs;
          for (guint g = 0; graphs != NULL && g < graphs->len; g++)
            n += count_graph (graphs->pdata[g]);
        }
    }
  return n;
}

IrDraft *
__wrap_ir_draft_new (IrContext *context, GPtrArray *problems, GCancellable *cancellable)
{
  IrDraft *draft = __real_ir_draft_new (context, problems, cancellable);

  draft->budget = budget;
  return draft;
}

void
__wrap_ir_draft_free (IrDraft *draft)
{
  n_made = draft->main != NULL ? count_graph (draft->main) : 0;
  for (guint i = 0; i < draft->functions->len; i++)
    n_made += !with_graphs + count_graph (draft->functions->pdata[i]);
  n_spent = draft->n_spent;
  __real_ir_draft_free (draft);
}

typedef struct
{
  const char *name;
  GBytes *(*write) (IrModel *model);
  IrModel *(*read) (GBytes *bytes, GPtrArray *problems, GError **error);
  guint
      n_others; /* metadata, attributes of functions: what is counted, and not made of a draft's lists */
} Format;

static GBytes *
text_of (IrModel *model)
{
  char *text = ir_text_write (model);

  return g_bytes_new_take (text, strlen (text) + 1);
}

static GBytes *
json_of (IrModel *model)
{
  char *text = ir_json_write (model);

  return g_bytes_new_take (text, strlen (text) + 1);
}

static GBytes *
onnx_of (IrModel *model)
{
  return ir_onnx_write_bytes (model, NULL);
}

static IrModel *
read_text (GBytes *bytes, GPtrArray *problems, GError **error)
{
  return ir_text_read (g_bytes_get_data (bytes, NULL), -1, problems, error);
}

static IrModel *
read_json (GBytes *bytes, GPtrArray *problems, GError **error)
{
  return ir_json_read (g_bytes_get_data (bytes, NULL), -1, problems, error);
}

static IrModel *
read_onnx (GBytes *bytes, GPtrArray *problems, GError **error)
{
  return ir_onnx_read_bytes (bytes, NULL, problems, error);
}

static const Format formats[] = {
  { "text", text_of, read_text, 5 },
  { "json", json_of, read_json, 3 },
  { "onnx", onnx_of, read_onnx, 8 },
};

/* Whether it says that there are more than @n. */
static gboolean
read_at_most (const Format *format, GBytes *bytes, guint n)
{
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (GError) error = NULL;

  budget = n;
  g_autoptr (IrModel) model = format->read (bytes, problems, &error);
  g_assert_cmpuint (n_made, <=, n);
  if (model == NULL) /* of a text, what begins is not skipped */
    g_assert_nonnull (strstr (error->message, "the rest is left out"));
  return model == NULL || test_has_problem (problems, IR_PROBLEM_LIMIT);
}

static void
test_too_many (gconstpointer data)
{
  const Format *format = data;

  budget = IR_DRAFT_MAX_ENTITIES;
  with_graphs = strcmp (format->name, "onnx") == 0;
  g_autoptr (IrModel) rich = test_read_text (test_rich_text);
  g_autoptr (GBytes) bytes = format->write (rich);
  g_assert_false (read_at_most (format, bytes, IR_DRAFT_MAX_ENTITIES));
  guint n_all = n_spent;
  g_assert_cmpuint (n_spent, ==, n_made + format->n_others);
  for (guint n = 0; n <= n_all; n++)
    g_assert_true (read_at_most (format, bytes, n) == (n < n_all));
}

/* @depth graphs within the main one, and an input whose type is as many sequences. */
static IrModel *
nested (guint depth, guint type_depth)
{
  IrModel *model = ir_model_new ();
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);
  const IrType *type = ir_type_tensor (model->context, IR_DTYPE_FLOAT, 0, NULL);
  IrGraph *graph = model->main;

  ir_edit_set_opset (edit, "", 17);
  for (guint i = 0; i < type_depth; i++)
    type = ir_type_sequence (model->context, type);
  IrValue *x = ir_edit_add_value (edit, graph, "x", type);
  ir_edit_set_graph_inputs (edit, graph, &x, 1);
  for (guint i = 0; i < depth; i++)
    {
      IrNode *owner = ir_edit_add_node (edit, graph, "If", NULL, NULL, 1, &x, 1);
      ir_edit_set_graph_outputs (edit, graph, owner->outputs, 1);
      graph = ir_edit_add_graph (edit, IR_GRAPH_SUBGRAPH, "inner");
      ir_edit_set_attr (edit, owner, ir_attr_graph (model->context, "then_branch", graph->id));
    }
  IrNode *last = ir_edit_add_node (edit, graph, "Identity", NULL, NULL, 1, &x, 1);
  ir_edit_set_graph_outputs (edit, graph, last->outputs, 1);
  return model;
}

static gboolean
is_too_deep (const Format *format, guint depth, guint type_depth)
{
  g_autoptr (IrModel) model = nested (depth, type_depth);
  g_autoptr (GBytes) bytes = format->write (model);
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (IrModel) read = format->read (bytes, problems, &error);

  for (guint i = 0; i < problems->len; i++)
    g_test_message ("%s", ((const IrProblem *) problems->pdata[i])->message);
  return read == NULL || ir_problems_count (problems, IR_SEVERITY_ERROR) > 0;
}

/* Graphs within graphs and types within types, just as many as may be and one more. */
static void
test_too_deep (gconstpointer data)
{
  const Format *format = data;

  budget = IR_DRAFT_MAX_ENTITIES;
  g_assert_false (is_too_deep (format, IR_DRAFT_MAX_DEPTH, 1));
  g_assert_true (is_too_deep (format, IR_DRAFT_MAX_DEPTH + 1, 1));
  g_assert_false (is_too_deep (format, 1, IR_DRAFT_MAX_DEPTH));
  g_assert_true (is_too_deep (format, 1, IR_DRAFT_MAX_DEPTH + 1));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (formats); i++)
    {
      g_autofree char *deep = g_strdup_printf ("/io/limits/depth/%s", formats[i].name);
      g_test_add_data_func (deep, &formats[i], test_too_deep);
      g_autofree char *path = g_strdup_printf ("/io/limits/%s", formats[i].name);

      g_test_add_data_func (path, &formats[i], test_too_many);
    }
  return g_test_run ();
}
