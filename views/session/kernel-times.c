/* Measuring all kernels of a node: the graph runs with each in turn, so that what slows the machine
 * down meanwhile slows all of them. */
#include "config.h"

#include "core/exec/run/capture.h"
#include "core/exec/schedule/kernel-choice.h"
#include "views/session/request.h"
#include "views/session/runs-private.h"

#include <string.h>

#define N_RUNS       7     /* of each kernel, behind one that warms up */
#define MOST_TIME_MS 10000 /* of one run; a node that it does not reach has no time */

static void
kernel_time_free (gpointer data)
{
  IrKernelTime *time = data;

  g_free (time->name);
  g_free (time->kernel);
  g_free (time->why);
  g_free (time);
}

typedef struct
{
  GPtrArray *times; /* (nullable) of IrKernelTime */
  IrNodeId node;    /* whose they are */
  guint step;       /* where they were measured */
} KernelTimes;

static void
clear (gpointer state)
{
  KernelTimes *self = state;

  g_clear_pointer (&self->times, g_ptr_array_unref);
  self->node = 0;
}

IR_SESSION_NOUN (KernelTimes, NULL, clear)

void
ir_session_forget_kernel_times (IrSession *self)
{
  clear (own (self));
}

typedef struct
{
  IrRequest base;
  IrNodeId node;
  IrRunOptions options;
} KernelRequest;

/* The graph with one kernel asked for. */
typedef struct
{
  char *name; /* (nullable): as the graph is */
  IrModel *model;
  IrExecutable *executable;
  GArray *ms;     /* of double */
  IrRun *run;     /* (nullable) the first, whose values are compared */
  gboolean ended; /* by the limit of time */
} Variant;

static void
variant_free (gpointer data)
{
  Variant *variant = data;

  g_clear_pointer (&variant->executable, ir_executable_free);
  g_clear_pointer (&variant->run, ir_run_unref);
  g_clear_pointer (&variant->model, ir_model_unref);
  g_array_unref (variant->ms);
  g_free (variant->name);
  g_free (variant);
}

static Variant *
variant_new (const KernelRequest *request,
             const char *name,
             GCancellable *cancellable,
             GError **error)
{
  Variant *variant = g_new0 (Variant, 1);
  IrRunOptions options = request->options;
  const IrNode *node = ir_model_live_node (request->base.frame->model, request->node);
  g_autoptr (GArray) outputs = g_array_new (FALSE, FALSE, sizeof (IrValueId));

  variant->name = g_strdup (name);
  variant->ms = g_array_new (FALSE, FALSE, sizeof (double));
  variant->model = name == NULL ? ir_model_ref (request->base.frame->model)
                                : ir_model_clone (request->base.frame->model);
  if (name != NULL)
    {
      IrEdit *edit = ir_edit_new (variant->model);

      ir_edit_begin_pass (edit, "edit");
      ir_edit_ask_for_kernel (edit, ir_model_live_node (variant->model, request->node), name);
      ir_edit_end_pass (edit);
      ir_edit_free (edit);
    }
  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] != NULL)
      g_array_append_val (outputs, node->outputs[i]->id);
  options.capture = IR_CAPTURE_CHOSEN;
  options.chosen = outputs;
  options.time_limit_ms = options.time_limit_ms != 0 ? MIN (options.time_limit_ms, MOST_TIME_MS)
                                                     : MOST_TIME_MS;
  variant->executable = ir_executable_new (variant->model, &options, error);
  if (variant->executable != NULL)
    return variant;
  variant_free (variant);
  return NULL;
}

static void
take_time (Variant *variant, IrNodeId node, const IrRun *run)
{
  for (guint i = 0; i < run->trace->items->len; i++)
    {
      const IrTraceItem *item = &g_array_index (run->trace->items, IrTraceItem, i);
      const double ms = (double) (item->end_ns - item->start_ns) / 1e6;

      if (item->node == node)
        g_array_append_val (variant->ms, ms);
    }
}

/* The first run, which warms up, is the one whose values are compared. */
static gboolean
run_variant (const KernelRequest *request,
             Variant *variant,
             GHashTable *inputs,
             GCancellable *cancellable,
             GError **error)
{
  g_autoptr (IrRun) run = NULL;

  if (variant->ended)
    return TRUE;
  run = ir_run_once (variant->executable, variant->model, inputs, cancellable, error);
  if (run == NULL)
    return FALSE;
  variant->ended = g_error_matches (run->error, IR_EXEC_ERROR, IR_EXEC_ERROR_LIMIT);
  if (run->error != NULL && !variant->ended)
    {
      g_propagate_error (error, g_error_copy (run->error));
      return FALSE;
    }
  if (run->trace != NULL && (variant->run != NULL || variant->ended))
    take_time (variant, request->node, run);
  if (variant->run == NULL)
    variant->run = g_steal_pointer (&run);
  return TRUE;
}

static const IrScheduleItem *
item_of (const IrRun *run, IrNodeId node)
{
  for (guint i = 0; run->schedule != NULL && i < run->schedule->items->len; i++)
    {
      const IrScheduleItem *item = &g_array_index (run->schedule->items, IrScheduleItem, i);

      if (item->node == node)
        return item;
    }
  return NULL;
}

static void
compare_outputs (const KernelRequest *request,
                 const Variant *base,
                 const Variant *variant,
                 IrKernelTime *time)
{
  const IrNode *node = ir_model_live_node (request->base.frame->model, request->node);

  for (guint i = 0; i < node->n_outputs; i++)
    {
      const IrTensor *a, *b;
      IrDifference difference;

      if (node->outputs[i] == NULL)
        continue;
      a = ir_run_value (base->run, node->outputs[i]->id);
      b = ir_run_value (variant->run, node->outputs[i]->id);
      if (a == NULL || b == NULL)
        continue;
      ir_trial_difference (a, b, &difference);
      time->compared = TRUE;
      ir_difference_take_larger (&time->difference, &difference);
    }
}

/* What is taken first; a name by which the same kernel runs is only another name of it. */
static GPtrArray *
times_of (const KernelRequest *request, GPtrArray *variants)
{
  GPtrArray *times = g_ptr_array_new_with_free_func (kernel_time_free);
  const Variant *base = variants->pdata[0];
  const IrScheduleItem *taken = item_of (base->run, request->node);

  for (guint i = 0; taken != NULL && i < variants->len; i++)
    {
      const Variant *variant = variants->pdata[i];
      const IrScheduleItem *item = item_of (variant->run, request->node);
      IrKernelTime *time;

      if (item == NULL)
        continue;
      if (i > 0 && strcmp (item->kernel, taken->kernel) == 0)
        {
          IrKernelTime *first = times->pdata[0];
          first->name = first->name != NULL ? first->name : g_strdup (variant->name);
          continue;
        }
      time = g_new0 (IrKernelTime, 1);
      time->name = g_strdup (variant->name);
      time->kernel = g_strdup (item->kernel);
      time->why = g_strdup (item->why);
      time->taken = i == 0;
      time->ms = ir_times (variant->ms);
      compare_outputs (request, base, variant, time);
      g_ptr_array_add (times, time);
    }
  return times;
}

static gpointer
run_kernels (IrJob *job, gpointer data, GCancellable *cancellable, GError **error)
{
  const KernelRequest *request = data;
  const IrNode *node = ir_model_live_node (request->base.frame->model, request->node);
  g_auto (GStrv) names = ir_kernel_choices (ir_backend_find ("cpu"), node);
  g_autoptr (GPtrArray) variants = g_ptr_array_new_with_free_func (variant_free);
  g_autoptr (GHashTable)
      inputs = ir_feed_inputs (&request->base.feed, request->base.frame->model, error);
  const guint n = g_strv_length (names) + 1;

  for (guint i = 0; inputs != NULL && i < n; i++)
    {
      Variant *variant = variant_new (request, i > 0 ? names[i - 1] : NULL, cancellable, error);

      if (variant == NULL)
        return NULL;
      g_ptr_array_add (variants, variant);
    }
  for (guint run = 0; inputs != NULL && run < n * (N_RUNS + 1); run++)
    {
      const guint round = run / n;
      g_autofree char *text = g_strdup_printf ("Measuring %u kernels: run %u of %u", n - 1, run + 1,
                                               n * (N_RUNS + 1));

      ir_job_report (job, (double) run / (n * (N_RUNS + 1)), text);
      if (!run_variant (request, variants->pdata[(run + round) % n], inputs, cancellable, error) ||
          g_cancellable_set_error_if_cancelled (cancellable, error))
        return NULL;
    }
  return inputs != NULL ? times_of (request, variants) : NULL;
}

static void
on_kernels (IrSession *self, gpointer result, gpointer data)
{
  const KernelRequest *request = data;

  if (ir_request_is_current (data, self))
    {
      clear (own (self));
      *own (self) = (KernelTimes){ result, request->node, request->base.frame->to };
    }
  else
    g_ptr_array_unref (result);
  ir_session_changed (self, IR_CHANGED_BUSY | IR_CHANGED_KERNELS);
}

static const IrWork kernels_work = {
  .run = run_kernels,
  .done = on_kernels,
  .failure = "The kernels could not be measured",
  .result_free = (GDestroyNotify) g_ptr_array_unref,
  .runs = TRUE,
};

/**
 * ir_session_measure_kernels:
 * @node: a node of the graph on screen
 *
 * Runs the graph with each kernel that @node could have, seven times each, in turn.
 */
void
ir_session_measure_kernels (IrSession *self, IrNodeId node)
{
  const IrFrame *frame = ir_session_get_frame (self);
  KernelRequest *request;

  if (frame == NULL || ir_model_live_node (frame->model, node) == NULL)
    return;
  request = ir_session_new_request (self, &kernels_work, sizeof *request);
  request->node = node;
  request->options = ir_session_get_run_options (self);
  ir_session_start (self, "Measuring kernels", request);
}

/**
 * ir_session_get_kernel_times:
 * @node: a node
 * @step: (out): where they were measured
 *
 * Returns: (transfer none) (nullable): of #IrKernelTime, the one that was taken first; %NULL: those
 *   of @node were not measured
 */
GPtrArray *
ir_session_get_kernel_times (IrSession *self, IrNodeId node, guint *step)
{
  *step = own (self)->step;
  return node != 0 && node == own (self)->node ? own (self)->times : NULL;
}
