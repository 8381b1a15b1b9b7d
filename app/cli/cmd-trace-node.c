/* irscope trace-node: lineage of one node, both ways. */
#include "config.h"

#include "app/cli/commands.h"
#include "app/cli/model.h"
#include "app/cli/output.h"
#include "core/io/io.h"
#include "core/ir/folded.h"
#include "core/ir/origin.h"

#include <stdio.h>
#include <string.h>

typedef struct
{
  CliModelOptions model;
} Options;

static char *
node_name (const IrModel *model, IrNodeId id)
{
  const IrNode *node = ir_model_node (model, id);
  return node->name[0] != '\0' ? g_strdup (node->name) : g_strdup_printf ("#%u", id);
}

static void
add_nodes (cJSON *json, const char *key, const IrModel *model, const GArray *ids)
{
  cJSON *array = cJSON_AddArrayToObject (json, key);

  for (guint i = 0; i < ids->len; i++)
    {
      g_autofree char *name = node_name (model, g_array_index (ids, IrNodeId, i));
      cJSON *object = cJSON_CreateObject ();

      cJSON_AddStringToObject (object, "name", name);
      cJSON_AddNumberToObject (object, "id", g_array_index (ids, IrNodeId, i));
      cJSON_AddStringToObject (object, "op",
                               ir_model_node (model, g_array_index (ids, IrNodeId, i))->op_type);
      cJSON_AddItemToArray (array, object);
    }
}

static void
add_value (cJSON *array, const IrModel *model, const char *name)
{
  const IrValue *value = ir_graph_find_value (model->main, name);
  cJSON *object = cJSON_CreateObject ();

  cJSON_AddStringToObject (object, "value", name);
  cJSON_AddBoolToObject (object, "constant", value != NULL && ir_value_constant (value) != NULL);
  cJSON_AddItemToArray (array, object);
}

static void
print_value (const IrModel *model, const char *name)
{
  const IrValue *value = ir_graph_find_value (model->main, name);
  g_autofree char *label = value != NULL && value->producer != NULL &&
                                   ir_value_constant (value) == NULL
                               ? ir_node_label (value->producer)
                               : NULL;

  cli_print ("  %s%s%s\n", name, label != NULL ? ", of " : ", a constant",
             label != NULL ? label : "");
}

/* What holds what @node computed, if no node does its work: empty if nothing needed it. */
static GPtrArray *
into_of (IrModel *model, const IrNode *node, const GArray *to)
{
  GPtrArray *names = g_ptr_array_new ();
  g_autoptr (IrFolded) folded = to->len == 0 ? ir_folded_new (model) : NULL;
  g_autoptr (GArray) values = folded != NULL ? ir_folded_of_node (folded, node->id) : NULL;

  for (guint i = 0; values != NULL && i < values->len; i++)
    g_ptr_array_add (names,
                     (gpointer) ir_model_value (model, g_array_index (values, guint32, i))->name);
  return names;
}

static void
print_json (const IrModel *model,
            const IrNode *node,
            const GArray *from,
            const GArray *to,
            const GPtrArray *into,
            const GArray *steps)
{
  g_autofree char *name = node_name (model, node->id);
  cJSON *json = cJSON_CreateObject (), *array;

  cJSON_AddStringToObject (json, "node", name);
  cJSON_AddStringToObject (json, "op", node->op_type);
  cJSON_AddStringToObject (json, "source", "history");
  add_nodes (json, "from", model, from);
  add_nodes (json, "to", model, to);
  array = cJSON_AddArrayToObject (json, "into");
  for (guint i = 0; i < into->len; i++)
    add_value (array, model, into->pdata[i]);
  array = cJSON_AddArrayToObject (json, "steps");
  for (guint i = 0; i < steps->len; i++)
    {
      const IrTouch touch = g_array_index (steps, IrTouch, i);
      const IrStep *step = ir_history_step (model, touch.step);
      cJSON *object = cJSON_CreateObject ();

      cJSON_AddNumberToObject (object, "index", step->index);
      cJSON_AddStringToObject (object, "pass", ir_history_pass_of (model, step->index));
      cJSON_AddStringToObject (object, "rule", step->rule);
      cJSON_AddStringToObject (object, "touch", ir_touch_name (touch.kind));
      cJSON_AddItemToArray (array, object);
    }
  cli_json_print (json);
}

static void
print_nodes (const char *what, const IrModel *model, const GArray *ids)
{
  cli_print ("%s%s\n", what, ids->len == 0 ? " nothing" : "");
  for (guint i = 0; i < ids->len; i++)
    {
      g_autofree char *label = ir_node_label (
          ir_model_node (model, g_array_index (ids, IrNodeId, i)));
      cli_print ("  %s\n", label);
    }
}

static void
print_into (const IrModel *model, const GPtrArray *into)
{
  cli_print (into->len > 0 ? "went into\n" : "and went into nothing: no output needed it\n");
  for (guint i = 0; i < into->len; i++)
    print_value (model, into->pdata[i]);
}

static void
print_text (const IrModel *model,
            const IrNode *node,
            const GArray *from,
            const GArray *to,
            const GPtrArray *into,
            const GArray *steps)
{
  g_autofree char *label = ir_node_label (node);

  cli_print ("%s\n", label);
  print_nodes ("comes from", model, from);
  print_nodes ("lives on as", model, to);
  if (to->len == 0)
    print_into (model, into);
  for (guint i = 0; i < steps->len; i++)
    {
      const IrTouch touch = g_array_index (steps, IrTouch, i);
      const IrStep *step = ir_history_step (model, touch.step);

      cli_print ("  step %u: %s, %s, %s%s%s\n", step->index, ir_touch_name (touch.kind),
                 ir_history_pass_of (model, step->index), step->rule,
                 step->reason != NULL ? ": " : "", step->reason != NULL ? step->reason : "");
    }
}

/* -- what an optimized file says itself -- */

static gboolean
mentions (const GPtrArray *names, const char *name)
{
  for (guint i = 0; i < names->len; i++)
    if (strcmp (names->pdata[i], name) == 0)
      return TRUE;
  return FALSE;
}

/* Nodes of the file that stand for the original node @name. */
static GArray *
heirs_of (const IrModel *model, const IrOrigins *origins, const char *name)
{
  GArray *ids = g_array_new (FALSE, FALSE, sizeof (IrNodeId));

  for (guint i = 1; i < model->nodes->len; i++)
    {
      const IrNode *node = ir_model_live_node (model, i);
      const IrOrigin *origin = node != NULL ? ir_origins_of (origins, i) : NULL;

      if (node != NULL && (origin != NULL ? mentions (origin->nodes, name)
                                          : strcmp (ir_origins_name (origins, node), name) == 0))
        g_array_append_val (ids, i);
    }
  return ids;
}

typedef struct
{
  const char *name;
  const IrNode *node; /* (nullable): an original one that is gone */
  GPtrArray *from;    /* (owned) of char *, (not owned) */
  GArray *to;         /* (owned) of IrNodeId */
  GPtrArray *rules;   /* (owned) of char *, (not owned) */
  const IrGone *gone; /* (nullable) an original one that no node stands for */
} Said;

static void
said_clear (Said *said)
{
  g_clear_pointer (&said->from, g_ptr_array_unref);
  g_clear_pointer (&said->to, g_array_unref);
  g_clear_pointer (&said->rules, g_ptr_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Said, said_clear)

static void
take_origin (Said *said, const IrOrigin *origin)
{
  for (guint i = 0; said->node != NULL && i < origin->nodes->len; i++)
    g_ptr_array_add (said->from, origin->nodes->pdata[i]);
  for (guint i = 0; i < origin->rules->len; i++)
    if (!mentions (said->rules, origin->rules->pdata[i]))
      g_ptr_array_add (said->rules, origin->rules->pdata[i]);
}

/* A node of the file, else one of the original that nodes of the file stand for. */
static gboolean
look_up (
    const IrModel *model, const IrOrigins *origins, const char *name, Said *said, GError **error)
{
  said->name = name;
  said->node = cli_find_node (model, name, NULL);
  said->from = g_ptr_array_new ();
  said->rules = g_ptr_array_new ();
  if (said->node != NULL && ir_origins_of (origins, said->node->id) == NULL)
    g_ptr_array_add (said->from, (gpointer) ir_origins_name (origins, said->node));
  else if (said->node != NULL)
    take_origin (said, ir_origins_of (origins, said->node->id));
  said->to = heirs_of (model, origins, name);
  if (said->node != NULL && !said->to->len)
    g_array_append_val (said->to, said->node->id);
  for (guint i = 0; said->node == NULL && i < said->to->len; i++)
    if (ir_origins_of (origins, g_array_index (said->to, IrNodeId, i)) != NULL)
      take_origin (said, ir_origins_of (origins, g_array_index (said->to, IrNodeId, i)));
  if (said->node == NULL && said->to->len == 0)
    said->gone = ir_origins_gone (origins, name);
  if (said->gone != NULL && said->gone->rule[0] != '\0')
    g_ptr_array_add (said->rules, said->gone->rule);
  if (said->node == NULL && said->to->len == 0 && said->gone == NULL)
    {
      g_set_error (
          error, IR_IO_ERROR, IR_IO_ERROR_FORMAT,
          "there is no node '%s' in the file, nor was there one in its original that the file "
          "tells of",
          name);
      return FALSE;
    }
  if (said->node == NULL)
    g_ptr_array_add (said->from, (gpointer) name);
  return TRUE;
}

static void
print_said_json (const IrModel *model, const Said *said)
{
  cJSON *json = cJSON_CreateObject (), *array;

  cJSON_AddStringToObject (json, "node", said->name);
  cJSON_AddStringToObject (json, "op", said->node != NULL ? said->node->op_type : "");
  cJSON_AddStringToObject (json, "source", "file");
  array = cJSON_AddArrayToObject (json, "from");
  for (guint i = 0; i < said->from->len; i++)
    {
      cJSON *object = cJSON_CreateObject ();
      cJSON_AddStringToObject (object, "name", said->from->pdata[i]);
      cJSON_AddItemToArray (array, object);
    }
  add_nodes (json, "to", model, said->to);
  array = cJSON_AddArrayToObject (json, "into");
  for (guint i = 0; said->gone != NULL && i < said->gone->into->len; i++)
    add_value (array, model, said->gone->into->pdata[i]);
  array = cJSON_AddArrayToObject (json, "steps");
  for (guint i = 0; i < said->rules->len; i++)
    {
      const char *text = said->rules->pdata[i], *slash = strchr (text, '/');
      g_autofree char *pass = g_strndup (text, slash != NULL ? (gsize) (slash - text) : 0);
      cJSON *object = cJSON_CreateObject ();

      cJSON_AddStringToObject (object, "pass", pass);
      cJSON_AddStringToObject (object, "rule", slash != NULL ? slash + 1 : text);
      cJSON_AddItemToArray (array, object);
    }
  cli_json_print (json);
}

static void
print_said_text (const IrModel *model, const Said *said)
{
  cli_print ("%s (%s)\n", said->name,
             said->node != NULL ? said->node->op_type : "a node of the original");
  cli_print ("comes from%s\n", said->from->len == 0 ? " nothing" : "");
  for (guint i = 0; i < said->from->len; i++)
    cli_print ("  %s\n", (char *) said->from->pdata[i]);
  print_nodes ("lives on as", model, said->to);
  if (said->gone != NULL)
    print_into (model, said->gone->into);
  for (guint i = 0; i < said->rules->len; i++)
    cli_print ("  by %s\n", (char *) said->rules->pdata[i]);
}

static CliStatus
answer_from_file (Cli *cli, const IrModel *model, const IrOrigins *origins)
{
  g_auto (Said) said = { 0 };
  g_autoptr (GError) error = NULL;

  if (!look_up (model, origins, cli->args[1], &said, &error))
    return cli_fail (CLI_BAD, error);
  (cli->json ? print_said_json : print_said_text) (model, &said);
  return CLI_OK;
}

/* TRUE if the file answers, without any pass being run. */
static gboolean
try_file (Cli *cli, const CliModelOptions *options, CliStatus *status)
{
  g_auto (CliModel) opened = { 0 };
  g_autoptr (IrOrigins) origins = NULL;

  if (options->pipeline != NULL || options->passes != NULL || options->opset != 0)
    return FALSE;
  if (!cli_model_open (cli, options, cli->args[0], FALSE, &opened, status))
    return TRUE;
  origins = opened.step < 0 ? ir_origins_read (opened.model) : NULL;
  if (origins == NULL)
    return FALSE;
  *status = answer_from_file (cli, opened.model, origins);
  return TRUE;
}

static CliStatus
run (Cli *cli)
{
  Options *options = cli->options;
  g_auto (CliModel) opened = { 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (GArray) from = NULL;
  g_autoptr (GArray) to = NULL;
  g_autoptr (GArray) steps = NULL;
  g_autoptr (GPtrArray) into = NULL;
  CliStatus status;
  IrNode *node;

  if (try_file (cli, &options->model, &status) ||
      !cli_model_open (cli, &options->model, cli->args[0], TRUE, &opened, &status))
    return status;
  node = cli_find_node (opened.model, cli->args[1], &error);
  if (node == NULL)
    return cli_fail (CLI_BAD, error);
  from = ir_lineage_origins (opened.model, node->id);
  to = ir_lineage_descendants (opened.model, node->id, ir_history_cursor (opened.model));
  into = into_of (opened.model, node, to);
  steps = ir_lineage_touches (opened.model, node->id);
  (cli->json ? print_json : print_text) (opened.model, node, from, to, into, steps);
  return CLI_OK;
}

const CliCommand cli_command_trace_node = {
  .name = "trace-node",
  .arguments = "FILE NODE",
  .takes_model = TRUE,
  .summary = "Where a node comes from and what became of it, through every rewrite",
  .doc =
      "NODE is a name of the original or of the optimized graph, or #N for an id.\n"
      "A file that irscope optimize wrote carries its lineage: it answers for itself, unless --pipeline\n"
      "or --pass asks for passes to be run on it. Of a node that was folded it says what value holds\n"
      "what it computed, or the nearest one behind it.",
  .min_args = 2,
  .max_args = 2,
  .model_options = cli_model_options,
  .options_size = sizeof (Options),
  .run = run,
};
