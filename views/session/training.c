/* Training in the window: the thread of the job makes steps, and between two of them does what it is told. */
#include "config.h"

#include "views/session/training.h"

#include "core/exec/kernel/backend.h"
#include "core/exec/run/control.h"
#include "passes/training/order.h"
#include "views/session/request.h"
#include "views/session/run-control.h"
#include "views/session/runs.h"
#include "views/session/selection.h"

#include <math.h>

#define TELL_MS 100  /* between two times that views hear of new steps */
#define DRAW_MS 1000 /* and between two that the graph is drawn anew with them */
#define N_SHOWN 4    /* values of a node that it stands at */
#define LOOK_MS 50   /* how often one that stands looks whether it was cancelled */

/* Shared by the session and the thread. */
typedef struct
{
  gatomicrefcount refs;
  GWeakRef session;
  char *path;
  GMutex lock;
  GCond told;
  /* under the lock: what is wanted, and what there is */
  gboolean pause, stop, by_node;
  guint n_single; /* steps to make although it is to stand */
  double rate;    /* NAN: as it was */
  IrCourseState state;
  GArray *points;        /* of IrTrainingPoint */
  GPtrArray *parameters; /* (nullable) of IrParameterCourse */
  guint64 n_steps;
  GString *text;
  gboolean failed, is_written, is_scheduled;
  IrNodeId bad_node;
  gint64 told_at, drawn_at;
  IrRunControl *control; /* (nullable) of a step that stands within itself: */
  char *standing;        /* (nullable) */
  IrNodeId at;           /* 0: told already */
  GPtrArray *breaks;     /* of IrRunBreak, as they were when it began; never changed */
} Link;

typedef struct
{
  Link *link; /* (nullable) of the last training */
} Training;

static Link *
link_ref (Link *link)
{
  g_atomic_ref_count_inc (&link->refs);
  return link;
}

static void
link_unref (gpointer data)
{
  Link *link = data;

  if (!g_atomic_ref_count_dec (&link->refs))
    return;
  g_weak_ref_clear (&link->session);
  g_array_unref (link->points);
  g_clear_pointer (&link->parameters, g_ptr_array_unref);
  g_string_free (link->text, TRUE);
  g_mutex_clear (&link->lock);
  g_cond_clear (&link->told);
  g_ptr_array_unref (link->breaks);
  g_free (link->standing);
  g_free (link->path);
  g_free (link);
}

static void
clear (gpointer state)
{
  g_clear_pointer (&((Training *) state)->link, link_unref);
}

IR_SESSION_NOUN (Training, NULL, clear)

static IrTrainingWish
copy_wish (const IrTrainingWish *wish)
{
  return (IrTrainingWish){ .data = g_strdupv (wish->data),
                           .target = g_strdup (wish->target),
                           .loss = g_strdup (wish->loss),
                           .optimizer = g_strdup (wish->optimizer),
                           .rate = g_strdup (wish->rate),
                           .validate = g_strdup (wish->validate),
                           .schedule = g_strdup (wish->schedule),
                           .of = g_strdup (wish->of),
                           .loss_scale = g_strdup (wish->loss_scale),
                           .freeze = g_strdup (wish->freeze),
                           .budget = g_strdup (wish->budget),
                           .settings = g_strdupv (wish->settings),
                           .deterministic = wish->deterministic,
                           .batch = wish->batch,
                           .epochs = wish->epochs,
                           .seed = wish->seed,
                           .path = g_strdup (wish->path),
                           .go_on = wish->go_on };
}

void
ir_training_wish_clear (IrTrainingWish *wish)
{
  g_strfreev (wish->data);
  g_free (wish->target);
  g_free (wish->loss);
  g_free (wish->optimizer);
  g_free (wish->rate);
  g_free (wish->validate);
  g_free (wish->schedule);
  g_free (wish->of);
  g_free (wish->loss_scale);
  g_free (wish->freeze);
  g_free (wish->budget);
  g_strfreev (wish->settings);
  g_free (wish->path);
  *wish = (IrTrainingWish){ 0 };
}

void
ir_course_clear (IrCourse *course)
{
  g_clear_pointer (&course->points, g_array_unref);
  g_clear_pointer (&course->parameters, g_ptr_array_unref);
  g_clear_pointer (&course->text, g_free);
  g_clear_pointer (&course->path, g_free);
  g_clear_pointer (&course->standing, g_free);
}

/* In the main thread: what overlays of the graph show of it */
static void
place (IrSession *self, Link *link)
{
  const IrFrame *frame = ir_session_get_frame (self);
  g_autoptr (GHashTable) updates = NULL;

  g_mutex_lock (&link->lock);
  if (frame != NULL && link->parameters != NULL)
    updates = ir_parameter_courses_by_node (link->parameters, frame->model);
  link->drawn_at = g_get_monotonic_time ();
  g_mutex_unlock (&link->lock);
  if (ir_session_place_updates (self, updates))
    ir_session_changed (self, IR_CHANGED_PICTURE);
}

/* -- telling, from the thread -- */

static gboolean
on_news (gpointer data)
{
  Link *link = data;
  g_autoptr (IrSession) self = g_weak_ref_get (&link->session);

  g_mutex_lock (&link->lock);
  const IrNodeId at = link->at;
  const gboolean draws = link->state != IR_COURSE_RUNS ||
                         g_get_monotonic_time () - link->drawn_at >= DRAW_MS * 1000;
  link->is_scheduled = FALSE;
  link->at = 0;
  g_mutex_unlock (&link->lock);
  if (self == NULL || own (self)->link != link)
    return G_SOURCE_REMOVE;
  const IrFrame *frame = ir_session_get_frame (self);
  if (at != 0 && frame != NULL && ir_model_live_node (frame->model, at) != NULL)
    ir_session_select_node (self, at);
  ir_session_changed (self, IR_CHANGED_TRAINING);
  if (draws)
    place (self, link);
  return G_SOURCE_REMOVE;
}

/* Under the lock. @now: however lately something was told */
static void
tell (Link *link, gboolean now)
{
  const gint64 time = g_get_monotonic_time ();

  if (link->is_scheduled || (!now && time - link->told_at < TELL_MS * 1000))
    return;
  link->is_scheduled = TRUE;
  link->told_at = time;
  g_idle_add_full (G_PRIORITY_DEFAULT, on_news, link_ref (link), link_unref);
}

static void
set_state (Link *link, IrCourseState state)
{
  g_mutex_lock (&link->lock);
  link->state = state;
  tell (link, TRUE);
  g_mutex_unlock (&link->lock);
}

/* -- the thread -- */

typedef struct
{
  IrRequest base;
  Link *link;
  IrTrainingWish wish;
  guint n_threads;
} TrainRequest;

static void
clear_request (gpointer data)
{
  TrainRequest *request = data;

  g_clear_pointer (&request->link, link_unref);
  ir_training_wish_clear (&request->wish);
}

/* Stands while it is told to. FALSE: it is to end */
static gboolean
may_go_on (Link *link, IrTrainingRun *run, GCancellable *cancellable)
{
  gboolean goes_on;

  g_mutex_lock (&link->lock);
  while (link->pause && link->n_single == 0 && !link->stop &&
         !g_cancellable_is_cancelled (cancellable))
    {
      if (link->state != IR_COURSE_STANDS)
        {
          link->state = IR_COURSE_STANDS;
          tell (link, TRUE);
        }
      g_cond_wait_until (&link->told, &link->lock, g_get_monotonic_time () + LOOK_MS * 1000);
    }
  if (link->n_single > 0)
    link->n_single--;
  if (link->state != IR_COURSE_RUNS)
    {
      link->state = IR_COURSE_RUNS;
      tell (link, TRUE);
    }
  if (!isnan (link->rate))
    ir_trainer_set_rate (run->trainer, link->rate);
  link->rate = NAN;
  goes_on = !link->stop && !g_cancellable_is_cancelled (cancellable);
  g_mutex_unlock (&link->lock);
  return goes_on;
}

/* -- nodes of a step, in the thread -- */

typedef struct
{
  Link *link;
  IrRunControl *control;    /* (nullable) (owned) */
  const IrTrainingRun *run; /* (nullable) */
  IrJob *job;
} Drive;

static void
add_contents (GString *text, IrRunControl *control, const IrValue *value)
{
  g_autoptr (IrTensor) contents = ir_run_control_value (control, value, NULL);
  IrTensorStats stats;

  if (contents == NULL || ir_tensor_is_container (contents) ||
      ir_tensor_dtype (contents) == IR_DTYPE_STRING)
    return;
  IrContext *context = value->graph->model->context;
  g_autofree char *type = ir_type_to_string (context, ir_tensor_type (contents, context));
  ir_tensor_stats (contents, 0, &stats);
  g_string_append_printf (text, "\n%s %s: %.4g to %.4g, mean %.4g", value->name, type, stats.min,
                          stats.max, stats.mean);
  if (stats.n_nan + stats.n_pos_inf + stats.n_neg_inf > 0)
    g_string_append_printf (text, ", %" G_GUINT64_FORMAT " NaN, %" G_GUINT64_FORMAT " infinite",
                            stats.n_nan, stats.n_pos_inf + stats.n_neg_inf);
}

/* Where it stands, and what the node reads that is next, or gave that has run */
static char *
standing_text (IrRunControl *control, const IrRunStop *stop)
{
  g_autofree char *where = ir_run_stop_text (stop);
  GString *text = g_string_new (where);
  const guint n = stop->node == NULL ? 0
                  : stop->after      ? stop->node->n_outputs
                                     : stop->node->n_inputs;

  *text->str = g_ascii_toupper (*text->str);
  for (guint i = 0; i < MIN (n, N_SHOWN); i++)
    {
      const IrValue *value = stop->after ? stop->node->outputs[i] : stop->node->inputs[i];
      if (value != NULL && ir_value_constant (value) == NULL)
        add_contents (text, control, value);
    }
  if (stop->finding.advice != NULL)
    g_string_append_printf (text, "\n%s", stop->finding.advice);
  return g_string_free (text, FALSE);
}

static void
on_stopped (IrRunControl *control, const IrRunStop *stop, gpointer data)
{
  Drive *drive = data;
  Link *link = drive->link;
  char *text = standing_text (control, stop);
  const IrNodeId at = ir_training_run_node (drive->run, stop->node != NULL ? stop->node->id : 0);

  g_mutex_lock (&link->lock);
  if (link->stop)
    ir_run_control_go (control, (IrRunCommand){ .move = IR_RUN_STOP });
  else
    link->control = control;
  g_free (link->standing);
  link->standing = text;
  link->at = at;
  link->state = IR_COURSE_STANDS;
  tell (link, TRUE);
  g_mutex_unlock (&link->lock);
  ir_job_report (drive->job, (double) stop->done / MAX (stop->total, 1),
                 "Training: within a step, nodes done of it");
}

/* Under the lock. A step that stands within itself goes on. */
static void
go_on (Link *link)
{
  const IrRunMove move = link->stop ? IR_RUN_STOP : link->by_node ? IR_RUN_STEP : IR_RUN_CONTINUE;

  ir_run_control_go (link->control, (IrRunCommand){ .move = move });
  link->control = NULL;
  link->n_single = 0;
  link->state = IR_COURSE_RUNS;
  g_clear_pointer (&link->standing, g_free);
}

/* Steps without somebody who stops at nodes run as fast as without all this. */
static gboolean
prepare_to_drive (Drive *drive, GError **error)
{
  Link *link = drive->link;

  g_mutex_lock (&link->lock);
  const gboolean by_node = link->by_node;
  g_mutex_unlock (&link->lock);
  const gboolean driven = by_node || link->breaks->len > 0;
  const IrRunCommand first = { .move = by_node ? IR_RUN_STEP : IR_RUN_CONTINUE };
  if (driven && drive->control == NULL)
    {
      drive->control = ir_run_control_new (
          &(IrRunControlSetup){ .stopped = on_stopped, .data = drive });
      ir_run_control_set_breaks (drive->control, link->breaks);
    }
  if (driven)
    ir_run_control_begin_by (drive->control, first);
  return ir_trainer_drive (drive->run->trainer, driven ? drive->control : NULL, error);
}

static void
drive_clear (Drive *drive)
{
  g_mutex_lock (&drive->link->lock);
  drive->link->control = NULL;
  g_clear_pointer (&drive->link->standing, g_free);
  g_mutex_unlock (&drive->link->lock);
  g_clear_pointer (&drive->control, ir_run_control_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Drive, drive_clear)

static void
take_point (Link *link,
            const IrTrainingRun *run,
            IrJob *job,
            const IrTrainerResult *step,
            const IrTrainerResult *check)
{
  const IrTrainingPoint point = ir_training_point (step, check);
  g_autofree char *text = g_strdup_printf ("Training: epoch %" G_GUINT64_FORMAT ", loss %.4g",
                                           step->epoch, step->loss);

  g_mutex_lock (&link->lock);
  g_array_append_val (link->points, point);
  if (link->parameters == NULL)
    link->parameters = ir_parameter_courses_new (run->trainer);
  ir_parameter_courses_take (link->parameters, run->trainer);
  tell (link, FALSE);
  g_mutex_unlock (&link->lock);
  ir_job_report (job, (double) step->step / (double) MAX (link->n_steps, 1), text);
}

static gboolean
write_checkpoint (Link *link, const IrTrainingRun *run, GError **error)
{
  if (ir_trainer_place (run->trainer).step == 0)
    return TRUE;
  if (!ir_training_run_save (run, link->path, error))
    return FALSE;
  g_mutex_lock (&link->lock);
  link->is_written = TRUE;
  g_mutex_unlock (&link->lock);
  return TRUE;
}

static gboolean
make_step (Drive *drive, IrTrainingRun *run, IrJob *job, GCancellable *cancellable, GError **error)
{
  Link *link = drive->link;
  IrTrainerResult step, check;
  gboolean checked = FALSE;

  if (!prepare_to_drive (drive, error) ||
      !ir_trainer_step (run->trainer, cancellable, &step, error))
    return FALSE;
  if (ir_trainer_ends_epoch (run->trainer) && ir_trainer_holds_out (run->trainer))
    {
      if (!ir_trainer_check (run->trainer, cancellable, &check, error))
        return FALSE;
      checked = TRUE;
    }
  take_point (link, run, job, &step, checked ? &check : NULL);
  return !ir_trainer_ends_epoch (run->trainer) || write_checkpoint (link, run, error);
}

static void
say (Link *link, const char *text, gboolean failed, IrNodeId bad_node)
{
  g_mutex_lock (&link->lock);
  g_string_append_printf (link->text, "%s%s", link->text->len > 0 ? "\n" : "", text);
  link->failed |= failed;
  link->bad_node = bad_node;
  g_mutex_unlock (&link->lock);
}

static GStrv
settings_of (const IrTrainingWish *wish)
{
  g_autoptr (GStrvBuilder) settings = g_strv_builder_new ();
  g_autofree char *algorithm = g_strconcat ("optimizer.algorithm=", wish->optimizer, NULL);

  g_strv_builder_add (settings, algorithm);
  if (wish->settings != NULL)
    g_strv_builder_addv (settings, (const char **) wish->settings);
  return g_strv_builder_end (settings);
}

static IrTrainingRun *
make_run (const TrainRequest *request, GCancellable *cancellable, GError **error)
{
  const IrTrainingWish *wish = &request->wish;
  g_auto (GStrv) settings = settings_of (wish);
  g_auto (GStrv) freeze = wish->freeze != NULL ? g_strsplit (wish->freeze, ",", -1) : NULL;
  const IrTrainingOrder order = { .data = wish->data,
                                  .target = *wish->target != '\0' ? wish->target : NULL,
                                  .loss = wish->loss,
                                  .of = wish->of,
                                  .rate = wish->rate,
                                  .schedule = wish->schedule,
                                  .validate = *wish->validate != '\0' ? wish->validate : NULL,
                                  .loss_scale = wish->loss_scale,
                                  .freeze = freeze,
                                  .settings = settings,
                                  .batch = wish->batch,
                                  .epochs = wish->epochs,
                                  .seed = wish->seed };
  const IrRunOptions options = { .backend = ir_backend_find ("cpu"),
                                 .n_threads = request->n_threads,
                                 .budget = wish->budget,
                                 .deterministic = wish->deterministic };
  g_autoptr (IrModel) model = ir_model_clone (request->base.frame->model);
  g_autoptr (IrTrainingRun) run = ir_training_run_new (model, &order, cancellable, error);

  if (run == NULL ||
      !ir_training_run_begin (run, &options, TRUE, wish->go_on ? wish->path : NULL, error))
    return NULL;
  for (guint i = 0; i < run->training->notes->len; i++)
    say (request->link, run->training->notes->pdata[i], FALSE, 0);
  return g_steal_pointer (&run);
}

/* What stops it is said, too, where steps were made; only what keeps it from beginning is a failure. */
static gpointer
run_train (IrJob *job, gpointer data, GCancellable *cancellable, GError **error)
{
  const TrainRequest *request = data;
  Link *link = request->link;
  g_autoptr (GError) local = NULL;
  g_auto (Drive) drive = { .link = link, .job = job }; /* outlives the run */
  g_autoptr (IrTrainingRun) run = make_run (request, cancellable, error);

  if (run == NULL)
    return NULL;
  drive.run = run;
  link->n_steps = ir_trainer_steps_per_epoch (run->trainer) * run->setup.epochs;
  while (!ir_trainer_is_done (run->trainer) && may_go_on (link, run, cancellable) &&
         make_step (&drive, run, job, cancellable, &local))
    ;
  if (local != NULL && !g_error_matches (local, G_IO_ERROR, G_IO_ERROR_CANCELLED) &&
      !g_error_matches (local, IR_EXEC_ERROR, IR_EXEC_ERROR_STOPPED))
    {
      g_autofree char *text = ir_training_run_diverged_text (run, local);
      say (link, text, TRUE, ir_training_run_bad_node (run));
    }
  g_autofree char *unmoved = ir_training_run_unmoved_text (run);
  if (unmoved != NULL)
    say (link, unmoved, FALSE, link->bad_node);
  g_clear_error (&local);
  if (!ir_trainer_ends_epoch (run->trainer) && !write_checkpoint (link, run, &local))
    say (link, local->message, TRUE, 0);
  return link_ref (link);
}

static void
on_trained (IrSession *self, gpointer result, gpointer data)
{
  Link *link = result;
  const gboolean current = own (self)->link == link;
  const IrNodeId bad = link->bad_node;
  const IrFrame *frame = ir_session_get_frame (self);

  set_state (link, IR_COURSE_ENDED);
  if (current && bad != 0 && frame != NULL && ir_model_live_node (frame->model, bad) != NULL)
    ir_session_select_node (self, bad);
  ir_session_changed (self, IR_CHANGED_TRAINING | IR_CHANGED_BUSY);
  link_unref (link);
}

static void
on_not_trained (IrSession *self, const GError *error, gpointer data)
{
  const TrainRequest *request = data;

  if (!g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    say (request->link, error->message, TRUE, 0);
  set_state (request->link, IR_COURSE_ENDED);
  ir_session_changed (self, IR_CHANGED_TRAINING);
}

static const IrWork train_work = {
  .run = run_train,
  .done = on_trained,
  .failed = on_not_trained,
  .clear = clear_request,
  .result_free = link_unref,
};

/* -- what is asked -- */

static gpointer
copy_break (gconstpointer by, gpointer data)
{
  return ir_run_break_ref ((IrRunBreak *) by);
}

static Link *
link_new (IrSession *self, const IrTrainingWish *wish, IrTrainingStart start)
{
  Link *link = g_new0 (Link, 1);
  const gboolean stands = start != IR_TRAINING_RUNS;

  g_atomic_ref_count_init (&link->refs);
  g_weak_ref_init (&link->session, self);
  g_mutex_init (&link->lock);
  g_cond_init (&link->told);
  link->path = g_strdup (wish->path);
  link->points = g_array_new (FALSE, FALSE, sizeof (IrTrainingPoint));
  link->text = g_string_new (NULL);
  link->rate = NAN;
  link->breaks = g_ptr_array_copy (ir_session_get_run_breaks (self), copy_break, NULL);
  link->pause = stands;
  link->by_node = start == IR_TRAINING_NODE;
  link->n_single = stands ? 1 : 0;
  link->state = IR_COURSE_RUNS;
  return link;
}

void
ir_session_train (IrSession *self, const IrTrainingWish *wish, IrTrainingStart start)
{
  TrainRequest *request;

  if (ir_session_is_empty (self) || ir_session_get_frame (self) == NULL ||
      ir_session_get_busy (self))
    return;
  request = ir_session_new_request (self, &train_work, sizeof *request);
  clear (own (self));
  own (self)->link = link_new (self, wish, start);
  request->link = link_ref (own (self)->link);
  request->n_threads = ir_session_get_run_settings (self)->options.n_threads;
  request->wish = copy_wish (wish);
  ir_session_start (self, "Preparing the training", request);
  ir_session_changed (self, IR_CHANGED_TRAINING);
}

/* What is wanted from now on; @n: single steps before */
typedef struct
{
  gboolean pause, stop, by_node;
  guint n;
} Wanted;

static void
want (IrSession *self, Wanted wanted)
{
  Link *link = own (self)->link;

  if (link == NULL)
    return;
  g_mutex_lock (&link->lock);
  link->pause = wanted.pause;
  link->stop |= wanted.stop;
  link->n_single = wanted.n;
  link->by_node = wanted.by_node;
  if (link->control != NULL)
    go_on (link);
  g_cond_signal (&link->told);
  g_mutex_unlock (&link->lock);
}

void
ir_session_train_on (IrSession *self)
{
  want (self, (Wanted){ 0 });
}

void
ir_session_train_step (IrSession *self)
{
  want (self, (Wanted){ .pause = TRUE, .n = 1 });
}

void
ir_session_train_node (IrSession *self)
{
  want (self, (Wanted){ .pause = TRUE, .by_node = TRUE, .n = 1 });
}

void
ir_session_train_pause (IrSession *self)
{
  want (self, (Wanted){ .pause = TRUE });
}

void
ir_session_train_stop (IrSession *self)
{
  want (self, (Wanted){ .stop = TRUE });
}

void
ir_session_train_rate (IrSession *self, double rate)
{
  Link *link = own (self)->link;

  if (link == NULL)
    return;
  g_mutex_lock (&link->lock);
  link->rate = rate;
  g_mutex_unlock (&link->lock);
}

void
ir_session_forget_course (IrSession *self)
{
  clear (own (self));
  ir_session_changed (self, IR_CHANGED_TRAINING);
  if (ir_session_place_updates (self, NULL))
    ir_session_changed (self, IR_CHANGED_PICTURE);
}

IrCourse
ir_session_get_course (IrSession *self)
{
  Link *link = own (self)->link;
  IrCourse course = { 0 };

  if (link == NULL)
    {
      course.points = g_array_new (FALSE, FALSE, sizeof (IrTrainingPoint));
      return course;
    }
  g_mutex_lock (&link->lock);
  course.state = link->state;
  course.points = g_array_copy (link->points);
  course.parameters = link->parameters != NULL ? ir_parameter_courses_copy (link->parameters)
                                               : NULL;
  course.step = link->points->len > 0
                    ? g_array_index (link->points, IrTrainingPoint, link->points->len - 1).step
                    : 0;
  course.n_steps = link->n_steps;
  course.text = link->text->len > 0 ? g_strdup (link->text->str) : NULL;
  course.failed = link->failed;
  course.bad_node = link->bad_node;
  course.is_written = link->is_written;
  course.path = g_strdup (link->path);
  course.standing = g_strdup (link->standing);
  g_mutex_unlock (&link->lock);
  return course;
}
