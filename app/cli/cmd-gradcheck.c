/* irscope gradcheck: derivatives against differences of the function itself. */
#include "config.h"

#include "app/cli/commands.h"
#include "app/cli/grad.h"
#include "app/cli/output.h"
#include "core/ir/grad-mark.h"
#include "passes/pipeline/derive.h"
#include "passes/proof/gradcheck.h"

#include <math.h>
#include <string.h>

#define N_DIRECTIONS 3

typedef struct
{
  CliModelOptions model;
  char *of, *wrt, *node, *op, *element;
  gint64 order;
  double eps, atol, rtol;
} Options;

static const CliOption gradcheck_options[] = {
  { "of", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, of),
    "What is derived (default: the only floating-point output)", "V" },
  { "wrt", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, wrt),
    "By what: all (default), params, inputs, or names with commas between", "V" },
  { "node", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, node),
    "This node alone: its outputs by its inputs, as they are in a run", "N" },
  { "op", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, op),
    "Each node of the main graph with this operator, alone; without FILE: the operator's own cases",
    "OP" },
  { "element", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, element),
    "This element alone of the one value that --wrt names: 0,3 or its number in memory", "I" },
  { "order", 0, G_OPTION_ARG_INT64, G_STRUCT_OFFSET (Options, order),
    "2: the derivatives of the derivatives (default 1)", "N" },
  { "eps", 0, G_OPTION_ARG_DOUBLE, G_STRUCT_OFFSET (Options, eps),
    "How far contents are moved (default 1e-6)", "H" },
  { "atol", 0, G_OPTION_ARG_DOUBLE, G_STRUCT_OFFSET (Options, atol),
    "Difference that is allowed (default 1e-5)", "A" },
  { "rtol", 0, G_OPTION_ARG_DOUBLE, G_STRUCT_OFFSET (Options, rtol),
    "And as a part of the slope (default 1e-3)", "R" },
  { 0 },
};

static guint
count (const GArray *items, IrGradcheckVerdict verdict)
{
  guint n = 0;

  for (guint i = 0; i < items->len; i++)
    n += g_array_index (items, IrGradcheckItem, i).verdict == verdict;
  return n;
}

/* (nullable) What lies furthest apart, kinks aside */
static const IrGradcheckItem *
worst_of (const GArray *items)
{
  const IrGradcheckItem *worst = NULL;
  double most = -1;

  for (guint i = 0; i < items->len; i++)
    {
      const IrGradcheckItem *item = &g_array_index (items, IrGradcheckItem, i);
      double apart = fabs (item->analytic - item->numeric) / MAX (fabs (item->numeric), 1);
      if (item->verdict == IR_GRADCHECK_KINK || (isfinite (apart) && apart <= most))
        continue;
      worst = item;
      most = isfinite (apart) ? apart : INFINITY;
    }
  return worst;
}

/* @model: (nullable): the graphs are the operator's own cases */
static const IrNode *
node_of (const IrModel *model, const IrGradcheckItem *item)
{
  return model != NULL ? ir_model_node (model, item->node) : NULL;
}

static cJSON *
item_json (const IrModel *model, const IrGradcheckItem *item)
{
  cJSON *object;

  if (item == NULL)
    return cJSON_CreateNull ();
  object = cJSON_CreateObject ();
  cJSON_AddStringToObject (object, "verdict", ir_gradcheck_verdict_name (item->verdict));
  cli_grad_add_node (node_of (model, item), object);
  cJSON_AddStringToObject (object, "input", item->input);
  cli_json_add_int (object, "index", item->index);
  cli_json_add_double (object, "analytic", item->analytic);
  cli_json_add_double (object, "numeric", item->numeric);
  cli_json_add_double (object, "left", item->left);
  cli_json_add_double (object, "right", item->right);
  if (item->graph != NULL)
    cJSON_AddStringToObject (object, "case", item->graph);
  return object;
}

static void
print_json (const IrModel *model, const GArray *items)
{
  cJSON *json = cJSON_CreateObject (), *findings;

  cJSON_AddNumberToObject (json, "checked", items->len);
  cJSON_AddNumberToObject (json, "passed", count (items, IR_GRADCHECK_PASSED));
  cJSON_AddNumberToObject (json, "failed", count (items, IR_GRADCHECK_FAILED));
  cJSON_AddNumberToObject (json, "kinks", count (items, IR_GRADCHECK_KINK));
  cJSON_AddItemToObject (json, "worst", item_json (model, worst_of (items)));
  findings = cJSON_AddArrayToObject (json, "findings");
  for (guint i = 0; i < items->len; i++)
    if (g_array_index (items, IrGradcheckItem, i).verdict != IR_GRADCHECK_PASSED)
      cJSON_AddItemToArray (findings,
                            item_json (model, &g_array_index (items, IrGradcheckItem, i)));
  cli_json_print (json);
}

static void
print_item (const IrModel *model, const IrGradcheckItem *item)
{
  g_autofree char *place = item->index >= 0 ? g_strdup_printf ("%s[%" G_GINT64_FORMAT "]",
                                                               item->input, item->index)
                                            : g_strdup_printf ("%s, random direction", item->input);
  const IrNode *node = node_of (model, item);
  g_autofree char *label = node != NULL ? ir_node_label (node) : NULL;

  if (node != NULL)
    cli_print ("%s: ", label);

  cli_print ("%-7s %-44s %.9g, by differences %.9g (left %.6g, right %.6g)\n",
             item->verdict == IR_GRADCHECK_FAILED ? "FAILED"
                                                  : ir_gradcheck_verdict_name (item->verdict),
             place, item->analytic, item->numeric, item->left, item->right);
  if (item->graph != NULL)
    cli_print ("  in %s\n", item->graph);
}

/* Differences know nothing of marks. */
static void
print_marks (const IrModel *model)
{
  guint n;
  IrNode *const *order = ir_graph_order (model->main, &n);

  for (guint i = 0; i < n; i++)
    if (ir_grad_mark (order[i]) != IR_GRAD_MARK_PLAIN)
      {
        g_autofree char *label = ir_node_label (order[i]);
        cli_print (
            "%s is marked %s: what comes through it is not the derivative of what it computes\n",
            label, ir_grad_mark_name (ir_grad_mark (order[i])));
      }
}

static void
print_text (const IrModel *model, const GArray *items)
{
  const IrGradcheckItem *worst = worst_of (items);

  for (guint i = 0; i < items->len; i++)
    if (g_array_index (items, IrGradcheckItem, i).verdict != IR_GRADCHECK_PASSED)
      print_item (model, &g_array_index (items, IrGradcheckItem, i));
  if (model != NULL && count (items, IR_GRADCHECK_FAILED) > 0)
    print_marks (model);
  cli_print ("%u checked: %u passed, %u failed, %u at kinks\n", items->len,
             count (items, IR_GRADCHECK_PASSED), count (items, IR_GRADCHECK_FAILED),
             count (items, IR_GRADCHECK_KINK));
  if (worst != NULL)
    {
      cli_print ("furthest apart: ");
      print_item (model, worst);
    }
}

/* (transfer container) (nullable): the nodes that are checked alone; of none, a NULL: the whole */
static GPtrArray *
nodes_of (const Options *options, const IrModel *model, GError **error)
{
  g_autoptr (GPtrArray) nodes = g_ptr_array_new ();
  IrNode *node = NULL;
  guint n;
  IrNode *const *order = ir_graph_order (model->main, &n);

  if (options->node != NULL && (node = cli_find_node (model, options->node, error)) == NULL)
    return NULL;
  if (node != NULL && node->graph != model->main)
    {
      g_set_error (error, CLI_ERROR, 0, "--node %s: it is not in the main graph", options->node);
      return NULL;
    }
  for (guint i = 0; options->op != NULL && i < n; i++)
    if (strcmp (order[i]->op_type, options->op) == 0)
      g_ptr_array_add (nodes, order[i]);
  if (options->op == NULL)
    g_ptr_array_add (nodes, node);
  if (nodes->len > 0)
    return g_steal_pointer (&nodes);
  g_set_error (error, CLI_ERROR, 0, "--op %s: the main graph has no node of that operator",
               options->op);
  return NULL;
}

/* Whether it has something to compare: floating-point inputs and outputs. */
static gboolean
is_floating (const IrNode *node)
{
  gboolean in = FALSE, out = FALSE;

  for (guint i = 0; i < node->n_inputs; i++)
    in = in || (node->inputs[i] != NULL && ir_dtype_is_float (ir_value_dtype (node->inputs[i])));
  for (guint i = 0; i < node->n_outputs; i++)
    out = out ||
          (node->outputs[i] != NULL && ir_dtype_is_float (ir_value_dtype (node->outputs[i])));
  return in && out;
}

static gboolean
numbers_fit (const Options *options, GError **error)
{
  if (options->order != 1 && options->order != 2)
    g_set_error (error, CLI_ERROR, 0, "--order %" G_GINT64_FORMAT ": 1 and 2 are known",
                 options->order);
  else if (!(options->eps > 0 && options->eps < 1))
    g_set_error (error, CLI_ERROR, 0, "--eps %g: needs a step above 0 and below 1, such as 1e-6",
                 options->eps);
  else if (!(options->atol >= 0 && options->rtol >= 0 && isfinite (options->atol + options->rtol)))
    g_set_error (error, CLI_ERROR, 0,
                 "--atol and --rtol: need numbers that are not negative, such as 1e-5 and 1e-3");
  else
    return TRUE;
  return FALSE;
}

/* Where there is no model */
static gboolean
fits_alone (const Options *options, GError **error)
{
  const char *given = options->of != NULL        ? "of"
                      : options->wrt != NULL     ? "wrt"
                      : options->node != NULL    ? "node"
                      : options->element != NULL ? "element"
                                                 : NULL;

  if (options->op == NULL)
    g_set_error (error, CLI_ERROR, 0,
                 "needs FILE, a model, or --op OP, an operator that is checked on its own cases");
  else if (given != NULL)
    g_set_error (error, CLI_ERROR, 0, "--%s is of a model: give its FILE", given);
  else
    return numbers_fit (options, error);
  return FALSE;
}

static gboolean
fits (const Options *options, GError **error)
{
  const gboolean alone = options->node != NULL || options->op != NULL;

  if (!numbers_fit (options, error))
    return FALSE;
  if (options->node != NULL && options->op != NULL)
    g_set_error (error, CLI_ERROR, 0, "--node names one node, and --op several: leave one out");
  else if (alone && (options->of != NULL || options->wrt != NULL || options->order == 2))
    g_set_error (error, CLI_ERROR, 0,
                 "--node and --op derive outputs of nodes by their inputs: leave --of, --wrt and "
                 "--order out");
  else if (options->element != NULL && (alone || options->order == 2))
    g_set_error (
        error, CLI_ERROR, 0,
        "--element is one of a value of the whole graph: leave --node, --op and --order out");
  else
    return TRUE;
  return FALSE;
}

/* (transfer full) (nullable) */
static GArray *
check_all (const Options *options,
           IrGradcheckOptions *how,
           IrModel *model,
           GHashTable *inputs,
           GError **error)
{
  g_autoptr (GPtrArray) nodes = nodes_of (options, model, error);
  g_autoptr (GArray) all = NULL;

  for (guint i = 0; nodes != NULL && i < nodes->len; i++)
    {
      if (options->op != NULL && !is_floating (nodes->pdata[i]) &&
          (all != NULL || i + 1 < nodes->len))
        continue; /* of the last one it is said, if there is no other */
      how->node = nodes->pdata[i];
      GArray *items = ir_gradcheck (model, inputs, how, error);
      if (items == NULL)
        return NULL;
      if (all == NULL)
        all = items;
      else
        { /* their names go on with them */
          g_array_append_vals (all, items->data, items->len);
          g_array_set_clear_func (items, NULL);
          g_array_unref (items);
        }
    }
  return g_steal_pointer (&all);
}

static CliStatus
print_items (const Cli *cli, const IrModel *model, const GArray *items)
{
  (cli->json ? print_json : print_text) (model, items);
  return count (items, IR_GRADCHECK_FAILED) > 0 ? CLI_NO : CLI_OK;
}

static CliStatus
check_operator (const Cli *cli, IrGradcheckOptions *how)
{
  const Options *options = cli->options;
  g_autoptr (GError) error = NULL;
  g_autoptr (GArray) items = NULL;

  if (!cli_limits (&options->model, &how->limits, &error) ||
      (items = ir_gradcheck_operator (options->op, how, &error)) == NULL)
    return cli_fail (cli_status_of (error), error);
  return print_items (cli, NULL, items);
}

static CliStatus
run (Cli *cli)
{
  Options *options = cli->options;
  g_auto (CliModel) opened = { 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (GHashTable) inputs = NULL;
  g_autoptr (GArray) items = NULL;
  g_autofree char *wrt = g_strdup (options->wrt != NULL ? options->wrt : "all");
  CliStatus status;
  IrGradcheckOptions how = {
    .of = options->of != NULL ? options->of : "",
    .wrt = "all",
    .order = (guint) options->order,
    .element = options->element,
    .eps = options->eps,
    .atol = options->atol,
    .rtol = options->rtol,
    .seed = (guint64) options->model.seed,
    .n_directions = N_DIRECTIONS,
    .cancellable = cli->cancellable,
  };

  if (!(cli->n_args > 0 ? fits : fits_alone) (options, &error))
    return cli_fail (CLI_BAD, error);
  if (cli->n_args == 0)
    return check_operator (cli, &how);
  if (!cli_model_open (cli, &options->model, cli->args[0], FALSE, &opened, &status))
    return status;
  if (!ir_prepare_to_derive (opened.model, &wrt, cli->cancellable, &error))
    return cli_fail (cli_status_of (error), error);
  how.wrt = wrt;
  if (!cli_limits (&options->model, &how.limits, &error) ||
      (inputs = cli_inputs_within (cli, &options->model, opened.model, how.limits.memory_limit,
                                   &error)) == NULL ||
      (items = check_all (options, &how, opened.model, inputs, &error)) == NULL)
    return cli_fail (cli_status_of (error), error);
  return print_items (cli, opened.model, items);
}

static void
set_defaults (gpointer data)
{
  Options *options = data;

  options->order = 1;
  options->eps = IR_GRADCHECK_EPS;
  options->atol = IR_GRADCHECK_ATOL;
  options->rtol = IR_GRADCHECK_RTOL;
}

const CliCommand cli_command_gradcheck = {
  .name = "gradcheck",
  .arguments = "FILE|--op OP",
  .takes_model = TRUE,
  .summary = "Compare derivatives with differences of the function itself, in double",
  .doc =
      "What has few elements is moved along each; what has many along three random directions, and along\n"
      "the element with the largest derivative. At a kink the slopes on both sides differ. With\n"
      "--order 2 the sum of g (g + 1) over all derivatives g is what is derived. Exit status 1\n"
      "if a derivative is wrong.",
  .min_args = 0,
  .max_args = 1,
  .options = gradcheck_options,
  .model_options = cli_limited_options,
  .options_size = sizeof (Options),
  .defaults = set_defaults,
  .run = run,
};
