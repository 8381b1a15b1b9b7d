#include "config.h"

#include "passes/debug/gain.h"

#include "core/ir/count.h"
#include "core/op/infer.h"

#include <math.h>

/* NAN: it cannot be scheduled, as where sizes are not known */
static double
predicted_ms (IrModel *model, const IrBackend *backend)
{
  g_autoptr (IrSchedule) schedule = ir_schedule_new (model, backend, 1, NULL);

  return schedule != NULL ? schedule->work_ms : NAN;
}

/**
 * ir_gain_measure:
 * @model: a copy that is spent: the pipeline runs on it
 * @pipeline: a pipeline
 * @backend: that is to run the graph
 * @gain: (out caller-allocates): what it costs before and after
 * @cancellable: (nullable): polled by the pipeline
 * @error: return location for an error
 *
 * Times are predicted by the table of rates: nothing is run.
 *
 * Returns: %FALSE as ir_pipeline_run()
 */
gboolean
ir_gain_measure (IrModel *model,
                 const IrPipeline *pipeline,
                 const IrBackend *backend,
                 IrGain *gain,
                 GCancellable *cancellable,
                 GError **error)
{
  const IrPipelineOptions options = { .max_class = IR_CLASS_ROUNDING, .backend = backend };
  IrPipelineResult result = { 0 };

  *gain = (IrGain){ .before = ir_cost_model (model, NULL),
                    .before_ms = predicted_ms (model, backend) };
  if (!ir_pipeline_run (model, pipeline, &options, &result, cancellable, error))
    return FALSE;
  gain->n_steps = result.n_steps;
  gain->after = ir_cost_model (model, NULL);
  gain->after_ms = predicted_ms (model, backend);
  return !g_cancellable_set_error_if_cancelled (cancellable, error);
}

/* ", bytes moved −12 %"; nothing where nothing changes */
static void
add_change (GString *text, const char *what, double before, double after)
{
  const double percent = before > 0 ? 100 * (after - before) / before : 0;

  if (isnan (percent) || fabs (percent) < 0.05)
    return;
  g_string_append_printf (text, ", %s %s%.*f\302\240%%", what, percent < 0 ? "\342\210\222" : "+",
                          fabs (percent) < 10 ? 1 : 0, fabs (percent));
}

/**
 * ir_gain_text:
 * @gain: what was measured
 * @pipeline: its name
 *
 * Returns: (transfer full): a sentence
 */
char *
ir_gain_text (const IrGain *gain, const char *pipeline)
{
  GString *text = g_string_new (NULL);

  if (gain->n_steps == 0)
    {
      g_string_append_printf (text, "%s finds nothing to rewrite", pipeline);
      return g_string_free (text, FALSE);
    }
  g_autofree char *before = ir_count_text (gain->before.n_nodes);
  g_autofree char *after = ir_count_text (gain->after.n_nodes);
  g_autofree char *steps = ir_count_text (gain->n_steps);
  g_string_append_printf (text, "%s would make %s nodes %s in %s step%s", pipeline, before, after,
                          steps, gain->n_steps == 1 ? "" : "s");
  add_change (text, "FLOPs", (double) gain->before.flops, (double) gain->after.flops);
  add_change (text, "bytes moved", (double) gain->before.bytes, (double) gain->after.bytes);
  add_change (text, "predicted time", gain->before_ms, gain->after_ms);
  return g_string_free (text, FALSE);
}
