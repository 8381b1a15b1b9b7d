/* The verbs of menus and keys, each an action of the window, and when they mean something. */
#include "config.h"

#include "app/gui/palette.h"
#include "app/gui/bisect.h"
#include "app/gui/inputs.h"
#include "app/gui/passes.h"
#include "app/gui/reasons.h"
#include "app/gui/run-options.h"
#include "app/gui/state.h"
#include "app/gui/window-private.h"
#include "views/session/debug.h"
#include "views/session/execution.h"
#include "views/session/file.h"
#include "views/session/frame.h"
#include "views/session/kernels.h"
#include "views/session/run-control.h"
#include "views/session/runs.h"
#include "views/session/selection.h"
#include "views/session/timeline.h"
#include "views/session/undo.h"
#include "views/session/values.h"

#include <string.h>

static void
activate_compare_values (GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
  ir_session_compare_values (IR_WINDOW (user_data)->session);
}

/* In order of execution, without a dialog: for scripts and tests. */
static void
activate_save_values_to (GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
  ir_session_save_values (IR_WINDOW (user_data)->session, g_variant_get_string (parameter, NULL),
                          IR_VALUES_BY_ORDER);
}

static void
activate_optimize (GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
  ir_session_run_pipeline (IR_WINDOW (user_data)->session, NULL);
}

static void
activate_passes (GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
  IrWindow *self = IR_WINDOW (user_data);

  ir_passes_dialog_present (GTK_WINDOW (self), self->session);
}

static void
activate_run (GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
  ir_session_run_graph (IR_WINDOW (user_data)->session);
}

static void
activate_cancel (GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
  IR_WINDOW (user_data)->next = NULL;
  ir_session_cancel (IR_WINDOW (user_data)->session);
}

/* As the words of the debugger of irscope run have it. */
static void
activate_drive (GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
  static const struct
  {
    const char *word;
    IrRunMove move;
  } moves[] = { { "step", IR_RUN_STEP },
                { "over", IR_RUN_OVER },
                { "round", IR_RUN_ROUND },
                { "to", IR_RUN_TO },
                { "continue", IR_RUN_CONTINUE } };
  IrSession *session = IR_WINDOW (user_data)->session;
  const char *word = g_variant_get_string (parameter, NULL);

  for (guint i = 0; i < G_N_ELEMENTS (moves); i++)
    if (strcmp (moves[i].word, word) == 0)
      ir_session_drive (session, (IrRunCommand){ .move = moves[i].move,
                                                 .node = ir_session_get_selected_node (session) });
  ir_session_show_view (session, "run");
}

static void
activate_measure_kernels (GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
  IrSession *session = IR_WINDOW (user_data)->session;

  ir_session_measure_kernels (session, ir_session_get_selected_node (session));
}

static void
activate_check_execution (GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
  IrWindow *self = IR_WINDOW (user_data);

  self->wants_execution = TRUE;
  ir_session_check_execution (self->session);
}

static void
activate_next_broken (GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
  ir_session_next_broken (IR_WINDOW (user_data)->session);
}

static void
activate_prove_all (GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
  ir_session_prove_all (IR_WINDOW (user_data)->session);
}

static void
activate_inputs (GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
  IrWindow *self = IR_WINDOW (user_data);

  ir_inputs_dialog_present (GTK_WINDOW (self), self->session, NULL);
}

static void
activate_run_options (GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
  IrWindow *self = IR_WINDOW (user_data);

  ir_run_options_present (GTK_WINDOW (self), self->session);
}

static void
activate_next_step (GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
  ir_session_step_by (IR_WINDOW (user_data)->session, 1);
}

static void
activate_previous_step (GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
  ir_session_step_by (IR_WINDOW (user_data)->session, -1);
}

static void
activate_next_pass (GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
  ir_session_pass_by (IR_WINDOW (user_data)->session, 1);
}

static void
activate_previous_pass (GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
  ir_session_pass_by (IR_WINDOW (user_data)->session, -1);
}

static void
activate_run_on (GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
  ir_session_run_to_breakpoint (IR_WINDOW (user_data)->session, TRUE);
}

static void
activate_run_back (GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
  ir_session_run_to_breakpoint (IR_WINDOW (user_data)->session, FALSE);
}

static void
activate_bisect (GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
  IrWindow *self = IR_WINDOW (user_data);

  ir_bisect_dialog_present (GTK_WINDOW (self), self->session);
}

static void
activate_skip_nothing (GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
  ir_session_skip_nothing (IR_WINDOW (user_data)->session);
}

static void
activate_first (GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
  ir_session_goto (IR_WINDOW (user_data)->session, 0);
}

static void
activate_last (GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
  ir_session_goto (IR_WINDOW (user_data)->session, G_MAXUINT);
}

static void
move_base (IrSession *session, int by)
{
  const gint64 step = (gint64) ir_session_get_base (session) + by;

  ir_session_set_base (session, (guint) CLAMP (step, 0, (gint64) ir_session_get_n_steps (session)));
}

static void
activate_base_earlier (GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
  move_base (IR_WINDOW (user_data)->session, -1);
}

static void
activate_base_later (GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
  move_base (IR_WINDOW (user_data)->session, 1);
}

static void
change_prove (GSimpleAction *action, GVariant *value, gpointer user_data)
{
  ir_session_set_prove (IR_WINDOW (user_data)->session, g_variant_get_boolean (value));
  ir_state_set_boolean ("prove", g_variant_get_boolean (value));
  g_simple_action_set_state (action, value);
}

static void
change_show_start (GSimpleAction *action, GVariant *value, gpointer user_data)
{
  ir_window_show_pane (user_data, IR_VIEW_START, g_variant_get_boolean (value));
}

static void
change_show_end (GSimpleAction *action, GVariant *value, gpointer user_data)
{
  ir_window_show_pane (user_data, IR_VIEW_END, g_variant_get_boolean (value));
}

static void
change_show_bottom (GSimpleAction *action, GVariant *value, gpointer user_data)
{
  ir_window_show_pane (user_data, IR_VIEW_BOTTOM, g_variant_get_boolean (value));
}

static void
change_show_beside (GSimpleAction *action, GVariant *value, gpointer user_data)
{
  ir_window_show_pane (user_data, IR_VIEW_BESIDE, g_variant_get_boolean (value));
}

static void
change_graph_alone (GSimpleAction *action, GVariant *value, gpointer user_data)
{
  ir_window_show_alone (user_data, g_variant_get_boolean (value));
}

/* What may be meant of the text, while it has the focus. */
static IrView *
view_meant (IrWindow *self, const char *what)
{
  static const char *const searches[] = { "search", "next-hit", "previous-hit", NULL };
  IrView *beside = ir_window_visible_view (self, IR_VIEW_BESIDE);
  GtkWidget *focus = gtk_window_get_focus (GTK_WINDOW (self));

  return beside != NULL && focus != NULL && g_strv_contains (searches, what) &&
                 gtk_widget_is_ancestor (focus, GTK_WIDGET (beside))
             ? beside
             : ir_window_visible_view (self, IR_VIEW_CENTRE);
}

/* win.view('zoom-in') is "view.zoom-in" of the graph. */
static void
activate_view (GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
  IrView *view = view_meant (user_data, g_variant_get_string (parameter, NULL));
  g_autofree char *name = g_strconcat ("view.", g_variant_get_string (parameter, NULL), NULL);

  if (view != NULL)
    gtk_widget_activate_action (GTK_WIDGET (view), name, NULL);
}

static void
activate_show (GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
  IrWindow *self = IR_WINDOW (user_data);
  const IrViewInfo *info = ir_view_find (g_variant_get_string (parameter, NULL));

  if (info == NULL)
    return;
  ir_window_show_view (self, info->id);
  ir_view_focus_content (ir_window_visible_view (self, info->place));
}

static void
activate_next_pane (GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
  static const IrViewPlace order[] = { IR_VIEW_START, IR_VIEW_CENTRE, IR_VIEW_BESIDE, IR_VIEW_END,
                                       IR_VIEW_BOTTOM };
  IrWindow *self = IR_WINDOW (user_data);
  GtkWidget *focus = gtk_window_get_focus (GTK_WINDOW (self));
  guint current = 0;

  for (guint i = 0; i < G_N_ELEMENTS (order); i++)
    if (focus != NULL && self->stacks[order[i]] != NULL &&
        gtk_widget_is_ancestor (focus, GTK_WIDGET (self->stacks[order[i]])))
      current = i;
  for (guint i = 1; i <= G_N_ELEMENTS (order); i++)
    {
      IrView *view = ir_window_visible_view (self, order[(current + i) % G_N_ELEMENTS (order)]);

      if (view != NULL && gtk_widget_get_mapped (GTK_WIDGET (view)))
        {
          ir_view_focus_content (view);
          return;
        }
    }
}

static void
activate_undo (GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
  ir_session_undo (IR_WINDOW (user_data)->session);
}

static void
activate_redo (GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
  ir_session_redo (IR_WINDOW (user_data)->session);
}

static void
activate_close_graph (GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
  gtk_window_close (GTK_WINDOW (user_data));
}

static void
activate_palette (GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
  ir_palette_present (GTK_WINDOW (user_data));
}

static const IrWindowAction actions[] = {
  { { "palette", activate_palette }, NEEDS_NOTHING },
  { { "compare-values", activate_compare_values }, NEEDS_PAIR | NEEDS_IDLE },
  { { "save-values-to", activate_save_values_to, "s" }, NEEDS_PAIR },
  { { "close-graph", activate_close_graph }, NEEDS_NOTHING },
  { { "undo", activate_undo }, NEEDS_UNDO | NEEDS_IDLE },
  { { "redo", activate_redo }, NEEDS_REDO | NEEDS_IDLE },
  { { "optimize", activate_optimize }, NEEDS_GRAPH | NEEDS_IDLE, TRUE },
  { { "passes", activate_passes }, NEEDS_GRAPH | NEEDS_IDLE },
  { { "run", activate_run }, NEEDS_GRAPH | NEEDS_IDLE, TRUE },
  { { "drive", activate_drive, "s" }, NEEDS_GRAPH },
  { { "measure-kernels", activate_measure_kernels }, NEEDS_NODE | NEEDS_IDLE },
  { { "check-execution", activate_check_execution }, NEEDS_GRAPH | NEEDS_IDLE, TRUE },
  { { "next-broken", activate_next_broken }, NEEDS_GRAPH | NEEDS_STEPS },
  { { "prove-all", activate_prove_all }, NEEDS_GRAPH | NEEDS_STEPS | NEEDS_IDLE },
  { { "inputs", activate_inputs }, NEEDS_GRAPH },
  { { "run-options", activate_run_options }, NEEDS_NOTHING },
  { { "cancel", activate_cancel }, NEEDS_BUSY },
  { { "prove", NULL, NULL, "true", change_prove }, NEEDS_NOTHING },
  { { "next-step", activate_next_step }, NEEDS_LATER },
  { { "previous-step", activate_previous_step }, NEEDS_EARLIER },
  { { "next-pass", activate_next_pass }, NEEDS_LATER },
  { { "previous-pass", activate_previous_pass }, NEEDS_EARLIER },
  { { "base-earlier", activate_base_earlier }, NEEDS_STEPS },
  { { "base-later", activate_base_later }, NEEDS_STEPS },
  { { "run-on", activate_run_on }, NEEDS_LATER },
  { { "run-back", activate_run_back }, NEEDS_EARLIER },
  { { "bisect", activate_bisect }, NEEDS_GRAPH | NEEDS_STEPS },
  { { "skip-nothing", activate_skip_nothing }, NEEDS_WHAT_IF | NEEDS_IDLE },
  { { "first", activate_first }, NEEDS_EARLIER },
  { { "last", activate_last }, NEEDS_LATER },
  { { "view", activate_view, "s" }, NEEDS_GRAPH },
  { { "show", activate_show, "s" }, NEEDS_GRAPH },
  { { "show-start", NULL, NULL, "false", change_show_start }, NEEDS_GRAPH },
  { { "show-beside", NULL, NULL, "false", change_show_beside }, NEEDS_GRAPH },
  { { "show-end", NULL, NULL, "true", change_show_end }, NEEDS_GRAPH },
  { { "show-bottom", NULL, NULL, "false", change_show_bottom }, NEEDS_GRAPH },
  { { "graph-alone", NULL, NULL, "false", change_graph_alone }, NEEDS_GRAPH },
  { { "next-pane", activate_next_pane }, NEEDS_GRAPH },
};

/* Those of the window itself, and those that read and write files. */
static void
for_each_action (IrWindow *self,
                 void (*func) (IrWindow *self, const IrWindowAction *action, guint have),
                 guint have)
{
  guint n;
  const IrWindowAction *others = ir_window_file_actions (&n);

  for (guint i = 0; i < G_N_ELEMENTS (actions); i++)
    func (self, &actions[i], have);
  for (guint i = 0; i < n; i++)
    func (self, &others[i], have);
  others = ir_window_session_actions (&n);
  for (guint i = 0; i < n; i++)
    func (self, &others[i], have);
}

static void
on_begun (GAction *action, GVariant *parameter, IrWindow *self)
{
  self->doing = g_intern_string (g_action_get_name (action));
}

static void
add_action (IrWindow *self, const IrWindowAction *action, guint have)
{
  g_action_map_add_action_entries (G_ACTION_MAP (self), &action->entry, 1, self);
  if (action->waits)
    g_signal_connect (g_action_map_lookup_action (G_ACTION_MAP (self), action->entry.name),
                      "activate", G_CALLBACK (on_begun), self);
}

static void
enable_action (IrWindow *self, const IrWindowAction *action, guint have)
{
  GAction *found = g_action_map_lookup_action (G_ACTION_MAP (self), action->entry.name);

  g_simple_action_set_enabled (G_SIMPLE_ACTION (found), (action->needs & ~have) == 0);
}

/* Adds all actions to a new window */
void
ir_window_add_actions (IrWindow *self)
{
  for_each_action (self, add_action, 0);
}

/* Not from within what tells that the one before it is done */
static void
do_next (gpointer window)
{
  g_autoptr (IrWindow) self = window;
  const char *next = self->next;

  if (next == NULL || (self->have & NEEDS_IDLE) == 0)
    return;
  self->next = NULL;
  g_action_group_activate_action (G_ACTION_GROUP (self), next, NULL);
}

/* Enables those that mean something now */
void
ir_window_update_actions (IrWindow *self)
{
  const guint n_steps = ir_session_get_n_steps (self->session);
  const guint cursor = ir_session_get_cursor (self->session);
  guint have = 0;

  if (!ir_session_is_empty (self->session))
    have |= NEEDS_GRAPH;
  have |= ir_session_get_busy (self->session) ? NEEDS_BUSY : NEEDS_IDLE;
  if (cursor < n_steps)
    have |= NEEDS_LATER;
  if (cursor > 0)
    have |= NEEDS_EARLIER;
  if (n_steps > 0)
    have |= NEEDS_STEPS;
  if (ir_session_get_skips (self->session) != NULL)
    have |= NEEDS_WHAT_IF;
  if (ir_session_get_path (self->session) != NULL &&
      ir_session_get_other_path (self->session) != NULL)
    have |= NEEDS_OTHER;
  if (ir_session_can_compare_values (self->session))
    have |= NEEDS_PAIR;
  if (ir_session_get_selected_node (self->session) != 0)
    have |= NEEDS_NODE;
  if (ir_session_get_undo (self->session) != NULL)
    have |= NEEDS_UNDO;
  if (ir_session_get_redo (self->session) != NULL)
    have |= NEEDS_REDO;
  if (self->have == have)
    return;
  self->have = have;
  for_each_action (self, enable_action, have);
  if ((have & NEEDS_IDLE) == 0)
    return;
  self->doing = NULL;
  if (self->next != NULL)
    g_idle_add_once (do_next, g_object_ref (self));
}

static const IrWindowAction *
find_action (const IrWindowAction *among, guint n, const char *name)
{
  for (guint i = 0; i < n; i++)
    if (strcmp (among[i].entry.name, name) == 0)
      return &among[i];
  return NULL;
}

static const IrWindowAction *
action_of (const char *name)
{
  guint n;
  const IrWindowAction *others = ir_window_file_actions (&n);
  const IrWindowAction *found = find_action (actions, G_N_ELEMENTS (actions), name);

  if (found == NULL)
    found = find_action (others, n, name);
  others = ir_window_session_actions (&n);
  return found != NULL ? found : find_action (others, n, name);
}

guint
ir_window_missing (IrWindow *self, const char *action)
{
  const IrWindowAction *found = action_of (action);

  return found != NULL ? found->needs & ~self->have : 0;
}

gboolean
ir_window_wait_for_turn (IrWindow *self, const char *action)
{
  const IrWindowAction *found = action_of (action);

  if (found == NULL || !found->waits || (found->needs & ~self->have) != NEEDS_IDLE ||
      g_strcmp0 (self->doing, action) == 0)
    return FALSE;
  self->next = found->entry.name;
  return TRUE;
}
