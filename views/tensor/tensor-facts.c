#include "config.h"

#include "views/tensor/tensor-facts.h"

#include "core/ir/count.h"
#include "views/session/runs.h"
#include "views/tensor/element-list.h"

#include <math.h>

#define N_BINS        44
#define MOST_AT_ONCE  1000000   /* elements; of more there is a first view by a sample of so many */
#define CANCEL_STRIDE (1 << 20) /* elements between looks at the cancellable */
#define CLOSE                                                                                      \
  1e-5 /* |after - before| <= t + t |before|, as allclose() of NumPy and PyTorch has it */
#define VALUES_IN_TEXT      4  /* a tensor this small is written out */
#define ITEM_VALUES_IN_TEXT 64 /* of all items of a sequence together */

/* -- comparing -- */

static gboolean
has_numbers (const IrTensor *tensor)
{
  return tensor != NULL && ir_tensor_dtype (tensor) != IR_DTYPE_STRING &&
         !ir_tensor_is_container (tensor);
}

static gboolean
same_shape (const IrTensor *a, const IrTensor *b)
{
  if (ir_tensor_rank (a) != ir_tensor_rank (b))
    return FALSE;
  for (guint i = 0; i < ir_tensor_rank (a); i++)
    if (ir_tensor_dims (a)[i] != ir_tensor_dims (b)[i])
      return FALSE;
  return TRUE;
}

/* After minus before; where both are the same infinity or NaN they do not differ. */
static double
difference_at (const IrTensorFacts *facts, guint64 index)
{
  double a = ir_tensor_get_double (facts->tensors[IR_SIDE_BEFORE], index),
         b = ir_tensor_get_double (facts->tensors[IR_SIDE_AFTER], index);

  return a == b || (isnan (a) && isnan (b)) ? 0 : b - a;
}

/* Signed: which way it goes is seen in no other number. */
static gboolean
measure_difference (IrTensorFacts *facts, GCancellable *cancellable)
{
  const IrTensorMetrics *metrics = &facts->metrics;
  IrTensorStats *stats = &facts->difference;
  double sum = 0;

  if (!ir_tensors_measure (facts->tensors[IR_SIDE_BEFORE], facts->tensors[IR_SIDE_AFTER],
                           cancellable, &facts->metrics))
    return FALSE;
  stats->n = metrics->n;
  stats->n_zero = metrics->n - metrics->n_different;
  facts->n_different = metrics->n_different;
  facts->worst = metrics->worst < metrics->n ? metrics->worst : 0;
  facts->worst_difference = metrics->n_different > 0 ? difference_at (facts, facts->worst) : 0;
  if (metrics->n_non_finite > 0)
    facts->relation = IR_TENSORS_NAN_DIFFERS;
  for (guint64 i = 0; i < stats->n && metrics->n_different > 0; i++)
    {
      double d = difference_at (facts, i);

      if (i % CANCEL_STRIDE == 0 && g_cancellable_is_cancelled (cancellable))
        return FALSE;
      if (!isfinite (d))
        continue;
      stats->min = MIN (stats->min, d);
      stats->max = MAX (stats->max, d);
      sum += d;
    }
  stats->mean = stats->n > 0 ? sum / (double) stats->n : 0;
  return TRUE;
}

static void
fill_bins (IrTensorFacts *facts, GCancellable *cancellable)
{
  IrTensorStats *stats = &facts->difference;
  double width;

  stats->n_bins = N_BINS;
  stats->bin_low = stats->min;
  stats->bin_high = stats->max;
  width = (stats->bin_high - stats->bin_low) / N_BINS;
  for (guint64 i = 0; i < stats->n; i++)
    {
      double d = difference_at (facts, i), bin;

      if (i % CANCEL_STRIDE == 0 && g_cancellable_is_cancelled (cancellable))
        return;
      if (!isfinite (d))
        continue;
      bin = width > 0 ? floor ((d - stats->bin_low) / width) : 0;
      stats->bins[(guint) CLAMP (bin, 0, N_BINS - 1)]++;
    }
}

static void
compare (IrTensorFacts *facts, GCancellable *cancellable)
{
  const IrTensor *a = facts->tensors[IR_SIDE_BEFORE], *b = facts->tensors[IR_SIDE_AFTER];

  if (a == NULL || b == NULL)
    return;
  if (!same_shape (a, b))
    facts->relation = IR_TENSORS_SHAPES_DIFFER;
  else if (a == b || ir_tensor_equal (a, b))
    facts->relation = IR_TENSORS_EQUAL;
  else if (has_numbers (a) && has_numbers (b))
    {
      facts->relation = IR_TENSORS_DIFFER;
      if (measure_difference (facts, cancellable))
        fill_bins (facts, cancellable);
    }
  else
    facts->relation = IR_TENSORS_DIFFER;
}

/* -- life -- */

/* Single elements of a sparse tensor are slow to find, and all of them are looked at. */
static IrTensor *
dense (IrTensor *tensor)
{
  IrTensor *copy = ir_tensor_sparse_values (tensor) != NULL ? ir_tensor_densify (tensor, NULL)
                                                            : NULL;
  return copy != NULL ? copy : ir_tensor_ref (tensor);
}

IrTensorFacts *
ir_tensor_facts_new_sampled (IrTensor *before, IrTensor *after)
{
  IrTensor *given[IR_N_SIDES] = { before, after };
  IrTensorFacts *facts = g_new0 (IrTensorFacts, 1);

  for (IrSide side = 0; side < IR_N_SIDES; side++)
    if (given[side] != NULL)
      {
        g_autoptr (IrTensor) sample = ir_tensor_sample (given[side], MOST_AT_ONCE);

        facts->tensors[side] = ir_tensor_ref (given[side]);
        facts->n_sampled = sample != NULL ? ir_tensor_n_elements (sample) : facts->n_sampled;
        if (sample != NULL || ir_tensor_n_elements (given[side]) <= MOST_AT_ONCE)
          ir_tensor_stats (sample != NULL ? sample : given[side], N_BINS, &facts->stats[side]);
        facts->stats[side].n = ir_tensor_n_elements (given[side]);
        facts->places[side] = (IrTensorPlaces){ facts->stats[side].n, facts->stats[side].n,
                                                facts->stats[side].n, facts->stats[side].n };
      }
  if (facts->n_sampled == 0)
    g_clear_pointer (&facts, ir_tensor_facts_free);
  return facts;
}

IrTensorFacts *
ir_tensor_facts_new (IrTensor *before, IrTensor *after, const IrStatsWatch *watch)
{
  IrTensorFacts *facts = g_new0 (IrTensorFacts, 1);
  IrTensor *given[IR_N_SIDES] = { before, after };
  GCancellable *cancellable = watch != NULL ? watch->cancellable : NULL;

  for (IrSide side = 0; side < IR_N_SIDES; side++)
    if (given[side] != NULL && !g_cancellable_is_cancelled (cancellable))
      {
        facts->tensors[side] = dense (given[side]);
        if (side == IR_SIDE_AFTER && before == after)
          {
            facts->stats[side] = facts->stats[IR_SIDE_BEFORE];
            facts->places[side] = facts->places[IR_SIDE_BEFORE];
            continue;
          }
        ir_tensor_stats_watched (facts->tensors[side], N_BINS, (IrThreads){ 0 }, watch,
                                 &facts->stats[side]);
        if (has_numbers (facts->tensors[side]))
          ir_tensor_places (facts->tensors[side], &facts->stats[side], &facts->places[side]);
      }
  compare (facts, cancellable);
  return facts;
}

void
ir_tensor_facts_free (IrTensorFacts *facts)
{
  for (IrSide side = 0; side < IR_N_SIDES; side++)
    g_clear_pointer (&facts->tensors[side], ir_tensor_unref);
  g_free (facts);
}

/* -- links to elements -- */

static const struct
{
  const char *title, *tip;
} links[IR_N_TENSOR_LINKS] = {
  [IR_TENSOR_LINK_LEAST] = { "Least", "Go to the least element" },
  [IR_TENSOR_LINK_LARGEST] = { "Largest", "Go to the largest element" },
  [IR_TENSOR_LINK_NAN] = { "First NaN", "Go to the first element that is NaN or infinite" },
  [IR_TENSOR_LINK_FIRST] = { "First Difference", "Go to the first element that differs" },
  [IR_TENSOR_LINK_WORST] = { "Largest Difference", "Go to where both sides lie farthest apart" },
};

const char *
ir_tensor_link_title (IrTensorLink link)
{
  return links[link].title;
}

const char *
ir_tensor_link_tip (IrTensorLink link)
{
  return links[link].tip;
}

guint64
ir_tensor_facts_place (const IrTensorFacts *facts, IrTensorLink link)
{
  const IrSide side = facts->tensors[IR_SIDE_AFTER] != NULL ? IR_SIDE_AFTER : IR_SIDE_BEFORE;
  const IrTensorPlaces *places = &facts->places[side];
  const guint64 n = ir_tensor_n_elements (facts->tensors[side]);
  const gboolean differs = facts->n_different > 0;
  const guint64 found[] = { [IR_TENSOR_LINK_LEAST] = places->min,
                            [IR_TENSOR_LINK_LARGEST] = places->max,
                            [IR_TENSOR_LINK_NAN] = places->nan < n ? places->nan : places->inf,
                            [IR_TENSOR_LINK_FIRST] = differs ? facts->metrics.first : n,
                            [IR_TENSOR_LINK_WORST] = differs ? facts->worst : n };

  return facts->stats[side].n > 0 ? found[link] : n;
}

/* -- sentences -- */

static char *
type_text (const IrTensor *tensor)
{
  g_autoptr (IrContext) context = ir_context_new ();
  return ir_type_to_string (context, ir_tensor_type (tensor, context));
}

static char *
values_text (const IrTensor *tensor)
{
  g_autoptr (GString) text = g_string_new (NULL);
  const char *quote = ir_tensor_dtype (tensor) == IR_DTYPE_STRING ? "\"" : ""; /* "" is one, too */

  for (guint64 i = 0; i < ir_tensor_n_elements (tensor); i++)
    {
      g_autofree char *value = ir_tensor_element_text (tensor, i);
      g_string_append_printf (text, "%s%s%s%s", i > 0 ? ",   " : "", quote, value, quote);
    }
  return g_string_free (g_steal_pointer (&text), FALSE);
}

/* Its type, then its values if they are few, else its statistics */
char *
ir_tensor_facts_text (const IrTensorFacts *facts, IrSide side)
{
  const IrTensor *tensor = facts->tensors[side];
  const IrTensorStats *stats = &facts->stats[side];
  g_autofree char *type = type_text (tensor), *values = NULL, *n = NULL, *zero = NULL,
                  *other = NULL;

  if (ir_tensor_is_container (tensor))
    {
      values = ir_tensor_to_string (tensor, ITEM_VALUES_IN_TEXT);
      return g_strdup_printf ("%s\n%u items: %s", type, ir_tensor_n_items (tensor), values);
    }
  if (stats->n == 0)
    return g_strdup_printf ("%s\nno elements: one of its sizes is 0", type);
  if (stats->n <= VALUES_IN_TEXT)
    {
      values = values_text (tensor);
      return g_strdup_printf ("%s\n%s", type, values);
    }
  n = ir_count_text (stats->n);
  if (facts->n_sampled > 0 && stats->n > facts->n_sampled)
    {
      other = ir_count_text (facts->n_sampled);
      return g_strdup_printf ("%s\n%s elements; of a sample of %s:\nmin %.6g   max %.6g\n"
                              "mean %.6g   std %.6g",
                              type, n, other, stats->min, stats->max, stats->mean, stats->std);
    }
  zero = ir_count_text (stats->n_zero);
  if (!has_numbers (tensor))
    return g_strdup_printf ("%s\n%s strings", type, n);
  other = ir_count_text (ir_tensor_dtype (tensor) == IR_DTYPE_BOOL ? stats->n - stats->n_zero
                                                                   : stats->n_negative);
  if (ir_tensor_dtype (tensor) == IR_DTYPE_BOOL)
    return g_strdup_printf ("%s\n%s true   %s false", type, other, zero);
  if (ir_tensor_stats_n_finite (stats) == 0)
    return g_strdup_printf ("%s\n%s elements, none finite", type, n);
  return g_strdup_printf ("%s\nmin %.6g   max %.6g\nmean %.6g   std %.6g\n"
                          "%s elements, %s zero, %s negative",
                          type, stats->min, stats->max, stats->mean, stats->std, n, zero, other);
}

/* How many elements are no numbers or infinite */
char *
ir_tensor_facts_warning (const IrTensorFacts *facts, IrSide side)
{
  const IrTensorStats *stats = &facts->stats[side];
  g_autofree char *nan = NULL, *positive = NULL, *negative = NULL;
  guint64 n_inf = stats->n_pos_inf + stats->n_neg_inf;

  if (facts->tensors[side] == NULL || (stats->n_nan == 0 && n_inf == 0))
    return NULL;
  nan = ir_count_text (stats->n_nan);
  positive = ir_count_text (stats->n_pos_inf);
  negative = ir_count_text (stats->n_neg_inf);
  return g_strdup_printf ("⚠  %s NaN, %s +Inf, %s −Inf", nan, positive, negative);
}

/* What is after was not computed by the graph after, but by the nodes of the graph before: that
 * it is equal, or how far it differs, is no evidence. */
void
ir_tensor_facts_set_recomputed (IrTensorFacts *facts)
{
  if (facts->tensors[IR_SIDE_BEFORE] == NULL || facts->tensors[IR_SIDE_AFTER] == NULL)
    return;
  facts->relation = IR_TENSORS_RECOMPUTED;
  facts->difference = (IrTensorStats){ 0 };
  facts->n_different = 0;
  facts->worst_difference = 0;
}

/* How the two sides differ; "" where there is nothing to compare */
char *
ir_tensor_facts_relation_text (const IrTensorFacts *facts)
{
  g_autofree char *a = NULL, *b = NULL, *at = NULL, *different = NULL, *all = NULL;

  switch (facts->relation)
    {
    case IR_TENSORS_SHAPES_DIFFER:
      a = type_text (facts->tensors[IR_SIDE_BEFORE]);
      b = type_text (facts->tensors[IR_SIDE_AFTER]);
      return g_strdup_printf ("≠  %s became %s", a, b);
    case IR_TENSORS_EQUAL:
      return g_strdup ("✓  before and after are equal, bit for bit");
    case IR_TENSORS_DIFFER:
    case IR_TENSORS_NAN_DIFFERS:
      if (facts->n_different == 0)
        return g_strdup (facts->difference.n > 0 ? "≈  equal as numbers, not in every bit"
                                                 : "≠  the contents differ");
      at = ir_tensor_index_text (facts->tensors[IR_SIDE_AFTER], facts->worst);
      if (facts->relation == IR_TENSORS_NAN_DIFFERS)
        return g_strdup_printf ("✗  %s is NaN or infinite on one side only", at);
      different = ir_count_text (facts->n_different);
      all = ir_count_text (facts->difference.n);
      return g_strdup_printf ("%s  %s of %s differ, most by %.3g at %s",
                              facts->metrics.tolerance <= CLOSE ? "≈" : "≠", different, all,
                              fabs (facts->worst_difference), at);
    case IR_TENSORS_RECOMPUTED:
      return g_strdup ("Recomputed, not compared");
    case IR_TENSORS_NOT_COMPARED:
    default:
      return g_strdup ("");
    }
}

/* The difference in all numbers; "" where there is nothing to compare */
char *
ir_tensor_facts_metrics_text (const IrTensorFacts *facts)
{
  const IrTensorMetrics *metrics = &facts->metrics;
  g_autoptr (GString) text = g_string_new (NULL);

  if (facts->n_different == 0)
    return g_strdup ("");
  /* a name and its number stay on one line */
  g_string_append_printf (text, "max\u00a0abs\u00a0%.4g   max\u00a0rel\u00a0%.4g", metrics->max_abs,
                          metrics->max_rel);
  if (ir_dtype_kind (ir_tensor_dtype (facts->tensors[IR_SIDE_AFTER])) == IR_DTYPE_KIND_FLOAT)
    g_string_append_printf (text, "   ULP\u00a0%" G_GUINT64_FORMAT, metrics->max_ulp);
  g_string_append_printf (text, "\nRMS\u00a0%.4g   mean\u00a0abs\u00a0%.4g\n", metrics->rms,
                          metrics->mean_abs);
  if (!isnan (metrics->cosine))
    g_string_append_printf (text, "cosine\u00a0%.7g   ", metrics->cosine);
  g_string_append_printf (text, "SNR\u00a0%.4g\u00a0dB", metrics->snr_db);
  if (!isnan (metrics->psnr_db))
    g_string_append_printf (text, "   PSNR\u00a0%.4g\u00a0dB", metrics->psnr_db);
  g_string_append_printf (text, "\nleast tolerance that would pass:\u00a0%.4g", metrics->tolerance);
  return g_string_free (g_steal_pointer (&text), FALSE);
}
