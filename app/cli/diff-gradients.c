/* irscope diff --gradients: both graphs are derived and run on the same inputs, and derivatives by the same
 * parameters are compared: those of two models, or of one before and after its passes. */
#include "config.h"

#include "app/cli/diff-gradients.h"

#include "app/cli/diff-values.h"
#include "app/cli/output.h"
#include "passes/debug/gradients.h"
#include "passes/rewrites/gradient.h"

#include <math.h>
#include <string.h>

#define ROUNDING 1e-4 /* of the largest element: what float32 may differ by on another way */

typedef struct
{
  const IrGradientRow *a, *b; /* (nullable) one of them: it is not on that side */
  const char *name;
  double max_abs, scale; /* largest difference, and magnitude; NAN: they cannot be compared */
  gboolean same, diverges;
} Pair;

typedef struct
{
  IrGradients *a, *b;
  GArray *pairs; /* of Pair */
} Sides;

static void
sides_clear (Sides *sides)
{
  g_clear_pointer (&sides->a, ir_gradients_unref);
  g_clear_pointer (&sides->b, ir_gradients_unref);
  g_clear_pointer (&sides->pairs, g_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Sides, sides_clear)

/* -- deriving -- */

static IrGradients *
derive (Cli *cli,
        const CliModelOptions *options,
        const CliDiffGradients *wanted,
        IrModel *model,
        GHashTable *inputs,
        GError **error)
{
  g_autoptr (IrModel) copy = ir_model_clone (model);
  g_autoptr (GPtrArray) params = ir_gradient_wrt (copy, "params", NULL);
  const IrGradientsSetup setup = { .of = wanted->of != NULL ? wanted->of : "",
                                   .wrt = wanted->wrt != NULL ? wanted->wrt
                                          : params != NULL    ? "params"
                                                              : "inputs" };
  IrRunOptions run = { .backend = cli_backend (options, error),
                       .n_threads = (guint) MAX (options->threads, 0),
                       .seed = (guint64) options->seed };
  IrRunLimits limits;
  g_autoptr (IrGradients) gradients = NULL;

  if (run.backend == NULL || !cli_limits (options, &limits, error))
    return NULL;
  ir_run_options_limit (&run, &limits);
  gradients = ir_gradients_new (copy, &setup, cli->cancellable, error);
  return gradients != NULL && ir_gradients_run (gradients, inputs, &run, cli->cancellable, error)
             ? g_steal_pointer (&gradients)
             : NULL;
}

/* -- comparing -- */

static const char *
name_of (const IrGradients *gradients, const IrGradientRow *row)
{
  return ir_model_value (gradients->model, row->by)->name;
}

static const IrGradientRow *
find_row (const IrGradients *gradients, const char *name)
{
  for (guint i = 0; i < gradients->rows->len; i++)
    {
      const IrGradientRow *row = &g_array_index (gradients->rows, IrGradientRow, i);
      if (strcmp (name_of (gradients, row), name) == 0)
        return row;
    }
  return NULL;
}

static gboolean
same_shape (const IrTensor *a, const IrTensor *b)
{
  return ir_tensor_dtype (a) == ir_tensor_dtype (b) && ir_tensor_rank (a) == ir_tensor_rank (b) &&
         memcmp (ir_tensor_dims (a), ir_tensor_dims (b), sizeof (gint64) * ir_tensor_rank (a)) == 0;
}

static void
compare_elements (Pair *pair, const IrTensor *a, const IrTensor *b)
{
  pair->max_abs = pair->scale = 0;
  for (guint64 i = 0; i < ir_tensor_n_elements (a); i++)
    {
      const double x = ir_tensor_get_double (a, i), y = ir_tensor_get_double (b, i);
      if (x == y || (isnan (x) && isnan (y)))
        {
          pair->scale = isfinite (x) ? MAX (pair->scale, fabs (x)) : pair->scale;
          continue;
        }
      pair->max_abs = isfinite (x) && isfinite (y) ? MAX (pair->max_abs, fabs (x - y)) : INFINITY;
      pair->scale = isfinite (x) ? MAX (pair->scale, fabs (x)) : pair->scale;
    }
  pair->diverges = pair->max_abs > ROUNDING * pair->scale;
}

/* Where nothing comes, or zeros that stand for nothing, is the same on both sides. */
static Pair
compare (const Sides *sides, const IrGradientRow *a, const IrGradientRow *b)
{
  const IrTensor *one = a != NULL ? ir_run_value (sides->a->run, a->gradient) : NULL,
                 *two = b != NULL ? ir_run_value (sides->b->run, b->gradient) : NULL;
  Pair pair = { .a = a,
                .b = b,
                .name = a != NULL ? name_of (sides->a, a) : name_of (sides->b, b),
                .max_abs = NAN,
                .scale = NAN };

  if (one != NULL && two != NULL && same_shape (one, two))
    {
      pair.same = ir_tensor_equal (one, two);
      compare_elements (&pair, one, two);
    }
  else
    {
      pair.same = a != NULL && b != NULL && a->why != NULL && b->why != NULL;
      pair.diverges = !pair.same;
    }
  return pair;
}

static void
compare_all (Sides *sides)
{
  sides->pairs = g_array_new (FALSE, FALSE, sizeof (Pair));
  for (guint i = 0; i < sides->a->rows->len; i++)
    {
      const IrGradientRow *row = &g_array_index (sides->a->rows, IrGradientRow, i);
      const Pair pair = compare (sides, row, find_row (sides->b, name_of (sides->a, row)));
      g_array_append_val (sides->pairs, pair);
    }
  for (guint i = 0; i < sides->b->rows->len; i++)
    {
      const IrGradientRow *row = &g_array_index (sides->b->rows, IrGradientRow, i);
      const Pair pair = compare (sides, NULL, row);
      if (find_row (sides->a, pair.name) == NULL)
        g_array_append_val (sides->pairs, pair);
    }
}

/* -- saying it -- */

static char *
verdict_of (const Pair *pair)
{
  if (pair->a == NULL || pair->b == NULL)
    return g_strdup_printf ("only in %s", pair->a != NULL ? "A" : "B");
  if ((pair->a->why != NULL) != (pair->b->why != NULL))
    return g_strdup_printf ("nothing comes to it in %s. %s", pair->a->why != NULL ? "A" : "B",
                            pair->a->why != NULL ? pair->a->why : pair->b->why);
  if (isnan (pair->max_abs))
    return g_strdup (pair->same ? "nothing comes to it in both" : "the shapes or types differ");
  if (pair->same)
    return g_strdup ("the same, bit for bit");
  return g_strdup_printf ("max abs %.3g, %.3g of the largest%s", pair->max_abs,
                          pair->scale > 0 ? pair->max_abs / pair->scale : INFINITY,
                          pair->diverges ? ": more than rounding" : "");
}

static char *
norm_text (const IrGradientRow *row)
{
  return row == NULL || row->stats.n == 0
             ? g_strdup ("–")
             : g_strdup_printf ("%.6g", ir_tensor_stats_norm (&row->stats));
}

static void
print_text (const Sides *sides)
{
  guint n_same = 0, n_diverge = 0;

  for (guint i = 0; i < sides->pairs->len; i++)
    {
      n_same += g_array_index (sides->pairs, Pair, i).same;
      n_diverge += g_array_index (sides->pairs, Pair, i).diverges;
    }
  cli_print ("gradients: %u compared, %u differ, %u by more than rounding\n", sides->pairs->len,
             sides->pairs->len - n_same, n_diverge);
  for (guint i = 0; i < sides->pairs->len; i++)
    {
      const Pair *pair = &g_array_index (sides->pairs, Pair, i);
      g_autofree char *verdict = verdict_of (pair), *a = norm_text (pair->a),
                      *b = norm_text (pair->b);

      cli_print ("  %-32s norm %-12s %-12s %s\n", pair->name, a, b, verdict);
    }
}

static void
add_number (cJSON *object, const char *name, gboolean known, double number)
{
  if (known)
    cli_json_add_double (object, name, number);
  else
    cJSON_AddNullToObject (object, name);
}

static void
add_json (cJSON *json, const Sides *sides)
{
  cJSON *array = cJSON_AddArrayToObject (json, "gradients");

  for (guint i = 0; i < sides->pairs->len; i++)
    {
      const Pair *pair = &g_array_index (sides->pairs, Pair, i);
      cJSON *object = cJSON_CreateObject ();

      cJSON_AddStringToObject (object, "name", pair->name);
      add_number (object, "norm_a", pair->a != NULL && pair->a->stats.n > 0,
                  pair->a != NULL ? ir_tensor_stats_norm (&pair->a->stats) : 0);
      add_number (object, "norm_b", pair->b != NULL && pair->b->stats.n > 0,
                  pair->b != NULL ? ir_tensor_stats_norm (&pair->b->stats) : 0);
      add_number (object, "max_abs", !isnan (pair->max_abs), pair->max_abs);
      cJSON_AddBoolToObject (object, "same", pair->same);
      cJSON_AddBoolToObject (object, "diverges", pair->diverges);
      cJSON_AddItemToArray (array, object);
    }
}

gboolean
cli_diff_gradients (Cli *cli,
                    const CliModelOptions *options,
                    const CliDiffGradients *wanted,
                    const IrDiff *diff,
                    cJSON *json,
                    gboolean *equal,
                    GError **error)
{
  g_auto (Sides) sides = { 0 };
  g_autoptr (GHashTable) inputs_a = NULL;
  g_autoptr (GHashTable) inputs_b = NULL;

  if (!cli_diff_inputs (cli, options, diff, &inputs_a, &inputs_b, error) ||
      (sides.a = derive (cli, options, wanted, diff->a, inputs_a, error)) == NULL ||
      (sides.b = derive (cli, options, wanted, diff->b, inputs_b, error)) == NULL)
    return FALSE;
  compare_all (&sides);
  for (guint i = 0; i < sides.pairs->len; i++)
    *equal &= g_array_index (sides.pairs, Pair, i).same;
  if (json != NULL)
    add_json (json, &sides);
  else
    print_text (&sides);
  return TRUE;
}
