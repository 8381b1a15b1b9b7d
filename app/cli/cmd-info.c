/* irscope info: what is in a graph file, or, of the machine, what graphs can run on. */
#include "config.h"

#include "app/cli/commands.h"
#include "app/cli/devices.h"
#include "app/cli/model.h"
#include "app/cli/output.h"
#include "passes/debug/loops.h"
#include "core/op/trips.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct
{
  CliModelOptions model;
  gboolean devices;
} Options;

static const CliOption options_table[] = {
  { "devices", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (Options, devices),
    "Instead of a file: what the machine has to run graphs on. Of GPUs, also what is missing and "
    "where it was looked for",
    NULL },
  { 0 },
};

typedef struct
{
  const char *op_type;
  guint count;
} OpCount;

static int
compare_counts (gconstpointer a, gconstpointer b)
{
  const OpCount *ca = a, *cb = b;
  return ca->count != cb->count ? (ca->count > cb->count ? -1 : 1)
                                : strcmp (ca->op_type, cb->op_type);
}

/* By type, most frequent first; Constants too, so that the sum may exceed the node count. */
static GArray *
count_ops (const IrModel *model)
{
  GArray *counts = g_array_new (FALSE, FALSE, sizeof (OpCount));
  g_autoptr (GHashTable) index = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = 1; i < model->nodes->len; i++)
    {
      const IrNode *node = model->nodes->pdata[i];
      g_autofree char *name = NULL;
      gpointer place;

      if (node->state != IR_STATE_LIVE)
        continue;
      name = node->domain[0] != '\0' ? g_strdup_printf ("%s.%s", node->domain, node->op_type)
                                     : g_strdup (node->op_type);
      if (g_hash_table_lookup_extended (index, name, NULL, &place))
        {
          g_array_index (counts, OpCount, GPOINTER_TO_UINT (place)).count++;
          continue;
        }
      OpCount count = { ir_context_intern (model->context, name), 1 };
      g_hash_table_insert (index, (gpointer) count.op_type, GUINT_TO_POINTER (counts->len));
      g_array_append_val (counts, count);
    }
  g_array_sort (counts, compare_counts);
  return counts;
}

/* Tensors that the file holds as the elements that are not zero. */
typedef struct
{
  guint n_tensors;
  guint64 n_elements, n_stored;
} SparseCount;

static void
count_tensor (SparseCount *count, const IrTensor *tensor)
{
  const IrTensor *values = tensor != NULL ? ir_tensor_sparse_values (tensor) : NULL;

  if (values == NULL)
    return;
  count->n_tensors++;
  count->n_elements += ir_tensor_n_elements (tensor);
  count->n_stored += ir_tensor_n_elements (values);
}

/* What the number of nodes leaves out. */
static guint
count_constants (const IrModel *model)
{
  guint n = 0;

  for (guint i = 1; i < model->graphs->len; i++)
    {
      const IrGraph *graph = model->graphs->pdata[i], *outer = graph;
      guint n_nodes = 0;
      IrNode *const *nodes = NULL;

      while (outer != NULL && outer->kind != IR_GRAPH_FUNCTION)
        outer = ir_graph_outer (outer);
      if (graph != NULL && graph->state == IR_STATE_LIVE && outer == NULL)
        nodes = ir_graph_order (graph, &n_nodes);
      for (guint k = 0; k < n_nodes; k++)
        n += ir_node_is_constant (nodes[k]);
    }
  return n;
}

static SparseCount
count_sparse (const IrModel *model)
{
  SparseCount count = { 0 };

  for (guint i = 1; i < model->values->len; i++)
    if (ir_model_live_value (model, i) != NULL)
      count_tensor (&count, ir_model_live_value (model, i)->initializer);
  for (guint i = 1; i < model->nodes->len; i++)
    {
      const IrNode *node = ir_model_live_node (model, i);
      const IrAttr *attr = node != NULL ? ir_node_attr (node, "sparse_value") : NULL;
      if (attr != NULL && attr->kind == IR_ATTR_SPARSE_TENSOR && attr->n > 0)
        count_tensor (&count, attr->tensors[0]);
    }
  return count;
}

static void
add_loops (cJSON *json, const IrModel *model)
{
  g_autoptr (GArray) loops = ir_loops (model);
  cJSON *array = cJSON_AddArrayToObject (json, "loops");

  for (guint i = 0; i < loops->len; i++)
    {
      const IrLoopFacts *facts = &g_array_index (loops, IrLoopFacts, i);
      cJSON *object = cJSON_CreateObject (), *names;

      cJSON_AddStringToObject (object, "node", facts->path);
      cJSON_AddNumberToObject (object, "id", facts->node);
      cJSON_AddNumberToObject (object, "depth", facts->depth);
      if (facts->trips >= 0)
        cli_json_add_uint (object, "trips", (guint64) facts->trips);
      else
        cJSON_AddNullToObject (object, "trips");
      names = cJSON_AddArrayToObject (object, "invariants");
      for (guint k = 0; k < facts->invariants->len; k++)
        cJSON_AddItemToArray (names, cJSON_CreateString (facts->invariants->pdata[k]));
      cli_json_add_uint (object, "flops", facts->flops);
      cli_json_add_uint (object, "bytes", facts->bytes);
      cJSON_AddBoolToObject (object, "partial", facts->partial);
      cJSON_AddItemToArray (array, object);
    }
}

static void
print_loops (const IrModel *model)
{
  g_autoptr (GArray) loops = ir_loops (model);

  for (guint i = 0; i < loops->len; i++)
    {
      const IrLoopFacts *facts = &g_array_index (loops, IrLoopFacts, i);
      g_autofree char *flops = cli_format_count (facts->flops);
      g_autofree char *bytes = cli_format_bytes (facts->bytes);
      g_autofree char *trips = facts->trips >= 0
                                   ? g_strdup_printf ("%" G_GINT64_FORMAT " iterations",
                                                      facts->trips)
                                   : g_strdup ("iterations not known");

      cli_print ("%-11s %s: %s, %s%s FLOPs and %s each, %u invariant%s\n", i == 0 ? "loops" : "",
                 facts->path, trips, facts->partial ? "at least " : "", flops, bytes,
                 facts->invariants->len, facts->invariants->len == 1 ? "" : "s");
    }
}

static void
print_json (const CliModel *opened, const IrCost *cost, gboolean partial)
{
  const IrModel *model = opened->model;
  g_autoptr (GArray) counts = count_ops (model);
  SparseCount sparse = count_sparse (model);
  cJSON *json = cJSON_CreateObject (), *ops, *list;

  cJSON_AddStringToObject (json, "file", opened->path);
  cJSON_AddNumberToObject (json, "ir_version", model->info->ir_version);
  if (model->info->producer_name != NULL)
    cJSON_AddStringToObject (json, "producer", model->info->producer_name);
  list = cJSON_AddObjectToObject (json, "opsets");
  for (guint i = 0; i < model->opsets->n; i++)
    cJSON_AddNumberToObject (
        list, model->opsets->opsets[i].domain[0] ? model->opsets->opsets[i].domain : "ai.onnx",
        model->opsets->opsets[i].version);
  cJSON_AddNumberToObject (json, "nodes", ir_model_n_counted_nodes (model));
  cJSON_AddNumberToObject (json, "constant_nodes", count_constants (model));
  ops = cJSON_AddObjectToObject (json, "ops");
  for (guint i = 0; i < counts->len; i++)
    cJSON_AddNumberToObject (ops, g_array_index (counts, OpCount, i).op_type,
                             g_array_index (counts, OpCount, i).count);
  list = cJSON_AddArrayToObject (json, "inputs");
  for (guint i = 0; i < ir_graph_n_inputs (model->main); i++)
    if (ir_value_constant (ir_graph_input (model->main, i)) == NULL)
      cli_json_add_value (list, ir_graph_input (model->main, i));
  list = cJSON_AddArrayToObject (json, "outputs");
  for (guint i = 0; i < ir_graph_n_outputs (model->main); i++)
    cli_json_add_value (list, ir_graph_output (model->main, i));
  cli_json_add_uint (json, "parameters", cost->params);
  list = cJSON_AddObjectToObject (json, "sparse");
  cJSON_AddNumberToObject (list, "tensors", sparse.n_tensors);
  cli_json_add_uint (list, "elements", sparse.n_elements);
  cli_json_add_uint (list, "stored", sparse.n_stored);
  cli_json_add_uint (json, "flops", cost->flops);
  cli_json_add_uint (json, "bytes", cost->bytes);
  cJSON_AddBoolToObject (json, "flops_partial", partial);
  add_loops (json, model);
  cJSON_AddItemToObject (json, "problems", cli_json_problems (opened->problems, model));
  cli_json_print (json);
}

static void
print_value (const char *what, const IrValue *value)
{
  const IrType *shown = ir_value_shown_type (value);
  g_autofree char *type = shown != NULL ? ir_type_to_string (value->graph->model->context, shown)
                                        : g_strdup ("unknown");
  cli_print ("%-11s %s  %s\n", what, value->name, type);
}

static void
print_text (const CliModel *opened, const IrCost *cost, gboolean partial)
{
  const IrModel *model = opened->model;
  g_autoptr (GArray) counts = count_ops (model);
  g_autofree char *params = cli_format_count (cost->params),
                  *flops = cli_format_count (cost->flops);
  g_autofree char *bytes = cli_format_bytes (cost->bytes);
  const char *producer = model->info->producer_name;
  SparseCount sparse = count_sparse (model);
  guint n_constant = count_constants (model);

  cli_print ("%s: IR version %" G_GINT64_FORMAT, opened->path, model->info->ir_version);
  for (guint i = 0; i < model->opsets->n; i++)
    cli_print (", %s %" G_GINT64_FORMAT,
               model->opsets->opsets[i].domain[0] ? model->opsets->opsets[i].domain : "opset",
               model->opsets->opsets[i].version);
  cli_print ("%s%s\n", producer != NULL && producer[0] != '\0' ? ", by " : "",
             producer != NULL ? producer : "");
  cli_print ("%-11s %u", "nodes", ir_model_n_counted_nodes (model));
  if (n_constant > 0)
    cli_print (", without %u of Constant, or ConstantOfShape of a constant", n_constant);
  cli_print ("\n%-11s %s\n%-11s %s%s per run, %s moved\n", "parameters", params, "FLOPs",
             partial ? "at least " : "", flops, bytes);
  if (sparse.n_tensors > 0)
    cli_print ("%-11s %u tensor%s, %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
               " elements stored\n",
               "sparse", sparse.n_tensors, sparse.n_tensors == 1 ? "" : "s", sparse.n_stored,
               sparse.n_elements);
  for (guint i = 0; i < ir_graph_n_inputs (model->main); i++)
    if (ir_value_constant (ir_graph_input (model->main, i)) == NULL)
      print_value ("input", ir_graph_input (model->main, i));
  for (guint i = 0; i < ir_graph_n_outputs (model->main); i++)
    print_value ("output", ir_graph_output (model->main, i));
  for (guint i = 0; i < counts->len; i++)
    cli_print ("%-11s %5u %s\n", i == 0 ? "operators" : "",
               g_array_index (counts, OpCount, i).count,
               g_array_index (counts, OpCount, i).op_type);
  print_loops (model);
}

static CliStatus
run (Cli *cli)
{
  Options *options = cli->options;
  g_auto (CliModel) opened = { 0 };
  CliStatus status;
  gboolean partial = FALSE;

  if (options->devices == (cli->n_args > 0))
    {
      cli_printerr (options->devices
                        ? "irscope info --devices: is of the machine, and takes no FILE\n"
                        : "irscope info: needs FILE, or --devices\n");
      return CLI_BAD;
    }
  if (options->devices)
    {
      const char *given = cli_given_option (cli_model_options, options);

      if (given != NULL)
        cli_printerr (
            "irscope info --devices: is of the machine, and takes no --%s, which is of a model\n",
            given);
      return given != NULL ? CLI_BAD : cli_devices (cli);
    }
  if (!cli_model_open (cli, &options->model, cli->args[0], FALSE, &opened, &status))
    return status;
  const IrCost cost = ir_cost_run (opened.model, &partial);
  if (cli->json)
    print_json (&opened, &cost, partial);
  else
    {
      print_text (&opened, &cost, partial);
      cli_print_problems (opened.problems, IR_SEVERITY_WARNING);
    }
  return CLI_OK;
}

const CliCommand cli_command_info = {
  .name = "info",
  .arguments = "[FILE]",
  .takes_model = TRUE,
  .summary = "What is in a graph file: inputs, outputs, operators, parameters, FLOPs, problems",
  .doc = "Unknown sizes count as 1 in FLOPs and bytes; --dim or --shape give them.",
  .max_args = 1,
  .options = options_table,
  .model_options = cli_model_options,
  .options_size = sizeof (Options),
  .run = run,
};
