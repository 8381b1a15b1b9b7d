/* Comparing the graph at the cursor with what has another history: another file, or the other
 * result of a what-if. The frame's other side has ids of its own then; where one is selected it
 * carries IR_OTHER_SIDE. */
#include "config.h"

#include "core/io/io.h"
#include "views/session/session-private.h"

gboolean
ir_compare_is_foreign (IrCompare compare)
{
  return compare == IR_COMPARE_FILE || compare == IR_COMPARE_RESULT;
}

/* (nullable): what the frame is compared with, if that is another file. */
IrModel *
ir_session_other_model (IrSession *self)
{
  return self->compare == IR_COMPARE_FILE && self->other != NULL ? ir_model_ref (self->other)
                                                                 : NULL;
}

/* (nullable): what the frame is compared with, if that is the other result of a what-if. */
IrTimeline *
ir_session_other_timeline (IrSession *self)
{
  return self->compare == IR_COMPARE_RESULT && self->kept != NULL ? ir_timeline_ref (self->kept)
                                                                  : NULL;
}

void
ir_session_forget_other (IrSession *self)
{
  ir_job_free_later (g_steal_pointer (&self->other), (GDestroyNotify) ir_model_unref);
  g_clear_pointer (&self->other_path, g_free);
}

/* A comparison with what is gone ends. */
void
ir_session_check_compare (IrSession *self)
{
  if (ir_session_can_compare (self, self->compare))
    return;
  self->compare = IR_COMPARE_STEP;
  self->serial++;
  g_object_notify (G_OBJECT (self), "compare");
}

void
ir_session_take_other (IrSession *self, IrModel *model, const char *path)
{
  ir_session_forget_other (self);
  self->other = model;
  self->other_path = g_strdup (path);
  self->compare = IR_COMPARE_FILE;
  self->serial++;
  g_object_notify (G_OBJECT (self), "compare");
}

/**
 * ir_session_can_compare:
 * @compare: a comparison
 *
 * Returns: whether there is such a thing to compare with now
 */
gboolean
ir_session_can_compare (IrSession *self, IrCompare compare)
{
  if (compare == IR_COMPARE_FILE)
    return self->other != NULL;
  if (compare == IR_COMPARE_RESULT)
    return self->kept != NULL;
  return TRUE;
}

const char *
ir_session_get_other_path (IrSession *self)
{
  return self->other_path;
}

/**
 * ir_session_other_title:
 *
 * Returns: (transfer full): the name of the file that is compared with, "" if there is none
 */
char *
ir_session_other_title (IrSession *self)
{
  return self->other_path != NULL ? g_path_get_basename (self->other_path) : g_strdup ("");
}

IrCompare
ir_session_get_compare (IrSession *self)
{
  return self->compare;
}

/* The step that @to is compared with. */
guint
ir_session_compare_from (IrSession *self, guint to)
{
  const IrModel *model = ir_session_get_history (self);

  if (self->marks != NULL && self->marks_step == to)
    return to;
  switch (self->compare)
    {
    case IR_COMPARE_STEP:
      return to > 0 ? to - 1 : 0;
    case IR_COMPARE_PASS:
      if (to == 0)
        return 0;
      return ir_history_pass_run (model, ir_history_step (model, to)->pass_run)->first_step - 1;
    case IR_COMPARE_ORIGINAL:
      return 0;
    case IR_COMPARE_PINNED:
      return MIN (self->pinned, ir_session_get_n_steps (self));
    case IR_COMPARE_FILE:
    case IR_COMPARE_RESULT:
    case IR_COMPARE_NOTHING:
    case IR_N_COMPARES:
    default:
      return to;
    }
}

void
ir_session_set_compare (IrSession *self, IrCompare compare)
{
  g_return_if_fail (compare < IR_N_COMPARES);
  ir_session_show_why (self, NULL);
  if (self->compare == compare || !ir_session_can_compare (self, compare))
    return;
  if (ir_compare_is_foreign (compare) || ir_compare_is_foreign (self->compare))
    self->serial++;
  self->compare = compare;
  g_object_notify (G_OBJECT (self), "compare");
  ir_session_request_frame (self);
}

/**
 * ir_session_pin:
 * @step: a step
 *
 * From now on the graph at the cursor is compared with the graph at @step.
 */
void
ir_session_pin (IrSession *self, guint step)
{
  self->pinned = MIN (step, ir_session_get_n_steps (self));
  self->compare = IR_COMPARE_PINNED;
  g_object_notify (G_OBJECT (self), "compare");
  ir_session_request_frame (self);
}

static gpointer
run_load (IrJob *job, gpointer data, GCancellable *cancellable, GError **error)
{
  g_autoptr (GPtrArray) problems = ir_problems_new ();

  return ir_model_load (data, problems, cancellable, error);
}

static void
on_loaded (gpointer owner, gpointer result, const GError *error, gpointer data)
{
  IrSession *self = owner;
  const char *path = data;

  ir_session_end_job (self);
  if (result == NULL)
    {
      g_autofree char *base = g_path_get_basename (path);
      g_autofree char *title = g_strdup_printf ("“%s” could not be opened", base);

      ir_session_changed (self, IR_CHANGED_BUSY);
      ir_session_failed (self, title, error);
      return;
    }
  ir_session_show_why (self, NULL);
  ir_session_take_other (self, result, path);
  ir_session_request_frame (self);
  ir_session_changed (self, IR_CHANGED_BUSY | IR_CHANGED_FILE);
  ir_session_show_view (self, "differences");
}

/**
 * ir_session_compare_with:
 * @path: a model file
 *
 * Shows how the graph at the cursor, whatever step that is, differs from the graph of the file.
 */
void
ir_session_compare_with (IrSession *self, const char *path)
{
  if (self->frame == NULL)
    {
      ir_session_open (self, path);
      return;
    }
  ir_session_start_job (self, "Reading the other file",
                        &(IrJobSpec){ .run = run_load,
                                      .data = g_canonicalize_filename (path, NULL),
                                      .data_free = g_free,
                                      .result_free = (GDestroyNotify) ir_model_unref,
                                      .done = on_loaded });
}

/**
 * ir_session_swap_files:
 *
 * Opens the file that is compared with, and compares it with the one that was open.
 */
void
ir_session_swap_files (IrSession *self)
{
  g_autofree char *before = g_strdup (self->path), *after = g_strdup (self->other_path);

  if (before != NULL && after != NULL)
    ir_session_open_pair (self, before, after);
}
