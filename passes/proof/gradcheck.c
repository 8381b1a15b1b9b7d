/* Derivatives against differences: the model in double on reference kernels, moved along each element
 * of what is small, and along random directions and the element with the largest derivative of what
 * is not. Second derivatives are those of a sum over the first. Where the two differ the step is made smaller, since a kink may lie within it; where the
 * slopes on both sides stay different, and the derivative is one of them or between, it is at a kink.
 *
 * Sources: torch.autograd.gradcheck (central differences in double, atol + rtol |numeric|); Griewank
 * and Walther, Evaluating Derivatives, on the choice of directions. */
#include "config.h"

#include "passes/proof/gradcheck.h"

#include "core/grad/vjp.h"
#include "core/ir/tensor-text.h"
#include "core/op/infer.h"
#include "passes/pipeline/pipeline.h"
#include "passes/proof/differences.h"
#include "passes/rewrites/gradient.h"

#include <math.h>
#include <string.h>

#define FEW     8    /* elements that are all tried */
#define SMALLER 1e-2 /* of a step within which there may be a kink */

typedef struct
{
  const IrGradcheckOptions *options;
  IrMovable function;
  GRand *rand;
  GArray *items;
  double at; /* the function where the inputs are */
} Check;

static void
clear_item (gpointer data)
{
  g_free (((IrGradcheckItem *) data)->input);
}

static void
check_clear (Check *check)
{
  ir_movable_clear (&check->function);
  g_clear_pointer (&check->rand, g_rand_free);
  g_clear_pointer (&check->items, g_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Check, check_clear)

/**
 * ir_gradcheck_verdict_name:
 * @verdict: of a comparison
 *
 * Returns: "passed", "failed" or "kink"
 */
const char *
ir_gradcheck_verdict_name (IrGradcheckVerdict verdict)
{
  static const char *const names[] = { "passed", "failed", "kink" };

  return names[verdict];
}

/**
 * ir_gradcheck_items_new:
 *
 * Returns: (transfer full) (element-type IrGradcheckItem): an empty list that owns the names in it
 */
GArray *
ir_gradcheck_items_new (void)
{
  GArray *items = g_array_new (FALSE, TRUE, sizeof (IrGradcheckItem));

  g_array_set_clear_func (items, clear_item);
  return items;
}

/* -- one direction -- */

static gboolean
agrees (const Check *check, double analytic, double numeric)
{
  return isfinite (numeric) &&
         fabs (analytic - numeric) <= check->options->atol + check->options->rtol * fabs (numeric);
}

static gboolean
is_kink (const Check *check, const IrGradcheckItem *item)
{
  double low = MIN (item->left, item->right), high = MAX (item->left, item->right);
  double margin = check->options->atol + check->options->rtol * MAX (fabs (low), fabs (high));

  return high - low > margin && item->analytic >= low - margin && item->analytic <= high + margin;
}

static gboolean
try_direction (Check *check,
               const IrValue *value,
               const double *direction,
               gint64 index,
               double analytic,
               GError **error)
{
  const IrNode *node = check->options->node;
  IrGradcheckItem item = { .node = node != NULL ? node->id : 0,
                           .input = g_strdup (value->name),
                           .index = index,
                           .analytic = analytic };

  for (double step = check->options->eps; step >= check->options->eps * SMALLER; step *= SMALLER)
    {
      double before, behind;
      if (!ir_movable_at (&check->function, value, direction, -step, &before, error) ||
          !ir_movable_at (&check->function, value, direction, step, &behind, error))
        return clear_item (&item), FALSE;
      item.numeric = (behind - before) / (2 * step);
      item.left = (check->at - before) / step;
      item.right = (behind - check->at) / step;
      if (agrees (check, analytic, item.numeric))
        break;
    }
  item.verdict = agrees (check, analytic, item.numeric) ? IR_GRADCHECK_PASSED
                 : is_kink (check, &item)               ? IR_GRADCHECK_KINK
                                                        : IR_GRADCHECK_FAILED;
  g_array_append_val (check->items, item);
  return TRUE;
}

static gboolean
try_element (Check *check,
             const IrValue *value,
             const IrTensor *gradient,
             guint64 index,
             double *direction,
             GError **error)
{
  memset (direction, 0, ir_tensor_n_elements (gradient) * sizeof *direction);
  direction[index] = 1;
  return try_direction (check, value, direction, (gint64) index,
                        ir_tensor_get_double (gradient, index), error);
}

static gboolean
try_random (
    Check *check, const IrValue *value, const IrTensor *gradient, double *direction, GError **error)
{
  guint64 n = ir_tensor_n_elements (gradient);
  double length = 0, along = 0;

  for (guint64 i = 0; i < n; i++)
    {
      direction[i] = g_rand_double_range (check->rand, -1, 1);
      length += direction[i] * direction[i];
    }
  for (guint64 i = 0; i < n; i++)
    {
      direction[i] /= sqrt (length);
      along += direction[i] * ir_tensor_get_double (gradient, i);
    }
  return try_direction (check, value, direction, -1, along, error);
}

static guint64
largest_of (const IrTensor *gradient)
{
  guint64 best = 0;

  for (guint64 i = 1; i < ir_tensor_n_elements (gradient); i++)
    if (fabs (ir_tensor_get_double (gradient, i)) > fabs (ir_tensor_get_double (gradient, best)))
      best = i;
  return best;
}

/* That which was asked for */
static gboolean
try_one (
    Check *check, const IrValue *value, const IrTensor *gradient, double *direction, GError **error)
{
  const char *text = check->options->element;
  const guint64 n = ir_tensor_n_elements (gradient);
  guint64 index;

  if (check->function.by->len > 1)
    return ir_pass_refuse (error, "gradcheck",
                           "element %s: it is one of a value, and here are %u values to derive by, "
                           "of which name one",
                           text, check->function.by->len);
  if (strspn (text, "0123456789, []") == strlen (text) &&
      ir_tensor_index_parse (gradient, text, &index))
    return try_element (check, value, gradient, index, direction, error);
  g_autofree char *last = n > 0 ? ir_tensor_index_text (gradient, n - 1) : g_strdup ("none");
  return ir_pass_refuse (error, "gradcheck",
                         "%s has no element %s: its last is %s; needs an index for each axis with "
                         "commas between, or one number in the order of memory",
                         value->name, text, last);
}

static gboolean
try_value (Check *check, const IrValue *value, const IrTensor *gradient, GError **error)
{
  guint64 n = ir_tensor_n_elements (gradient);
  g_autofree double *direction = g_new0 (double, MAX (n, 1));

  if (check->options->element != NULL)
    return try_one (check, value, gradient, direction, error);
  if (n == 0)
    return TRUE;
  for (guint64 i = 0; n <= FEW && i < n; i++)
    if (!try_element (check, value, gradient, i, direction, error))
      return FALSE;
  if (n <= FEW)
    return TRUE;
  for (guint i = 0; i < check->options->n_directions; i++)
    if (!try_random (check, value, gradient, direction, error))
      return FALSE;
  return try_element (check, value, gradient, largest_of (gradient), direction, error);
}

/* -- all of them -- */

static gboolean
check_all (Check *check, GError **error)
{
  g_autoptr (GPtrArray) gradients = ir_movable_derive (&check->function, error);

  if (gradients == NULL || !ir_movable_at (&check->function, NULL, NULL, 0, &check->at, error))
    return FALSE;
  for (guint i = 0; i < check->function.by->len; i++)
    if (!try_value (check, check->function.by->pdata[i], gradients->pdata[i], error))
      return FALSE;
  return TRUE;
}

static gboolean
check_model (Check *check,
             IrModel *model,
             GHashTable *inputs,
             const char *of,
             const char *wrt,
             GError **error)
{
  const IrGradcheckOptions *options = check->options;

  ir_movable_clear (&check->function);
  check->function = (IrMovable){ .limits = options->limits,
                                 .cancellable = options->cancellable,
                                 .opens = options->node != NULL };
  return ir_movable_init (&check->function, model, inputs, of, wrt, error) &&
         check_all (check, error);
}

/* -- one node -- */

/* Each output that has a derivative, by all inputs that have */
static gboolean
check_node (Check *check, IrModel *model, GHashTable *inputs, GError **error)
{
  const IrNode *node = check->options->node;
  const IrGradRow *row = node->op != NULL ? ir_grad_row (node->op) : NULL;
  g_autofree char *label = ir_node_label (node);
  g_autoptr (GString) wrt = g_string_new (NULL);
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);
  gboolean any = FALSE;

  ir_node_for_each_input (node, i, value)
    if (ir_dtype_is_float (ir_value_dtype (value)) && g_hash_table_add (seen, value))
      g_string_append_printf (wrt, "%s%s", wrt->len > 0 ? "," : "", value->name);
  for (guint i = 0; wrt->len > 0 && i < node->n_outputs; i++)
    if (node->outputs[i] != NULL && ir_dtype_is_float (ir_value_dtype (node->outputs[i])) &&
        (i == 0 || row == NULL || row->any_output))
      {
        any = TRUE;
        if (!check_model (check, model, inputs, node->outputs[i]->name, wrt->str, error))
          return FALSE;
      }
  return any || ir_pass_refuse (error, "gradcheck",
                                "%s has no floating-point inputs and outputs to compare", label);
}

/* -- second derivatives -- */

static IrValue *
add_node (IrEdit *edit, IrGraph *graph, const char *op, guint n, IrValue *const *inputs)
{
  IrNode *node = ir_edit_add_node (edit, graph, op, "", NULL, n, inputs, 1);

  ir_edit_set_rank (edit, node, G_MAXUINT64);
  if (strcmp (op, "ReduceSum") == 0)
    ir_edit_set_attr (edit, node, ir_attr_int (ir_edit_model (edit)->context, "keepdims", 0));
  ir_infer_node (edit, node, NULL);
  return node->outputs[0];
}

/* The sum of g (g + 1) over all elements g of the last @n outputs: its derivative has that of each */
static char *
sum_up (IrModel *model, guint n)
{
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);
  g_autoptr (GPtrArray) sums = g_ptr_array_new ();
  IrGraph *graph = model->main;

  for (guint i = ir_graph_n_outputs (graph) - n; i < ir_graph_n_outputs (graph); i++)
    {
      IrValue *g = ir_graph_output (graph, i), *pair[] = { g, g };
      pair[0] = add_node (edit, graph, "Mul", 2, pair);
      IrValue *both = add_node (edit, graph, "Add", 2, pair);
      g_ptr_array_add (sums, add_node (edit, graph, "ReduceSum", 1, &both));
    }
  return g_strdup (add_node (edit, graph, "Sum", sums->len, (IrValue *const *) sums->pdata)->name);
}

static gboolean
check_second (Check *check, IrModel *model, GHashTable *inputs, GError **error)
{
  const char *const names[] = { "gradient", NULL };
  g_autoptr (IrModel) wide = ir_model_widen (model);
  g_autoptr (IrPipeline) pipeline = ir_pipeline_new_from_names (names, error);
  g_autoptr (GPtrArray) by = ir_gradient_wrt (wide, check->options->wrt, error);
  g_autoptr (GString) wrt = g_string_new (NULL);
  g_autofree char *of = g_strdup_printf ("gradient.of=%s", check->options->of);

  for (guint i = 0; by != NULL && i < by->len; i++)
    g_string_append_printf (wrt, "%s%s", i > 0 ? "," : "", ((const IrValue *) by->pdata[i])->name);
  g_autofree char *set = g_strdup_printf ("gradient.wrt=%s", wrt->str);
  if (by == NULL || pipeline == NULL || !ir_pipeline_set (pipeline, of, error) ||
      !ir_pipeline_set (pipeline, set, error) ||
      !ir_pipeline_run (wide, pipeline, NULL, NULL, check->options->cancellable, error))
    return FALSE;
  g_autoptr (IrModel) derived = ir_model_clone (wide);
  g_autofree char *sum = sum_up (derived, by->len);
  return check_model (check, derived, inputs, sum, wrt->str, error);
}

/**
 * ir_gradcheck:
 * @model: a model of opset 13 or newer
 * @inputs: value id -> #IrTensor for its inputs
 * @options: what is derived by what, steps and tolerances
 * @error: return location for an error
 *
 * Compares derivatives with differences, in double. Fails where @model cannot be derived or run, or
 * what it is derived by is computed.
 *
 * Returns: (transfer full) (nullable) (element-type IrGradcheckItem): what was compared
 */
GArray *
ir_gradcheck (IrModel *model, GHashTable *inputs, const IrGradcheckOptions *options, GError **error)
{
  g_auto (Check) check = { .options = options };
  gboolean done;

  check.items = ir_gradcheck_items_new ();
  check.rand = g_rand_new_with_seed ((guint32) options->seed);
  done = options->node != NULL ? check_node (&check, model, inputs, error)
         : options->order == 2
             ? check_second (&check, model, inputs, error)
             : check_model (&check, model, inputs, options->of, options->wrt, error);
  return done ? g_steal_pointer (&check.items) : NULL;
}
