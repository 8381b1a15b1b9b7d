#include "config.h"

#include "app/cli/diff-iterations.h"

#include "app/cli/output.h"
#include "core/exec/check/metrics.h"
#include "core/exec/run/iterations.h"

#include <string.h>

/* One value of a loop, in both iterations. */
typedef struct
{
  const IrKeptIteration *a, *b; /* (nullable) it was not computed there */
  IrTensorMetrics metrics;
  gboolean same, is_measured;
} Pair;

static gboolean
parse (const char *text, IrIterations *iterations, GError **error)
{
  g_auto (GStrv) ends = g_strsplit (text, ":", 2);

  *iterations = (IrIterations){ .kind = IR_ITERATIONS_PAIR };
  if (ends[0] != NULL && ends[1] != NULL &&
      g_ascii_string_to_signed (ends[0], 10, 0, G_MAXINT64, &iterations->first, NULL) &&
      g_ascii_string_to_signed (ends[1], 10, 0, G_MAXINT64, &iterations->last, NULL) &&
      iterations->first != iterations->last)
    return TRUE;
  g_set_error (error, CLI_ERROR, 0, "--iterations %s: needs two iterations, from 0, as in 3:4",
               text);
  return FALSE;
}

static gboolean
is_partner (const IrKeptIteration *a, const IrKeptIteration *b)
{
  return a->value == b->value && strcmp (a->frame, b->frame) == 0;
}

/* (transfer full): of Pair, in the order of values */
static GArray *
pair_up (Cli *cli, const IrRun *run, const IrIterations *wanted)
{
  GArray *pairs = g_array_new (FALSE, TRUE, sizeof (Pair));
  const guint n = ir_run_n_iterations_kept (run);

  for (guint i = 0; i < n; i++)
    {
      const IrKeptIteration *kept = ir_run_iteration (run, i);
      Pair *found = NULL;
      for (guint k = pairs->len; k > 0 && found == NULL; k--)
        {
          Pair *pair = &g_array_index (pairs, Pair, k - 1);
          const IrKeptIteration *other = pair->a != NULL ? pair->a : pair->b;
          if (other->value != kept->value)
            break;
          found = is_partner (other, kept) ? pair : NULL;
        }
      if (found == NULL)
        {
          g_array_set_size (pairs, pairs->len + 1);
          found = &g_array_index (pairs, Pair, pairs->len - 1);
        }
      *(kept->iteration == wanted->first ? &found->a : &found->b) = kept;
    }
  for (guint i = 0; i < pairs->len; i++)
    {
      Pair *pair = &g_array_index (pairs, Pair, i);
      if (pair->a == NULL || pair->b == NULL)
        continue;
      pair->same = ir_tensor_equal (pair->a->tensor, pair->b->tensor);
      pair->is_measured = ir_tensors_measure (pair->a->tensor, pair->b->tensor, cli->cancellable,
                                              &pair->metrics);
    }
  return pairs;
}

static const char *
verdict (const Pair *pair)
{
  return pair->a == NULL || pair->b == NULL ? "computed in one alone"
         : pair->same                       ? "same"
                                            : "differs";
}

static void
report (Cli *cli, const IrRun *run, const IrIterations *wanted, const GArray *pairs)
{
  cJSON *json = cJSON_CreateObject (), *array = cJSON_AddArrayToObject (json, "values");
  guint n_different = 0;

  for (guint i = 0; i < pairs->len; i++)
    {
      const Pair *pair = &g_array_index (pairs, Pair, i);
      const IrKeptIteration *one = pair->a != NULL ? pair->a : pair->b;
      const char *name = ir_model_value (run->model, one->value)->name;
      cJSON *object = cJSON_CreateObject ();

      cJSON_AddStringToObject (object, "frame", one->frame);
      cJSON_AddStringToObject (object, "name", name);
      cJSON_AddStringToObject (object, "verdict", verdict (pair));
      if (pair->is_measured)
        cli_json_add_double (object, "max_abs", pair->metrics.max_abs);
      if (pair->is_measured)
        cli_json_add_double (object, "max_rel", pair->metrics.max_rel);
      cJSON_AddItemToArray (array, object);
      n_different += !pair->same;
      if (cli->json || pair->same)
        continue;
      cli_print ("%s/%s  %s", one->frame, name, verdict (pair));
      if (pair->is_measured)
        cli_print (", at most by %.6g", pair->metrics.max_abs);
      cli_print ("\n");
    }
  cJSON_AddNumberToObject (json, "different", n_different);
  if (cli->json)
    cli_json_print_long (cli, json);
  else
    {
      cli_print ("%u of %u values of loops differ between iterations %" G_GINT64_FORMAT
                 " and %" G_GINT64_FORMAT "\n",
                 n_different, pairs->len, wanted->first, wanted->last);
      cJSON_Delete (json);
    }
}

static gboolean
has_differences (const GArray *pairs)
{
  for (guint i = 0; i < pairs->len; i++)
    if (!g_array_index (pairs, Pair, i).same)
      return TRUE;
  return FALSE;
}

CliStatus
cli_diff_iterations (Cli *cli, const CliModelOptions *options, const char *file, const char *text)
{
  CliModelOptions own = *options;
  g_auto (CliModel) opened = { 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (IrRun) run = NULL;
  g_autoptr (GArray) pairs = NULL;
  CliStatus status;

  if (!parse (text, &own.captured, &error))
    return cli_fail (CLI_BAD, error);
  if (!cli_model_open (cli, &own, file, FALSE, &opened, &status))
    return status;
  run = cli_run (cli, &own, opened.model, IR_CAPTURE_ALL, NULL, NULL, &error);
  if (run == NULL)
    return cli_fail (cli_status_of (error), error);
  pairs = pair_up (cli, run, &own.captured);
  if (pairs->len == 0)
    {
      g_set_error (&error, CLI_ERROR, 0, "--iterations %s: no loop of %s came to either of them",
                   text, file);
      return cli_fail (CLI_BAD, error);
    }
  report (cli, run, &own.captured, pairs);
  return has_differences (pairs) ? CLI_NO : CLI_OK;
}

/* -- where two runs part -- */

void
cli_print_first_iteration (const char *what, const IrFirstIteration *first, const IrModel *b)
{
  if (first->frame == NULL)
    return;
  cli_print ("  %-8s %s@%" G_GINT64_FORMAT "/%s", what, first->frame, first->iteration,
             ir_model_value (b, first->b)->name);
  cli_print (": first of all iterations to differ");
  if (!first->comparable)
    cli_print (", in shape or type");
  else if (first->result.max_abs > 0) /* truths and texts have no distance */
    cli_print (", by %.3g", first->result.max_abs);
  cli_print ("\n");
}

void
cli_json_add_first_iteration (cJSON *json,
                              const IrFirstIteration *first,
                              const IrModel *a,
                              const IrModel *b)
{
  cJSON *object;

  if (first->frame == NULL)
    return;
  object = cJSON_AddObjectToObject (json, "first_iteration");
  cJSON_AddStringToObject (object, "frame", first->frame);
  cJSON_AddNumberToObject (object, "iteration", (double) first->iteration);
  cJSON_AddStringToObject (object, "a", ir_model_value (a, first->a)->name);
  cJSON_AddStringToObject (object, "b", ir_model_value (b, first->b)->name);
  if (first->comparable)
    cli_json_add_double (object, "max_abs", first->result.max_abs);
  else
    cJSON_AddNullToObject (object, "max_abs");
}
