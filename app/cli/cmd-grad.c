/* irscope grad: derivatives of a graph, as values and as a graph. */
#include "config.h"

#include "app/cli/commands.h"
#include "app/cli/grad.h"
#include "app/cli/output.h"
#include "app/cli/recompute.h"
#include "app/cli/save.h"
#include "core/io/io.h"
#include "passes/debug/gradients.h"

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
  CLI_BUDGET_OPTION (G_STRUCT_OFFSET (CliGradOptions, model.budget)),
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
  { "layers", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (CliGradOptions, layers),
    "Say what came back to each node: norm, growth on the way through it, zeros, and units of activations that "
    "let nothing pass",
    NULL },
  { "jacobian", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (CliGradOptions, jacobian),
    "Each element of what is derived by each element of what it is derived by, not those of its sum",
    NULL },
  { "output", 'o', G_OPTION_ARG_FILENAME, G_STRUCT_OFFSET (CliGradOptions, output),
    "Write the model with its backward part", "M" },
  { "out", 0, G_OPTION_ARG_FILENAME, G_STRUCT_OFFSET (CliGradOptions, out),
    "Write each derivative there as .npy, those that NumPy has no type for as .pb", "DIR" },
  { 0 },
};

typedef struct
{
  Cli *cli;
  const CliGradOptions *options;
  IrModel *model;
  IrGradients *gradients;
  GPtrArray *reasons; /* (nullable) of IrGradientReason, per derivative (nullable) */
} Answer;

static void
answer_clear (Answer *answer)
{
  g_clear_pointer (&answer->gradients, ir_gradients_unref);
  g_clear_pointer (&answer->reasons, g_ptr_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Answer, answer_clear)

static const IrGradientRow *
row_at (const Answer *answer, guint i)
{
  return &g_array_index (answer->gradients->rows, IrGradientRow, i);
}

static const IrGradientReason *
reason_at (const Answer *answer, guint i)
{
  return answer->reasons != NULL ? answer->reasons->pdata[i] : NULL;
}

static gboolean
derive (Answer *answer, GError **error)
{
  const CliGradOptions *options = answer->options;
  g_autofree char *wrt = options->explain != NULL ? g_strdup (options->explain)
                                                  : cli_grad_names (options->wrt, "params");
  const IrGradientsSetup setup = { .of = options->of != NULL ? options->of : "",
                                   .wrt = wrt,
                                   .stop = options->stop,
                                   .cotangent = options->cotangent,
                                   .order = options->order };

  answer->gradients = ir_gradients_new (answer->model, &setup, answer->cli->cancellable, error);
  return answer->gradients != NULL;
}

/* -- values -- */

static const IrTensor *
tensor_at (const Answer *answer, guint i)
{
  return ir_run_value (answer->gradients->run, row_at (answer, i)->gradient);
}

static gboolean
save_all (const Answer *answer, GPtrArray *paths, GError **error)
{
  for (guint i = 0; i < answer->gradients->rows->len; i++)
    {
      const IrValue *value = ir_model_value (answer->model, row_at (answer, i)->gradient);
      if (value != NULL && !cli_grad_save (answer->options, value->name, tensor_at (answer, i),
                                           (char **) &paths->pdata[i], error))
        return FALSE;
    }
  return TRUE;
}

static void
add_reason (const Answer *answer, guint i, cJSON *object)
{
  const IrGradientReason *found = reason_at (answer, i);
  const IrGradientRow *row = row_at (answer, i);
  cJSON *reason;

  if (row->why == NULL && found == NULL)
    {
      cJSON_AddNullToObject (object, "reason");
      return;
    }
  reason = cJSON_AddObjectToObject (object, "reason");
  cJSON_AddStringToObject (
      reason, "kind", ir_gradient_kind_name (found != NULL ? found->kind : IR_GRADIENT_NO_PATH));
  cli_grad_add_node (ir_model_node (answer->model, found != NULL ? found->node : row->end), reason);
  cJSON_AddStringToObject (reason, "text", found != NULL ? found->text : row->why);
}

static void
add_gradient (const Answer *answer, guint i, const char *path, cJSON *array)
{
  const IrGradientRow *row = row_at (answer, i);
  cJSON *object = cJSON_CreateObject ();

  cJSON_AddStringToObject (object, "name", ir_model_value (answer->model, row->by)->name);
  cli_grad_add_tensor (object, tensor_at (answer, i), path);
  cli_grad_add_held (object, row->held);
  add_reason (answer, i, object);
  cJSON_AddItemToArray (array, object);
}

/* The sum of the elements of what is derived, a cotangent left aside. */
static double
value_of (const Answer *answer)
{
  return cli_grad_sum (ir_run_value (answer->gradients->run, answer->gradients->of));
}

/* -- why it is what it is -- */

/* What --explain asks for, else what of the derivatives is 0 everywhere or not finite. */
static void
explain (Answer *answer)
{
  answer->reasons = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_gradient_reason_free);
  for (guint i = 0; i < answer->gradients->rows->len; i++)
    g_ptr_array_add (answer->reasons, answer->options->explain != NULL ||
                                              ir_gradient_is_remarkable (row_at (answer, i))
                                          ? ir_gradients_explain (answer->gradients, i)
                                          : NULL);
}

static void
add_explanation (const Answer *answer, cJSON *json)
{
  const IrGradientReason *reason = reason_at (answer, 0);
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
  const IrGradientReason *reason = reason_at (answer, 0);

  cli_print ("\nWhy: %s\n  %s%s\n", ir_gradient_kind_name (reason->kind), reason->text,
             reason->is_finite ? "" : " What is derived is not finite itself.");
  if (reason->stages->len > 0)
    cli_print ("\nWhat came back, from %s to %s\n  %-32s %-20s %12s %12s %7s %8s\n",
               ir_model_value (answer->model, answer->gradients->of)->name,
               answer->options->explain, "value", "operator", "norm", "max", "zeros", "NaN");
  for (guint i = 0; i < reason->stages->len; i++)
    {
      const IrGradientStage *stage = &g_array_index (reason->stages, IrGradientStage, i);
      const IrValue *value = ir_model_value (answer->model, stage->value);

      cli_print ("  %-32s %-20s %12.5g %12.5g %5.0f %% %8" G_GUINT64_FORMAT "\n", value->name,
                 value->producer != NULL ? value->producer->op_type : "", stage->norm,
                 stage->max_abs, 100 * stage->zeros, stage->n_nan);
    }
}

/* -- what came back through nodes -- */

static void
add_layers (const Answer *answer, cJSON *json)
{
  const GArray *layers = answer->gradients->layers;
  cJSON *array;

  if (!answer->options->layers || layers == NULL)
    return;
  array = cJSON_AddArrayToObject (json, "layers");
  for (guint i = 0; i < layers->len; i++)
    {
      const IrGradientLayer *layer = &g_array_index (layers, IrGradientLayer, i);
      cJSON *object = cJSON_CreateObject ();

      cli_grad_add_node (ir_model_node (answer->model, layer->node), object);
      cJSON_AddStringToObject (object, "value", ir_model_value (answer->model, layer->value)->name);
      cli_json_add_double (object, "norm", ir_tensor_stats_norm (&layer->stats));
      cli_json_add_double (object, "max_abs", ir_tensor_stats_max_abs (&layer->stats));
      cli_json_add_double (object, "zeros", (double) layer->stats.n_zero / layer->stats.n);
      cli_json_add_uint (object, "nan", layer->stats.n_nan);
      if (isnan (layer->growth))
        cJSON_AddNullToObject (object, "growth");
      else
        cli_json_add_double (object, "growth", layer->growth);
      cJSON_AddNumberToObject (object, "units", layer->n_units);
      cJSON_AddNumberToObject (object, "dead_units", layer->n_dead);
      cJSON_AddItemToArray (array, object);
    }
}

static void
print_layers (const Answer *answer)
{
  const GArray *layers = answer->gradients->layers;

  if (!answer->options->layers || layers == NULL)
    return;
  cli_print ("\nWhat came back to each node, from %s on\n  %-32s %-20s %12s %12s %9s %7s %8s %s\n",
             ir_model_value (answer->model, answer->gradients->of)->name, "node", "operator",
             "norm", "max", "growth", "zeros", "NaN", "dead units");
  for (guint i = 0; i < layers->len; i++)
    {
      const IrGradientLayer *layer = &g_array_index (layers, IrGradientLayer, i);
      const IrNode *node = ir_model_node (answer->model, layer->node);
      g_autofree char *label = *node->name != '\0' ? g_strdup (node->name)
                                                   : g_strdup_printf ("#%u", node->id);
      g_autofree char *growth = isnan (layer->growth) ? g_strdup ("")
                                                      : g_strdup_printf ("%.3g", layer->growth);
      g_autofree char *dead = layer->n_units == 0
                                  ? g_strdup ("")
                                  : g_strdup_printf ("%u of %u", layer->n_dead, layer->n_units);

      cli_print ("  %-32s %-20s %12.5g %12.5g %9s %5.0f %% %8" G_GUINT64_FORMAT "  %s\n", label,
                 node->op_type, ir_tensor_stats_norm (&layer->stats),
                 ir_tensor_stats_max_abs (&layer->stats), growth,
                 100.0 * layer->stats.n_zero / layer->stats.n, layer->stats.n_nan, dead);
    }
}

static void
print_json (const Answer *answer, const GPtrArray *paths)
{
  const IrGradients *gradients = answer->gradients;
  cJSON *json = cJSON_CreateObject (), *array;
  const char *cotangent = answer->options->cotangent;

  cJSON_AddStringToObject (json, "of", ir_model_value (answer->model, gradients->of)->name);
  cJSON_AddStringToObject (json, "mode", "reverse");
  cJSON_AddStringToObject (json, "cotangent", cotangent != NULL ? cotangent : "ones");
  cli_json_add_double (json, "value", value_of (answer));
  array = cJSON_AddArrayToObject (json, "gradients");
  for (guint i = 0; i < gradients->rows->len; i++)
    add_gradient (answer, i, paths->pdata[i], array);
  add_layers (answer, json);
  cli_json_add_uint (json, "kept_bytes", gradients->kept_bytes);
  cli_held_add (json, gradients->run);
  cli_json_add_uint (json, "flops_forward", gradients->forward.flops);
  cli_json_add_uint (json, "flops_backward", gradients->all.flops - gradients->forward.flops);
  cJSON_AddNumberToObject (json, "nodes_forward", gradients->forward.n_nodes);
  cJSON_AddNumberToObject (json, "nodes_backward",
                           gradients->all.n_nodes - gradients->forward.n_nodes);
  if (answer->options->explain != NULL)
    add_explanation (answer, json);
  else
    cJSON_AddNullToObject (json, "explain");
  cli_json_print (json);
}

static void
print_text (const Answer *answer)
{
  const IrGradients *gradients = answer->gradients;
  g_autofree char *kept = cli_format_bytes (gradients->kept_bytes);
  const IrTensor *of = ir_run_value (gradients->run, gradients->of);
  const guint64 n = of != NULL ? ir_tensor_n_elements (of) : 1;
  g_autofree char *sum = n != 1 ? g_strdup_printf (" (sum of %" G_GUINT64_FORMAT " elements)", n)
                                : g_strdup ("");

  cli_print ("%s = %g%s%s\n", ir_model_value (answer->model, gradients->of)->name,
             value_of (answer), sum,
             answer->options->cotangent != NULL ? " (before the cotangent)" : "");
  for (guint i = 0; i < gradients->rows->len; i++)
    {
      const IrGradientReason *reason = reason_at (answer, i);

      cli_grad_print_tensor (
          ir_model_value (answer->model, row_at (answer, i)->by)->name, tensor_at (answer, i),
          reason != NULL && answer->options->explain == NULL ? reason->text
                                                             : row_at (answer, i)->why);
    }
  cli_print ("%u nodes forward, %u backward, which keep %s\n", gradients->forward.n_nodes,
             gradients->all.n_nodes - gradients->forward.n_nodes, kept);
  cli_held_print (gradients->run);
  print_layers (answer);
  if (answer->options->explain != NULL)
    print_explanation (answer);
}

static gboolean
run_once (Answer *answer, IrCaptureKind capture, GError **error)
{
  g_autoptr (GArray) chosen = g_array_new (FALSE, FALSE, sizeof (IrValueId));
  g_autoptr (IrRun) run = NULL;

  g_array_append_val (chosen, answer->gradients->of);
  run = cli_run (answer->cli, &answer->options->model, answer->model, capture, chosen, NULL, error);
  if (run != NULL && run->missing != NULL && run->missing->len > 0)
    {
      g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_UNSUPPORTED, "%s",
                   g_array_index (run->missing, IrMissing, 0).why);
      return FALSE;
    }
  if (run != NULL)
    ir_gradients_take_run (answer->gradients, g_steal_pointer (&run), capture == IR_CAPTURE_ALL);
  return answer->gradients->run != NULL;
}

/* What is derived is kept beside the outputs, and all where something is to be told of the way. */
static gboolean
run_all (Answer *answer, GError **error)
{
  gboolean all = answer->options->explain != NULL || answer->options->layers;

  if (!run_once (answer, all ? IR_CAPTURE_ALL : IR_CAPTURE_CHOSEN, error))
    return FALSE;
  for (guint i = 0; !all && i < answer->gradients->rows->len; i++)
    if (ir_gradient_is_remarkable (row_at (answer, i)))
      {
        all = TRUE;
        if (!run_once (answer, IR_CAPTURE_ALL, error))
          return FALSE;
      }
  if (all)
    explain (answer);
  return TRUE;
}

static gboolean
reverse (Cli *cli, const CliGradOptions *options, IrModel *model, GError **error)
{
  g_auto (Answer) answer = { .cli = cli, .options = options, .model = model };
  g_autoptr (GPtrArray) paths = g_ptr_array_new_with_free_func (g_free);

  if (!derive (&answer, error) ||
      (options->output != NULL && !cli_save_model (cli, model, options->output, NULL, error)) ||
      !run_all (&answer, error))
    return FALSE;
  g_ptr_array_set_size (paths, (int) answer.gradients->rows->len);
  if (!save_all (&answer, paths, error))
    return FALSE;
  if (cli->json)
    print_json (&answer, paths);
  else
    print_text (&answer);
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
    (const char *const[]){ "cotangent", "explain", "jacobian", "layers", "order", "output", "out",
                           "stop", NULL } },
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
    { "cotangent", options->cotangent != NULL }, { "stop", options->stop != NULL },
    { "explain", options->explain != NULL },     { "layers", options->layers },
    { "jacobian", options->jacobian },           { "order", options->order != NULL },
    { "output", options->output != NULL },       { "out", options->out != NULL },
    { "tangent", options->tangents != NULL },    { "method", options->method != NULL },
    { "step", !isnan (options->step) },          { "sweep", options->sweep },
    { "simplify", options->simplify },           { "hvp", options->hvp != NULL },
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
      return options->hvp != NULL ? cli_grad_hessian
             : options->jacobian  ? cli_grad_jacobian
                                  : modes[i].run;
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
  if (options->jacobian && (options->explain != NULL || options->order != NULL ||
                            options->cotangent != NULL || options->layers))
    {
      cli_printerr (
          "irscope grad: --jacobian has all first derivatives; leave --cotangent, --explain, --layers "
          "and --order out\n");
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
  g_autoptr (GHashTable) taken = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  CliGradOptions own = *options;
  own.taken = taken;
  return mode (cli, &own, opened.model, &error) ? CLI_OK : cli_fail_run (cli, error);
}

static void
set_defaults (gpointer options)
{
  ((CliGradOptions *) options)->step = NAN; /* what is good for the method */
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
      "outputs called NAME.grad; with --jacobian it runs once for each element of what is derived, and each\n"
      "result has the axes of that first, then those of NAME. What nothing comes to, or what is 0 or not finite, is listed with the reason; --explain follows one\n"
      "back through the values of the run: no-path, frozen, dead, saturated, masked, times-zero,\n"
      "cancelled, underflow, non-finite, or plain. docs/GRADIENTS.md says how each operator is derived.",
  .min_args = 1,
  .max_args = 1,
  .options = grad_options,
  .model_options = cli_limited_options,
  .options_size = sizeof (CliGradOptions),
  .defaults = set_defaults,
  .run = run,
};
