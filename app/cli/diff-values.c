/* irscope diff --values: both graphs are run on the same inputs, those of the same name or else the
 * same place, and what paired nodes give is compared in the order of execution: the first value
 * that differs, the largest differences, and the outputs. */
#include "config.h"

#include "app/cli/diff-values.h"

#include "app/cli/output.h"
#include "passes/difference.h"

#include <stdio.h>

#define SHOWN 8

typedef struct
{
  const IrValue *a, *b;
  gboolean comparable, is_output;
  IrComparison result;
} Compared;

/* -- inputs -- */

static const IrTensor *
given_for (const IrModel *a, const IrModel *b, guint place, GHashTable *inputs)
{
  const IrValue *wanted = ir_graph_input (b->main, place);
  const IrValue *from = ir_graph_find_value (a->main, wanted->name);

  if (from == NULL || !ir_value_is_graph_input (from))
    from = place < ir_graph_n_inputs (a->main) ? ir_graph_input (a->main, place) : NULL;
  return from != NULL ? g_hash_table_lookup (inputs, GUINT_TO_POINTER (from->id)) : NULL;
}

static gboolean
fits (const IrTensor *tensor, const IrType *type)
{
  if (tensor == NULL || !ir_type_is_tensor (type) || type->dtype != ir_tensor_dtype (tensor))
    return FALSE;
  for (int i = 0; ir_type_has_rank (type) && i < type->rank; i++)
    if ((guint) type->rank != ir_tensor_rank (tensor) ||
        (ir_dim_is_known (type->dims[i]) && type->dims[i] != ir_tensor_dims (tensor)[i]))
      return FALSE;
  return TRUE;
}

/* The inputs of @a for @b; what @a lacks is random. */
static GHashTable *
same_inputs (const CliModelOptions *options,
             const IrModel *a,
             IrModel *b,
             GHashTable *inputs,
             GError **error)
{
  g_autoptr (GHashTable)
      given = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);
  g_autoptr (GHashTable) bindings = cli_bindings (options, error);
  GHashTable *all;
  GHashTableIter iter;
  gpointer id, tensor;

  if (bindings == NULL)
    return NULL;
  for (guint i = 0; i < ir_graph_n_inputs (b->main); i++)
    {
      const IrTensor *found = given_for (a, b, i, inputs);
      const IrValue *value = ir_graph_input (b->main, i);

      if (fits (found, value->type))
        g_hash_table_insert (given, GUINT_TO_POINTER (value->id),
                             ir_tensor_ref ((IrTensor *) found));
    }
  all = ir_random_inputs_beside (b, options->seed, bindings, given, error);
  g_hash_table_iter_init (&iter, given);
  while (all != NULL && g_hash_table_iter_next (&iter, &id, &tensor))
    g_hash_table_replace (all, id, ir_tensor_ref (tensor));
  return all;
}

static IrRun *
run_one (
    Cli *cli, const CliModelOptions *options, IrModel *model, GHashTable *inputs, GError **error)
{
  IrRunOptions run_options = { .backend = cli_backend (options, error),
                               .n_threads = (guint) MAX (options->threads, 0),
                               .capture = IR_CAPTURE_ALL };

  return run_options.backend != NULL
             ? ir_model_run (model, inputs, &run_options, cli->cancellable, error)
             : NULL;
}

/* -- comparing -- */

static void
compare (GArray *found, const IrValue *a, const IrValue *b, const IrRun *run_a, const IrRun *run_b)
{
  Compared item = { a, b, FALSE, FALSE, { 0 } };
  const IrTensor *x, *y;

  if (a == NULL || b == NULL)
    return;
  x = ir_run_value (run_a, a->id);
  y = ir_run_value (run_b, b->id);
  if (x == NULL || y == NULL)
    return;
  item.is_output = ir_value_is_graph_output (a) && a->graph->kind == IR_GRAPH_MAIN;
  item.comparable = ir_tensors_compare (x, y, &item.result);
  g_array_append_val (found, item);
}

static gboolean
is_compared (const GArray *found, const IrValue *a)
{
  for (guint i = 0; i < found->len; i++)
    if (g_array_index (found, Compared, i).a == a)
      return TRUE;
  return FALSE;
}

static GArray *
compare_all (const IrDiff *diff, const IrRun *run_a, const IrRun *run_b)
{
  GArray *found = g_array_new (FALSE, FALSE, sizeof (Compared));
  const IrGraph *a = diff->a->main, *b = diff->b->main;

  for (guint i = 0; i < diff->nodes->len; i++)
    {
      const IrNodeDiff *item = &g_array_index (diff->nodes, IrNodeDiff, i);
      const IrNode *from = item->a != 0 ? ir_model_node (diff->a, item->a) : NULL;
      const IrNode *to = item->b != 0 ? ir_model_node (diff->b, item->b) : NULL;

      for (guint k = 0; from != NULL && to != NULL && k < MIN (from->n_outputs, to->n_outputs); k++)
        compare (found, from->outputs[k], to->outputs[k], run_a, run_b);
    }
  for (guint i = 0; i < MIN (ir_graph_n_outputs (a), ir_graph_n_outputs (b)); i++)
    if (!is_compared (found, ir_graph_output (a, i)))
      compare (found, ir_graph_output (a, i), ir_graph_output (b, i), run_a, run_b);
  return found;
}

static gboolean
is_different (const Compared *item)
{
  return !item->comparable || !item->result.same;
}

static gboolean
is_worse (const Compared *x, const Compared *y)
{
  if (x->comparable != y->comparable)
    return !x->comparable;
  if (x->result.non_finite_differs != y->result.non_finite_differs)
    return x->result.non_finite_differs;
  return x->result.max_abs > y->result.max_abs;
}

static int
compare_badness (gconstpointer a, gconstpointer b)
{
  const Compared *x = *(const Compared *const *) a, *y = *(const Compared *const *) b;

  return is_worse (x, y) ? -1 : is_worse (y, x);
}

/* -- printing -- */

static char *
describe (const Compared *item)
{
  GString *text = g_string_new (item->b->name);

  if (!g_str_equal (item->a->name, item->b->name))
    g_string_append_printf (text, " (%s)", item->a->name);
  if (!item->comparable)
    g_string_append (text, ": the shapes or types differ");
  else if (item->result.same)
    g_string_append (text, ": the same, bit for bit");
  else
    g_string_append_printf (text, ": max abs %.3g, max rel %.3g, largest value %.3g%s",
                            item->result.max_abs, item->result.max_rel, item->result.scale,
                            item->result.non_finite_differs ? ", and not finite on one side" : "");
  return g_string_free (text, FALSE);
}

static void
print_line (const char *what, const Compared *item)
{
  g_autofree char *text = describe (item);

  printf ("  %-8s %s\n", what, text);
}

static void
print_text (const GArray *found, const GPtrArray *different)
{
  printf ("values: %u compared, %u differ\n", found->len, different->len);
  if (different->len > 0)
    {
      const Compared *first = different->pdata[0];

      print_line ("first", first);
    }
  g_autoptr (GPtrArray) worst = g_ptr_array_copy ((GPtrArray *) different, NULL, NULL);
  g_ptr_array_sort (worst, compare_badness);
  for (guint i = 0; i < MIN (worst->len, SHOWN); i++)
    print_line (i == 0 ? "largest" : "", worst->pdata[i]);
  for (guint i = 0; i < found->len; i++)
    if (g_array_index (found, Compared, i).is_output)
      print_line ("output", &g_array_index (found, Compared, i));
}

static cJSON *
item_json (const Compared *item)
{
  cJSON *object = cJSON_CreateObject ();

  cJSON_AddStringToObject (object, "a", item->a->name);
  cJSON_AddStringToObject (object, "b", item->b->name);
  cJSON_AddBoolToObject (object, "comparable", item->comparable);
  cJSON_AddBoolToObject (object, "same", item->comparable && item->result.same);
  cJSON_AddBoolToObject (object, "output", item->is_output);
  if (item->comparable)
    {
      cli_json_add_double (object, "max_abs", item->result.max_abs);
      cli_json_add_double (object, "max_rel", item->result.max_rel);
      cli_json_add_uint (object, "max_ulp", item->result.max_ulp);
      cJSON_AddBoolToObject (object, "non_finite_differs", item->result.non_finite_differs);
    }
  return object;
}

static void
add_json (cJSON *json, const GArray *found, const GPtrArray *different)
{
  cJSON *numbers = cJSON_AddObjectToObject (json, "numbers"), *items;

  cJSON_AddNumberToObject (numbers, "compared", found->len);
  cJSON_AddNumberToObject (numbers, "differ", different->len);
  items = cJSON_AddArrayToObject (numbers, "values");
  for (guint i = 0; i < found->len; i++)
    if (g_array_index (found, Compared, i).is_output ||
        is_different (&g_array_index (found, Compared, i)))
      cJSON_AddItemToArray (items, item_json (&g_array_index (found, Compared, i)));
}

gboolean
cli_diff_values (Cli *cli,
                 const CliModelOptions *options,
                 const IrDiff *diff,
                 cJSON *json,
                 gboolean *equal,
                 GError **error)
{
  g_autoptr (GHashTable) inputs_a = cli_inputs (options, diff->a, error);
  g_autoptr (GHashTable) inputs_b = NULL;
  g_autoptr (IrRun) run_a = NULL;
  g_autoptr (IrRun) run_b = NULL;
  g_autoptr (GArray) found = NULL;
  g_autoptr (GPtrArray) different = g_ptr_array_new ();

  if (inputs_a == NULL ||
      (inputs_b = same_inputs (options, diff->a, diff->b, inputs_a, error)) == NULL ||
      (run_a = run_one (cli, options, diff->a, inputs_a, error)) == NULL ||
      (run_b = run_one (cli, options, diff->b, inputs_b, error)) == NULL)
    return FALSE;
  found = compare_all (diff, run_a, run_b);
  for (guint i = 0; i < found->len; i++)
    {
      Compared *item = &g_array_index (found, Compared, i);

      if (is_different (item))
        g_ptr_array_add (different, item);
      *equal &= !item->is_output || !is_different (item);
    }
  if (json != NULL)
    add_json (json, found, different);
  else
    print_text (found, different);
  return TRUE;
}
