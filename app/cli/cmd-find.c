/* irscope find: the nodes that a query names, as the window's search finds them. */
#include "config.h"

#include "app/cli/commands.h"
#include "app/cli/model.h"
#include "app/cli/output.h"
#include "core/exec/exec.h"
#include "core/op/infer.h"
#include "core/query/query.h"

typedef struct
{
  CliModelOptions model;
  char **reaches, **reached_by;
  char *between;
  gint within;
} Options;

static const CliOption find_options[] = {
  { "reached-by", 0, G_OPTION_ARG_STRING_ARRAY, G_STRUCT_OFFSET (Options, reached_by),
    "Only NODE and what it reaches", "NODE" },
  { "reaches", 0, G_OPTION_ARG_STRING_ARRAY, G_STRUCT_OFFSET (Options, reaches),
    "Only NODE and what reaches it", "NODE" },
  { "between", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, between),
    "Only what lies on a path from one node to the other", "NODE,NODE" },
  { "within", 0, G_OPTION_ARG_INT, G_STRUCT_OFFSET (Options, within),
    "With --reaches and --reached-by: at most N nodes away (default: all)", "N" },
  { 0 },
};

/* -- where it looks -- */

static void
keep_common (GHashTable *set, GHashTable *other)
{
  GHashTableIter iter;
  gpointer id;

  g_hash_table_iter_init (&iter, set);
  while (g_hash_table_iter_next (&iter, &id, NULL))
    if (!g_hash_table_contains (other, id))
      g_hash_table_iter_remove (&iter);
}

static gboolean
narrow (const Options *options,
        const IrModel *model,
        char *const *names,
        IrReach direction,
        GHashTable **set,
        GError **error)
{
  const guint steps = options->within > 0 ? (guint) options->within : G_MAXUINT;

  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    {
      const IrNode *node = cli_find_node (model, names[i], error);
      g_autoptr (GHashTable) reached = NULL;

      if (node == NULL)
        return FALSE;
      reached = ir_reach (model, &node->id, 1, direction, steps);
      if (*set != NULL)
        keep_common (*set, reached);
      else
        *set = g_steal_pointer (&reached);
    }
  return TRUE;
}

static gboolean
narrow_between (const Options *options, const IrModel *model, GHashTable **set, GError **error)
{
  g_auto (GStrv) names = options->between != NULL ? g_strsplit (options->between, ",", 2) : NULL;
  g_autoptr (GHashTable) between = NULL;
  const IrNode *ends[2];

  if (names == NULL)
    return TRUE;
  if (g_strv_length (names) != 2)
    {
      g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                   "--between %s: needs two nodes with a comma between", options->between);
      return FALSE;
    }
  for (guint i = 0; i < 2; i++)
    if ((ends[i] = cli_find_node (model, names[i], error)) == NULL)
      return FALSE;
  between = ir_reach_between (model, ends[0]->id, ends[1]->id);
  if (*set != NULL)
    keep_common (*set, between);
  else
    *set = g_steal_pointer (&between);
  return TRUE;
}

/* -- what values hold: constants alone, as nothing is run -- */

static gboolean
holds (const IrValue *value, IrQueryContent content, gpointer data)
{
  const IrTensor *tensor = ir_value_constant (value);
  IrTensorStats stats;

  if (tensor == NULL || !ir_dtype_is_float (ir_tensor_dtype (tensor)))
    return FALSE;
  ir_tensor_stats (tensor, 1, &stats);
  return content == IR_QUERY_NAN ? stats.n_nan > 0 : stats.n_pos_inf + stats.n_neg_inf > 0;
}

/* -- what it says -- */

static char *
shapes_of (const IrNode *node)
{
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i < node->n_outputs; i++)
    {
      const IrType *type = node->outputs[i] != NULL ? ir_value_shown_type (node->outputs[i]) : NULL;
      g_autofree char *shown = type != NULL ? ir_type_to_string (node->graph->model->context, type)
                                            : g_strdup ("?");

      g_string_append_printf (text, "%s%s", i > 0 ? ", " : "", shown);
    }
  return g_string_free (g_steal_pointer (&text), FALSE);
}

static void
add_found (cJSON *array, const IrNode *node)
{
  cJSON *item = cJSON_CreateObject (), *types = NULL;
  gboolean partial = FALSE;

  cJSON_AddNumberToObject (item, "id", node->id);
  cJSON_AddStringToObject (item, "node", node->name);
  cJSON_AddStringToObject (item, "op", node->op_type);
  cJSON_AddStringToObject (item, "scope", node->scope != NULL ? node->scope : "");
  cJSON_AddStringToObject (item, "graph", node->graph->name);
  types = cJSON_AddArrayToObject (item, "types");
  for (guint i = 0; i < node->n_outputs; i++)
    {
      const IrType *type = node->outputs[i] != NULL ? ir_value_shown_type (node->outputs[i]) : NULL;
      g_autofree char *shown = type != NULL ? ir_type_to_string (node->graph->model->context, type)
                                            : NULL;

      cJSON_AddItemToArray (types,
                            shown != NULL ? cJSON_CreateString (shown) : cJSON_CreateNull ());
    }
  cJSON_AddNumberToObject (item, "flops", (double) ir_cost_node_flops (node, &partial));
  cJSON_AddNumberToObject (item, "bytes", (double) ir_cost_node_bytes (node, &partial));
  cJSON_AddItemToArray (array, item);
}

static CliStatus
print_found (Cli *cli, const IrModel *model, const IrQuery *query, GHashTable *within)
{
  const IrQueryFacts facts = { .holds = holds };
  cJSON *json = cli->json ? cJSON_CreateObject () : NULL;
  cJSON *array = json != NULL ? cJSON_AddArrayToObject (json, "nodes") : NULL;
  guint n = 0;

  for (guint id = 1; id < model->nodes->len; id++)
    {
      const IrNode *node = ir_model_live_node (model, id);

      if (node == NULL ||
          (within != NULL && !g_hash_table_contains (within, GUINT_TO_POINTER (id))))
        continue;
      if (!ir_query_matches_node (query, node, &facts))
        continue;
      n++;
      if (array != NULL)
        add_found (array, node);
      else if (!cli->quiet)
        {
          g_autofree char *label = ir_node_label (node), *shapes = shapes_of (node);

          cli_print ("#%-6u %-48s %s\n", node->id, label, shapes);
        }
    }
  if (json != NULL)
    {
      cJSON_AddNumberToObject (json, "found", n);
      cli_json_print (json);
    }
  else
    cli_print (n == 1 ? "%u node\n" : "%u nodes\n", n);
  return n > 0 ? CLI_OK : CLI_NO;
}

static CliStatus
run (Cli *cli)
{
  Options *options = cli->options;
  g_auto (CliModel) opened = { 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (IrQuery) query = ir_query_new (cli->n_args > 1 ? cli->args[1] : "", &error);
  g_autoptr (GHashTable) within = NULL;
  CliStatus status;

  if (query == NULL)
    {
      cli_printerr ("irscope find: %s\n", error->message);
      return CLI_BAD;
    }
  if (!cli_model_open (cli, &options->model, cli->args[0], FALSE, &opened, &status))
    return status;
  if (!narrow (options, opened.model, options->reached_by, IR_REACH_OUTPUTS, &within, &error) ||
      !narrow (options, opened.model, options->reaches, IR_REACH_INPUTS, &within, &error) ||
      !narrow_between (options, opened.model, &within, &error))
    return cli_fail (cli_status_of (error), error);
  return print_found (cli, opened.model, query, within);
}

const CliCommand cli_command_find_nodes = {
  .name = "find",
  .arguments = "FILE[@N] [QUERY]",
  .takes_model = TRUE,
  .summary = "Nodes by what they are: operator, name, shape, type, attribute, cost, reach",
  .doc = "Terms of QUERY hold together:\n"
         "  conv relu             words of operators, names, scopes, element types\n"
         "  \"Conv\"                one of these is so, exactly\n"
         "  #12                   the node of this number\n"
         "  op:conv name:head scope:block dtype:float16\n"
         "  shape:1,64,*,*        the shape of an output; shape:64 has such a dim\n"
         "  attr:group=32         an attribute, and what it is\n"
         "  cost>1M bytes>=64k    FLOPs; bytes read and written\n"
         "  has:nan has:inf       constants hold such numbers\n"
         "  -op:relu              not\n"
         "Nodes in branches and bodies are found as well. Exit status 1 if there is none.",
  .min_args = 1,
  .max_args = 2,
  .options = find_options,
  .model_options = cli_model_options,
  .options_size = sizeof (Options),
  .run = run,
};
