/* What nodes cost as measured: read from a Chrome trace, as a run writes it (trace.c). Nodes are
 * found by the id in the event's arguments if the label agrees, else by label, so that a trace
 * serves the same model after a pass as well. */
#include "config.h"

#include <cjson/cJSON.h>

#include <math.h>
#include <stdlib.h>

#include "core/exec/schedule/tasks.h"

typedef struct
{
  const IrModel *model;
  GHashTable *by_label; /* (nullable) label -> node id */
  GHashTable *threads;  /* set of thread ids */
  GHashTable *ms;       /* node id -> GArray of double */
  double warmup;        /* id of the process of runs that warmed up; NAN: there are none */
  double start_us, end_us;
} Reading;

static double
number_of (const cJSON *object, const char *key, double fallback)
{
  const cJSON *item = cJSON_GetObjectItemCaseSensitive (object, key);

  return cJSON_IsNumber (item) ? item->valuedouble : fallback;
}

static GHashTable *
index_labels (const IrModel *model)
{
  GHashTable *index = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  guint n;
  IrNode *const *nodes = ir_graph_order (model->main, &n);

  for (guint i = n; i-- > 0;) /* the first of equal ones is found */
    g_hash_table_replace (index, ir_node_label (nodes[i]), GUINT_TO_POINTER (nodes[i]->id));
  return index;
}

static IrNodeId
node_of (Reading *reading, const cJSON *event)
{
  const char *name = cJSON_GetStringValue (cJSON_GetObjectItemCaseSensitive (event, "name"));
  double id = number_of (cJSON_GetObjectItemCaseSensitive (event, "args"), "node", 0);

  if (name == NULL)
    return 0;
  if (id >= 1 && id < reading->model->nodes->len)
    {
      const IrNode *node = ir_model_live_node (reading->model, (IrNodeId) id);
      g_autofree char *label = node != NULL ? ir_node_label (node) : NULL;
      g_autofree char *valid = label != NULL ? g_utf8_make_valid (label, -1) : NULL;
      if (g_strcmp0 (valid, name) == 0 && node->graph == reading->model->main)
        return node->id;
    }
  if (reading->by_label == NULL)
    reading->by_label = index_labels (reading->model);
  return GPOINTER_TO_UINT (g_hash_table_lookup (reading->by_label, name));
}

static double
find_warmup (const cJSON *events)
{
  const cJSON *event;

  cJSON_ArrayForEach (event, events)
  {
    const cJSON *args = cJSON_GetObjectItemCaseSensitive (event, "args");
    if (g_strcmp0 (cJSON_GetStringValue (cJSON_GetObjectItemCaseSensitive (event, "name")),
                   "process_name") == 0 &&
        g_strcmp0 (cJSON_GetStringValue (cJSON_GetObjectItemCaseSensitive (args, "name")),
                   IR_TRACE_WARMUP) == 0)
      return number_of (event, "pid", NAN);
  }
  return NAN;
}

static void
read_event (Reading *reading, const cJSON *event, IrNodeCosts *costs)
{
  const char *phase = cJSON_GetStringValue (cJSON_GetObjectItemCaseSensitive (event, "ph"));
  double start_us = number_of (event, "ts", -1), us = number_of (event, "dur", -1);

  if (g_strcmp0 (phase, "X") != 0 || number_of (event, "pid", 0) == reading->warmup ||
      !(us >= 0 && us < 1e15) || !(start_us >= 0 && start_us < 1e15))
    return;
  IrNodeId id = node_of (reading, event);
  if (id == 0)
    {
      costs->n_unknown++;
      return;
    }
  GArray *ms = g_hash_table_lookup (reading->ms, GUINT_TO_POINTER (id));
  if (ms == NULL)
    {
      ms = g_array_new (FALSE, FALSE, sizeof (double));
      g_hash_table_insert (reading->ms, GUINT_TO_POINTER (id), ms);
    }
  us /= 1e3;
  g_array_append_val (ms, us);
  reading->start_us = MIN (reading->start_us, start_us);
  reading->end_us = MAX (reading->end_us, start_us + us * 1e3);
  double thread = CLAMP (number_of (event, "tid", 0), 0, 1e6);
  g_hash_table_add (reading->threads, GUINT_TO_POINTER ((guint) thread));
}

static int
compare_doubles (gconstpointer a, gconstpointer b)
{
  const double *x = a, *y = b;

  return *x < *y ? -1 : *x > *y;
}

static double
median (GArray *values)
{
  qsort (values->data, values->len, sizeof (double), compare_doubles);
  return (g_array_index (values, double, (values->len - 1) / 2) +
          g_array_index (values, double, values->len / 2)) /
         2;
}

static void
take_medians (IrNodeCosts *costs, GHashTable *found)
{
  GHashTableIter iter;
  gpointer id, ms;

  for (guint i = 0; i < costs->n; i++)
    costs->ms[i] = -1;
  g_hash_table_iter_init (&iter, found);
  while (g_hash_table_iter_next (&iter, &id, &ms))
    costs->ms[GPOINTER_TO_UINT (id)] = median (ms);
  costs->n_nodes = g_hash_table_size (found);
}

static void
read_peaks (const cJSON *root, IrNodeCosts *costs)
{
  const cJSON *data = cJSON_GetObjectItemCaseSensitive (root, "otherData");
  const double gflops = number_of (data, "peak_gflops", 0), gbps = number_of (data, "peak_gbps", 0),
               threads = number_of (data, "threads", 1);

  if (gflops > 0 && gflops < 1e9 && gbps > 0 && gbps < 1e9)
    costs->peaks = (IrRoofline){ gflops, gbps, (guint) CLAMP (threads, 1, 1e6) };
}

/**
 * ir_node_costs_parse:
 * @model: the model that ran
 * @text: (array length=length): a Chrome trace: an object with traceEvents, or an array of events
 * @length: bytes of @text
 * @error: return location for an error
 *
 * Takes the duration of complete events ("ph": "X") of nodes of the main graph, the median where
 * one ran several times, without the runs that warmed up. Other events are counted or passed over.
 * What the machine can do at most is taken where the trace has it.
 *
 * Fails with %IR_EXEC_ERROR_INPUT if @text is no JSON, has no events, or none of a node of @model.
 *
 * Source: Trace Event Format, Google 2016. Cost: O(length).
 *
 * Returns: (transfer full) (nullable): the costs
 */
IrNodeCosts *
ir_node_costs_parse (const IrModel *model, const char *text, gsize length, GError **error)
{
  cJSON *root = cJSON_ParseWithLength (text, length);
  const cJSON *events = cJSON_IsArray (root)
                            ? root
                            : cJSON_GetObjectItemCaseSensitive (root, "traceEvents");
  const cJSON *event;

  if (!cJSON_IsArray (events))
    {
      g_set_error_literal (error, IR_EXEC_ERROR, IR_EXEC_ERROR_INPUT,
                           root == NULL ? "Found no JSON, needed is a Chrome trace"
                                        : "Found no traceEvents, needed is a Chrome trace");
      cJSON_Delete (root);
      return NULL;
    }
  g_autoptr (IrNodeCosts) costs = g_new0 (IrNodeCosts, 1);
  g_autoptr (GHashTable) threads = g_hash_table_new (NULL, NULL);
  g_autoptr (GHashTable)
      ms = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) g_array_unref);
  Reading reading = { .model = model,
                      .threads = threads,
                      .ms = ms,
                      .start_us = G_MAXDOUBLE,
                      .warmup = find_warmup (events) };

  costs->n = model->nodes->len;
  costs->ms = g_new (double, costs->n + 1);
  cJSON_ArrayForEach (event, events) read_event (&reading, event, costs);
  read_peaks (root, costs);
  cJSON_Delete (root);
  g_clear_pointer (&reading.by_label, g_hash_table_unref);
  take_medians (costs, ms);
  if (costs->n_nodes == 0)
    {
      g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_INPUT,
                   "The trace has %u events, and none of a node of this model", costs->n_unknown);
      return NULL;
    }
  costs->n_workers = g_hash_table_size (threads);
  costs->span_ms = (reading.end_us - reading.start_us) / 1e3;
  return g_steal_pointer (&costs);
}

/**
 * ir_node_costs_free:
 * @costs: (transfer full) (nullable): costs
 */
void
ir_node_costs_free (IrNodeCosts *costs)
{
  if (costs == NULL)
    return;
  g_free (costs->ms);
  g_free (costs);
}
