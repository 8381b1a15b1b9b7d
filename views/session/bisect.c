/* Bisection, and the reproducer of what it found. */
#include "config.h"

#include "passes/debug/bundle.h"
#include "passes/pipeline/pipeline.h"
#include "views/session/records.h"
#include "views/session/debug-private.h"
#include "views/session/selection.h"

typedef struct
{
  IrBisection *found; /* (nullable) of the timeline */
  char *predicate;    /* (nullable) */
  IrNodeId node;      /* to be selected when the culprit's frame is there */
  IrValueId value;
} Bisection;

static void
clear (gpointer state)
{
  Bisection *self = state;

  if (self->found != NULL)
    ir_bisection_clear (self->found);
  g_free (self->found);
  g_free (self->predicate);
  *self = (Bisection){ 0 };
}

IR_SESSION_NOUN (Bisection, NULL, clear)

void
ir_session_forget_bisection (IrSession *self)
{
  clear (own (self));
}

typedef struct
{
  IrRequest base;
  char *predicate;
  char *folder; /* (nullable) reproducer: where it is written */
} BisectRequest;

static void
clear_request (gpointer data)
{
  BisectRequest *request = data;

  g_free (request->predicate);
  g_free (request->folder);
}

IrTrial *
ir_request_trial (const IrRequest *request, GCancellable *cancellable, GError **error)
{
  g_autoptr (GHashTable)
      inputs = ir_feed_inputs (&request->feed, ir_timeline_original (request->timeline), error);
  g_autoptr (IrModel) model = NULL;

  if (inputs == NULL)
    return NULL;
  model = ir_timeline_copy (request->timeline);
  return ir_trial_new (model, inputs, ir_backend_find ("cpu"), 0, cancellable);
}

/* -- bisection -- */

typedef struct
{
  IrBisection bisection;
  IrNodeId node; /* that makes the first diverging value; 0: none */
} Found;

static void
found_free (gpointer data)
{
  Found *found = data;

  ir_bisection_clear (&found->bisection);
  g_free (found);
}

#define TELL_US 100000 /* between two words on how far a check is */

typedef struct
{
  IrJob *job;
  guint checks, expected;
  gint64 told_us;
} Watching;

/* @part: of the check under way */
static void
tell (Watching *watching, double part)
{
  const guint next = watching->checks + 1, total = MAX (next, watching->expected);
  g_autofree char *text = watching->expected > 0
                              ? g_strdup_printf ("Bisecting: check %u of about %u", next, total)
                              : g_strdup ("Bisecting: running the original");

  ir_job_report (watching->job,
                 watching->expected > 0 ? (watching->checks + part) / total : part / 10, text);
}

static void
on_check (guint checks, guint expected, gpointer data)
{
  Watching *watching = data;

  watching->checks = checks;
  watching->expected = expected;
  tell (watching, 0);
}

/* A check may take long. */
static void
on_node (guint done, guint total, const IrNode *node, gpointer data)
{
  const gint64 now_us = g_get_monotonic_time ();
  Watching *watching = data;

  if (now_us - watching->told_us < TELL_US || total == 0)
    return;
  watching->told_us = now_us;
  tell (watching, (double) done / total);
}

/* As ir_bisect(), and @job is told how far it is */
static gboolean
bisect (IrJob *job, IrTrial *trial, IrPredicate *predicate, IrBisection *bisection, GError **error)
{
  Watching watching = { .job = job };

  ir_trial_tell (trial, on_node, &watching);
  const gboolean done = ir_bisect (trial, predicate, on_check, &watching, bisection, error);
  ir_trial_tell (trial, NULL, NULL);
  return done;
}

static IrNodeId
producer_at (IrModel *model, guint step, IrValueId id)
{
  g_autoptr (IrModel) snapshot = ir_history_snapshot (model, step);
  const IrValue *value = ir_model_live_value (snapshot, id);

  return value != NULL && value->producer != NULL ? value->producer->id : 0;
}

static gboolean
find_culprit (const BisectRequest *request, IrTrial *trial, Found *found, GError **error)
{
  g_autoptr (IrPredicate) predicate = ir_predicate_parse (request->predicate, error);
  IrBisection *bisection = &found->bisection;

  if (predicate == NULL || !bisect (request->base.job, trial, predicate, bisection, error))
    return FALSE;
  if (bisection->answer != IR_BISECT_FOUND || !ir_predicate_runs_graph (predicate))
    return TRUE;
  if (!ir_bisect_find_divergence (trial, bisection, error))
    return FALSE;
  if (bisection->diverges != 0)
    found->node = producer_at (ir_trial_history (trial), bisection->step, bisection->diverges);
  return TRUE;
}

static gpointer
run_bisect (IrJob *job, gpointer data, GCancellable *cancellable, GError **error)
{
  const BisectRequest *request = data;
  g_autoptr (IrTrial) trial = ir_request_trial (&request->base, cancellable, error);
  Found *found;

  if (trial == NULL)
    return NULL;
  found = g_new0 (Found, 1);
  if (find_culprit (request, trial, found, error) &&
      !g_cancellable_set_error_if_cancelled (cancellable, error))
    return found;
  found_free (found);
  return NULL;
}

void
ir_session_select_pending (IrSession *self)
{
  Bisection *bisection = own (self);
  const IrFrame *frame = ir_session_get_frame (self);
  const IrNodeId node = bisection->node;
  const IrValueId value = bisection->value;

  if ((node == 0 && value == 0) || bisection->found == NULL || frame->to != bisection->found->step)
    return;
  bisection->node = 0;
  bisection->value = 0;
  if (ir_model_live_node (frame->model, node) != NULL)
    ir_session_select_node (self, node);
  if (ir_model_live_value (frame->model, value) != NULL)
    ir_session_select_value (self, value);
}

static void
show_culprit (IrSession *self, IrNodeId node)
{
  own (self)->node = node;
  own (self)->value = own (self)->found->diverges;
  ir_session_set_compare (self, IR_COMPARE_STEP);
  ir_session_goto (self, own (self)->found->step);
  ir_session_select_pending (self);
  ir_session_show_view (self, "graph");
}

static void
on_bisected (IrSession *self, gpointer result, gpointer data)
{
  BisectRequest *request = data;
  Found *found = result;
  const IrBisection *bisection;
  g_autofree char *text = NULL;

  if (!ir_request_is_current (request, self))
    {
      ir_session_changed (self, IR_CHANGED_BUSY);
      found_free (found);
      return;
    }
  clear (own (self));
  own (self)->found = g_memdup2 (&found->bisection, sizeof (IrBisection));
  own (self)->predicate = g_steal_pointer (&request->predicate);
  bisection = own (self)->found;
  if (bisection->answer == IR_BISECT_FOUND)
    show_culprit (self, found->node);
  g_free (found); /* its contents are the session's now */
  ir_session_changed (self, IR_CHANGED_BUSY | IR_CHANGED_BISECTION);
  if (bisection->answer == IR_BISECT_FOUND)
    text = g_strdup_printf ("Step %u, %s, makes it fail", bisection->step,
                            ir_history_step (ir_session_get_history (self), bisection->step)->rule);
  else
    text = ir_session_bisection_text (self);
  ir_session_message (self, "%s", text);
}

static const IrWork bisect_work = {
  .run = run_bisect,
  .done = on_bisected,
  .failure = "The steps could not be bisected",
  .clear = clear_request,
  .result_free = found_free,
  .runs = TRUE,
};

/**
 * ir_session_bisect:
 * @predicate: as ir_predicate_parse() reads it
 *
 * Finds the step after which @predicate fails and before which it does not, goes there and selects
 * the first tensor that the step changed.
 */
void
ir_session_bisect (IrSession *self, const char *predicate)
{
  BisectRequest *request;

  if (ir_session_is_empty (self))
    return;
  if (ir_session_get_n_steps (self) == 0)
    {
      ir_session_message (self, "There are no steps to bisect: run a pipeline first (F5)");
      return;
    }
  request = ir_session_new_request (self, &bisect_work, sizeof *request);
  request->predicate = g_strdup (predicate);
  ir_session_start (self, "Bisecting", request);
}

const IrBisection *
ir_session_get_bisection (IrSession *self)
{
  return own (self)->found;
}

const char *
ir_session_get_bisected (IrSession *self)
{
  return own (self)->predicate;
}

static void
append_divergence (GString *text, const IrModel *model, const IrBisection *found)
{
  g_autofree char *change = ir_difference_text (&found->change),
                  *from_original = ir_difference_text (&found->from_original);

  if (found->diverges == 0)
    return;
  g_string_append_printf (text, ". First tensor to differ: %s, %s",
                          ir_model_value (model, found->diverges)->name, change);
  if (found->original != 0 &&
      (found->original != found->stood || strcmp (change, from_original) != 0))
    g_string_append_printf (text, "; from %s of the original: %s",
                            ir_model_value (model, found->original)->name, from_original);
}

/**
 * ir_session_bisection_text:
 *
 * Returns: (transfer full): the outcome of the last bisection in a sentence or two, "" if there was
 *   none
 */
char *
ir_session_bisection_text (IrSession *self)
{
  const IrBisection *found = own (self)->found;
  const IrModel *model = ir_session_get_history (self);
  g_autoptr (GString) text = g_string_new (NULL);

  if (found == NULL)
    return g_strdup ("");
  switch (found->answer)
    {
    case IR_BISECT_FOUND:
      g_string_append_printf (text, "Step %u, %s, makes it fail", found->step,
                              ir_history_step (model, found->step)->rule);
      if (found->problem != NULL)
        g_string_append_printf (text, ": the graph does not run after it: %s", found->problem);
      else
        g_string_append_printf (text, ": after it, %s", found->finding);
      append_divergence (text, model, found);
      break;
    case IR_BISECT_ORIGINAL_FAILS:
      g_string_append_printf (text, "The original graph fails already: %s", found->finding);
      break;
    case IR_BISECT_NOTHING_FAILS:
    case IR_N_BISECT_ANSWERS:
    default:
      g_string_append_printf (text, "Nothing fails up to step %u: there, %s", found->last,
                              found->finding);
    }
  return g_string_free (g_steal_pointer (&text), FALSE);
}

/* -- the reproducer -- */

static void
bundle_free (gpointer data)
{
  ir_bundle_clear (data);
  g_free (data);
}

/* The steps are bisected again: what that found holds ids of a trial that is gone. */
static gpointer
run_reproduce (IrJob *job, gpointer data, GCancellable *cancellable, GError **error)
{
  const BisectRequest *request = data;
  g_autoptr (IrTrial) trial = ir_request_trial (&request->base, cancellable, error);
  g_autoptr (IrPredicate) predicate = ir_predicate_parse (request->predicate, error);
  g_auto (IrBisection) found = { 0 };
  IrReproduceOptions how = { .max_class = IR_CLASS_ROUNDING,
                             .backend = ir_backend_find ("cpu"),
                             .cancellable = cancellable };
  const IrBundleOptions where = { .folder = request->folder };
  IrBundle *bundle;

  if (trial == NULL || predicate == NULL || !bisect (job, trial, predicate, &found, error) ||
      (ir_predicate_runs_graph (predicate) && !ir_bisect_find_divergence (trial, &found, error)))
    return NULL;
  ir_job_report (job, -1, "Cutting out the smallest part that fails");
  how.pass = ir_pass_find (ir_history_pass_of (ir_trial_history (trial), found.step));
  bundle = g_new0 (IrBundle, 1);
  if (ir_bundle_write (trial, &found, request->predicate, &how, &where, bundle, error) &&
      !g_cancellable_set_error_if_cancelled (cancellable, error))
    return bundle;
  bundle_free (bundle);
  return NULL;
}

static void
on_reproduced (IrSession *self, gpointer result, gpointer data)
{
  const BisectRequest *request = data;
  IrBundle *bundle = result;

  ir_session_changed (self, IR_CHANGED_BUSY);
  if (bundle->reproduced)
    ir_session_message (self, "Reproducer with %u of %u nodes written to %s", bundle->part.n_part,
                        bundle->part.n_whole, request->folder);
  else
    ir_session_message (self, "Written to %s, but it does not fail when read back",
                        request->folder);
  bundle_free (bundle);
}

static const IrWork reproduce_work = {
  .run = run_reproduce,
  .done = on_reproduced,
  .failure = "The reproducer could not be written",
  .clear = clear_request,
  .result_free = bundle_free,
  .runs = TRUE,
};

/**
 * ir_session_can_reproduce:
 *
 * Returns: whether a bisection found the step of a pass, which can be run alone
 */
gboolean
ir_session_can_reproduce (IrSession *self)
{
  const IrBisection *found = own (self)->found;
  const IrModel *history = ir_session_get_history (self);

  return found != NULL && found->answer == IR_BISECT_FOUND &&
         ir_pass_find (ir_history_pass_of (history, found->step)) != NULL;
}

/**
 * ir_session_reproduce:
 * @folder: where to write; it is made
 *
 * Writes a bundle that shows the failure that was found last, as irscope reproduce does.
 */
void
ir_session_reproduce (IrSession *self, const char *folder)
{
  BisectRequest *request;

  if (!ir_session_can_reproduce (self))
    return;
  request = ir_session_new_request (self, &reproduce_work, sizeof *request);
  request->predicate = g_strdup (own (self)->predicate);
  request->folder = g_strdup (folder);
  ir_session_start (self, "Writing a reproducer", request);
}
