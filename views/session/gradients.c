/* Deriving: one run of the graph on screen with its backward part, which keeps all values. */
#include "config.h"

#include "views/session/gradients.h"

#include "core/exec/kernel/backend.h"
#include "views/session/frame-private.h"
#include "views/session/request.h"
#include "views/session/runs.h"

#define KEPT_BYTES ((gsize) 512 << 20) /* of values in memory; others go to a file */

typedef struct
{
  IrGradients *gradients; /* (nullable) */
  char *error;            /* (nullable) */
  IrModel *model;         /* (nullable) of the frame that was derived */
  guint n_changes;        /* of what inputs are given, by then */
  GHashTable *sizes;      /* (nullable) likewise */
} Derived;

static void
clear (gpointer state)
{
  Derived *derived = state;

  if (derived->gradients != NULL)
    ir_job_free_later (g_steal_pointer (&derived->gradients), (GDestroyNotify) ir_gradients_unref);
  g_clear_pointer (&derived->error, g_free);
  g_clear_pointer (&derived->model, ir_model_unref);
  g_clear_pointer (&derived->sizes, g_hash_table_unref);
}

IR_SESSION_NOUN (Derived, NULL, clear)

typedef struct
{
  IrRequest base;
  IrSizer *sizer;
  char *of, *wrt;
  guint n_threads;
} DeriveRequest;

static void
clear_request (gpointer data)
{
  DeriveRequest *request = data;

  g_clear_pointer (&request->sizer, ir_sizer_free);
  g_free (request->of);
  g_free (request->wrt);
}

static void
on_node_progress (guint done, guint total, const IrNode *node, gpointer data)
{
  g_autofree char *text = g_strdup_printf ("Deriving: node %u of %u", done, total);

  ir_job_report (data, total > 0 ? (double) done / total : -1, text);
}

static gpointer
run_derive (IrJob *job, gpointer data, GCancellable *cancellable, GError **error)
{
  const DeriveRequest *request = data;
  const IrGradientsSetup setup = { .of = request->of, .wrt = request->wrt };
  const IrRunOptions options = { .backend = ir_backend_find ("cpu"),
                                 .seed = request->base.feed.seed,
                                 .n_threads = request->n_threads,
                                 .capture_budget = KEPT_BYTES,
                                 .progress = on_node_progress,
                                 .progress_data = job };
  g_autoptr (IrModel) model = ir_sizer_make (request->sizer, error);
  g_autoptr (GHashTable) inputs = model != NULL ? ir_sizer_inputs (request->sizer, error) : NULL;
  g_autoptr (IrGradients)
      gradients = inputs != NULL ? ir_gradients_new (model, &setup, cancellable, error) : NULL;
  g_autoptr (GHashTable) given = gradients != NULL ? ir_inputs_of (model, inputs) : NULL;

  return given != NULL && ir_gradients_run (gradients, given, &options, cancellable, error)
             ? g_steal_pointer (&gradients)
             : NULL;
}

static void
place (IrSession *self)
{
  const Derived *derived = own (self);
  g_autoptr (GHashTable)
      by_node = derived->gradients != NULL ? ir_gradients_by_node (derived->gradients) : NULL;

  if (ir_session_place_gradients (self, by_node))
    ir_session_changed (self, IR_CHANGED_PICTURE);
}

static void
remember (IrSession *self, const DeriveRequest *request)
{
  Derived *derived = own (self);

  clear (derived);
  derived->model = ir_model_ref (request->base.frame->model);
  derived->n_changes = request->base.feed.n_changes;
  derived->sizes = request->base.feed.sizes != NULL ? g_hash_table_ref (request->base.feed.sizes)
                                                    : NULL;
}

static void
on_derived (IrSession *self, gpointer result, gpointer data)
{
  g_autoptr (IrGradients) gradients = result;

  if (ir_request_is_current (data, self))
    {
      remember (self, data);
      own (self)->gradients = g_steal_pointer (&gradients);
      ir_session_changed (self, IR_CHANGED_GRADIENTS);
      place (self);
    }
  ir_session_changed (self, IR_CHANGED_BUSY);
}

static void
on_not_derived (IrSession *self, const GError *error, gpointer data)
{
  if (!ir_request_is_current (data, self) ||
      g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    return;
  remember (self, data);
  own (self)->error = g_strdup (error->message);
  ir_session_changed (self, IR_CHANGED_GRADIENTS);
  place (self);
}

static void
on_fed (IrSession *self, gpointer data)
{
  ((DeriveRequest *) data)->sizer = ir_session_new_sizer (self);
}

static const IrWork derive_work = {
  .run = run_derive,
  .done = on_derived,
  .failed = on_not_derived,
  .clear = clear_request,
  .result_free = (GDestroyNotify) ir_gradients_unref,
  .runs = TRUE,
  .fed = on_fed,
};

void
ir_session_derive (IrSession *self, const char *of, const char *wrt)
{
  DeriveRequest *request;

  if (ir_session_is_empty (self) || ir_session_get_frame (self) == NULL)
    return;
  request = ir_session_new_request (self, &derive_work, sizeof *request);
  request->of = g_strdup (of);
  request->wrt = g_strdup (wrt);
  request->n_threads = ir_session_get_run_settings (self)->options.n_threads;
  ir_session_start (self, "Deriving", request);
}

void
ir_session_forget_gradients (IrSession *self)
{
  clear (own (self));
  ir_session_changed (self, IR_CHANGED_GRADIENTS);
  place (self);
}

IrGradients *
ir_session_get_gradients (IrSession *self)
{
  return own (self)->gradients;
}

const char *
ir_session_get_gradients_error (IrSession *self)
{
  return own (self)->error;
}

char *
ir_session_gradients_stale_text (IrSession *self)
{
  const Derived *derived = own (self);
  const IrFrame *frame = ir_session_get_frame (self);

  if (derived->gradients == NULL || frame == NULL)
    return NULL;
  if (derived->model != frame->model)
    return g_strdup ("Of another step than the one on screen: derive again");
  return ir_session_feeds_as (self, derived->n_changes, derived->sizes)
             ? NULL
             : g_strdup ("Inputs have changed since: derive again");
}
