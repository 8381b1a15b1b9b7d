#include "config.h"

#include "views/tensor/tensor-request.h"

void
ir_tensor_answer_free (gpointer data)
{
  IrTensorAnswer *answer = data;

  g_clear_pointer (&answer->facts, ir_tensor_facts_free);
  g_clear_pointer (&answer->series, ir_run_unref);
  for (IrSide side = 0; side < IR_N_SIDES; side++)
    g_free (answer->reasons[side]);
  g_free (answer);
}

/* What the run has not kept is computed now, once if both sides are the same; @before: (nullable):
 * what was said of the first. (transfer full): how, or why not, as a sentence */
static char *
compute_side (IrTensorRequest *request, IrSide side, const char *before, GCancellable *cancellable)
{
  g_auto (IrFound) found = { 0 };
  g_autoptr (GError) error = NULL;
  IrRun *run = request->runs[side];

  if (side == IR_SIDE_AFTER && run == request->runs[IR_SIDE_BEFORE] &&
      request->ids[IR_SIDE_AFTER] == request->ids[IR_SIDE_BEFORE] &&
      request->tensors[IR_SIDE_BEFORE] != NULL)
    {
      request->tensors[side] = ir_tensor_ref (request->tensors[IR_SIDE_BEFORE]);
      return g_strdup (before);
    }
  request->tensors[side] = ir_run_find (run, request->ids[side], cancellable, &found, &error);
  if (error != NULL)
    return g_strdup (error->message);
  g_autofree char *text = ir_found_text (&found, run->model);
  return g_strdup_printf (found.how == IR_FOUND_COMPUTED
                              ? "The run did not keep this value: it was %s."
                              : "This value was %s.",
                          text);
}

static char *
compute_original (IrTensorRequest *request,
                  IrSide side,
                  gboolean *computed,
                  GCancellable *cancellable)
{
  g_autoptr (GError) error = NULL;
  char *how;

  request->tensors[side] = ir_original_value_find (request->originals[side], cancellable, computed,
                                                   &how, &error);
  return error != NULL ? g_strdup (error->message) : how;
}

void
ir_tensor_request_free (gpointer data)
{
  IrTensorRequest *request = data;

  for (IrSide side = 0; side < IR_N_SIDES; side++)
    {
      g_clear_pointer (&request->tensors[side], ir_tensor_unref);
      g_clear_pointer (&request->runs[side], ir_run_unref);
      g_clear_pointer (&request->originals[side], ir_original_value_free);
    }
  g_clear_pointer (&request->series, ir_run_unref);
  g_free (request);
}

/* -- rounds of loops, and reference kernels: the graph again, for one value -- */

/* (transfer full) (nullable) */
static IrRun *
run_again (IrRun *run,
           IrValueId id,
           const char *backend,
           IrIterationsKind kind,
           GCancellable *cancellable,
           GError **error)
{
  g_autoptr (GArray) chosen = g_array_new (FALSE, FALSE, sizeof (IrValueId));
  const IrRunOptions options = { .backend = ir_backend_find (backend),
                                 .capture = IR_CAPTURE_CHOSEN,
                                 .chosen = chosen,
                                 .iterations = { .kind = kind } };

  g_array_append_val (chosen, id);
  return ir_model_run (run->model, ir_run_inputs (run), &options, cancellable, error);
}

static char *
compute_reference (IrTensorRequest *request, GCancellable *cancellable)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrRun) run = NULL;
  IrTensor *tensor;

  if (request->runs[IR_SIDE_AFTER] == NULL)
    return g_strdup ("Run the graph first: the reference kernels take the same inputs.");
  run = run_again (request->runs[IR_SIDE_AFTER], request->ids[IR_SIDE_AFTER], "ref",
                   IR_ITERATIONS_NONE, cancellable, &error);
  tensor = run != NULL ? ir_run_value (run, request->ids[IR_SIDE_AFTER]) : NULL;
  request->tensors[IR_SIDE_BEFORE] = tensor != NULL ? ir_tensor_ref (tensor) : NULL;
  return error != NULL ? g_strdup (error->message) : NULL;
}

static char *
point_name (const IrSeriesPoint *point, const char *value)
{
  return g_strdup_printf ("%s@%" G_GINT64_FORMAT "/%s", point->frame, point->iteration, value);
}

static char *
compute_round (IrTensorRequest *request,
               IrSide side,
               const IrSeriesPoint *point,
               const char *value,
               GCancellable *cancellable)
{
  g_autofree char *text = point_name (point, value);
  g_auto (IrIterationName) name = { 0 };
  g_autoptr (GError) error = NULL;

  g_clear_pointer (&request->tensors[side], ir_tensor_unref);
  if (ir_iteration_name_parse (request->runs[side]->model, text, &name, &error))
    request->tensors[side] = ir_run_find_iteration (request->runs[side], &name, cancellable, NULL,
                                                    &error);
  return error != NULL ? g_strdup (error->message) : NULL;
}

/* Which rounds there were is found by running the graph once more; what one held, from the checkpoints of the
 * run, or by running the loop again. */
static void
compute_rounds (IrTensorRequest *request, IrTensorAnswer *answer, GCancellable *cancellable)
{
  IrRun *run = request->runs[IR_SIDE_AFTER];
  const IrValueId id = request->ids[IR_SIDE_AFTER];
  const GArray *points;

  if (run == NULL || !request->in_loop)
    return;
  if (request->series == NULL)
    request->series = run_again (run, id, "cpu", IR_ITERATIONS_SERIES, cancellable, NULL);
  points = request->series != NULL ? ir_run_series (request->series, id) : NULL;
  answer->series = request->series != NULL ? ir_run_ref (request->series) : NULL;
  if (points == NULL || request->round < 0 || request->round >= (int) points->len)
    return;
  const char *name = ir_model_value (run->model, id)->name;
  const gboolean same = request->runs[IR_SIDE_BEFORE] == run && request->ids[IR_SIDE_BEFORE] == id;
  for (IrSide side = same ? IR_SIDE_AFTER : IR_SIDE_BEFORE; side < IR_N_SIDES; side++)
    if (request->runs[side] != NULL)
      {
        g_free (answer->reasons[side]);
        answer->reasons[side] = compute_round (
            request, side, &g_array_index (points, IrSeriesPoint, request->round), name,
            cancellable);
      }
  if (!same)
    return;
  g_clear_pointer (&request->tensors[IR_SIDE_BEFORE], ir_tensor_unref);
  if (request->tensors[IR_SIDE_AFTER] != NULL)
    request->tensors[IR_SIDE_BEFORE] = ir_tensor_ref (request->tensors[IR_SIDE_AFTER]);
  g_free (answer->reasons[IR_SIDE_BEFORE]);
  answer->reasons[IR_SIDE_BEFORE] = g_strdup (answer->reasons[IR_SIDE_AFTER]);
}

static void
report (double fraction, gpointer job)
{
  ir_job_report (job, fraction, NULL);
}

gpointer
ir_tensor_request_run (IrJob *job, gpointer data, GCancellable *cancellable, GError **error)
{
  IrTensorRequest *request = data;
  IrTensorAnswer *answer = g_new0 (IrTensorAnswer, 1);
  gboolean computed[IR_N_SIDES] = { FALSE };

  for (IrSide side = 0; side < IR_N_SIDES; side++)
    if (request->reference && side == IR_SIDE_BEFORE)
      continue;
    else if (request->tensors[side] == NULL && request->runs[side] != NULL)
      answer->reasons[side] = compute_side (request, side, answer->reasons[IR_SIDE_BEFORE],
                                            cancellable);
    else if (request->originals[side] != NULL)
      answer->reasons[side] = compute_original (request, side, &computed[side], cancellable);
  answer->computed = request->computed || computed[IR_SIDE_AFTER];
  compute_rounds (request, answer, cancellable);
  if (request->reference)
    answer->reasons[IR_SIDE_BEFORE] = compute_reference (request, cancellable);
  if (!request->exact)
    answer->facts = ir_tensor_facts_new_sampled (request->tensors[IR_SIDE_BEFORE],
                                                 request->tensors[IR_SIDE_AFTER]);
  if (answer->facts == NULL)
    answer->facts = ir_tensor_facts_new (request->tensors[IR_SIDE_BEFORE],
                                         request->tensors[IR_SIDE_AFTER],
                                         &(IrStatsWatch){ cancellable, report, job });
  if (answer->computed && answer->facts->n_sampled == 0)
    ir_tensor_facts_set_recomputed (answer->facts);
  return answer;
}
