#include "config.h"

#include "app/gui/window.h"

#include "app/gui/edit-menu.h"
#include "app/gui/execution.h"
#include "app/gui/focus.h"
#include "app/gui/inputs.h"
#include "app/gui/pipelines.h"
#include "app/gui/problems.h"
#include "app/gui/reasons.h"
#include "app/gui/remembered.h"
#include "app/gui/run-options.h"
#include "app/gui/state.h"
#include "app/gui/welcome.h"
#include "app/gui/window-private.h"
#include "core/exec/gpu/runtime.h"
#include "core/ir/count.h"
#include "views/label.h"
#include "views/name.h"
#include "views/session/execution.h"
#include "views/session/file.h"
#include "views/session/frame.h"
#include "views/session/inputs.h"
#include "views/session/records.h"
#include "views/session/run-control.h"
#include "views/session/runs.h"
#include "views/session/timeline.h"
#include "views/session/undo.h"

#include <string.h>

/* Short jobs would only flash. */
#define ACTIVITY_DELAY_MS 250
#define MAX_RECENT        8
#define TOAST_COMES_US    1000000
#define TOAST_CHARS       64
#define TOAST_LEAST       24 /* a word or two is not broken */

G_DEFINE_FINAL_TYPE (IrWindow, ir_window, ADW_TYPE_APPLICATION_WINDOW)

/* -- views -- */

/* The view in front at @place */
IrView *
ir_window_visible_view (IrWindow *self, IrViewPlace place)
{
  GtkWidget *child = self->stacks[place] != NULL ? gtk_stack_get_visible_child (self->stacks[place])
                                                 : NULL;

  return child != NULL ? IR_VIEW (child) : NULL;
}

/* Brings the view in front, opening its pane */
void
ir_window_show_view (IrWindow *self, const char *id)
{
  const IrViewInfo *info = ir_view_find (id);

  if (info == NULL)
    return;
  ir_window_show_pane (self, info->place, TRUE);
  gtk_stack_set_visible_child_name (self->stacks[info->place], id);
}

/* -- following the session -- */

static void
update_title (IrWindow *self)
{
  const IrFrame *frame = ir_session_get_frame (self->session);
  g_autofree char *subtitle = NULL, *before = NULL, *after = NULL;
  g_autofree char *title = NULL, *name = NULL;
  const guint n_steps = ir_session_get_n_steps (self->session);
  const char *stand_in;
  guint original, now;

  if (frame == NULL)
    {
      adw_window_title_set_title (self->title, "irscope");
      adw_window_title_set_subtitle (self->title, NULL);
      gtk_window_set_title (GTK_WINDOW (self), "irscope");
      return;
    }
  name = ir_short_name (ir_session_get_title (self->session));
  title = g_strconcat (ir_session_get_modified (self->session) ? "• " : "", name, NULL);
  now = ir_model_n_counted_nodes (frame->model);
  original = n_steps > 0
                 ? ir_history_step (ir_session_get_history (self->session), 1)->cost_before.n_nodes
                 : now;
  before = ir_count_text (original);
  after = ir_count_text (now);
  stand_in = ir_session_get_run_settings (self->session)->device != NULL &&
                     ir_gpu_runtime_is_stand_in ()
                 ? " · stand-in, no GPU"
                 : "";
  subtitle = original == now ? g_strdup_printf ("%s node%s%s", after, now == 1 ? "" : "s", stand_in)
                             : g_strdup_printf ("%s → %s node%s%s", before, after,
                                                now == 1 ? "" : "s", stand_in);
  adw_window_title_set_title (self->title, title);
  adw_window_title_set_subtitle (self->title, subtitle);
  gtk_widget_set_tooltip_text (GTK_WIDGET (self->title), ir_session_get_path (self->session));
  g_free (title);
  title = g_strdup_printf ("%s — irscope", ir_session_get_title (self->session));
  gtk_window_set_title (GTK_WINDOW (self), title);
}

static void
update_banner (IrWindow *self)
{
  g_autofree char *text = ir_problems_summary (ir_session_get_problems (self->session));
  const gboolean errors = ir_problems_count (ir_session_get_problems (self->session),
                                             IR_SEVERITY_ERROR) > 0;

  gtk_info_bar_set_message_type (self->banner, errors ? GTK_MESSAGE_ERROR : GTK_MESSAGE_WARNING);
  if (text != NULL)
    gtk_label_set_text (self->banner_label, text);
  gtk_info_bar_set_revealed (self->banner, text != NULL);
}

static void
on_banner_response (GtkInfoBar *banner, int response, gpointer user_data)
{
  gtk_info_bar_set_revealed (banner, FALSE);
}

/* The view in front says how far the long job is, and drives it: nothing moves to say it once more. */
static gboolean
is_said_by_view (IrWindow *self)
{
  IrView *view = ir_window_visible_view (self, IR_VIEW_BOTTOM);
  const IrViewInfo *info = view != NULL ? ir_view_get_info (view) : NULL;

  return info != NULL && info->says_work != NULL && gtk_widget_get_mapped (GTK_WIDGET (view)) &&
         info->says_work (self->session);
}

static gboolean
reveal_activity (gpointer data)
{
  IrWindow *self = data;

  self->activity_timeout = 0;
  gtk_revealer_set_reveal_child (self->activity, TRUE);
  return G_SOURCE_REMOVE;
}

static void
update_activity (IrWindow *self)
{
  const double progress = ir_session_get_progress (self->session);
  const gboolean stands = ir_session_get_standing (self->session) != NULL;
  const char *text = stands ? "The run stands" : ir_session_get_progress_text (self->session);

  if (!ir_session_get_busy (self->session) || is_said_by_view (self))
    {
      g_clear_handle_id (&self->activity_timeout, g_source_remove);
      gtk_revealer_set_reveal_child (self->activity, FALSE);
      return;
    }
  if (self->activity_timeout == 0 && !gtk_revealer_get_reveal_child (self->activity))
    self->activity_timeout = g_timeout_add (ACTIVITY_DELAY_MS, reveal_activity, self);
  if (text != NULL)
    gtk_label_set_text (self->activity_label, text);
  gtk_widget_set_visible (self->activity_spinner, !stands);
  gtk_widget_set_visible (GTK_WIDGET (self->activity_bar), !stands);
  if (progress >= 0)
    gtk_progress_bar_set_fraction (self->activity_bar, progress);
  else
    gtk_progress_bar_pulse (self->activity_bar);
}

static void
update_page (IrWindow *self)
{
  const gboolean empty = ir_session_is_empty (self->session);
  gboolean focus_centre = FALSE;

  if (empty)
    adw_bin_set_child (self->welcome, ir_welcome_new ());
  else if (!self->panes_placed)
    {
      self->panes_placed = TRUE;
      ir_window_place_panes (self);
    }
  if (!empty && g_strcmp0 (gtk_stack_get_visible_child_name (self->pages), "welcome") == 0)
    focus_centre = TRUE;
  gtk_stack_set_visible_child_name (self->pages, empty ? "welcome" : "workspace");
  gtk_widget_set_visible (self->run_controls, !empty);
  gtk_widget_set_visible (self->export_button, !empty);
  gtk_widget_set_visible (self->start_button, !empty);
  gtk_widget_set_visible (self->end_button, !empty);
  gtk_widget_set_visible (self->search_button, !empty);
  if (focus_centre)
    ir_view_focus_content (ir_window_visible_view (self, IR_VIEW_CENTRE));
}

static void
update_pipelines (IrWindow *self)
{
  guint selected = g_strv_length (self->pipeline_names); /* IR_SESSION_PASSES */

  for (guint i = 0; self->pipeline_names[i] != NULL; i++)
    if (g_strcmp0 (self->pipeline_names[i], ir_session_get_pipeline (self->session)) == 0)
      selected = i;
  self->updating = TRUE;
  gtk_drop_down_set_selected (self->pipelines, selected);
  self->updating = FALSE;
}

static void
update_recent (IrWindow *self)
{
  GList *items = gtk_recent_manager_get_items (gtk_recent_manager_get_default ());
  guint n = 0;

  g_menu_remove_all (self->recent_section);
  for (GList *l = items; l != NULL && n < MAX_RECENT; l = l->next)
    {
      g_autofree char *path = g_filename_from_uri (gtk_recent_info_get_uri (l->data), NULL, NULL);
      g_autofree char *base = path != NULL ? g_path_get_basename (path) : NULL;
      g_autoptr (GMenuItem) item = NULL;

      if (!ir_recent_is_graph (l->data, path))
        continue;
      item = g_menu_item_new (base, NULL);
      g_menu_item_set_action_and_target (item, "win.open-file", "s", path);
      g_menu_append_item (self->recent_section, item);
      n++;
    }
  g_list_free_full (items, (GDestroyNotify) gtk_recent_info_unref);
}

/* @what: (nullable): nothing, then @verb alone */
static void
append_undo (
    IrWindow *self, const char *verb, const char *what, const char *action, const char *key)
{
  g_autofree char *label = what != NULL ? g_strdup_printf ("%s %s", verb, what) : g_strdup (verb);
  g_autoptr (GMenuItem) item = g_menu_item_new (label, action);

  g_menu_item_set_attribute (item, "accel", "s", key);
  g_menu_append_item (self->undo_section, item);
}

/* The keys are named here, as a text that has the focus takes them first. */
static void
update_undo (IrWindow *self)
{
  g_menu_remove_all (self->undo_section);
  append_undo (self, "Undo", ir_session_get_undo (self->session), "win.undo", "<Control>z");
  append_undo (self, "Redo", ir_session_get_redo (self->session), "win.redo", "<Control><Shift>z");
}

static void
remember_file (IrWindow *self)
{
  const char *path = ir_session_get_path (self->session);
  g_autofree char *uri = path != NULL ? g_filename_to_uri (path, NULL, NULL) : NULL;

  if (uri != NULL)
    gtk_recent_manager_add_full (gtk_recent_manager_get_default (), uri,
                                 &(GtkRecentData){ .mime_type = "application/x-onnx",
                                                   .groups = (char *[]){ IR_RECENT_GROUP, NULL },
                                                   .app_name = (char *) g_get_application_name (),
                                                   .app_exec = "irscope-gtk %u" });
}

/* How the last run was made stands below the graph until the next one. */
static void
update_run_status (IrWindow *self)
{
  g_autofree char *text = ir_session_run_text (self->session);

  gtk_label_set_text (self->run_status, text != NULL ? text : "");
  gtk_widget_set_tooltip_text (GTK_WIDGET (self->run_status), text);
}

/* Where everything is right the message says all there is. */
static void
show_execution (IrWindow *self)
{
  const IrExecutionReport *report = ir_session_get_execution (self->session);

  if (!self->wants_execution || ir_session_get_busy (self->session))
    return;
  self->wants_execution = FALSE;
  if (report != NULL && (report->findings->len > 0 || report->error != NULL))
    ir_execution_dialog_present (GTK_WINDOW (self), self->session);
}

/* What was told before the graph was edited is over, and may lie on what is new. */
static void
end_toast (IrWindow *self)
{
  if (self->toast != NULL && g_get_monotonic_time () - self->toast_us >= TOAST_COMES_US)
    adw_toast_dismiss (self->toast);
}

static void
on_session_changed (IrWindow *self, guint changes, IrSession *session)
{
  if (changes & (IR_CHANGED_HISTORY | IR_CHANGED_FRAME | IR_CHANGED_FILE))
    update_page (self);
  if (changes & (IR_CHANGED_HISTORY | IR_CHANGED_FRAME | IR_CHANGED_FILE | IR_CHANGED_RUNS))
    update_title (self);
  if (changes & (IR_CHANGED_UNDO | IR_CHANGED_WHAT_IF))
    update_undo (self);
  if (changes & IR_CHANGED_UNDO)
    end_toast (self);
  if (changes & (IR_CHANGED_RUNS | IR_CHANGED_FRAME | IR_CHANGED_INPUTS))
    update_run_status (self);
  if (changes & IR_CHANGED_FRAME)
    ir_window_queue_room (self); /* the legend is there now, or gone */
  if (changes & (IR_CHANGED_RUNS | IR_CHANGED_HISTORY))
    {
      ir_window_update_float (self);
      ir_window_raise_panes (self);
    }
  if (changes & IR_CHANGED_PROBLEMS)
    update_banner (self);
  if (changes & IR_CHANGED_BUSY)
    update_activity (self);
  if (changes & (IR_CHANGED_BUSY | IR_CHANGED_PROBLEMS))
    show_execution (self);
  if (changes & (IR_CHANGED_FILE | IR_CHANGED_PIPELINE))
    update_pipelines (self);
  if (changes & IR_CHANGED_FILE)
    remember_file (self);
  ir_window_update_actions (self);
}

static void
on_toast_dismissed (IrWindow *self, AdwToast *toast)
{
  if (self->toast == toast) /* it fades, and must not be dismissed again */
    g_clear_weak_pointer (&self->toast);
}

/* All of the text, in a small window on two lines; a title of the toast's own has one, and is cut. */
static GtkWidget *
toast_label (const char *text)
{
  GtkWidget *label = gtk_label_new (text);

  gtk_label_set_wrap (GTK_LABEL (label), TRUE);
  gtk_label_set_wrap_mode (GTK_LABEL (label), PANGO_WRAP_WORD_CHAR);
  gtk_label_set_max_width_chars (GTK_LABEL (label), TOAST_CHARS);
  gtk_label_set_width_chars (GTK_LABEL (label), (int) MIN (g_utf8_strlen (text, -1), TOAST_LEAST));
  gtk_label_set_xalign (GTK_LABEL (label), 0);
  return label;
}

/* What was done before is of no interest any more. libadwaita 1.2 does not get over a toast that is
 * dismissed while it comes: then it gets the new text. */
static void
on_message (IrWindow *self, const char *text, IrSession *session)
{
  const gint64 now_us = g_get_monotonic_time ();
  AdwToast *toast;

  if (self->toast != NULL && now_us - self->toast_us < TOAST_COMES_US)
    {
      adw_toast_set_custom_title (self->toast, toast_label (text));
      return;
    }
  if (self->toast != NULL)
    adw_toast_dismiss (self->toast);
  toast = adw_toast_new ("");
  adw_toast_set_custom_title (toast, toast_label (text));
  g_set_weak_pointer (&self->toast, toast);
  self->toast_us = now_us;
  g_signal_connect_object (toast, "dismissed", G_CALLBACK (on_toast_dismissed), self,
                           G_CONNECT_SWAPPED);
  ir_window_add_toast (self, toast);
}

/* What asks may be a window over this one, as the one that bisects. */
static GtkWindow *
window_in_front (IrWindow *self)
{
  GListModel *tops = gtk_window_get_toplevels ();

  for (guint i = 0; i < g_list_model_get_n_items (tops); i++)
    {
      g_autoptr (GtkWindow) top = g_list_model_get_item (tops, i);

      if (gtk_window_is_active (top) && gtk_window_get_transient_for (top) == GTK_WINDOW (self))
        return top;
    }
  return GTK_WINDOW (self);
}

static gboolean
on_sizes_unseen (IrWindow *self, const char *what, IrSession *session)
{
  ir_inputs_dialog_present (window_in_front (self), session, what);
  return TRUE;
}

static void
on_failure_response (IrWindow *self, const char *response)
{
  if (strcmp (response, "sizes") == 0)
    ir_inputs_dialog_present (GTK_WINDOW (self), self->session, NULL);
}

/* Several lines are a list: from the left, and as high as a small window at most. */
static GtkWidget *
failure_list (const char *text)
{
  GtkWidget *scrolled = gtk_scrolled_window_new (), *label = gtk_label_new (text);

  gtk_label_set_wrap (GTK_LABEL (label), TRUE);
  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_label_set_max_width_chars (GTK_LABEL (label), 60);
  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (scrolled), GTK_POLICY_NEVER,
                                  GTK_POLICY_AUTOMATIC);
  gtk_scrolled_window_set_max_content_height (GTK_SCROLLED_WINDOW (scrolled), 240);
  gtk_scrolled_window_set_propagate_natural_height (GTK_SCROLLED_WINDOW (scrolled), TRUE);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scrolled), label);
  return scrolled;
}

static void
on_failed (IrWindow *self, const char *title, const char *text, IrSession *session)
{
  const gboolean list = strchr (text, '\n') != NULL;
  GtkWidget *dialog = adw_message_dialog_new (GTK_WINDOW (self), title, list ? NULL : text);

  if (list)
    adw_message_dialog_set_extra_child (ADW_MESSAGE_DIALOG (dialog), failure_list (text));

  adw_message_dialog_add_response (ADW_MESSAGE_DIALOG (dialog), "close", "_Close");
  if (ir_session_failed_by_sizes (session))
    {
      adw_message_dialog_add_response (ADW_MESSAGE_DIALOG (dialog), "sizes", "_Set Sizes…");
      g_signal_connect_object (dialog, "response", G_CALLBACK (on_failure_response), self,
                               G_CONNECT_SWAPPED);
    }
  adw_message_dialog_set_default_response (ADW_MESSAGE_DIALOG (dialog), "close");
  gtk_window_present (GTK_WINDOW (dialog));
}

static void
on_pipeline_selected (IrWindow *self)
{
  const guint selected = gtk_drop_down_get_selected (self->pipelines);

  if (self->updating)
    return;
  if (selected < g_strv_length (self->pipeline_names))
    ir_session_set_pipeline (self->session, self->pipeline_names[selected]);
  else
    {
      update_pipelines (self); /* until some are */
      gtk_widget_activate_action (GTK_WIDGET (self), "win.passes", NULL);
    }
}

/* @paths: the one before, and the one to open */
static void
open_pair (IrWindow *self, gpointer paths)
{
  ir_session_open_pair (self->session, ((GStrv) paths)[0], ((GStrv) paths)[1]);
  ir_window_show_view (self, "differences");
}

/* A picture or a tensor is for the graph that is open. FALSE: it is neither. */
static gboolean
drop_contents (IrWindow *self, GFile *file)
{
  g_autofree char *path = g_file_get_path (file), *name = NULL;
  g_autofree char *input = NULL, *text = NULL;
  g_autoptr (GError) error = NULL;

  if (path == NULL)
    return FALSE;
  input = ir_inputs_take_file (self->session, path, &error);
  if (input == NULL && error == NULL)
    return FALSE;
  name = g_path_get_basename (path);
  text = input != NULL ? g_strdup_printf ("%s is given %s, from the next run on", input, name)
                       : g_strdup (error->message);
  g_signal_emit_by_name (self->session, "message", text);
  return TRUE;
}

static gboolean
on_drop (GtkDropTarget *target, const GValue *value, double x, double y, gpointer user_data)
{
  GSList *files = g_value_get_boxed (value);

  if (files == NULL)
    return FALSE;
  if (files->next == NULL && drop_contents (IR_WINDOW (user_data), files->data))
    return TRUE;
  if (files->next == NULL)
    ir_window_open (IR_WINDOW (user_data), files->data);
  else
    {
      g_autofree char *before = g_file_get_path (files->data),
                      *after = g_file_get_path (files->next->data);

      if (before == NULL || after == NULL)
        return FALSE;
      ir_window_ask_about_edits (IR_WINDOW (user_data), open_pair,
                                 g_strdupv ((char **) (const char *const[]){ before, after, NULL }),
                                 (GDestroyNotify) g_strfreev);
    }
  return TRUE;
}

/* Keys that a focused widget may want for itself; the window takes what is left. */
static void
add_bubbling_keys (IrWindow *self)
{
  static const struct
  {
    const char *trigger, *action;
  } keys[] = {
    { "Right", "win.next-step" },
    { "Left", "win.previous-step" },
    { "<Control>Right", "win.next-pass" },
    { "<Control>Left", "win.previous-pass" },
    { "bracketleft", "win.base-earlier" },
    { "bracketright", "win.base-later" },
    { "Home", "win.first" },
    { "End", "win.last" },
    { "<Control>z", "win.undo" },
    { "<Control><Shift>z", "win.redo" },
    { "f", "win.view('fit')" },
    { "z", "win.view('show-changes')" },
    { "v", "win.view('side-by-side')" },
    { "slash", "win.view('search')" },
    { "Escape", "win.cancel" },
  };
  GtkEventController *controller = gtk_shortcut_controller_new ();

  for (guint i = 0; i < G_N_ELEMENTS (keys); i++)
    {
      g_autofree char *name = NULL;
      g_autoptr (GVariant) target = NULL;
      GtkShortcut *shortcut;

      g_action_parse_detailed_name (keys[i].action, &name, &target, NULL);
      shortcut = gtk_shortcut_new (gtk_shortcut_trigger_parse_string (keys[i].trigger),
                                   gtk_named_action_new (name));
      if (target != NULL)
        gtk_shortcut_set_arguments (shortcut, target);
      gtk_shortcut_controller_add_shortcut (GTK_SHORTCUT_CONTROLLER (controller), shortcut);
    }
  gtk_widget_add_controller (GTK_WIDGET (self), controller);
}

/* -- the graph before, while Space is held -- */

/* The list of steps, sliders and the graph have no use of their own for Space; what takes text or is
 * pressed by it has. */
static gboolean
leaves_space (IrWindow *self)
{
  GtkWidget *focus = gtk_window_get_focus (GTK_WINDOW (self));
  GtkWidget *list = focus != NULL ? gtk_widget_get_ancestor (focus, GTK_TYPE_LIST_VIEW) : NULL;
  IrView *centre = ir_window_visible_view (self, IR_VIEW_CENTRE);

  if (focus == NULL || focus == GTK_WIDGET (self) || GTK_IS_RANGE (focus))
    return TRUE;
  if (GTK_IS_BUTTON (focus) || GTK_IS_EDITABLE (focus))
    return FALSE;
  return list != NULL ? gtk_widget_has_css_class (list, "steps")
                      : centre != NULL && gtk_widget_is_ancestor (focus, GTK_WIDGET (centre));
}

static void
blink (IrWindow *self, gboolean on)
{
  IrView *centre = ir_window_visible_view (self, IR_VIEW_CENTRE);

  if (self->blinking == on || centre == NULL)
    return;
  self->blinking = on;
  gtk_widget_activate_action (GTK_WIDGET (centre), "view.blink", "b", on);
}

static gboolean
on_space (GtkEventControllerKey *controller,
          guint keyval,
          guint keycode,
          GdkModifierType state,
          IrWindow *self)
{
  if (keyval != GDK_KEY_space || (state & gtk_accelerator_get_default_mod_mask ()) != 0 ||
      ir_session_is_empty (self->session) || !leaves_space (self))
    return GDK_EVENT_PROPAGATE;
  blink (self, TRUE);
  return GDK_EVENT_STOP;
}

static void
on_space_released (GtkEventControllerKey *controller,
                   guint keyval,
                   guint keycode,
                   GdkModifierType state,
                   IrWindow *self)
{
  if (keyval == GDK_KEY_space)
    blink (self, FALSE);
}

/* The key is released elsewhere then. */
static void
on_active_changed (IrWindow *self)
{
  blink (self, FALSE);
}

static void
add_blinking_key (IrWindow *self)
{
  GtkEventController *keys = gtk_event_controller_key_new ();

  gtk_event_controller_set_propagation_phase (keys, GTK_PHASE_CAPTURE);
  g_signal_connect (keys, "key-pressed", G_CALLBACK (on_space), self);
  g_signal_connect (keys, "key-released", G_CALLBACK (on_space_released), self);
  gtk_widget_add_controller (GTK_WIDGET (self), keys);
  g_signal_connect (self, "notify::is-active", G_CALLBACK (on_active_changed), NULL);
}

/* -- closing -- */

static void
save_state (IrWindow *self)
{
  int width, height;

  gtk_window_get_default_size (GTK_WINDOW (self), &width, &height);
  ir_state_set_int ("width", width);
  ir_state_set_int ("height", height);
  ir_state_set_boolean ("maximized", gtk_window_is_maximized (GTK_WINDOW (self)));
  if (!ir_session_is_empty (self->session))
    ir_window_remember_panes (self);
  ir_state_save ();
}

static void
close_anyway (IrWindow *self, gpointer data)
{
  self->close_confirmed = TRUE;
  gtk_window_close (GTK_WINDOW (self));
}

static gboolean
ir_window_close_request (GtkWindow *window)
{
  IrWindow *self = IR_WINDOW (window);

  if (ir_session_get_modified (self->session) && !self->close_confirmed)
    {
      ir_window_ask_about_edits (self, close_anyway, NULL, NULL);
      return TRUE;
    }
  save_state (self);
  return GTK_WINDOW_CLASS (ir_window_parent_class)->close_request (window);
}

/* -- object -- */

static void
ir_window_dispose (GObject *object)
{
  IrWindow *self = IR_WINDOW (object);

  g_clear_handle_id (&self->activity_timeout, g_source_remove);
  g_clear_handle_id (&self->room_source, g_source_remove);
  g_clear_weak_pointer (&self->toast);
  self->next = NULL; /* what waits, waits in vain */
  if (self->session != NULL)
    {
      g_signal_handlers_disconnect_by_data (self->session, self);
      ir_session_cancel (self->session);
    }
  gtk_widget_dispose_template (GTK_WIDGET (self), IR_TYPE_WINDOW);
  g_clear_object (&self->session);
  g_clear_pointer (&self->views, g_ptr_array_unref);
  g_clear_pointer (&self->pipeline_names, g_strfreev);
  G_OBJECT_CLASS (ir_window_parent_class)->dispose (object);
}

static void
ir_window_class_init (IrWindowClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  G_OBJECT_CLASS (klass)->dispose = ir_window_dispose;
  GTK_WINDOW_CLASS (klass)->close_request = ir_window_close_request;
  g_type_ensure (IR_TYPE_TRANSPORT);
  gtk_widget_class_set_template_from_resource (widget_class, "/org/irscope/Irscope/window.ui");
#define BIND(NAME) gtk_widget_class_bind_template_child (widget_class, IrWindow, NAME)
  BIND (toasts);
  BIND (graph_toasts);
  BIND (header);
  BIND (menu_button);
  BIND (edit_menu);
  BIND (title);
  BIND (run_controls);
  BIND (export_button);
  BIND (search_button);
  BIND (open_button);
  BIND (pipelines);
  BIND (banner);
  BIND (banner_label);
  BIND (banner_button);
  BIND (pages);
  BIND (welcome);
  BIND (start_paned);
  BIND (end_paned);
  BIND (bottom_paned);
  BIND (beside_paned);
  BIND (start_box);
  BIND (centre_box);
  BIND (beside_box);
  BIND (end_box);
  BIND (workspace);
  BIND (centre_overlay);
  BIND (float_box);
  BIND (bottom_tabs);
  BIND (inputs_button);
  BIND (options_button);
  BIND (start_button);
  BIND (end_button);
  BIND (bottom_box);
  BIND (transport);
  BIND (run_status);
  BIND (activity);
  BIND (activity_label);
  BIND (activity_bar);
  BIND (activity_spinner);
  BIND (recent_section);
  BIND (undo_section);
#undef BIND
}

static void
connect_session (IrWindow *self)
{
  self->session = ir_session_new ();
  ir_remember_sizes (self->session);
  ir_remember_views (self->session);
  g_signal_connect_object (self->session, "changed", G_CALLBACK (on_session_changed), self,
                           G_CONNECT_SWAPPED);
  g_signal_connect_object (self->session, "message", G_CALLBACK (on_message), self,
                           G_CONNECT_SWAPPED);
  g_signal_connect_object (self->session, "failed", G_CALLBACK (on_failed), self,
                           G_CONNECT_SWAPPED);
  g_signal_connect_object (self->session, "sizes-unseen", G_CALLBACK (on_sizes_unseen), self,
                           G_CONNECT_SWAPPED);
  g_signal_connect_object (self->session, "show-view", G_CALLBACK (ir_window_show_view), self,
                           G_CONNECT_SWAPPED);
}

static void
ir_window_init (IrWindow *self)
{
  GtkDropTarget *drop = gtk_drop_target_new (GDK_TYPE_FILE_LIST, GDK_ACTION_COPY);

  gtk_widget_init_template (GTK_WIDGET (self));
  self->views = g_ptr_array_new ();
  ir_window_add_actions (self);
  connect_session (self);
  ir_run_options_load (self->session);
  self->updating = TRUE;
  self->pipeline_names = ir_pipelines_fill (self->pipelines);
  ir_name (gtk_widget_get_last_child (GTK_WIDGET (self->open_button)), "Recent files");
  ir_name_buttons (gtk_widget_get_last_child (gtk_widget_get_first_child (
                       gtk_widget_get_first_child (GTK_WIDGET (self->banner)))),
                   "Close the message");
  self->updating = FALSE;
  ir_window_build_panes (self);
  ir_edit_menu_attach (self->menu_button, self->edit_menu, self);
  ir_window_explain_buttons (self->header, self);
  ir_window_explain_buttons (GTK_WIDGET (self->transport), self);
  ir_window_explain_keys (self);
  ir_transport_set_session (self->transport, self->session);
  g_action_group_change_action_state (G_ACTION_GROUP (self), "prove",
                                      g_variant_new_boolean (ir_state_get_boolean ("prove", TRUE)));
  gtk_menu_button_set_popover (self->banner_button, ir_problems_popover_new (self->session));
  g_signal_connect_object (self->pipelines, "notify::selected", G_CALLBACK (on_pipeline_selected),
                           self, G_CONNECT_SWAPPED);
  g_signal_connect (self->banner, "response", G_CALLBACK (on_banner_response), NULL);
  g_signal_connect_object (gtk_recent_manager_get_default (), "changed", G_CALLBACK (update_recent),
                           self, G_CONNECT_SWAPPED);
  g_signal_connect (drop, "drop", G_CALLBACK (on_drop), self);
  gtk_widget_add_controller (GTK_WIDGET (self), GTK_EVENT_CONTROLLER (drop));
  add_bubbling_keys (self);
  add_blinking_key (self);
  ir_focus_keep (GTK_WINDOW (self));
  gtk_window_set_default_size (GTK_WINDOW (self), ir_state_get_int ("width", 1280),
                               ir_state_get_int ("height", 860));
  ir_sides_expect (self->sides, ir_state_get_int ("width", 1280));
  if (ir_state_get_boolean ("maximized", FALSE))
    gtk_window_maximize (GTK_WINDOW (self));
  update_recent (self);
  on_session_changed (self, IR_CHANGED_ALL, self->session);
}

/* A window of @application in which nothing is open */
IrWindow *
ir_window_new (GtkApplication *application)
{
  return g_object_new (IR_TYPE_WINDOW, "application", application, NULL);
}

IrSession *
ir_window_get_session (IrWindow *self)
{
  return self->session;
}
