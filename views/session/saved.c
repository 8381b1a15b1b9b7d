/* A session file is what is open, written down; to restore one is to open its model and to do again what was
 * done. All of it is brought by one job, so that the window goes from one session to the other at once. */
#include "config.h"

#include "views/session/saved.h"

#include "core/io/io.h"
#include "core/look/kept.h"
#include "core/op/verify.h"
#include "views/session/debug.h"
#include "views/session/file-private.h"
#include "views/session/inputs-private.h"
#include "views/session/kept.h"
#include "views/session/notes-private.h"
#include "views/session/places.h"
#include "views/session/problems-private.h"
#include "views/session/run-control.h"
#include "views/session/runs-private.h"
#include "views/session/selection-private.h"
#include "views/session/undo-private.h"

#include <string.h>

#define MOST_SAID 12 /* lines of a dialog */

/* -- writing down -- */

static void
list_inputs (IrSession *self, IrSessionFile *file)
{
  const IrGraph *graph = ir_session_get_original (self)->main;
  g_autoptr (GList) names = g_hash_table_get_keys (ir_session_get_sizes (self));

  names = g_list_sort (names, (GCompareFunc) strcmp);
  for (GList *l = names; l != NULL; l = l->next)
    g_ptr_array_add (file->sizes, g_strdup_printf ("%s=%" G_GINT64_FORMAT, (char *) l->data,
                                                   *(gint64 *) g_hash_table_lookup (
                                                       ir_session_get_sizes (self), l->data)));
  for (guint i = 0; i < ir_graph_n_inputs (graph); i++)
    {
      const IrValue *input = ir_graph_input (graph, i);
      const IrInputWords *words = input != NULL ? ir_session_input_words (self, input->id) : NULL;

      if (words != NULL)
        ir_session_file_add_input (file, input->name, words->kind, words->text);
    }
  file->seed = ir_session_get_seed (self);
}

static void
list_debugger (IrSession *self, IrSessionFile *file)
{
  const GPtrArray *steps = ir_session_get_breakpoints (self),
                  *runs = ir_session_get_run_breaks (self);
  g_autoptr (GPtrArray) notes = ir_session_list_notes (self);

  for (guint i = 0; i < steps->len; i++)
    ir_session_file_add_breakpoint (file, ir_breakpoint_text (steps->pdata[i]),
                                    ir_session_breakpoint_is_on (self, i));
  for (guint i = 0; i < runs->len; i++)
    g_ptr_array_add (file->watches, g_strdup (ir_run_break_text (runs->pdata[i])));
  for (guint i = 0; i < notes->len; i++)
    ir_session_file_add_note (file, notes->pdata[i], ir_session_get_note (self, notes->pdata[i]));
}

static void
list_views (IrSession *self, IrSessionFile *file)
{
  const IrModel *model = ir_session_get_frame (self)->model;
  const GPtrArray *kept = ir_session_get_kept (self);
  const IrKeptView *sight = ir_session_get_sight (self);
  g_autoptr (IrKeptView) view = ir_kept_view_new (ir_session_get_look (self));
  GtkBitsetIter iter;
  guint id;

  for (gboolean more = gtk_bitset_iter_init_first (&iter, ir_session_get_selection (self), &id);
       more; more = gtk_bitset_iter_next (&iter, &id))
    g_hash_table_add (view->selected, GUINT_TO_POINTER (id));
  ir_session_keep_places (self, view);
  if (sight != NULL)
    {
      view->zoom = sight->zoom;
      view->x = sight->x;
      view->y = sight->y;
      view->width = sight->width;
      view->height = sight->height;
    }
  if (ir_session_get_numbers (self) != NULL)
    view->numbers = g_strdup (ir_numbers_path (ir_session_get_numbers (self)));
  file->view = ir_kept_view_text (view, model);
  for (guint i = 0; i < MIN (kept->len, IR_N_SESSION_VIEWS); i++)
    file->views[i] = kept->pdata[i] != NULL ? ir_kept_view_text (kept->pdata[i], model) : NULL;
}

static const char *const compare_words[IR_N_COMPARES] = {
  [IR_COMPARE_STEP] = "step",       [IR_COMPARE_PASS] = "pass", [IR_COMPARE_ORIGINAL] = "original",
  [IR_COMPARE_NOTHING] = "nothing", [IR_COMPARE_PINNED] = "",   [IR_COMPARE_FILE] = "file",
  [IR_COMPARE_RESULT] = "step",
};

/* Steps that the file holds are none of those that are done to it. */
static guint
step_of_file (IrSession *self, guint step)
{
  const guint n_written = ir_session_get_n_written (self);

  return MAX (step, n_written) - n_written;
}

IrSessionFile *
ir_session_to_file (IrSession *self)
{
  const IrCompare compare = ir_session_get_compare (self);
  IrSessionFile *file;

  if (ir_session_is_empty (self))
    return NULL;
  file = ir_session_file_new ();
  file->model = g_strdup (ir_session_get_path (self));
  file->other = g_strdup (ir_session_get_other_path (self));
  file->pipeline = g_strdup (ir_session_get_pipeline (self));
  file->passes = g_strdupv ((char **) ir_session_get_passes (self));
  file->passes_set = g_strdupv ((char **) ir_session_get_pass_values (self));
  file->step_class = g_strdup (
      ir_class_name (ir_session_get_unsafe (self) ? IR_CLASS_UNSAFE : IR_CLASS_ROUNDING));
  file->prove = ir_session_get_prove (self);
  ir_session_list_done (self, file);
  file->step = step_of_file (self, ir_session_get_cursor (self));
  file->compare = compare == IR_COMPARE_PINNED
                      ? g_strdup_printf ("%u", step_of_file (self, ir_session_get_pin (self)))
                      : g_strdup (compare_words[compare]);
  list_inputs (self, file);
  list_debugger (self, file);
  list_views (self, file);
  return file;
}

/* -- restoring -- */

typedef struct
{
  IrRequest base;
  IrSessionFile *file;
  IrPictureSettings *settings;
  void (*then) (gpointer data); /* (nullable) */
  gpointer data;
  GDestroyNotify data_free; /* (nullable) */
} RestoreRequest;

typedef struct
{
  IrSuccessor *opened;
  IrSessionReplay replay;
  GHashTable *timelines; /* IrModel -> IrTimeline */
  GPtrArray *said;
} Restored;

static void
clear_request (gpointer data)
{
  RestoreRequest *request = data;

  ir_session_file_free (request->file);
  g_clear_pointer (&request->settings, ir_picture_settings_unref);
  if (request->data_free != NULL)
    request->data_free (request->data);
}

static void
restored_free (gpointer data)
{
  Restored *restored = data;

  g_clear_pointer (&restored->opened, ir_successor_free);
  ir_session_replay_clear (&restored->replay);
  g_hash_table_unref (restored->timelines);
  g_ptr_array_unref (restored->said);
  g_free (restored);
}

static void
on_replayed (guint done, guint total, const char *title, gpointer job)
{
  ir_job_report (job, total > 0 ? (double) done / total : -1, title);
}

static void
add_timelines (GHashTable *timelines, const GPtrArray *line)
{
  for (guint i = 0; i < line->len; i++)
    {
      IrModel *model = ((IrSessionReplayed *) line->pdata[i])->model;

      if (!g_hash_table_contains (timelines, model))
        g_hash_table_insert (timelines, model, ir_timeline_new (ir_model_ref (model)));
    }
}

static IrCompare
compare_of (const IrSessionFile *file, guint *pin)
{
  guint64 step;

  *pin = 0;
  if (file->compare != NULL &&
      g_ascii_string_to_unsigned (file->compare, 10, 0, G_MAXUINT32, &step, NULL))
    {
      *pin = (guint) step;
      return IR_COMPARE_PINNED;
    }
  for (IrCompare c = 0; c < IR_N_COMPARES; c++)
    if (g_strcmp0 (file->compare, compare_words[c]) == 0)
      return c;
  return IR_COMPARE_STEP;
}

/* The state on screen, at the step on screen. */
static IrSuccessor *
show_state (Restored *restored,
            const RestoreRequest *request,
            IrModel *other,
            GCancellable *cancellable)
{
  const IrSessionReplay *replay = &restored->replay;
  const IrSessionReplayed *state = replay->line->pdata[replay->at];
  IrTimeline *timeline = ir_timeline_until (g_hash_table_lookup (restored->timelines, state->model),
                                            state->n_steps);
  guint pin;
  const IrCompare compare = compare_of (request->file, &pin);

  return ir_successor_show (timeline, compare == IR_COMPARE_FILE ? other : NULL,
                            ir_compare_step (compare, ir_timeline_model (timeline), replay->step,
                                             MIN (pin, state->n_steps)),
                            replay->step, NULL, request->settings, cancellable);
}

static gpointer
run_restore (IrJob *job, gpointer data, GCancellable *cancellable, GError **error)
{
  RestoreRequest *request = data;
  const IrSessionFile *file = request->file;
  g_autoptr (GPtrArray) problems = ir_problems_new (), others = ir_problems_new ();
  const IrSessionReplayOptions how = { .backend = ir_backend_find ("cpu"),
                                       .keep_states = TRUE,
                                       .expect = TRUE,
                                       .progress = on_replayed,
                                       .progress_data = job };
  Restored *restored = g_new0 (Restored, 1);
  g_autoptr (IrModel) model = NULL;
  g_autoptr (IrModel) other = NULL;

  restored->said = g_ptr_array_new_with_free_func (g_free);
  restored->timelines = g_hash_table_new_full (NULL, NULL, NULL,
                                               (GDestroyNotify) ir_timeline_unref);
  model = ir_session_file_load (file, problems, restored->said, cancellable, error);
  if (model !=
      NULL) /* before it is edited: inputs and sizes are those of the model as it was opened */
    ir_session_file_check_names (file, model, restored->said);
  if (model == NULL ||
      !ir_session_file_replay (file, model, &how, &restored->replay, cancellable, error))
    {
      restored_free (restored);
      return NULL;
    }
  if (file->other != NULL)
    {
      g_autoptr (GError) gone = NULL;

      other = ir_model_load (file->other, others, cancellable, &gone);
      if (other == NULL)
        g_ptr_array_add (restored->said, g_strdup (gone->message));
    }
  ir_session_file_check_notes (file, model, restored->said);
  for (guint i = 0; i < restored->replay.said->len; i++)
    g_ptr_array_add (restored->said, g_strdup (restored->replay.said->pdata[i]));
  add_timelines (restored->timelines, restored->replay.line);
  for (guint i = 0; i < restored->replay.branches->len; i++)
    add_timelines (restored->timelines, restored->replay.branches->pdata[i]);
  ir_job_report (job, -1, "Laying out the graph");
  restored->opened = show_state (restored, request, other, cancellable);
  if (g_cancellable_set_error_if_cancelled (cancellable, error))
    {
      restored_free (restored);
      return NULL;
    }
  ir_verify_model (restored->opened->frame->model, problems);
  ir_picture_settings_set_problems (request->settings, problems);
  ir_successor_fold_large (restored->opened, request->settings, cancellable);
  restored->opened->problems = g_steal_pointer (&problems);
  restored->opened->other = g_steal_pointer (&other);
  return restored;
}

static void
restore_inputs (IrSession *self, const IrSessionFile *file, GPtrArray *said)
{
  const IrGraph *graph = ir_session_get_original (self)->main;

  ir_session_forget_inputs (self);
  ir_session_forget_sizes (self);
  ir_session_forget_seen (self);
  for (guint i = 0; i < file->sizes->len; i++)
    {
      const char *text = file->sizes->pdata[i], *equals = strrchr (text, '=');
      g_autofree char *name = equals != NULL ? g_strndup (text, (gsize) (equals - text)) : NULL;
      gint64 size;

      if (equals != NULL && g_ascii_string_to_signed (equals + 1, 10, 0, G_MAXINT32, &size, NULL))
        ir_session_set_size (self, name, size);
    }
  for (guint i = 0; i < file->inputs->len; i++)
    {
      const IrSessionInput *input = file->inputs->pdata[i];
      const IrValue *value = ir_graph_find_value (graph, input->name);
      g_autoptr (GError) error = NULL;

      if (value != NULL && ir_value_is_graph_input (value) &&
          !ir_session_give_input (self, value->id, input->kind, input->text, &error))
        g_ptr_array_add (said, g_strdup_printf ("the input %s is random: %s", input->name,
                                                error != NULL ? error->message
                                                              : "what it was given is not known"));
    }
  ir_session_set_seed (self, file->seed);
}

static void
restore_pipeline (IrSession *self, const IrSessionFile *file, GPtrArray *said)
{
  g_autoptr (GError) error = NULL;

  if (file->passes != NULL &&
      !ir_session_set_passes (self, (const char *const *) file->passes,
                              (const char *const *) file->passes_set, &error))
    g_ptr_array_add (said, g_strdup_printf ("the chosen passes are left out: %s", error->message));
  ir_session_set_pipeline (self, file->pipeline);
  ir_session_set_unsafe (self, g_strcmp0 (file->step_class, ir_class_name (IR_CLASS_UNSAFE)) == 0);
}

static void
restore_debugger (IrSession *self, const IrSessionFile *file, GPtrArray *said)
{
  while (ir_session_get_breakpoints (self)->len > 0)
    ir_session_remove_breakpoint (self, 0);
  while (ir_session_get_run_breaks (self)->len > 0)
    ir_session_remove_run_break (self, 0);
  for (guint i = 0; i < file->breakpoints->len; i++)
    {
      const IrSessionBreakpoint *breakpoint = file->breakpoints->pdata[i];
      g_autoptr (GError) error = NULL;

      if (ir_session_add_breakpoint (self, breakpoint->text, &error))
        ir_session_switch_breakpoint (self, ir_session_get_breakpoints (self)->len - 1,
                                      breakpoint->on);
      else
        g_ptr_array_add (said, g_strdup_printf ("the breakpoint %s is left out: %s",
                                                breakpoint->text, error->message));
    }
  for (guint i = 0; i < file->watches->len; i++)
    {
      g_autoptr (GError) error = NULL;

      if (!ir_session_add_run_break (self, file->watches->pdata[i], &error))
        g_ptr_array_add (said, g_strdup_printf ("the breakpoint %s is left out: %s",
                                                (char *) file->watches->pdata[i], error->message));
    }
  for (guint i = 0; i < file->notes->len; i++)
    {
      const IrSessionNote *note = file->notes->pdata[i];

      ir_session_set_note (self, note->node, note->text);
    }
}

static void
select_nodes (IrSession *self, GHashTable *ids)
{
  g_autoptr (GtkBitset) nodes = gtk_bitset_new_empty ();
  GHashTableIter iter;
  gpointer id;

  g_hash_table_iter_init (&iter, ids);
  while (g_hash_table_iter_next (&iter, &id, NULL))
    gtk_bitset_add (nodes, GPOINTER_TO_UINT (id));
  ir_session_set_selection (self, nodes);
}

static void
restore_views (IrSession *self, const IrSessionFile *file, GPtrArray *said)
{
  const IrModel *model = ir_session_get_frame (self)->model;
  GPtrArray *views = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_kept_view_free);
  g_autoptr (IrKeptView) view = file->view != NULL ? ir_kept_view_parse (file->view, model) : NULL;
  gboolean any = FALSE;

  for (guint i = 0; i < IR_N_KEPT; i++)
    {
      g_ptr_array_add (views,
                       file->views[i] != NULL ? ir_kept_view_parse (file->views[i], model) : NULL);
      any |= views->pdata[i] != NULL;
    }
  ir_session_take_kept (self, views);
  if (any)
    ir_session_changed (self, IR_CHANGED_KEPT);
  if (view == NULL)
    return;
  if (view->numbers != NULL)
    ir_session_open_numbers (self, view->numbers);
  ir_session_show_places (self, view);
  if (view->width > 0) /* it is known */
    ir_session_go_to_sight (self, view);
  ir_session_set_look (self, view->look);
  select_nodes (self, view->selected);
}

static void
say_what_differs (IrSession *self, const GPtrArray *said)
{
  g_autoptr (GString) text = g_string_new (NULL);
  g_autoptr (GError) error = NULL;

  if (said->len == 0)
    {
      ir_session_message (self, "Restored the session");
      return;
    }
  for (guint i = 0; i < MIN (said->len, MOST_SAID); i++)
    g_string_append_printf (text, "%s• %s", i > 0 ? "\n" : "", (char *) said->pdata[i]);
  if (said->len > MOST_SAID)
    g_string_append_printf (text, "\nand %u more", said->len - MOST_SAID);
  error = g_error_new_literal (IR_SESSION_ERROR, IR_SESSION_ERROR_FORMAT, text->str);
  ir_session_failed (self, "Restored, But Not As It Was", error);
}

static void
on_restored (IrSession *self, gpointer result, gpointer data)
{
  const RestoreRequest *request = data;
  const IrSessionFile *file = request->file;
  Restored *restored = result;
  g_autofree char *title = file->model != NULL ? g_path_get_basename (file->model)
                                               : g_strdup ("New graph");
  guint pin;
  const IrCompare compare = compare_of (file, &pin);

  ir_session_take_opened (self, restored->opened, file->model, title, file->other);
  ir_session_restore_acts (self, &restored->replay, restored->timelines);
  restore_pipeline (self, file, restored->said);
  ir_session_set_prove (self, file->prove);
  restore_inputs (self, file, restored->said);
  restore_debugger (self, file, restored->said);
  restore_views (self, file, restored->said);
  if (compare == IR_COMPARE_PINNED)
    ir_session_pin (self, MIN (pin, ir_session_get_n_steps (self)));
  else if (ir_session_can_compare (self, compare))
    ir_session_set_compare (self, compare);
  ir_session_changed (self, IR_CHANGED_UNDO | IR_CHANGED_FILE | IR_CHANGED_INPUTS);
  say_what_differs (self, restored->said);
  if (request->then != NULL)
    request->then (request->data);
  restored_free (restored);
}

static const IrWork restore_work = {
  .run = run_restore,
  .done = on_restored,
  .failure = "The session could not be restored",
  .clear = clear_request,
  .result_free = restored_free,
};

void
ir_session_restore (IrSession *self, IrSessionFile *file)
{
  ir_session_restore_then (self, file, NULL, NULL, NULL);
}

void
ir_session_restore_then (IrSession *self,
                         IrSessionFile *file,
                         void (*restored) (gpointer data),
                         gpointer data,
                         GDestroyNotify data_free)
{
  RestoreRequest *request = ir_session_new_request (self, &restore_work, sizeof *request);
  g_autoptr (GPtrArray) problems = ir_problems_new ();

  ir_session_file_spell_out (file);
  request->file = file;
  request->then = restored;
  request->data = data;
  request->data_free = data_free;
  request->settings = ir_session_picture_settings (self, NULL, problems);
  ir_session_start (self, "Restoring the session", request);
}
