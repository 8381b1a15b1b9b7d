/* Losses of classification. The scores [N, C, ...] are seen as [outer, C, inner], the targets as
 * [outer, inner]. */
#include "config.h"

#include "core/exec/ref/block.h"
#include "core/exec/ref/ref-util.h"
#include "core/exec/ref/ref.h"
#include <math.h>
#include <string.h>

typedef struct
{
  IrCall *call;
  gint64 outer, classes, inner;
  double *scores;       /* logarithms of probabilities */
  const double *weight; /* (nullable) */
  gboolean ignores;
  gint64 ignored;
} Loss;

/* Class of target @i; FALSE without an error: it is to be ignored. */
static gboolean
target_class (const Loss *loss, guint64 i, gint64 *class, GError **error)
{
  gint64 offset = (gint64) i;

  ir_ref_load_int (ir_call_input (loss->call, 1), &offset, 1, class);
  if (loss->ignores && *class == loss->ignored)
    return FALSE;
  return (*class >= 0 && *class < loss->classes) ||
         ir_call_fail (loss->call, error, IR_OP_ERROR_VALUE,
                       "target %" G_GUINT64_FORMAT " is the class %" G_GINT64_FORMAT
                       " of %" G_GINT64_FORMAT,
                       i, *class, loss->classes);
}

static gboolean
add_up (const Loss *loss, GError **error)
{
  const char *reduction = ir_call_string (loss->call, "reduction", "mean");
  gboolean reduced = strcmp (reduction, "none") != 0;
  double sum = 0, weights = 0;
  IrTensor *out = ir_block_new_output (loss->call, 0, error);

  if (out == NULL)
    return FALSE;
  for (gint64 o = 0; o < loss->outer; o++)
    for (gint64 i = 0; i < loss->inner; i++)
      {
        g_autoptr (GError) bad = NULL;
        guint64 place = (guint64) (o * loss->inner + i);
        double weight = 0, value = 0;
        gint64 class;
        if (target_class (loss, place, &class, &bad))
          {
            weight = loss->weight != NULL ? loss->weight[class] : 1;
            value = -weight * loss->scores[(o * loss->classes + class) * loss->inner + i];
          }
        if (bad != NULL)
          {
            g_propagate_error (error, g_steal_pointer (&bad));
            return FALSE;
          }
        sum += value;
        weights += weight;
        if (!reduced)
          ir_block_store (out, place, 1, &value);
      }
  if (strcmp (reduction, "mean") == 0)
    sum /= weights;
  if (reduced)
    ir_block_store (out, 0, 1, &sum);
  return TRUE;
}

static void
log_softmax (const Loss *loss)
{
  for (gint64 o = 0; o < loss->outer; o++)
    for (gint64 i = 0; i < loss->inner; i++)
      {
        double *x = loss->scores + o * loss->classes * loss->inner + i;
        double largest = -INFINITY, sum = 0;
        for (gint64 c = 0; c < loss->classes; c++)
          largest = MAX (largest, x[c * loss->inner]);
        for (gint64 c = 0; c < loss->classes; c++)
          sum += exp (x[c * loss->inner] - largest);
        for (gint64 c = 0; c < loss->classes; c++)
          x[c * loss->inner] -= largest + log (sum);
      }
}

static gboolean
run (IrCall *call, gboolean from_scores, GError **error)
{
  if (!ir_ref_prepare (call, error) || !ir_block_check_float (call, error))
    return FALSE;
  const IrTensor *in = ir_call_input (call, 0);
  g_autofree double *scores = ir_block_load_new (call, 0, error);
  g_autofree double *weight = NULL;
  if (scores == NULL)
    return FALSE;
  if (ir_call_has_input (call, 2) && (weight = ir_block_load_new (call, 2, error)) == NULL)
    return FALSE;
  Loss loss = { .call = call, .scores = scores, .weight = weight };
  loss.classes = ir_tensor_dims (in)[1];
  loss.ignores = ir_call_attr (call, "ignore_index") != NULL;
  loss.ignored = ir_call_int (call, "ignore_index", 0);
  ir_ref_split_at (ir_tensor_rank (in), ir_tensor_dims (in), 1, &loss.outer, &loss.inner);
  if (ir_tensor_n_elements (ir_call_input (call, 1)) == 0)
    loss.outer = loss.inner = 0;
  if (from_scores && ir_tensor_n_elements (in) > 0)
    log_softmax (&loss);
  if (from_scores && ir_call_has_output (call, 1))
    {
      IrTensor *log_prob = ir_block_new_output (call, 1, error);
      if (log_prob == NULL)
        return FALSE;
      ir_block_store (log_prob, 0, ir_tensor_n_elements (in), scores);
    }
  return add_up (&loss, error);
}

/* Input [N, C, ...], target [N, ...], weight [C] or none. Source: ONNX NegativeLogLikelihoodLoss
 * 22. */
gboolean
ir_ref_nll_loss (IrCall *call, GError **error)
{
  return run (call, FALSE, error);
}

/* Scores [N, C, ...], labels [N, ...], weights [C] or none. Source: ONNX SoftmaxCrossEntropyLoss
 * 13. */
gboolean
ir_ref_softmax_cross_entropy_loss (IrCall *call, GError **error)
{
  return run (call, TRUE, error);
}
