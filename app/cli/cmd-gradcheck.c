/* irscope gradcheck: derivatives against differences of the function itself. */
#include "config.h"

#include "app/cli/commands.h"
#include "app/cli/derive.h"
#include "app/cli/output.h"
#include "passes/proof/gradcheck.h"

#include <math.h>

#define N_DIRECTIONS 3

typedef struct
{
  CliModelOptions model;
  char *of, *wrt;
  double eps, atol, rtol;
} Options;

static const CliOption gradcheck_options[] = {
  { "of", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, of),
    "What is derived (default: the only floating-point output)", "V" },
  { "wrt", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, wrt),
    "By what: all (default), params, inputs, or names with commas between", "V" },
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

static void
add_item (cJSON *json, const char *key, const IrGradcheckItem *item)
{
  cJSON *object;

  if (item == NULL)
    {
      cJSON_AddNullToObject (json, key);
      return;
    }
  object = cJSON_AddObjectToObject (json, key);
  cJSON_AddStringToObject (object, "input", item->input);
  cli_json_add_int (object, "index", item->index);
  cli_json_add_double (object, "analytic", item->analytic);
  cli_json_add_double (object, "numeric", item->numeric);
}

static void
print_json (const GArray *items)
{
  cJSON *json = cJSON_CreateObject ();

  cJSON_AddNumberToObject (json, "checked", items->len);
  cJSON_AddNumberToObject (json, "passed", count (items, IR_GRADCHECK_PASSED));
  cJSON_AddNumberToObject (json, "failed", count (items, IR_GRADCHECK_FAILED));
  cJSON_AddNumberToObject (json, "kinks", count (items, IR_GRADCHECK_KINK));
  add_item (json, "worst", worst_of (items));
  cli_json_print (json);
}

static void
print_item (const IrGradcheckItem *item)
{
  static const char *const verdicts[] = { "passed", "FAILED", "kink" };
  g_autofree char *place = item->index >= 0 ? g_strdup_printf ("%s[%" G_GINT64_FORMAT "]",
                                                               item->input, item->index)
                                            : g_strdup_printf ("%s, random direction", item->input);

  cli_print ("%-7s %-44s %.9g, by differences %.9g (left %.6g, right %.6g)\n",
             verdicts[item->verdict], place, item->analytic, item->numeric, item->left,
             item->right);
}

static void
print_text (const GArray *items)
{
  const IrGradcheckItem *worst = worst_of (items);

  for (guint i = 0; i < items->len; i++)
    if (g_array_index (items, IrGradcheckItem, i).verdict != IR_GRADCHECK_PASSED)
      print_item (&g_array_index (items, IrGradcheckItem, i));
  cli_print ("%u checked: %u passed, %u failed, %u at kinks\n", items->len,
             count (items, IR_GRADCHECK_PASSED), count (items, IR_GRADCHECK_FAILED),
             count (items, IR_GRADCHECK_KINK));
  if (worst != NULL)
    {
      cli_print ("furthest apart: ");
      print_item (worst);
    }
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
    .eps = options->eps > 0 ? options->eps : 1e-6,
    .atol = options->atol > 0 ? options->atol : 1e-5,
    .rtol = options->rtol > 0 ? options->rtol : 1e-3,
    .seed = (guint64) options->model.seed,
    .n_directions = N_DIRECTIONS,
    .cancellable = cli->cancellable,
  };

  if (!cli_model_open (cli, &options->model, cli->args[0], FALSE, &opened, &status))
    return status;
  if (!cli_prepare_to_derive (cli, &options->model, opened.model, &wrt, &error))
    return cli_fail (cli_status_of (error), error);
  how.wrt = wrt;
  if (!cli_limits (&options->model, &how.limits, &error) ||
      (inputs = cli_inputs_within (cli, &options->model, opened.model, how.limits.memory_limit,
                                   &error)) == NULL ||
      (items = ir_gradcheck (opened.model, inputs, &how, &error)) == NULL)
    return cli_fail (cli_status_of (error), error);
  (cli->json ? print_json : print_text) (items);
  return count (items, IR_GRADCHECK_FAILED) > 0 ? CLI_NO : CLI_OK;
}

const CliCommand cli_command_gradcheck = {
  .name = "gradcheck",
  .arguments = "FILE",
  .takes_model = TRUE,
  .summary = "Compare derivatives with differences of the function itself, in double",
  .doc =
      "What has few elements is moved along each; what has many along three random directions, and along\n"
      "the element with the largest derivative. At a kink the slopes on both sides differ. Exit status 1\n"
      "if a derivative is wrong.",
  .min_args = 1,
  .max_args = 1,
  .options = gradcheck_options,
  .model_options = cli_limited_options,
  .options_size = sizeof (Options),
  .run = run,
};
