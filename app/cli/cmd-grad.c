/* irscope grad: derivatives of a graph, as values and as a graph. */
#include "config.h"

#include "app/cli/commands.h"
#include "app/cli/derive.h"
#include "app/cli/grad.h"
#include "app/cli/output.h"
#include "core/io/io.h"
#include "passes/debug/explain-gradient.h"
#include "passes/rewrites/gradient.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

static const CliOption grad_options[] = {
  { "of", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (CliGradOptions, of),
    "What is derived; several elements stand for their sum (default: the only floating-point "
    "output)",
    "V" },
  { "wrt", 0, G_OPTION_ARG_STRING_ARRAY, G_STRUCT_OFFSET (CliGradOptions, wrt),
    "By what: params (default), inputs, all, or names of values", "V" },
  { "stop", 0, G_OPTION_ARG_STRING_ARRAY, G_STRUCT_OFFSET (CliGradOptions, stop),
    "Values that count as constant", "V" },
  { "mode", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (CliGradOptions, mode),
    "The way: reverse (default), forward, numeric, symbolic, tape", "MODE" },
  { "tangent", 0, G_OPTION_ARG_STRING_ARRAY, G_STRUCT_OFFSET (CliGradOptions, tangents),
    "With forward or --sweep: what moves and how, by a file or numbers (default: what --wrt says, by "
    "ones)",
    "NAME=F" },
  { "hvp", 0, G_OPTION_ARG_STRING_ARRAY, G_STRUCT_OFFSET (CliGradOptions, hvp),
    "How the derivatives by NAME move along this: the Hessian times a vector, forward over reverse",
    "NAME=F" },
  { "method", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (CliGradOptions, method),
    "With numeric: which difference: central (default), forward, complex", "M" },
  { "step", 0, G_OPTION_ARG_DOUBLE, G_STRUCT_OFFSET (CliGradOptions, step),
    "With numeric: how far elements are moved (default: what is good for the method)", "H" },
  { "sweep", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (CliGradOptions, sweep),
    "With numeric: errors of all differences for steps from 1 to 1e-16, and the slopes of both "
    "branches",
    NULL },
  { "simplify", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (CliGradOptions, simplify),
    "With symbolic: make expressions simpler while they are built", NULL },
  { "cotangent", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (CliGradOptions, cotangent),
    "A value of the same type that the elements of what is derived are weighed by", "V" },
  { "order", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (CliGradOptions, order),
    "2: the first derivatives derived in turn, all their elements together: the Hessian times ones (default 1)",
    "N" },
  { "explain", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (CliGradOptions, explain),
    "Derive by this value alone, and say why the derivative is 0, tiny or not a number, and what "
    "came back through each node",
    "NAME" },
  { "output", 'o', G_OPTION_ARG_FILENAME, G_STRUCT_OFFSET (CliGradOptions, output),
    "Write the model with its backward part", "M" },
  { "out", 0, G_OPTION_ARG_FILENAME, G_STRUCT_OFFSET (CliGradOptions, out),
    "Write each derivative there as .npy", "DIR" },
  { 0 },
};

typedef struct
{
  IrValueId by, gradient; /* @gradient 0: nothing comes to it */
  char *path;             /* (nullable) */
  char *why;              /* (nullable) why nothing comes */
  IrNodeId end;           /* where the path ends; 0: there is none */
} Gradient;

typedef struct
{
  Cli *cli;
  const CliGradOptions *options;
  IrModel *model;
  IrValueId of;
  GArray *gradients; /* of Gradient */
  IrCost forward, all;
  guint n_outputs;     /* of the model itself */
  guint64 kept;        /* bytes that the backward part reads of the forward part */
  guint n_forward_ids; /* nodes below are those of the forward part */
  IrRun *run;
  IrGradientReason *reason; /* (nullable) for --explain */
} Answer;

static void
clear_gradient (gpointer data)
{
  Gradient *gradient = data;

  g_free (gradient->path);
  g_free (gradient->why);
}

static void
answer_clear (Answer *answer)
{
  g_clear_pointer (&answer->gradients, g_array_unref);
  g_clear_pointer (&answer->run, ir_run_unref);
  g_clear_pointer (&answer->reason, ir_gradient_reason_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Answer, answer_clear)

/* -- the backward graph -- */

static gboolean
set (IrPipeline *pipeline, const char *option, const char *value, GError **error)
{
  g_autofree char *assignment = g_strdup_printf ("gradient.%s=%s", option, value);

  return ir_pipeline_set (pipeline, assignment, error);
}

static IrPipeline *
pipeline_of (const CliGradOptions *options, const char *wrt, GError **error)
{
  const char *const names[] = { "gradient", NULL };
  g_autoptr (IrPipeline) pipeline = ir_pipeline_new_from_names (names, error);
  g_autofree char *stop = cli_grad_names (options->stop, "");

  if (pipeline == NULL || !set (pipeline, "of", options->of != NULL ? options->of : "", error) ||
      !set (pipeline, "wrt", wrt, error) || !set (pipeline, "stop", stop, error) ||
      !set (pipeline, "cotangent", options->cotangent != NULL ? options->cotangent : "", error) ||
      (options->order != NULL && !set (pipeline, "order", options->order, error)))
    return NULL;
  return g_steal_pointer (&pipeline);
}

/* Nothing comes: there is no derivative, or zeros that were asked for. */
static gboolean
is_zero (const IrValue *gradient)
{
  const IrNode *node = gradient != NULL ? gradient->producer : NULL;
  const IrTensor *value = node != NULL && ir_node_is (node, "ConstantOfShape")
                              ? ir_node_attr_tensor (node, "value")
                              : NULL;

  return gradient == NULL || (value != NULL && ir_tensor_get_double (value, 0) == 0);
}

/* The outputs behind the model's own are the derivatives, in the order of what it is derived by. */
static void
find_gradients (Answer *answer)
{
  const IrGraph *graph = answer->model->main;
  guint at = answer->n_outputs;

  for (guint i = 0; i < answer->gradients->len; i++)
    {
      Gradient *gradient = &g_array_index (answer->gradients, Gradient, i);
      const IrValue *by = ir_model_value (answer->model, gradient->by);
      g_autofree char *name = g_strdup_printf ("%s.grad", by->name);
      const IrNode *end = NULL;

      if (at < ir_graph_n_outputs (graph) &&
          g_str_has_prefix (ir_graph_output (graph, at)->name, name))
        gradient->gradient = ir_graph_output (graph, at++)->id;
      if (is_zero (ir_model_value (answer->model, gradient->gradient)))
        gradient->why = ir_gradient_end (by, ir_model_value (answer->model, answer->of), &end);
      gradient->end = end != NULL ? end->id : 0;
    }
}

static guint64
bytes_of (const IrValue *value)
{
  guint64 n;

  return ir_type_n_elements (value->type, &n) ? n * ir_dtype_bits (ir_value_dtype (value)) / 8 : 0;
}

/* What the forward part computes and the backward part reads, in the sizes of the run. */
static guint64
kept_bytes (const Answer *answer)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);
  guint64 sum = 0;

  for (guint i = answer->n_forward_ids; i < answer->model->nodes->len; i++)
    {
      const IrNode *node = ir_model_live_node (answer->model, i);
      if (node == NULL)
        continue;
      ir_node_for_each_input (node, k, value)
        if (value->producer != NULL && value->producer->id < answer->n_forward_ids &&
            ir_value_constant (value) == NULL && g_hash_table_add (seen, value))
          sum += bytes_of (ir_model_value (answer->run->model, value->id));
    }
  return sum;
}

static gboolean
name_all (Answer *answer, const char *wrt, GError **error)
{
  const char *of = answer->options->of != NULL ? answer->options->of : "";
  const IrValue *value = ir_gradient_of (answer->model, of, error);
  g_autoptr (GPtrArray) by = value != NULL ? ir_gradient_wrt (answer->model, wrt, error) : NULL;

  if (by == NULL)
    return FALSE;
  answer->of = value->id;
  answer->gradients = g_array_new (FALSE, TRUE, sizeof (Gradient));
  g_array_set_clear_func (answer->gradients, clear_gradient);
  for (guint i = 0; i < by->len; i++)
    {
      Gradient gradient = { .by = ((const IrValue *) by->pdata[i])->id };
      g_array_append_val (answer->gradients, gradient);
    }
  answer->n_outputs = ir_graph_n_outputs (answer->model->main);
  return TRUE;
}

static gboolean
derive (Answer *answer, GError **error)
{
  const CliGradOptions *options = answer->options;
  g_autofree char *wrt = options->explain != NULL ? g_strdup (options->explain)
                                                  : cli_grad_names (options->wrt, "params");
  g_autoptr (IrPipeline) pipeline = NULL;
  gboolean partial = FALSE;
  const IrPipelineOptions how = { .max_class = IR_CLASS_EXACT };

  if (!cli_prepare_to_derive (answer->cli, &options->model, answer->model, &wrt, error) ||
      !name_all (answer, wrt, error) || (pipeline = pipeline_of (options, wrt, error)) == NULL)
    return FALSE;
  guint before = ir_history_n_steps (answer->model);
  answer->forward = ir_cost_model (answer->model, &partial);
  if (!ir_pipeline_run (answer->model, pipeline, &how, NULL, answer->cli->cancellable, error))
    return FALSE;
  if (ir_history_n_steps (answer->model) == before)
    {
      g_set_error (error, CLI_ERROR, 0,
                   "the model has Gradient nodes, which name values that must stay; it is not "
                   "derived once more");
      return FALSE;
    }
  for (guint i = 1; i <= ir_history_n_steps (answer->model); i++)
    if (strcmp (ir_history_step (answer->model, i)->rule, "seed") == 0)
      {
        const IrStep *step = ir_history_step (answer->model, i);
        for (guint k = 0; k < step->n_records && answer->n_forward_ids == 0; k++)
          {
            const IrRecord *record = ir_history_record (answer->model, step->first_record + k);
            if (record->kind == IR_RECORD_NODE_STATE)
              answer->n_forward_ids = record->subject;
          }
      }
  answer->all = ir_cost_model (answer->model, &partial);
  find_gradients (answer);
  return TRUE;
}

/* -- values -- */

static gboolean
save_all (Answer *answer, GError **error)
{
  for (guint i = 0; i < answer->gradients->len; i++)
    {
      Gradient *gradient = &g_array_index (answer->gradients, Gradient, i);
      const IrValue *value = ir_model_value (answer->model, gradient->gradient);
      if (value != NULL &&
          !cli_grad_save (answer->options, value->name, ir_run_value (answer->run, value->id),
                          &gradient->path, error))
        return FALSE;
    }
  return TRUE;
}

static void
add_reason (const Answer *answer, const Gradient *gradient, cJSON *object)
{
  const IrNode *node = ir_model_node (answer->model, gradient->end);
  cJSON *reason;

  if (gradient->why == NULL)
    {
      cJSON_AddNullToObject (object, "reason");
      return;
    }
  reason = cJSON_AddObjectToObject (object, "reason");
  cJSON_AddStringToObject (reason, "kind", "no-path");
  cli_grad_add_node (node, reason);
  cJSON_AddStringToObject (reason, "text", gradient->why);
}

static void
add_gradient (const Answer *answer, const Gradient *gradient, cJSON *array)
{
  const IrTensor *tensor = ir_run_value (answer->run, gradient->gradient);
  const IrValue *by = ir_model_value (answer->model, gradient->by);
  cJSON *object = cJSON_CreateObject ();

  cJSON_AddStringToObject (object, "name", by->name);
  cli_grad_add_tensor (object, tensor, gradient->path);
  add_reason (answer, gradient, object);
  cJSON_AddItemToArray (array, object);
}

/* The sum of the elements of what is derived, a cotangent left aside. */
static double
value_of (const Answer *answer)
{
  return cli_grad_sum (ir_run_value (answer->run, answer->of));
}

/* -- why it is what it is -- */

static void
explain (Answer *answer)
{
  const Gradient *gradient = &g_array_index (answer->gradients, Gradient, 0);
  const IrModel *model = answer->model;

  answer->reason = ir_gradient_explain (
      model, answer->run, ir_model_value (model, answer->of), ir_model_value (model, gradient->by),
      gradient->why == NULL ? ir_model_value (model, gradient->gradient) : NULL,
      answer->options->stop);
  if (answer->reason->kind != IR_GRADIENT_NO_PATH || gradient->why == NULL)
    return;
  answer->reason->node = gradient->end;
  g_free (answer->reason->text);
  answer->reason->text = g_strdup (gradient->why);
}

static void
add_explanation (const Answer *answer, cJSON *json)
{
  const IrGradientReason *reason = answer->reason;
  cJSON *object = cJSON_AddObjectToObject (json, "explain"), *stages;

  cJSON_AddStringToObject (object, "name", answer->options->explain);
  cJSON_AddStringToObject (object, "kind", ir_gradient_kind_name (reason->kind));
  cli_grad_add_node (ir_model_node (answer->model, reason->node), object);
  cJSON_AddStringToObject (object, "text", reason->text);
  cli_json_add_double (object, "share", reason->share);
  if (reason->sample >= 0)
    cJSON_AddNumberToObject (object, "sample", (double) reason->sample);
  else
    cJSON_AddNullToObject (object, "sample");
  cJSON_AddBoolToObject (object, "forward_finite", reason->is_finite);
  stages = cJSON_AddArrayToObject (object, "stages");
  for (guint i = 0; i < reason->stages->len; i++)
    {
      const IrGradientStage *stage = &g_array_index (reason->stages, IrGradientStage, i);
      const IrValue *value = ir_model_value (answer->model, stage->value);
      cJSON *item = cJSON_CreateObject ();

      cJSON_AddStringToObject (item, "value", value->name);
      cli_grad_add_node (value->producer, item);
      cli_json_add_double (item, "norm", stage->norm);
      cli_json_add_double (item, "max_abs", stage->max_abs);
      cli_json_add_double (item, "zeros", stage->zeros);
      cli_json_add_uint (item, "nan", stage->n_nan);
      cJSON_AddItemToArray (stages, item);
    }
}

static void
print_explanation (const Answer *answer)
{
  const IrGradientReason *reason = answer->reason;

  cli_print ("\nWhy: %s\n  %s%s\n", ir_gradient_kind_name (reason->kind), reason->text,
             reason->is_finite ? "" : " What is derived is not finite itself.");
  if (reason->stages->len > 0)
    cli_print ("\nWhat came back, from %s to %s\n  %-32s %-20s %12s %12s %7s %8s\n",
               ir_model_value (answer->model, answer->of)->name, answer->options->explain, "value",
               "operator", "norm", "max", "zeros", "NaN");
  for (guint i = 0; i < reason->stages->len; i++)
    {
      const IrGradientStage *stage = &g_array_index (reason->stages, IrGradientStage, i);
      const IrValue *value = ir_model_value (answer->model, stage->value);

      cli_print ("  %-32s %-20s %12.5g %12.5g %5.0f %% %8" G_GUINT64_FORMAT "\n", value->name,
                 value->producer != NULL ? value->producer->op_type : "", stage->norm,
                 stage->max_abs, 100 * stage->zeros, stage->n_nan);
    }
}

static void
print_json (const Answer *answer)
{
  cJSON *json = cJSON_CreateObject (), *array;
  const char *cotangent = answer->options->cotangent;

  cJSON_AddStringToObject (json, "of", ir_model_value (answer->model, answer->of)->name);
  cJSON_AddStringToObject (json, "mode", "reverse");
  cJSON_AddStringToObject (json, "cotangent", cotangent != NULL ? cotangent : "ones");
  cli_json_add_double (json, "value", value_of (answer));
  array = cJSON_AddArrayToObject (json, "gradients");
  for (guint i = 0; i < answer->gradients->len; i++)
    add_gradient (answer, &g_array_index (answer->gradients, Gradient, i), array);
  cli_json_add_uint (json, "kept_bytes", answer->kept);
  cli_json_add_uint (json, "flops_forward", answer->forward.flops);
  cli_json_add_uint (json, "flops_backward", answer->all.flops - answer->forward.flops);
  cJSON_AddNumberToObject (json, "nodes_forward", answer->forward.n_nodes);
  cJSON_AddNumberToObject (json, "nodes_backward", answer->all.n_nodes - answer->forward.n_nodes);
  if (answer->reason != NULL)
    add_explanation (answer, json);
  else
    cJSON_AddNullToObject (json, "explain");
  cli_json_print (json);
}

static void
print_text (const Answer *answer)
{
  g_autofree char *kept = cli_format_bytes (answer->kept);
  const IrTensor *of = ir_run_value (answer->run, answer->of);
  const guint64 n = of != NULL ? ir_tensor_n_elements (of) : 1;
  g_autofree char *sum = n != 1 ? g_strdup_printf (" (sum of %" G_GUINT64_FORMAT " elements)", n)
                                : g_strdup ("");

  cli_print ("%s = %g%s%s\n", ir_model_value (answer->model, answer->of)->name, value_of (answer),
             sum, answer->options->cotangent != NULL ? " (before the cotangent)" : "");
  for (guint i = 0; i < answer->gradients->len; i++)
    {
      const Gradient *gradient = &g_array_index (answer->gradients, Gradient, i);
      const IrTensor *tensor = ir_run_value (answer->run, gradient->gradient);

      cli_grad_print_tensor (ir_model_value (answer->model, gradient->by)->name, tensor,
                             gradient->why);
    }
  cli_print ("%u nodes forward, %u backward, which keep %s\n", answer->forward.n_nodes,
             answer->all.n_nodes - answer->forward.n_nodes, kept);
  if (answer->reason != NULL)
    print_explanation (answer);
}

/* What is derived is kept beside the outputs. */
static gboolean
run_all (Answer *answer, GError **error)
{
  g_autoptr (GArray) chosen = g_array_new (FALSE, FALSE, sizeof (IrValueId));

  g_array_append_val (chosen, answer->of);
  answer->run = cli_run (answer->cli, &answer->options->model, answer->model,
                         answer->options->explain != NULL ? IR_CAPTURE_ALL : IR_CAPTURE_CHOSEN,
                         chosen, NULL, error);
  if (answer->run == NULL || answer->run->missing == NULL || answer->run->missing->len == 0)
    return answer->run != NULL;
  g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_UNSUPPORTED, "%s",
               g_array_index (answer->run->missing, IrMissing, 0).why);
  return FALSE;
}

static gboolean
reverse (Cli *cli, const CliGradOptions *options, IrModel *model, GError **error)
{
  g_auto (Answer) answer = { .cli = cli, .options = options, .model = model };

  if (!derive (&answer, error) ||
      (options->output != NULL &&
       !ir_model_save (model, options->output, NULL, cli->cancellable, error)) ||
      !run_all (&answer, error) || !save_all (&answer, error))
    return FALSE;
  if (options->explain != NULL)
    explain (&answer);
  answer.kept = answer.n_forward_ids > 0 ? kept_bytes (&answer) : 0;
  (cli->json ? print_json : print_text) (&answer);
  return TRUE;
}

/* -- the ways -- */

static const struct
{
  const char *name;
  CliGradMode run;
  const char *const *takes; /* options that only some ways have */
} modes[] = {
  { "reverse", reverse,
    (const char *const[]){ "cotangent", "explain", "order", "output", "out", "stop", NULL } },
  { "forward", cli_grad_forward,
    (const char *const[]){ "tangent", "hvp", "output", "out", "stop", NULL } },
  { "numeric", cli_grad_numeric,
    (const char *const[]){ "tangent", "out", "method", "step", "sweep", NULL } },
  { "symbolic", cli_grad_symbolic, (const char *const[]){ "simplify", NULL } },
  { "tape", cli_grad_tape, (const char *const[]){ "out", NULL } },
};

static CliGradMode
find_mode (const CliGradOptions *options, GError **error)
{
  const char *name = options->mode != NULL  ? options->mode
                     : options->hvp != NULL ? "forward"
                                            : modes[0].name;
  const struct
  {
    const char *name;
    gboolean given;
  } some[] = {
    { "cotangent", options->cotangent != NULL },
    { "stop", options->stop != NULL },
    { "explain", options->explain != NULL },
    { "order", options->order != NULL },
    { "output", options->output != NULL },
    { "out", options->out != NULL },
    { "tangent", options->tangents != NULL },
    { "method", options->method != NULL },
    { "step", options->step != 0 },
    { "sweep", options->sweep },
    { "simplify", options->simplify },
    { "hvp", options->hvp != NULL },
  };
  g_autoptr (GString) names = g_string_new (NULL);

  for (guint i = 0; i < G_N_ELEMENTS (modes); i++)
    {
      g_string_append_printf (names, "%s%s", i > 0 ? ", " : "", modes[i].name);
      if (strcmp (modes[i].name, name) != 0)
        continue;
      for (guint k = 0; k < G_N_ELEMENTS (some); k++)
        if (some[k].given && !g_strv_contains (modes[i].takes, some[k].name))
          {
            g_set_error (error, CLI_ERROR, 0, "--%s says nothing to --mode %s", some[k].name, name);
            return NULL;
          }
      return options->hvp != NULL ? cli_grad_hessian : modes[i].run;
    }
  g_set_error (error, CLI_ERROR, 0, "--mode %s: needs one of %s", name, names->str);
  return NULL;
}

static CliStatus
run (Cli *cli)
{
  const CliGradOptions *options = cli->options;
  g_auto (CliModel) opened = { 0 };
  g_autoptr (GError) error = NULL;
  CliGradMode mode = find_mode (options, &error);
  CliStatus status;

  if (mode == NULL)
    return cli_fail (CLI_BAD, error);
  if (options->explain != NULL && options->order != NULL)
    {
      cli_printerr ("irscope grad: --explain follows first derivatives; leave --order out\n");
      return CLI_BAD;
    }
  if (options->explain != NULL && options->wrt != NULL)
    {
      cli_printerr (
          "irscope grad: --explain derives by the value that it names; leave --wrt out\n");
      return CLI_BAD;
    }
  if (!cli_model_open (cli, &options->model, cli->args[0], FALSE, &opened, &status))
    return status;
  cli_print_problems (opened.problems, IR_SEVERITY_ERROR);
  return mode (cli, options, opened.model, &error) ? CLI_OK
                                                   : cli_fail (cli_status_of (error), error);
}

const CliCommand cli_command_grad = {
  .name = "grad",
  .arguments = "FILE",
  .takes_model = TRUE,
  .summary =
      "Derive a value by parameters, inputs or other values: the backward graph and what it gives",
  .doc =
      "The backward part is that of the pass gradient ('irscope steps FILE --pass gradient'). Models\n"
      "before opset 18 are upgraded first, and constants folded where sizes are not known. Derivatives are\n"
      "outputs called NAME.grad. What nothing comes to is listed with the reason; --explain follows one\n"
      "back through the values of the run: no-path, frozen, dead, saturated, masked, times-zero,\n"
      "cancelled, underflow, non-finite, or plain. docs/GRADIENTS.md says how each operator is derived.",
  .min_args = 1,
  .max_args = 1,
  .options = grad_options,
  .model_options = cli_limited_options,
  .options_size = sizeof (CliGradOptions),
  .run = run,
};
