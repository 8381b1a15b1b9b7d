/* irscope grad --mode numeric: differences of the function itself, and a sweep of their step. */
#include "config.h"

#include "app/cli/grad.h"
#include "app/cli/output.h"
#include "passes/pipeline/derive.h"
#include "passes/proof/differences.h"
#include "passes/proof/numeric.h"

#include <math.h>
#include <string.h>

typedef struct
{
  Cli *cli;
  const CliGradOptions *options;
  IrMovable function;
  IrDifference method;
  double h, value;
  GPtrArray *gradients; /* (nullable) of IrTensor */
  GPtrArray *paths;     /* per gradient (nullable) */
  IrSweep *sweep;       /* (nullable) */
  IrComplexStop stop;
} Answer;

static void
answer_clear (Answer *answer)
{
  ir_movable_clear (&answer->function);
  g_clear_pointer (&answer->gradients, g_ptr_array_unref);
  g_clear_pointer (&answer->paths, g_ptr_array_unref);
  g_clear_pointer (&answer->sweep, ir_sweep_free);
  g_clear_pointer (&answer->stop.why, g_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Answer, answer_clear)

static gboolean
read_method (Answer *answer, GError **error)
{
  const char *name = answer->options->method != NULL ? answer->options->method : "central";

  if (!ir_difference_find (name, &answer->method))
    {
      g_set_error (error, CLI_ERROR, 0, "--method %s: needs forward, central or complex", name);
      return FALSE;
    }
  answer->h = isnan (answer->options->step) ? ir_difference_step (answer->method)
                                            : answer->options->step;
  if (answer->h > 0 && isfinite (answer->h))
    return TRUE;
  g_set_error (error, CLI_ERROR, 0, "--step %g: needs a number above 0", answer->h);
  return FALSE;
}

/* Per value: what --tangent says, else ones */
static GPtrArray *
directions_of (const Answer *answer, GError **error)
{
  g_autoptr (GPtrArray) directions = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; i < answer->function.by->len; i++)
    {
      const IrValue *value = answer->function.by->pdata[i];
      const IrTensor *here = g_hash_table_lookup (answer->function.inputs,
                                                  GUINT_TO_POINTER (value->id));
      guint64 n = ir_tensor_n_elements (here);
      double *direction = g_new (double, MAX (n, 1));
      GError *inner = NULL;
      g_ptr_array_add (directions, direction);
      g_autoptr (IrTensor) given = cli_grad_direction (answer->options, value, &inner);
      if (inner != NULL)
        {
          g_propagate_error (error, inner);
          return NULL;
        }
      if (given != NULL && ir_tensor_n_elements (given) != n)
        {
          g_set_error (error, CLI_ERROR, 0,
                       "--tangent %s: has %" G_GUINT64_FORMAT
                       " elements, and it has %" G_GUINT64_FORMAT,
                       value->name, ir_tensor_n_elements (given), n);
          return NULL;
        }
      for (guint64 k = 0; k < n; k++)
        direction[k] = given != NULL ? ir_tensor_get_double (given, k) : 1;
    }
  return g_steal_pointer (&directions);
}

static gboolean
compute (Answer *answer, IrModel *model, GError **error)
{
  const CliGradOptions *options = answer->options;
  g_autofree char *wrt = cli_grad_wrt (options, error);
  g_autoptr (GHashTable) inputs = NULL;

  if (wrt == NULL || !ir_prepare_to_derive (model, &wrt, answer->cli->cancellable, error) ||
      !cli_limits (&options->model, &answer->function.limits, error) ||
      (inputs = cli_inputs_within (answer->cli, &options->model, model,
                                   answer->function.limits.memory_limit, error)) == NULL ||
      !ir_movable_init (&answer->function, model, inputs, options->of != NULL ? options->of : "",
                        wrt, error) ||
      !ir_movable_at (&answer->function, NULL, NULL, 0, &answer->value, error))
    return FALSE;
  if (options->sweep)
    {
      g_autoptr (GPtrArray) directions = directions_of (answer, error);
      answer->sweep = directions != NULL
                          ? ir_numeric_sweep (&answer->function,
                                              (double *const *) directions->pdata, error)
                          : NULL;
      return answer->sweep != NULL;
    }
  answer->gradients = ir_numeric_gradients (&answer->function, answer->method, answer->h,
                                            &answer->stop, error);
  return answer->gradients != NULL;
}

static gboolean
save_all (Answer *answer, GError **error)
{
  answer->paths = g_ptr_array_new_with_free_func (g_free);
  for (guint i = 0; answer->gradients != NULL && i < answer->gradients->len; i++)
    {
      const IrValue *by = answer->function.by->pdata[i];
      g_autofree char *name = g_strdup_printf ("%s.grad", by->name);
      char *path = NULL;
      if (!cli_grad_save (answer->options, name, answer->gradients->pdata[i], &path, error))
        return FALSE;
      g_ptr_array_add (answer->paths, path);
    }
  return TRUE;
}

/* -- what is said -- */

static void
add_fits (const IrSweep *sweep, cJSON *json)
{
  cJSON *fits = cJSON_AddObjectToObject (json, "fits");

  for (guint kind = 0; kind < IR_N_DIFFERENCES; kind++)
    {
      const IrSweepFit *fit = &sweep->fits[kind];
      cJSON *object = cJSON_AddObjectToObject (fits, ir_difference_name ((IrDifference) kind));
      cli_json_add_double (object, "truncation", fit->truncation);
      cli_json_add_double (object, "rounding", fit->rounding);
      cli_json_add_double (object, "best_h", fit->best_h);
      cli_json_add_double (object, "best_error", fit->best_error);
    }
}

static void
add_sweep (const Answer *answer, cJSON *json)
{
  cJSON *array = cJSON_AddArrayToObject (json, "sweep");
  const IrSweep *sweep = answer->sweep;

  for (guint i = 0; sweep != NULL && i < sweep->points->len; i++)
    {
      const IrSweepPoint *point = &g_array_index (sweep->points, IrSweepPoint, i);
      cJSON *object = cJSON_CreateObject ();
      cli_json_add_double (object, "h", point->h);
      for (guint kind = 0; kind < IR_N_DIFFERENCES; kind++)
        cli_json_add_double (object, ir_difference_name ((IrDifference) kind), point->error[kind]);
      cJSON_AddItemToArray (array, object);
    }
  if (sweep == NULL)
    {
      cJSON_AddNullToObject (json, "fits");
      cJSON_AddNullToObject (json, "reference");
      cJSON_AddNullToObject (json, "stop");
      return;
    }
  add_fits (sweep, json);
  cli_json_add_double (json, "reference", sweep->reference);
  if (sweep->stop.node == 0)
    {
      cJSON_AddNullToObject (json, "stop");
      return;
    }
  cJSON *stop = cJSON_AddObjectToObject (json, "stop");
  cli_grad_add_node (ir_model_node (answer->function.model, sweep->stop.node), stop);
  cJSON_AddStringToObject (stop, "text", sweep->stop.why);
}

static void
print_json (const Answer *answer)
{
  cJSON *json = cJSON_CreateObject (), *array;

  cJSON_AddStringToObject (json, "of", answer->function.of->name);
  cJSON_AddStringToObject (json, "mode", "numeric");
  cJSON_AddStringToObject (json, "method", ir_difference_name (answer->method));
  cli_json_add_double (json, "step", answer->h);
  cli_json_add_double (json, "value", answer->value);
  array = cJSON_AddArrayToObject (json, "gradients");
  for (guint i = 0; answer->gradients != NULL && i < answer->gradients->len; i++)
    {
      cJSON *object = cJSON_CreateObject ();
      cJSON_AddStringToObject (object, "name", ((IrValue *) answer->function.by->pdata[i])->name);
      cli_grad_add_tensor (object, answer->gradients->pdata[i], answer->paths->pdata[i]);
      cli_grad_add_held (object, NAN);
      cJSON_AddNullToObject (object, "reason");
      cJSON_AddItemToArray (array, object);
    }
  add_sweep (answer, json);
  cli_json_print (json);
}

/* (transfer full) Of a branch with too few points there is no slope. */
static char *
slope_text (double slope)
{
  return isnan (slope) ? g_strdup ("not seen") : g_strdup_printf ("%.2f", slope);
}

static void
print_fit (IrDifference kind, const IrSweepFit *fit)
{
  g_autofree char *truncation = slope_text (fit->truncation),
                  *rounding = slope_text (fit->rounding);

  cli_print ("%s: best step %.2e, error %.2e; slopes: truncation %s, rounding %s\n",
             ir_difference_name (kind), fit->best_h, fit->best_error, truncation, rounding);
}

static void
print_sweep (const Answer *answer)
{
  const IrSweep *sweep = answer->sweep;

  cli_print ("derivative along the direction %.12g\n  %-10s %-12s %-12s %-12s\n", sweep->reference,
             "step", "forward", "central", "complex");
  for (guint i = 0; i < sweep->points->len; i++)
    {
      const IrSweepPoint *point = &g_array_index (sweep->points, IrSweepPoint, i);
      cli_print ("  %-10.2e %-12.3e %-12.3e %-12.3e\n", point->h,
                 point->error[IR_DIFFERENCE_FORWARD], point->error[IR_DIFFERENCE_CENTRAL],
                 point->error[IR_DIFFERENCE_COMPLEX]);
    }
  for (guint kind = 0; kind < IR_N_DIFFERENCES; kind++)
    if (!isnan (sweep->fits[kind].best_h))
      print_fit ((IrDifference) kind, &sweep->fits[kind]);
  if (sweep->stop.why != NULL)
    cli_print ("%s\n", sweep->stop.why);
}

static void
print_text (const Answer *answer)
{
  cli_print ("%s = %.9g, in double\n", answer->function.of->name, answer->value);
  if (answer->sweep != NULL)
    {
      print_sweep (answer);
      return;
    }
  cli_print ("%s differences, step %g\n", ir_difference_name (answer->method), answer->h);
  for (guint i = 0; i < answer->gradients->len; i++)
    cli_grad_print_tensor (((IrValue *) answer->function.by->pdata[i])->name,
                           answer->gradients->pdata[i], NULL);
}

gboolean
cli_grad_numeric (Cli *cli, const CliGradOptions *options, IrModel *model, GError **error)
{
  g_auto (Answer) answer = { .cli = cli, .options = options };

  answer.function.cancellable = cli->cancellable;
  if (options->sweep && (options->out != NULL || !isnan (options->step) || options->method != NULL))
    {
      g_set_error (
          error, CLI_ERROR, 0,
          "--%s says nothing to --sweep, which tries all methods and steps and writes none",
          options->out != NULL     ? "out"
          : !isnan (options->step) ? "step"
                                   : "method");
      return FALSE;
    }
  if (!options->sweep && options->tangents != NULL)
    {
      g_set_error (
          error, CLI_ERROR, 0,
          "--tangent says nothing to --mode numeric without --sweep; name values by --wrt");
      return FALSE;
    }
  if (!read_method (&answer, error) || !compute (&answer, model, error) ||
      !save_all (&answer, error))
    return FALSE;
  (cli->json ? print_json : print_text) (&answer);
  return TRUE;
}
