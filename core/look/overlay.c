#include "config.h"

#include "core/look/overlay.h"

#include "core/op/infer.h"
#include "core/op/op.h"

#include <math.h>

static double
value_flops (const IrOverlayFacts *facts, const IrNode *node)
{
  gboolean partial = FALSE;

  return (double) ir_cost_node_flops (node, &partial);
}

static double
value_bytes (const IrOverlayFacts *facts, const IrNode *node)
{
  gboolean partial = FALSE;

  return (double) ir_cost_node_bytes (node, &partial);
}

static double
value_time (const IrOverlayFacts *facts, const IrNode *node)
{
  const gint64 *ns = facts->time_ns != NULL
                         ? g_hash_table_lookup (facts->time_ns, GUINT_TO_POINTER (node->id))
                         : NULL;

  return ns != NULL ? (double) *ns / 1e9 : NAN;
}

static double
value_memory (const IrOverlayFacts *facts, const IrNode *node)
{
  double bytes = 0;

  for (guint i = 0; i < node->n_outputs; i++)
    {
      gsize size;

      if (node->outputs[i] != NULL && ir_value_shown_type (node->outputs[i]) != NULL &&
          ir_type_n_bytes (ir_value_shown_type (node->outputs[i]), &size))
        bytes += (double) size;
    }
  return bytes;
}

static double
look_up (GHashTable *table, const IrNode *node)
{
  const double *found = table != NULL ? g_hash_table_lookup (table, GUINT_TO_POINTER (node->id))
                                      : NULL;

  return found != NULL ? *found : NAN;
}

static double
value_error (const IrOverlayFacts *facts, const IrNode *node)
{
  return look_up (facts->errors, node);
}

static double
value_zeros (const IrOverlayFacts *facts, const IrNode *node)
{
  return look_up (facts->zeros, node);
}

static const IrNodeGradient *
gradient_of (const IrOverlayFacts *facts, const IrNode *node)
{
  return facts->gradients != NULL
             ? g_hash_table_lookup (facts->gradients, GUINT_TO_POINTER (node->id))
             : NULL;
}

static double
value_gradient (const IrOverlayFacts *facts, const IrNode *node)
{
  const IrNodeGradient *gradient = gradient_of (facts, node);

  return gradient != NULL ? gradient->norm : NAN;
}

static double
value_gradient_zeros (const IrOverlayFacts *facts, const IrNode *node)
{
  const IrNodeGradient *gradient = gradient_of (facts, node);

  return gradient != NULL ? gradient->zeros : NAN;
}

static double
value_gradient_nan (const IrOverlayFacts *facts, const IrNode *node)
{
  const IrNodeGradient *gradient = gradient_of (facts, node);

  return gradient != NULL ? gradient->not_finite : NAN;
}

static double
value_gradient_weight (const IrOverlayFacts *facts, const IrNode *node)
{
  const IrNodeGradient *gradient = gradient_of (facts, node);

  return gradient != NULL ? gradient->ratio : NAN;
}

static double
value_dead (const IrOverlayFacts *facts, const IrNode *node)
{
  const IrNodeGradient *gradient = gradient_of (facts, node);

  return gradient != NULL ? gradient->dead : NAN;
}

static const IrNodeUpdate *
update_of (const IrOverlayFacts *facts, const IrNode *node)
{
  return facts->updates != NULL ? g_hash_table_lookup (facts->updates, GUINT_TO_POINTER (node->id)) : NULL;
}

static double
value_update (const IrOverlayFacts *facts, const IrNode *node)
{
  const IrNodeUpdate *update = update_of (facts, node);

  return update != NULL ? update->ratio : NAN;
}

static IrSceneThumb *
thumb_update (const IrOverlayFacts *facts, const IrNode *node)
{
  const IrNodeUpdate *update = update_of (facts, node);

  return update != NULL ? update->history : NULL;
}

static guint
last_step (const IrOverlayFacts *facts, const IrNode *node)
{
  return facts->touched != NULL && node->id < facts->touched->len
             ? g_array_index (facts->touched, guint, node->id)
             : 0;
}

static double
value_age (const IrOverlayFacts *facts, const IrNode *node)
{
  const guint last = last_step (facts, node);

  return last > 0 && last <= facts->step ? (double) (facts->step - last) : NAN;
}

static double
value_file (const IrOverlayFacts *facts, const IrNode *node)
{
  return facts->numbers != NULL ? ir_numbers_of (facts->numbers, node) : NAN;
}

static const char *
name_dtype (const IrOverlayFacts *facts, const IrNode *node)
{
  const IrValue *out = node->n_outputs > 0 ? node->outputs[0] : NULL;

  return out != NULL && ir_value_dtype (out) != IR_DTYPE_UNDEFINED
             ? ir_dtype_name (ir_value_dtype (out))
             : NULL;
}

/* Where a run put it; else where the file asks for it. */
static const char *
name_device (const IrOverlayFacts *facts, const IrNode *node)
{
  const char *ran = facts->devices != NULL
                        ? g_hash_table_lookup (facts->devices, GUINT_TO_POINTER (node->id))
                        : NULL;

  return ran != NULL ? ran : node->device[0] != '\0' ? node->device : NULL;
}

static const char *
line_copy (const IrOverlayFacts *facts, const IrValue *value)
{
  return facts->copies != NULL ? g_hash_table_lookup (facts->copies, GUINT_TO_POINTER (value->id))
                               : NULL;
}

static const char *
name_verdict (const IrOverlayFacts *facts, const IrNode *node)
{
  const guint last = last_step (facts, node);

  IrVerdict verdict;

  if (last == 0 || facts->verdicts == NULL || last > facts->verdicts->len)
    return NULL;
  verdict = g_array_index (facts->verdicts, IrVerdict, last - 1);
  return verdict == IR_VERDICT_NONE ? "not proved" : ir_verdict_name (verdict);
}

static IrSceneThumb *
thumb_value (const IrOverlayFacts *facts, const IrNode *node)
{
  return facts->thumbs != NULL ? g_hash_table_lookup (facts->thumbs, GUINT_TO_POINTER (node->id))
                               : NULL;
}

/* clang-format off */
static const IrOverlay overlays[] = {
  { "time", "Time", "s", "Time of each node in the last run.",
    "Run the graph first", IR_OVERLAY_AMOUNT, IR_OVERLAY_NEEDS_RUN, value_time, NULL },
  { "flops", "Arithmetic", "FLOP", "Floating-point operations of each node.",
    "No shapes are known", IR_OVERLAY_AMOUNT, 0, value_flops, NULL },
  { "bytes", "Traffic", "B", "Bytes that each node reads and writes.",
    "No shapes are known", IR_OVERLAY_AMOUNT, 0, value_bytes, NULL },
  { "memory", "Memory", "B", "Bytes of what each node makes.",
    "No shapes are known", IR_OVERLAY_AMOUNT, 0, value_memory, NULL },
  { "error", "Error", "of bound", "How far each node is from the reference kernel, as a part of what its tolerance allows.",
    "Check the execution first", IR_OVERLAY_MOST, IR_OVERLAY_NEEDS_CHECK, value_error, NULL },
  { "dtype", "Element Type", "", "Type of the elements that each node makes.",
    "No types are known", IR_OVERLAY_CLASS, 0, NULL, name_dtype },
  { "device", "Device", "", "Where each node ran, or is to run, and which values were copied from one memory to another.",
    "Run the graph first", IR_OVERLAY_CLASS, IR_OVERLAY_NEEDS_RUN, NULL, name_device, .line = line_copy },
  { "sparsity", "Sparsity", "%", "Part of the elements that each node made in the last run that are zero.",
    "Run the graph, keeping its values", IR_OVERLAY_MOST, IR_OVERLAY_NEEDS_RUN | IR_OVERLAY_NEEDS_VALUES, value_zeros, NULL },
  { "gradient", "Gradient Norm", "", "Norm of what came back to each node when an output was derived.",
    "Derive first, in the view Gradients", IR_OVERLAY_MOST, IR_OVERLAY_NEEDS_GRADIENTS, value_gradient, NULL },
  { "gradient-zeros", "Gradient Zeros", "%", "Part of what came back to each node that is 0.",
    "Derive first, in the view Gradients", IR_OVERLAY_MOST, IR_OVERLAY_NEEDS_GRADIENTS, value_gradient_zeros, NULL },
  { "gradient-nan", "Gradient NaN", "%", "Part of what came back to each node that is not finite.",
    "Derive first, in the view Gradients", IR_OVERLAY_MOST, IR_OVERLAY_NEEDS_GRADIENTS, value_gradient_nan, NULL },
  { "gradient-weight", "Gradient / Weight", "", "Norm of the derivative by what each node reads, the largest, as a share of that itself.",
    "Derive first, in the view Gradients", IR_OVERLAY_MOST, IR_OVERLAY_NEEDS_GRADIENTS, value_gradient_weight, NULL },
  { "dead-units", "Dead Units", "%", "Part of the units of each activation that let nothing of what came back pass.",
    "Derive first, in the view Gradients", IR_OVERLAY_MOST, IR_OVERLAY_NEEDS_GRADIENTS, value_dead, NULL },
  { "update-weight", "Update / Weight", "", "Norm of the last change of the parameters that each node reads, the largest, as a share of theirs.",
    "Train first, in the view Training", IR_OVERLAY_MOST, IR_OVERLAY_NEEDS_TRAINING, value_update, NULL },
  { "update-history", "History of Updates", "", "Update / Weight over the steps of the training, as bars in logarithms: low ones are 1e-6, full ones 1.",
    "Train first, in the view Training", IR_OVERLAY_PICTURE, IR_OVERLAY_NEEDS_TRAINING, NULL, NULL, thumb_update },
  { "values", "Pictures of Values", "", "What each node made in the last run, as a small picture in its box.",
    "Run the graph, keeping its values", IR_OVERLAY_PICTURE, IR_OVERLAY_NEEDS_RUN | IR_OVERLAY_NEEDS_CONTENTS, NULL, NULL, thumb_value },
  { "verdict", "Verdict", "", "Verdict of the step that touched each node last.",
    "No step has touched it", IR_OVERLAY_CLASS, IR_OVERLAY_NEEDS_VERDICTS, NULL, name_verdict },
  { "age", "Age in Steps", "steps", "Steps since each node was touched last.",
    "No step has touched it", IR_OVERLAY_MOST, 0, value_age, NULL },
  { "file", "Numbers from a File", "", "A number per node, from a JSON file.",
    "Open a file of numbers first", IR_OVERLAY_MOST, IR_OVERLAY_NEEDS_FILE, value_file, NULL },
};
/* clang-format on */

/**
 * ir_overlays:
 * @n: (out): number of rows
 *
 * Returns: (transfer none): all overlays, in the order of menus
 */
const IrOverlay *
ir_overlays (guint *n)
{
  *n = G_N_ELEMENTS (overlays);
  return overlays;
}

/**
 * ir_overlay_find:
 * @id: (nullable): such as "time"
 *
 * Returns: (transfer none) (nullable): the overlay
 */
const IrOverlay *
ir_overlay_find (const char *id)
{
  for (guint i = 0; i < G_N_ELEMENTS (overlays); i++)
    if (g_strcmp0 (overlays[i].id, id) == 0)
      return &overlays[i];
  return NULL;
}

/**
 * ir_overlay_ids:
 *
 * Returns: (transfer full): "time, flops, ... or age", for messages
 */
char *
ir_overlay_ids (void)
{
  GString *text = g_string_new (NULL);
  const guint n = G_N_ELEMENTS (overlays) - 1; /* the last one is that of a file */

  for (guint i = 0; i < n; i++)
    g_string_append_printf (text, "%s%s", i == 0 ? "" : i + 1 == n ? " or " : ", ", overlays[i].id);
  return g_string_free (text, FALSE);
}
