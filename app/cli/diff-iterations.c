#include "config.h"

#include "app/cli/diff-iterations.h"

#include "app/cli/diff-values.h"
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

static void
measure (Cli *cli, GArray *pairs)
{
  for (guint i = 0; i < pairs->len; i++)
    {
      Pair *pair = &g_array_index (pairs, Pair, i);
      if (pair->a == NULL || pair->b == NULL)
        continue;
      pair->same = ir_tensor_equal (pair->a->tensor, pair->b->tensor);
      pair->is_measured = ir_tensors_measure (pair->a->tensor, pair->b->tensor, cli->cancellable,
                                              &pair->metrics);
    }
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
  measure (cli, pairs);
  return pairs;
}

static const char *
verdict (const Pair *pair)
{
  return pair->a == NULL || pair->b == NULL ? "computed in one alone"
         : pair->same                       ? "same"
                                            : "differs";
}

/* @of_b: (nullable): where values of both sides are of other models; @between: "iterations 3 and 4" */
static void
report (Cli *cli, const IrRun *of_a, const IrRun *of_b, const char *between, const GArray *pairs)
{
  cJSON *json = cJSON_CreateObject (), *array = cJSON_AddArrayToObject (json, "values");
  guint n_different = 0;

  for (guint i = 0; i < pairs->len; i++)
    {
      const Pair *pair = &g_array_index (pairs, Pair, i);
      const IrKeptIteration *one = pair->a != NULL ? pair->a : pair->b;
      const IrRun *run = pair->a == NULL && of_b != NULL ? of_b : of_a;
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
      cli_print ("%u of %u values of loops differ between %s\n", n_different, pairs->len, between);
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
  g_autofree char *between = g_strdup_printf ("iterations %" G_GINT64_FORMAT
                                              " and %" G_GINT64_FORMAT,
                                              own.captured.first, own.captured.last);
  report (cli, run, NULL, between, pairs);
  return has_differences (pairs) ? CLI_NO : CLI_OK;
}

/* -- one iteration of two graphs -- */

/* (nullable) (transfer full) */
static IrRun *
run_of (Cli *cli,
        const CliModelOptions *options,
        gint64 iteration,
        IrModel *model,
        GHashTable *inputs,
        GError **error)
{
  IrRunOptions run = { .backend = cli_backend (options, error),
                       .n_threads = (guint) MAX (options->threads, 0),
                       .capture = IR_CAPTURE_ALL,
                       .iterations = {
                           .kind = IR_ITERATIONS_PAIR, .first = iteration, .last = iteration } };
  IrRunLimits limits;

  if (run.backend == NULL || !cli_limits (options, &limits, error))
    return NULL;
  ir_run_options_limit (&run, &limits);
  return ir_model_run (model, inputs, &run, cli->cancellable, error);
}

/* What gives @b's value on the other side, of nodes that are a pair. 0: nothing does */
static IrValueId
partner_of (const IrDiff *diff, IrValueId b)
{
  const IrNode *node = ir_model_value (diff->b, b)->producer;
  const IrNodeDiff *row = node != NULL ? ir_diff_of_b (diff, node->id) : NULL;
  const IrNode *other = row != NULL && row->a != 0 ? ir_model_node (diff->a, row->a) : NULL;

  for (guint i = 0; other != NULL && i < MIN (node->n_outputs, other->n_outputs); i++)
    if (node->outputs[i] != NULL && node->outputs[i]->id == b && other->outputs[i] != NULL)
      return other->outputs[i]->id;
  return 0;
}

/* Whether the loops around are in @iteration as well: of frames of tokens all are kept. */
static gboolean
is_inside (const IrKeptIteration *kept, gint64 iteration)
{
  for (const char *at = kept->frame; (at = strchr (at, '@')) != NULL; at++)
    if ((at == kept->frame || at[-1] != '\\') && g_ascii_isdigit (at[1]) &&
        g_ascii_strtoll (at + 1, NULL, 10) != iteration)
      return FALSE;
  return TRUE;
}

/* (nullable) The @n th that @run has of @value */
static const IrKeptIteration *
nth_of (const IrRun *run, IrValueId value, gint64 iteration, guint n)
{
  for (guint i = 0; i < ir_run_n_iterations_kept (run); i++)
    {
      const IrKeptIteration *kept = ir_run_iteration (run, i);
      if (kept->value == value && is_inside (kept, iteration) && n-- == 0)
        return kept;
    }
  return NULL;
}

/* Of values that both have, in all frames where they were computed in that iteration: the nth time is the same. */
static GArray *
pair_runs (Cli *cli, const IrDiff *diff, const IrRun *a, const IrRun *b, gint64 iteration)
{
  GArray *pairs = g_array_new (FALSE, TRUE, sizeof (Pair));
  IrValueId last = 0;
  guint n = 0;

  for (guint i = 0; i < ir_run_n_iterations_kept (b); i++)
    {
      const IrKeptIteration *kept = ir_run_iteration (b, i);
      const IrValueId partner = partner_of (diff, kept->value);
      if (partner == 0 || !is_inside (kept, iteration))
        continue;
      n = kept->value == last ? n + 1 : 0;
      last = kept->value;
      const Pair pair = { .a = nth_of (a, partner, iteration, n), .b = kept };
      g_array_append_val (pairs, pair);
    }
  measure (cli, pairs);
  return pairs;
}

CliStatus
cli_diff_iteration_of_both (Cli *cli,
                            const CliModelOptions *options,
                            const IrDiff *diff,
                            const char *text)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GHashTable) inputs_a = NULL, inputs_b = NULL;
  g_autoptr (IrRun) a = NULL, b = NULL;
  gint64 iteration;

  if (!g_ascii_string_to_signed (text, 10, 0, G_MAXINT64, &iteration, NULL))
    {
      cli_printerr (
          "irscope diff --iterations %s: of two graphs needs one iteration, from 0, as in 3\n",
          text);
      return CLI_BAD;
    }
  if (!cli_diff_inputs (cli, options, diff, &inputs_a, &inputs_b, &error) ||
      (a = run_of (cli, options, iteration, diff->a, inputs_a, &error)) == NULL ||
      (b = run_of (cli, options, iteration, diff->b, inputs_b, &error)) == NULL)
    return cli_fail (cli_status_of (error), error);
  g_autoptr (GArray) pairs = pair_runs (cli, diff, a, b, iteration);
  if (pairs->len == 0)
    {
      g_set_error (&error, CLI_ERROR, 0,
                   "--iterations %s: no value that both have was computed in it", text);
      return cli_fail (CLI_BAD, error);
    }
  g_autofree char *between = g_strdup_printf ("iteration %" G_GINT64_FORMAT " of both", iteration);
  report (cli, a, b, between, pairs);
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
