#include "config.h"

#include "core/exec/measure/summary.h"

#include "core/ir/inline.h"
#include "core/op/infer-util.h"
#include "core/op/infer.h"
#include "core/op/trips.h"

#include <string.h>

/* What a row gets of one node. */
typedef struct
{
  IrSummary *summary;
  GHashTable *ops, *scopes; /* name -> 1 + index */
  GHashTable *times;        /* (nullable) node id -> gint64 *: ns */
  const guint64 *runs;      /* by node id: how often it runs in one run */
  guint8 *read;             /* by value id: its parameters are counted */
  guint depth;
} Adding;

/* -- rows -- */

static const char *const keys[] = {
  [IR_SUMMARY_NAME] = "name",   [IR_SUMMARY_NODES] = "nodes", [IR_SUMMARY_PARAMS] = "params",
  [IR_SUMMARY_FLOPS] = "flops", [IR_SUMMARY_BYTES] = "bytes", [IR_SUMMARY_INTENSITY] = "intensity",
  [IR_SUMMARY_TIME] = "time",
};

/**
 * ir_summary_key_name:
 * @key: what rows are sorted by
 *
 * Returns: (transfer none): its name
 */
const char *
ir_summary_key_name (IrSummaryKey key)
{
  return keys[key];
}

/**
 * ir_summary_amount:
 * @row: an operator or a scope
 * @key: what is asked for
 *
 * Returns: nodes, elements, operations, bytes, operations per byte, or ns; 0 of names
 */
double
ir_summary_amount (const IrSummaryRow *row, IrSummaryKey key)
{
  const double amounts[] = {
    [IR_SUMMARY_NAME] = 0,
    [IR_SUMMARY_NODES] = row->n_nodes,
    [IR_SUMMARY_PARAMS] = (double) row->params,
    [IR_SUMMARY_FLOPS] = (double) row->flops,
    [IR_SUMMARY_BYTES] = (double) row->bytes,
    [IR_SUMMARY_INTENSITY] = row->bytes > 0 ? (double) row->flops / (double) row->bytes : 0,
    [IR_SUMMARY_TIME] = (double) row->time_ns,
  };

  return amounts[key];
}

static gint
compare_rows (gconstpointer a, gconstpointer b, gpointer data)
{
  const IrSummaryKey key = *(const IrSummaryKey *) data;
  const double x = ir_summary_amount (a, key), y = ir_summary_amount (b, key);

  return x != y ? (x > y ? -1 : 1)
                : strcmp (((const IrSummaryRow *) a)->name, ((const IrSummaryRow *) b)->name);
}

/**
 * ir_summary_sort:
 * @rows: (element-type IrSummaryRow): of a summary
 * @key: by what: the largest first, names in their order
 */
void
ir_summary_sort (GArray *rows, IrSummaryKey key)
{
  g_array_sort_with_data (rows, compare_rows, &key);
}

static IrSummaryRow *
row_of (GHashTable *index, GArray *rows, const char *name, const IrNode *node)
{
  guint place = GPOINTER_TO_UINT (g_hash_table_lookup (index, name));

  if (place == 0)
    {
      const IrSummaryRow row = {
        .name = name,
        .node = node->id,
        .family = node->op != NULL ? (guint8) node->op->family : IR_N_FAMILIES,
      };
      g_array_append_val (rows, row);
      place = rows->len;
      g_hash_table_insert (index, (gpointer) name, GUINT_TO_POINTER (place));
    }
  return &g_array_index (rows, IrSummaryRow, place - 1);
}

/* The first @depth parts of a scope; interned */
static const char *
cut_scope (const IrModel *model, const char *scope, guint depth)
{
  const char *end = scope;

  for (guint i = 0; depth > 0 && i < depth && end != NULL; i++)
    end = strchr (i == 0 ? end : end + 1, '/');
  if (depth == 0 || end == NULL)
    return scope;
  g_autofree char *cut = g_strndup (scope, (gsize) (end - scope));
  return ir_context_intern (model->context, cut);
}

static guint64
new_params (Adding *adding, const IrNode *node)
{
  guint64 params = 0;

  ir_node_for_each_input (node, i, value)
    {
      const IrTensor *constant = ir_value_constant (value);

      if (constant == NULL || adding->read[value->id])
        continue;
      adding->read[value->id] = TRUE;
      params += ir_tensor_n_elements (constant);
    }
  return params;
}

static void
add_node (Adding *adding, const IrNode *node)
{
  IrSummary *summary = adding->summary;
  const gint64 *ns = adding->times != NULL
                         ? g_hash_table_lookup (adding->times, GUINT_TO_POINTER (node->id))
                         : NULL;
  const guint64 runs = adding->runs[node->id];
  const guint64 flops = ir_mul_saturated (ir_cost_node_flops (node, &summary->partial), runs),
                bytes = ir_mul_saturated (ir_cost_node_bytes (node, &summary->partial), runs),
                params = new_params (adding, node);
  g_autofree char *op = node->domain[0] != '\0'
                            ? g_strdup_printf ("%s.%s", node->domain, node->op_type)
                            : g_strdup (node->op_type);
  IrSummaryRow *rows[] = {
    row_of (adding->ops, summary->ops, ir_context_intern (summary->model->context, op), node),
    row_of (adding->scopes, summary->scopes, cut_scope (summary->model, node->scope, adding->depth),
            node),
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      rows[i]->n_nodes++;
      rows[i]->flops += flops;
      rows[i]->bytes += bytes;
      rows[i]->params += params;
      rows[i]->time_ns += ns != NULL ? *ns : 0;
    }
  summary->n_nodes++;
  summary->time_ns += ns != NULL ? *ns : 0;
}

static GHashTable *
times_of (const IrTrace *trace)
{
  GHashTable *times = g_hash_table_new_full (NULL, NULL, NULL, g_free);

  for (guint i = 0; i < trace->items->len; i++)
    {
      const IrTraceItem *item = &g_array_index (trace->items, IrTraceItem, i);
      gint64 *ns = g_hash_table_lookup (times, GUINT_TO_POINTER (item->node));

      if (ns == NULL)
        {
          ns = g_new0 (gint64, 1);
          g_hash_table_insert (times, GUINT_TO_POINTER (item->node), ns);
        }
      *ns += item->end_ns - item->start_ns;
    }
  return times;
}

/* -- values -- */

static gint
compare_tensors (gconstpointer a, gconstpointer b)
{
  const IrSummaryTensor *x = a, *y = b;

  return x->bytes != y->bytes ? (x->bytes > y->bytes ? -1 : 1) : x->value < y->value ? -1 : 1;
}

static gint
compare_dtypes (gconstpointer a, gconstpointer b)
{
  const IrSummaryDtype *x = a, *y = b;
  const guint64 p = x->constant_bytes + x->computed_bytes,
                q = y->constant_bytes + y->computed_bytes;

  return p != q ? (p > q ? -1 : 1) : x->dtype < y->dtype ? -1 : 1;
}

static void
add_values (IrSummary *summary, guint n_tensors)
{
  IrSummaryDtype dtypes[IR_N_DTYPES] = { 0 };

  for (guint i = 1; i < summary->model->values->len; i++)
    {
      const IrValue *value = ir_model_live_value (summary->model, i);
      const IrTensor *constant = value != NULL ? ir_value_constant (value) : NULL;
      const IrType *type = value != NULL ? ir_value_shown_type (value) : NULL;
      gsize known = 0;

      if (value == NULL || value->graph->kind == IR_GRAPH_FUNCTION || !ir_type_is_tensor (type))
        continue;
      const guint64 bytes = ir_cost_type_bytes (type);
      IrSummaryDtype *dtype = &dtypes[type->dtype];
      const IrSummaryTensor tensor = { value->id, bytes, constant != NULL };
      dtype->partial |= !ir_type_n_bytes (type, &known);
      if (bytes > 0)
        g_array_append_val (summary->tensors, tensor);
      dtype->n_constants += constant != NULL;
      dtype->n_computed += constant == NULL;
      dtype->constant_bytes += constant != NULL ? bytes : 0;
      dtype->computed_bytes += constant == NULL ? bytes : 0;
      summary->param_bytes += constant != NULL ? bytes : 0;
    }
  for (guint i = 1; i < IR_N_DTYPES; i++)
    if (dtypes[i].n_constants + dtypes[i].n_computed > 0)
      {
        dtypes[i].dtype = (IrDtype) i;
        g_array_append_val (summary->dtypes, dtypes[i]);
      }
  g_array_sort (summary->dtypes, compare_dtypes);
  g_array_sort (summary->tensors, compare_tensors);
  g_array_set_size (summary->tensors, MIN (summary->tensors->len, n_tensors));
}

/* -- where nodes run -- */

static IrSummaryPlace
place_of (const IrNode *node, const IrBackend *backend)
{
  IrSummaryPlace place = { .where = "nothing", .n_nodes = 1, .node = node->id };
  g_autoptr (GPtrArray) subgraphs = ir_node_subgraphs (node);
  const IrBackend *chosen = NULL;
  IrKernelFunc kernel = NULL;

  if (subgraphs != NULL && subgraphs->len > 0)
    place.where = "control flow";
  else if (node->op == NULL && ir_node_function (node) != NULL)
    place.where = "function body";
  else if (ir_backend_choose (backend, node, &kernel, &chosen, &place.why, NULL) && chosen != NULL)
    place.where = chosen->name;
  return place;
}

static void
add_places (IrSummary *summary, const IrBackend *backend)
{
  for (guint i = 1; i < summary->model->nodes->len; i++)
    {
      const IrNode *node = ir_model_live_node (summary->model, i);
      IrSummaryPlace *same = NULL;

      if (node == NULL || node->graph->kind == IR_GRAPH_FUNCTION || ir_node_is_constant (node))
        continue;
      const IrSummaryPlace place = place_of (node, backend);
      for (guint k = 0; k < summary->places->len && same == NULL; k++)
        {
          IrSummaryPlace *other = &g_array_index (summary->places, IrSummaryPlace, k);
          if (strcmp (other->where, place.where) == 0 && g_strcmp0 (other->why, place.why) == 0)
            same = other;
        }
      if (same != NULL)
        same->n_nodes++;
      else
        g_array_append_val (summary->places, place);
    }
}

/* -- the whole -- */

/**
 * ir_summary_new:
 * @model: a model, which the summary names and does not keep
 * @trace: (nullable): times of a run of it
 * @backend: (nullable): where it would run; %NULL: cpu
 * @depth: how many parts names of scopes have; 0: all
 * @n_tensors: how many of the largest values are named
 *
 * Nodes of the graph and of its subgraphs, each as often as ir_model_times() has it.
 *
 * Returns: (transfer full): the summary
 */
IrSummary *
ir_summary_new (const IrModel *model,
                const IrTrace *trace,
                const IrBackend *backend,
                guint depth,
                guint n_tensors)
{
  IrSummary *summary = g_new0 (IrSummary, 1);
  g_autoptr (GHashTable) ops = g_hash_table_new (NULL, NULL),
                         scopes = g_hash_table_new (NULL, NULL);
  g_autoptr (GHashTable) times = trace != NULL ? times_of (trace) : NULL;
  g_autofree guint8 *read = g_new0 (guint8, model->values->len + 1);
  g_autofree guint64 *runs = ir_model_times (model, NULL);
  Adding adding = { summary, ops, scopes, times, runs, read, depth };

  summary->model = model;
  summary->ops = g_array_new (FALSE, FALSE, sizeof (IrSummaryRow));
  summary->scopes = g_array_new (FALSE, FALSE, sizeof (IrSummaryRow));
  summary->dtypes = g_array_new (FALSE, FALSE, sizeof (IrSummaryDtype));
  summary->tensors = g_array_new (FALSE, FALSE, sizeof (IrSummaryTensor));
  summary->places = g_array_new (FALSE, FALSE, sizeof (IrSummaryPlace));
  for (guint i = 1; i < model->nodes->len; i++)
    {
      const IrNode *node = ir_model_live_node (model, i);
      if (node != NULL && node->graph->kind != IR_GRAPH_FUNCTION && !ir_node_is_constant (node))
        add_node (&adding, node);
    }
  const IrCost cost = ir_cost_run (model, &summary->partial);
  summary->params = cost.params;
  summary->flops = cost.flops;
  summary->bytes = cost.bytes;
  ir_summary_sort (summary->ops, IR_SUMMARY_FLOPS);
  ir_summary_sort (summary->scopes, IR_SUMMARY_FLOPS);
  add_values (summary, n_tensors);
  add_places (summary, backend != NULL ? backend : ir_backend_require (NULL, NULL));
  return summary;
}

/**
 * ir_summary_free:
 * @summary: (transfer full) (nullable): a summary
 */
void
ir_summary_free (IrSummary *summary)
{
  if (summary == NULL)
    return;
  g_array_unref (summary->ops);
  g_array_unref (summary->scopes);
  g_array_unref (summary->dtypes);
  g_array_unref (summary->tensors);
  g_array_unref (summary->places);
  g_free (summary);
}
