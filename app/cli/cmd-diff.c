/* irscope diff: two files, or two steps of one. */
#include "config.h"

#include "app/cli/commands.h"
#include "app/cli/diff-gradients.h"
#include "app/cli/diff-iterations.h"
#include "app/cli/diff-values.h"
#include "app/cli/model.h"
#include "app/cli/output.h"
#include "app/cli/value-table.h"
#include "core/diff/match-values.h"

#include <string.h>

typedef struct
{
  CliModelOptions model;
  gboolean all, values;
  char *iterations;
  CliValueTable table;
  CliDiffGradients gradients;
} Options;

static const CliOption diff_options[] = {
  { "all", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (Options, all),
    "List every difference, also where many places say the same", NULL },
  { "iterations", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, iterations),
    "Of one FILE: what the loops of a run computed in iteration I, against J; of A and B: in iteration I of both; "
    "exit status 1: some value differs",
    "I:J,I" },
  { "values", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (Options, values),
    "Run both on the same inputs and compare what nodes give", NULL },
  { "gradients", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (Options, gradients.on),
    "Derive both and run them on the same inputs, and compare derivatives by values of the same name",
    NULL },
  { "of", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, gradients.of),
    "With --gradients: what is derived (default: the only floating-point output)", "V" },
  { "wrt", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, gradients.wrt),
    "With --gradients: by params (default), inputs, all, or names with commas between", "V" },
  { "table", 0, G_OPTION_ARG_FILENAME, G_STRUCT_OFFSET (Options, table.path),
    "Write all values of both, those that have no partner too, and with --values how they differ",
    "F.csv,F.json" },
  { "sort", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, table.sort),
    "With --table: order (the default), a, b, abs, rel or ulp; the largest first", "COLUMN" },
  { 0 },
};

#define MIN_GROUP   4 /* places from which on the text names the change once */
#define SHOWN_NAMES 3

static void
add_changes (cJSON *object, const GPtrArray *changes)
{
  cJSON *array = cJSON_AddArrayToObject (object, "changes");

  for (guint i = 0; changes != NULL && i < changes->len; i++)
    cJSON_AddItemToArray (array, cJSON_CreateString (changes->pdata[i]));
}

static const IrNode *
node_of (const IrDiff *diff, const IrNodeDiff *item)
{
  return item->b != 0 ? ir_model_node (diff->b, item->b) : ir_model_node (diff->a, item->a);
}

static const IrValue *
value_of (const IrDiff *diff, const IrValueDiff *item)
{
  return item->b != 0 ? ir_model_value (diff->b, item->b) : ir_model_value (diff->a, item->a);
}

static char *
item_name (const IrDiff *diff, const IrDiffGroup *group, guint place)
{
  guint index = g_array_index (group->items, guint, place);
  const IrNode *node;

  if (group->of_values)
    return g_strdup (value_of (diff, &g_array_index (diff->values, IrValueDiff, index))->name);
  node = node_of (diff, &g_array_index (diff->nodes, IrNodeDiff, index));
  return node->name[0] != '\0' ? g_strdup (node->name) : g_strdup_printf ("#%u", node->id);
}

static void
add_groups (cJSON *json, const IrDiff *diff)
{
  g_autoptr (GPtrArray) groups = ir_diff_groups (diff);
  cJSON *array = cJSON_AddArrayToObject (json, "groups");

  for (guint i = 0; i < groups->len; i++)
    {
      const IrDiffGroup *group = groups->pdata[i];
      cJSON *object, *names;

      if (group->items->len < 2)
        break;
      object = cJSON_CreateObject ();
      cJSON_AddStringToObject (object, "kind", ir_diff_kind_name (group->kind));
      cJSON_AddStringToObject (object, "of", group->of_values ? "values" : "nodes");
      if (group->op != NULL)
        cJSON_AddStringToObject (object, "op", group->op);
      cJSON_AddNumberToObject (object, "count", group->items->len);
      add_changes (object, group->changes);
      names = cJSON_AddArrayToObject (object, "names");
      for (guint k = 0; k < group->items->len; k++)
        {
          g_autofree char *name = item_name (diff, group, k);
          cJSON_AddItemToArray (names, cJSON_CreateString (name));
        }
      cJSON_AddItemToArray (array, object);
    }
}

/* Why nodes of two files are pairs: how many, by name of ir_paired_name(). */
static void
count_pairs (const IrDiff *diff, guint n[IR_N_PAIRED])
{
  for (guint i = 0; i < diff->nodes->len; i++)
    {
      const IrNodeDiff *item = &g_array_index (diff->nodes, IrNodeDiff, i);

      n[item->how] += item->a != 0 && item->b != 0;
    }
}

static void
add_pairs (cJSON *json, const IrDiff *diff)
{
  cJSON *object = cJSON_AddObjectToObject (json, "paired_by");
  guint n[IR_N_PAIRED] = { 0 };

  count_pairs (diff, n);
  for (IrPaired how = IR_PAIRED_BY_COMPUTATION; how < IR_PAIRED_BY_CONTENTS; how++)
    cJSON_AddNumberToObject (object, ir_paired_name (how), n[how]);
}

/* "pairs: 12 by what computes them, 3 by name" */
static void
print_pairs (const IrDiff *diff)
{
  static const char *const words[IR_N_PAIRED] = {
    [IR_PAIRED_BY_COMPUTATION] = "by what computes them",
    [IR_PAIRED_BY_MEANING] = "by lineage",
    [IR_PAIRED_BY_NAME] = "by names that their neighbours bear out",
    [IR_PAIRED_BY_PLACE] = "by operator and neighbours alone",
  };
  guint n[IR_N_PAIRED] = { 0 };
  const char *before = "pairs: ";

  count_pairs (diff, n);
  for (IrPaired how = 0; how < IR_N_PAIRED; how++)
    if (n[how] > 0 && words[how] != NULL)
      {
        cli_print ("%s%u %s", before, n[how], words[how]);
        before = ", ";
      }
  if (before[0] == ',')
    cli_print ("\n");
}

static cJSON *
diff_json (Cli *cli, const IrDiff *diff)
{
  cJSON *json = cJSON_CreateObject (), *counts = cJSON_AddObjectToObject (json, "counts");
  cJSON *nodes = cJSON_AddArrayToObject (json, "nodes"),
        *values = cJSON_AddArrayToObject (json, "values");

  for (IrDiffKind k = IR_DIFF_SAME; k < IR_N_DIFF_KINDS; k++)
    cJSON_AddNumberToObject (counts, ir_diff_kind_name (k), diff->n_nodes[k]);
  cJSON_AddNumberToObject (counts, "renamed", ir_diff_n_renamed (diff));
  cJSON_AddNumberToObject (json, "nodes_a", ir_model_n_counted_nodes (diff->a));
  cJSON_AddNumberToObject (json, "nodes_b", ir_model_n_counted_nodes (diff->b));
  for (guint i = 0; i < diff->nodes->len && !cli_cut (cli); i++)
    {
      const IrNodeDiff *item = &g_array_index (diff->nodes, IrNodeDiff, i);
      cJSON *object;

      if (item->kind == IR_DIFF_SAME)
        continue;
      object = cJSON_CreateObject ();
      cJSON_AddStringToObject (object, "kind", ir_diff_kind_name (item->kind));
      cJSON_AddStringToObject (object, "node", node_of (diff, item)->name);
      cJSON_AddStringToObject (object, "op", node_of (diff, item)->op_type);
      add_changes (object, item->changes);
      cJSON_AddItemToArray (nodes, object);
    }
  for (guint i = 0; i < diff->values->len && !cli_cut (cli); i++)
    {
      const IrValueDiff *item = &g_array_index (diff->values, IrValueDiff, i);
      cJSON *object;

      if (item->kind == IR_DIFF_SAME)
        continue;
      object = cJSON_CreateObject ();
      cJSON_AddStringToObject (object, "kind", ir_diff_kind_name (item->kind));
      cJSON_AddStringToObject (object, "value", value_of (diff, item)->name);
      add_changes (object, item->changes);
      cJSON_AddItemToArray (values, object);
    }
  add_groups (json, diff);
  if (!diff->same_history)
    add_pairs (json, diff);
  return json;
}

static void
print_item (IrDiffKind kind, const char *name, const char *op, const GPtrArray *changes)
{
  static const char marks[IR_N_DIFF_KINDS] = { ' ', '+', '-', '~' };

  cli_print ("%c %s%s%s%s\n", marks[kind], name, op != NULL ? " (" : "", op != NULL ? op : "",
             op != NULL ? ")" : "");
  for (guint i = 0; changes != NULL && i < changes->len; i++)
    cli_print ("    %s\n", (const char *) changes->pdata[i]);
}

static void
print_group (const IrDiff *diff, const IrDiffGroup *group)
{
  GString *names = g_string_new (NULL);
  g_autofree char *title = NULL;

  for (guint i = 0; i < MIN (group->items->len, SHOWN_NAMES); i++)
    {
      g_autofree char *name = item_name (diff, group, i);
      g_string_append_printf (names, "%s%s", i > 0 ? ", " : "", name);
    }
  title = g_strdup_printf ("%u %s: %s%s", group->items->len, group->of_values ? "values" : "nodes",
                           names->str, group->items->len > SHOWN_NAMES ? ", ..." : "");
  print_item (group->kind, title, group->op, group->changes);
  if (group->changes->len > 0)
    cli_print ("    the same change in %u places\n", group->items->len);
  g_string_free (names, TRUE);
}

/* Marks, from index 0 of nodes and of values on, what the groups that are printed hold. */
static guint
mark_groups (const GPtrArray *groups, guint8 *nodes, guint8 *values)
{
  guint n = 0;

  for (; n < groups->len; n++)
    {
      const IrDiffGroup *group = groups->pdata[n];

      if (group->items->len < MIN_GROUP)
        break;
      for (guint k = 0; k < group->items->len; k++)
        (group->of_values ? values : nodes)[g_array_index (group->items, guint, k)] = 1;
    }
  return n;
}

/* Marks what is only called otherwise; how many nodes that are. */
static guint
mark_renamed (const IrDiff *diff, guint8 *nodes, guint8 *values)
{
  guint n = 0;

  for (guint i = 0; i < diff->nodes->len; i++)
    {
      const IrNodeDiff *item = &g_array_index (diff->nodes, IrNodeDiff, i);

      if (!ir_diff_is_renamed (item->kind, item->changes))
        continue;
      nodes[i] = 1;
      n++;
    }
  for (guint i = 0; i < diff->values->len; i++)
    {
      const IrValueDiff *item = &g_array_index (diff->values, IrValueDiff, i);
      if (ir_diff_is_renamed (item->kind, item->changes))
        values[i] = 1;
    }
  return n;
}

static void
print_text (Cli *cli, const IrDiff *diff, const Options *options)
{
  g_autoptr (GPtrArray) groups = ir_diff_groups (diff);
  g_autofree guint8 *nodes = g_new0 (guint8, diff->nodes->len + 1);
  g_autofree guint8 *values = g_new0 (guint8, diff->values->len + 1);
  guint n_groups = options->all ? 0 : mark_groups (groups, nodes, values);
  guint n_renamed = options->all ? 0 : mark_renamed (diff, nodes, values);

  for (guint i = 0; i < diff->nodes->len && !cli_cut (cli); i++)
    {
      const IrNodeDiff *item = &g_array_index (diff->nodes, IrNodeDiff, i);
      g_autofree char *label = NULL;
      const IrNode *node = node_of (diff, item);

      if (item->kind == IR_DIFF_SAME || nodes[i])
        continue;
      label = node->name[0] != '\0' ? g_strdup (node->name) : g_strdup_printf ("#%u", node->id);
      print_item (item->kind, label, node->op_type, item->changes);
    }
  for (guint i = 0; i < diff->values->len && !cli_cut (cli); i++)
    {
      const IrValueDiff *item = &g_array_index (diff->values, IrValueDiff, i);
      if (item->kind != IR_DIFF_SAME && !values[i])
        print_item (item->kind, value_of (diff, item)->name, NULL, item->changes);
    }
  for (guint i = 0; i < n_groups; i++)
    if (!ir_diff_group_is_renamed (diff, groups->pdata[i]))
      print_group (diff, groups->pdata[i]);
  cli_print ("nodes: %u same, %u added, %u removed, %u changed", diff->n_nodes[IR_DIFF_SAME],
             diff->n_nodes[IR_DIFF_ADDED], diff->n_nodes[IR_DIFF_REMOVED],
             diff->n_nodes[IR_DIFF_CHANGED]);
  if (n_renamed > 0)
    cli_print (", of these %u only in names", n_renamed);
  cli_print ("\n");
  if (!diff->same_history)
    print_pairs (diff);
}

static gboolean
differs (const IrDiff *diff)
{
  for (guint i = 0; i < diff->values->len; i++)
    if (g_array_index (diff->values, IrValueDiff, i).kind != IR_DIFF_SAME)
      return TRUE;
  return diff->n_nodes[IR_DIFF_ADDED] + diff->n_nodes[IR_DIFF_REMOVED] +
             diff->n_nodes[IR_DIFF_CHANGED] >
         0;
}

/* -- one graph on two back ends -- */

static gboolean
check_devices (const Cli *cli, const Options *options, char **names)
{
  if (cli->n_args == 1 && options->values && !options->gradients.on &&
      options->iterations == NULL && g_strv_length (names) == 2)
    return TRUE;
  cli_printerr (
      "irscope diff --device %s: two back ends, as in cpu,gpu, compare the values of one FILE; "
      "give it, with --values\n",
      options->model.device);
  return FALSE;
}

static CliStatus
run_devices (Cli *cli, char **names)
{
  Options *options = cli->options;
  CliModelOptions model = options->model;
  g_auto (CliModel) opened = { 0 };
  g_autoptr (IrModel) a = NULL, b = NULL;
  g_autoptr (IrDiff) diff = NULL;
  g_autoptr (GError) error = NULL;
  gboolean equal = TRUE;
  CliStatus status;
  cJSON *json = NULL;

  model.device = names[0];
  if (!cli_value_table_check (&options->table, options->values, &error))
    return cli_fail (CLI_BAD, error);
  if (!cli_model_open (cli, &model, cli->args[0], FALSE, &opened, &status))
    return status;
  if (!cli_spares_model ("--table", options->table.path, opened.path, &error))
    return cli_fail (CLI_BAD, error);
  a = ir_model_snapshot (opened.model);
  b = ir_model_snapshot (opened.model);
  diff = ir_diff_new (a, b, TRUE);
  if (cli->json)
    {
      json = diff_json (cli, diff);
      cJSON_AddItemToObject (json, "devices",
                             cJSON_CreateStringArray ((const char *const *) names, 2));
    }
  if (!cli_diff_values (cli, &model, names[1], diff, &options->table, json, &equal, &error))
    {
      cJSON_Delete (json);
      return cli_fail (cli_status_of (error), error);
    }
  if (json != NULL)
    cli_json_print_long (cli, json);
  return equal ? CLI_OK : CLI_NO;
}

/* Steps of one file are matched by id: the second is taken from the history of the first. */
static CliStatus
run (Cli *cli)
{
  Options *options = cli->options;
  g_auto (GStrv)
      devices = g_strsplit (options->model.device != NULL ? options->model.device : "", ",", -1);
  g_auto (CliModel) a = { 0 };
  g_auto (CliModel) b = { 0 };
  g_autoptr (IrModel) snapshot_a = NULL;
  g_autoptr (IrModel) snapshot_b = NULL;
  g_autoptr (IrDiff) diff = NULL;
  g_autoptr (GError) error = NULL;
  gboolean same_file, equal = TRUE;
  CliStatus status;
  cJSON *json = NULL;

  if (g_strv_length (devices) > 1)
    return check_devices (cli, options, devices) ? run_devices (cli, devices) : CLI_BAD;
  if (options->iterations == NULL && cli->n_args == 1)
    {
      cli_printerr ("irscope diff: needs two graphs, A and B, or --iterations I:J, or --values "
                    "with two back ends\n");
      return CLI_BAD;
    }
  if (options->iterations != NULL &&
      (options->table.path != NULL || options->values || options->gradients.on))
    {
      cli_printerr (
          "irscope diff --iterations: compares by itself; leave --table, --values and --gradients out\n");
      return CLI_BAD;
    }
  if (options->iterations != NULL && cli->n_args == 1)
    return cli_diff_iterations (cli, &options->model, cli->args[0], options->iterations);
  if (!options->gradients.on && (options->gradients.of != NULL || options->gradients.wrt != NULL))
    {
      cli_printerr ("irscope diff: --of and --wrt say what --gradients compares; add it\n");
      return CLI_BAD;
    }
  if (!cli_value_table_check (&options->table, options->values, &error))
    return cli_fail (CLI_BAD, error);
  if (!cli_model_open (cli, &options->model, cli->args[0], FALSE, &a, &status) ||
      !cli_model_open (cli, &options->model, cli->args[1], FALSE, &b, &status))
    return status;
  if (!cli_spares_model ("--table", options->table.path, a.path, &error) ||
      !cli_spares_model ("--table", options->table.path, b.path, &error))
    return cli_fail (CLI_BAD, error);
  same_file = strcmp (a.path, b.path) == 0 && (a.step >= 0 || b.step >= 0);
  if (same_file)
    {
      IrModel *history = ir_history_n_steps (a.model) > 0 ? a.model : b.model;
      snapshot_a = ir_history_snapshot (history, MAX (a.step, 0));
      snapshot_b = ir_history_snapshot (history, MAX (b.step, 0));
    }
  else
    {
      snapshot_a = ir_model_snapshot (a.model);
      snapshot_b = ir_model_snapshot (b.model);
    }
  diff = ir_diff_new (snapshot_a, snapshot_b, same_file);
  if (options->iterations != NULL)
    return cli_diff_iteration_of_both (cli, &options->model, diff, options->iterations);
  if (cli->json)
    json = diff_json (cli, diff);
  else
    print_text (cli, diff, options);
  if ((options->values && !cli_diff_values (cli, &options->model, NULL, diff, &options->table, json,
                                            &equal, &error)) ||
      (options->gradients.on &&
       !cli_diff_gradients (cli, &options->model, &options->gradients, diff, json, &equal, &error)))
    {
      cJSON_Delete (json);
      return cli_fail (cli_status_of (error), error);
    }
  if (!options->values && options->table.path != NULL)
    {
      g_autoptr (GHashTable) matched = ir_match_values (diff, NULL, cli->cancellable);

      if (!cli_value_table_write_structure (&options->table, diff, matched, &error))
        {
          cJSON_Delete (json);
          return cli_fail (cli_status_of (error), error);
        }
    }
  if (json != NULL)
    cli_json_print_long (cli, json);
  return differs (diff) || !equal ? CLI_NO : CLI_OK;
}

const CliCommand cli_command_diff = {
  .name = "diff",
  .arguments = "A[@N] [B[@M]]",
  .takes_model = TRUE,
  .summary = "What differs between two files, or between two steps of one file",
  .doc =
      "What is the same change in four places or more is named once, and what differs in names alone\n"
      "is counted, unless --all is given. Nodes and values of two files are paired by what computes them,\n"
      "then by names that their neighbours bear out, then by neighbours; with --values both are run, inputs\n"
      "by name or by place, and what values hold decides, too. What has no partner is said in --table.\n"
      "With --values and two back ends, as in --device cpu,gpu, one graph runs on both: each value that\n"
      "differs is computed anew by the first from what the second run holds, so that the first one that\n"
      "diverges is where the second goes wrong; exit status 1: one does.\n"
      "With --gradients derivatives are compared, of two models or of one before and after its passes.\n"
      "A file without @N next to one of the same name with @M is taken at step 0.\n"
      "Exit status 0: the same; 1: they differ.",
  .min_args = 1,
  .max_args = 2,
  .options = diff_options,
  .model_options = cli_limited_options,
  .options_size = sizeof (Options),
  .run = run,
};
