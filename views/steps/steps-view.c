/* The steps: every rewrite of every pass, in order, with its verdict; below them what the current
 * one did and why. The selected row is the session's cursor. */
#include "config.h"

#include "core/act/act.h"
#include "passes/pipeline/pipeline.h"
#include "passes/rule/rule.h"
#include "views/count.h"
#include "views/session/debug.h"
#include "views/session/frame.h"
#include "views/session/selection.h"
#include "views/session/timeline.h"
#include "views/steps/branch-bar.h"
#include "views/steps/step-list.h"
#include "views/steps/what-if-bar.h"
#include "views/view.h"

#include <string.h>

#define MAX_RECORDS 200 /* lines of records that are shown */

struct _IrStepsView
{
  IrView parent;
  GtkWidget *box, *stack, *list_view, *details, *search, *none;
  GtkWidget *what_if; /* (nullable) until the session is known */
  GtkWidget *menu;
  IrStepList *list;
  GtkSingleSelection *selection;
  guint selected; /* position before the change in hand */
  gboolean syncing;
  guint scroll_source; /* 0 = the list need not be scrolled */
};

#define IR_TYPE_STEPS_VIEW (ir_steps_view_get_type ())
G_DECLARE_FINAL_TYPE (IrStepsView, ir_steps_view, IR, STEPS_VIEW, IrView)
G_DEFINE_FINAL_TYPE (IrStepsView, ir_steps_view, IR_TYPE_VIEW)

/* -- verdicts: glyph and word, not colour alone -- */

static const struct
{
  const char *glyph, *css, *text, *row;
} verdicts[IR_N_VERDICTS] = {
  [IR_VERDICT_NONE] = { "", "dim-label", "not proved", "" },
  [IR_VERDICT_EXACT] = { "✓", "success", "bit-exact", "✓ exact" },
  [IR_VERDICT_ROUNDING] = { "≈", "accent", "rounding", "≈ rounding" },
  [IR_VERDICT_BROKEN] = { "✗", "error", "broken", "✗ broken" },
  [IR_VERDICT_SKIPPED] = { "–", "dim-label", "not provable", "– not proved" },
};

static void
show_verdict (GtkWidget *label, const IrProof *proof)
{
  const char *classes[] = { "verdict", verdicts[proof->verdict].css, NULL };

  gtk_label_set_text (GTK_LABEL (label), verdicts[proof->verdict].row);
  gtk_widget_set_css_classes (label, classes);
  gtk_widget_set_tooltip_text (label, proof->text);
  gtk_widget_set_visible (label, verdicts[proof->verdict].row[0] != '\0');
}

/* -- rows -- */

typedef struct
{
  GtkWidget *number, *title, *subtitle, *verdict, *delta;
} RowWidgets;

static GtkWidget *
row_label (const char *css, float xalign, gboolean expand)
{
  GtkWidget *label = gtk_label_new (NULL);

  gtk_label_set_xalign (GTK_LABEL (label), xalign);
  gtk_label_set_ellipsize (GTK_LABEL (label), expand ? PANGO_ELLIPSIZE_END : PANGO_ELLIPSIZE_NONE);
  gtk_widget_set_hexpand (label, expand);
  if (css != NULL)
    gtk_widget_add_css_class (label, css);
  return label;
}

static void
setup_row (GtkSignalListItemFactory *factory, GtkListItem *item, gpointer data)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 8);
  GtkWidget *texts = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0),
            *results = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);
  RowWidgets *row = g_new0 (RowWidgets, 1);

  row->number = row_label ("step-number", 1, FALSE);
  gtk_label_set_width_chars (GTK_LABEL (row->number), 4);
  row->title = row_label (NULL, 0, TRUE);
  row->subtitle = row_label ("step-place", 0, TRUE);
  row->verdict = row_label ("verdict", 1, FALSE);
  row->delta = row_label ("step-delta", 1, FALSE);
  gtk_box_append (GTK_BOX (texts), row->title);
  gtk_box_append (GTK_BOX (texts), row->subtitle);
  gtk_box_append (GTK_BOX (box), row->number);
  gtk_box_append (GTK_BOX (box), texts);
  gtk_box_append (GTK_BOX (results), row->delta);
  gtk_box_append (GTK_BOX (results), row->verdict);
  gtk_box_append (GTK_BOX (box), results);
  gtk_widget_set_valign (texts, GTK_ALIGN_CENTER);
  gtk_widget_set_valign (results, GTK_ALIGN_CENTER);
  gtk_widget_set_valign (row->number, GTK_ALIGN_CENTER);
  gtk_list_item_set_child (item, box);
  g_object_set_data_full (G_OBJECT (item), "row", row, g_free);
}

static void
bind_original (RowWidgets *row, GtkWidget *box)
{
  gtk_widget_add_css_class (box, "pass-row");
  gtk_label_set_text (GTK_LABEL (row->number), "0");
  gtk_label_set_text (GTK_LABEL (row->title), "Original graph");
  gtk_widget_set_visible (row->subtitle, FALSE);
}

/* @last: step that ends it, or the edits that stand under one heading */
static void
bind_pass (RowWidgets *row, GtkWidget *box, const IrPassRun *run, guint last)
{
  const IrPass *pass = ir_pass_find (run->pass);
  g_autofree char *count = ir_count_text (last + 1 - run->first_step);

  gtk_widget_add_css_class (box, "pass-row");
  gtk_label_set_text (GTK_LABEL (row->number), "");
  gtk_label_set_text (GTK_LABEL (row->title), pass != NULL                      ? pass->title
                                              : strcmp (run->pass, "edit") == 0 ? "Edited by hand"
                                                                                : run->pass);
  gtk_label_set_text (GTK_LABEL (row->delta), count);
  gtk_widget_set_visible (row->subtitle, FALSE);
}

/* What an act was asked for, behind its name; "" for other steps. (transfer full) */
static char *
words_of_act (const IrStep *step)
{
  const gsize length = strlen (step->rule);

  return g_strdup (step->step_class == IR_CLASS_EDIT && ir_act_find (step->rule) != NULL &&
                           step->reason != NULL && g_str_has_prefix (step->reason, step->rule) &&
                           step->reason[length] == ' '
                       ? step->reason + length + 1
                       : "");
}

static void
bind_step (RowWidgets *row, IrModel *history, guint index)
{
  const IrStep *step = ir_history_step (history, index);
  const IrNode *anchor = step->anchor != 0 ? ir_model_node (history, step->anchor) : NULL;
  int delta = (int) step->cost_after.n_nodes - (int) step->cost_before.n_nodes;
  g_autofree char *number = g_strdup_printf ("%u", index),
                  *place = anchor != NULL ? ir_node_label (anchor) : words_of_act (step);
  const IrAct *act = step->step_class == IR_CLASS_EDIT ? ir_act_find (step->rule) : NULL;
  g_autofree char *change = delta == 0
                                ? g_strdup ("")
                                : g_strdup_printf ("%s%d", delta > 0 ? "+" : "−", ABS (delta));

  gtk_label_set_text (GTK_LABEL (row->number), number);
  gtk_label_set_text (GTK_LABEL (row->title), act != NULL ? act->title : step->rule);
  gtk_label_set_text (GTK_LABEL (row->subtitle), place);
  gtk_widget_set_visible (row->subtitle, place[0] != '\0');
  gtk_label_set_text (GTK_LABEL (row->delta), change);
  gtk_widget_set_tooltip_text (row->delta, delta != 0 ? "Change in the number of nodes" : NULL);
  show_verdict (row->verdict, &step->proof);
}

static void
bind_row (GtkSignalListItemFactory *factory, GtkListItem *item, gpointer data)
{
  IrSession *session = ir_view_get_session (data);
  IrModel *history = ir_session_get_history (session);
  IrStepRow *step_row = gtk_list_item_get_item (item);
  RowWidgets *row = g_object_get_data (G_OBJECT (item), "row");
  GtkWidget *box = gtk_list_item_get_child (item);
  IrProof none = { 0 };

  g_object_set_data (G_OBJECT (box), "position",
                     GUINT_TO_POINTER (gtk_list_item_get_position (item) + 1));
  gtk_widget_remove_css_class (box, "pass-row");
  gtk_label_set_text (GTK_LABEL (row->delta), "");
  gtk_widget_set_visible (row->subtitle, TRUE);
  show_verdict (row->verdict, &none);
  if (history == NULL)
    return;
  switch (ir_step_row_get_kind (step_row))
    {
    case IR_STEP_ROW_ORIGINAL:
      bind_original (row, box);
      break;
    case IR_STEP_ROW_PASS:
      if (ir_step_row_get_pass_run (step_row) < ir_history_n_pass_runs (history))
        bind_pass (row, box, ir_history_pass_run (history, ir_step_row_get_pass_run (step_row)),
                   ir_step_row_get_step (step_row));
      break;
    case IR_STEP_ROW_STEP:
      if (ir_step_row_get_step (step_row) <= ir_history_n_steps (history))
        bind_step (row, history, ir_step_row_get_step (step_row));
      break;
    }
}

/* -- details of the current step -- */

static void
clear_box (GtkWidget *box)
{
  GtkWidget *child;

  while ((child = gtk_widget_get_first_child (box)) != NULL)
    gtk_box_remove (GTK_BOX (box), child);
}

static GtkWidget *
add_text (GtkWidget *box, const char *text, const char *css)
{
  GtkWidget *label = gtk_label_new (text);

  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_label_set_wrap (GTK_LABEL (label), TRUE);
  gtk_label_set_wrap_mode (GTK_LABEL (label), PANGO_WRAP_WORD_CHAR);
  gtk_label_set_selectable (GTK_LABEL (label), TRUE);
  gtk_widget_set_can_focus (label, FALSE);
  if (css != NULL)
    gtk_widget_add_css_class (label, css);
  gtk_box_append (GTK_BOX (box), label);
  return label;
}

static const IrRule *
find_rule (const char *name)
{
  guint n;
  const IrPass *const *passes = ir_passes (&n);

  for (guint i = 0; i < n; i++)
    for (const IrRule *rule = passes[i]->rules != NULL ? passes[i]->rules
                                                       : passes[i]->documented_rules;
         rule != NULL && rule->name != NULL; rule++)
      if (strcmp (rule->name, name) == 0)
        return rule;
  return NULL;
}

static char *
proof_sentence (const IrStep *step)
{
  const IrProof *proof = &step->proof;

  if (proof->verdict == IR_VERDICT_ROUNDING || proof->verdict == IR_VERDICT_BROKEN)
    return g_strdup_printf (
        "%s  %s: largest difference %.3g absolute, %.3g relative, %" G_GUINT64_FORMAT " ULP%s%s",
        verdicts[proof->verdict].glyph, verdicts[proof->verdict].text, proof->max_abs,
        proof->max_rel, proof->max_ulp, proof->text != NULL ? ". " : "",
        proof->text != NULL ? proof->text : "");
  return g_strdup_printf ("%s%s%s%s%s", verdicts[proof->verdict].glyph,
                          proof->verdict != IR_VERDICT_NONE ? "  " : "",
                          verdicts[proof->verdict].text, proof->text != NULL ? ": " : "",
                          proof->text != NULL ? proof->text : "");
}

static void
add_records (GtkWidget *box, IrModel *history, const IrStep *step)
{
  g_autofree char *heading = g_strdup_printf ("%u %s", step->n_records,
                                              step->n_records == 1 ? "record" : "records");
  g_autoptr (GString) lines = g_string_new (NULL);

  add_text (box, heading, "heading");
  for (guint i = 0; i < MIN (step->n_records, MAX_RECORDS); i++)
    {
      g_autofree char *line = ir_record_to_string (
          history, ir_history_record (history, step->first_record + i));
      g_string_append_printf (lines, "%s%s", i > 0 ? "\n" : "", line);
    }
  if (step->n_records > MAX_RECORDS)
    g_string_append_printf (lines, "\n… %u more", step->n_records - MAX_RECORDS);
  add_text (box, lines->str, "records");
}

static void
show_details (IrStepsView *self)
{
  IrSession *session = ir_view_get_session (IR_VIEW (self));
  IrModel *history = ir_session_get_history (session);
  guint cursor = ir_session_get_cursor (session);
  const IrStep *step;
  const IrRule *rule;
  g_autofree char *title = NULL, *proof = NULL;

  clear_box (self->details);
  if (history == NULL || cursor == 0 || cursor > ir_history_n_steps (history))
    {
      add_text (self->details,
                cursor == 0 && history != NULL
                    ? "The graph as it was opened. Choose a step, or press F8."
                    : "",
                "dim-label");
      return;
    }
  step = ir_history_step (history, cursor);
  rule = find_rule (step->rule);
  title = g_strdup_printf ("%u  %s", cursor, step->rule);
  proof = proof_sentence (step);
  add_text (self->details, title, "heading");
  if (rule != NULL)
    add_text (self->details, rule->doc, NULL);
  if (step->reason != NULL)
    add_text (self->details, step->reason, "dim-label");
  add_text (self->details, proof, verdicts[step->proof.verdict].css);
  add_records (self->details, history, step);
}

/* -- selection and cursor -- */

/* The focus goes with the cursor, so that the arrow keys go on from there. A list view of GTK 4.8
 * cannot be told which row that is: the row's widget is found by the position it was bound to. */
static void
focus_selected (IrStepsView *self)
{
  GtkWidget *row = gtk_widget_get_first_child (self->list_view);

  for (; row != NULL; row = gtk_widget_get_next_sibling (row))
    {
      GtkWidget *box = gtk_widget_get_first_child (row);

      if (box != NULL &&
          g_object_get_data (G_OBJECT (box), "position") == GUINT_TO_POINTER (self->selected + 1))
        {
          gtk_widget_grab_focus (row);
          return;
        }
    }
}

static gboolean
scroll_to_selected (gpointer data)
{
  IrStepsView *self = data;

  self->scroll_source = 0;
  if (self->selected < g_list_model_get_n_items (G_LIST_MODEL (self->list)))
    gtk_widget_activate_action (self->list_view, "list.scroll-to-item", "u", self->selected);
  if (gtk_widget_get_focus_child (self->list_view) != NULL)
    focus_selected (self);
  return G_SOURCE_REMOVE;
}

/* After the list has been allocated: before, it does not know where its rows are. */
static void
queue_scroll (IrStepsView *self)
{
  if (self->scroll_source == 0)
    self->scroll_source = g_idle_add_full (GDK_PRIORITY_REDRAW + 10, scroll_to_selected, self,
                                           NULL);
}

/* A heading is passed over: downwards to its first step, upwards to the row above. */
static void
on_selected (GtkSingleSelection *selection, GParamSpec *pspec, IrStepsView *self)
{
  IrSession *session = ir_view_get_session (IR_VIEW (self));
  guint position = gtk_single_selection_get_selected (selection);
  g_autoptr (IrStepRow) row = NULL;

  if (self->syncing || position == GTK_INVALID_LIST_POSITION)
    return;
  row = g_list_model_get_item (G_LIST_MODEL (self->list), position);
  if (ir_step_row_get_kind (row) == IR_STEP_ROW_PASS)
    {
      guint next = self->selected == position + 1 && position > 0 ? position - 1 : position + 1;
      gtk_single_selection_set_selected (selection, next);
      queue_scroll (self);
      return;
    }
  self->selected = position;
  ir_session_goto (session, ir_step_row_get_step (row));
}

static void
sync_cursor (IrStepsView *self)
{
  guint position = ir_step_list_position (
      self->list, ir_session_get_cursor (ir_view_get_session (IR_VIEW (self))));

  self->syncing = TRUE;
  gtk_single_selection_set_selected (self->selection, position);
  self->syncing = FALSE;
  if (position != self->selected)
    queue_scroll (self);
  self->selected = position;
}

static void
load_history (IrStepsView *self)
{
  IrSession *session = ir_view_get_session (IR_VIEW (self));
  IrModel *history = ir_session_get_history (session);
  guint n = ir_session_get_n_steps (session);
  g_autofree char *count = n > 0 ? ir_count_text (n) : NULL;
  const char *filter = gtk_editable_get_text (GTK_EDITABLE (self->search));

  self->syncing = TRUE;
  ir_step_list_load (self->list, n > 0 ? history : NULL, filter);
  self->syncing = FALSE;
  self->selected = GTK_INVALID_LIST_POSITION;
  gtk_widget_set_visible (self->none, n > 0 && ir_step_list_n_steps (self->list) == 0);
  ir_view_set_indicator (IR_VIEW (self), count);
  gtk_stack_set_visible_child_name (GTK_STACK (self->stack), history == NULL ? "closed"
                                                             : n == 0        ? "empty"
                                                                             : "steps");
}

static void
on_search (GtkSearchEntry *entry, IrStepsView *self)
{
  load_history (self);
  sync_cursor (self);
}

/* Enter goes to the first step that matches. */
static void
on_search_activate (GtkSearchEntry *entry, IrStepsView *self)
{
  g_autoptr (IrStepRow) row = g_list_model_get_item (G_LIST_MODEL (self->list), 2);

  if (row != NULL)
    ir_session_goto (ir_view_get_session (IR_VIEW (self)), ir_step_row_get_step (row));
  gtk_widget_grab_focus (self->list_view);
}

static void
on_search_stop (GtkSearchEntry *entry, IrStepsView *self)
{
  gtk_editable_set_text (GTK_EDITABLE (entry), "");
  gtk_widget_grab_focus (self->list_view);
  queue_scroll (self);
}

/* -- what can be done with a step -- */

static void
append_item (GMenu *menu, const char *label, const char *action, const char *target)
{
  g_autoptr (GMenuItem) item = g_menu_item_new (label, NULL);

  g_menu_item_set_action_and_target (item, action, "s", target);
  g_menu_append_item (menu, item);
}

static GMenuModel *
menu_of_step (IrModel *history, guint index)
{
  GMenu *menu = g_menu_new ();
  g_autoptr (GMenu) skips = g_menu_new (), breaks = g_menu_new (), proofs = g_menu_new ();
  const IrStep *step = ir_history_step (history, index);
  const IrNode *anchor = step->anchor != 0 ? ir_model_node (history, step->anchor) : NULL;
  const char *rule = step->rule;
  const char *pass = ir_history_pass_of (history, index);
  g_autofree char *key = ir_step_stable_key (history, index);
  g_autofree char *skip_rule = g_strdup_printf ("Without the Rule %s", rule);
  g_autofree char *skip_pass = g_strdup_printf ("Without the Pass %s", pass);
  g_autofree char *break_text = g_strdup_printf ("rule=%s", rule);

  append_item (skips, "Without This Step", "steps.skip", key);
  append_item (skips, skip_rule, "steps.skip", rule);
  append_item (skips, skip_pass, "steps.skip", pass);
  append_item (breaks, "Break on This Rule", "steps.break", break_text);
  if (anchor != NULL && anchor->name[0] != '\0')
    {
      g_autofree char *break_node = g_strdup_printf ("node=%s", anchor->name);
      append_item (breaks, "Break on This Node", "steps.break", break_node);
    }
  g_menu_append (breaks, "Find the Step That Fails…", "win.bisect");
  g_menu_append (proofs, "Prove This Step", "steps.prove");
  g_menu_append (proofs, "Trace Its Node", "steps.trace");
  g_menu_append_section (menu, "What If", G_MENU_MODEL (skips));
  g_menu_append_section (menu, "Stop and Search", G_MENU_MODEL (breaks));
  g_menu_append_section (menu, "Look Closer", G_MENU_MODEL (proofs));
  return G_MENU_MODEL (menu);
}

/* Edits by hand are no applications of a pass: they can be taken back, not skipped. */
static gboolean
can_skip (IrModel *history, guint step)
{
  return history != NULL && step > 0 && step <= ir_history_n_steps (history) &&
         strcmp (ir_history_pass_of (history, step), "edit") != 0;
}

/* @x, @y: in the list. */
static void
show_menu (IrStepsView *self, double x, double y)
{
  IrSession *session = ir_view_get_session (IR_VIEW (self));
  IrModel *history = ir_session_get_history (session);
  const guint step = ir_session_get_cursor (session);
  g_autoptr (GMenuModel) model = NULL;

  if (!can_skip (history, step))
    return;
  gtk_widget_translate_coordinates (self->list_view, self->box, x, y, &x, &y);
  model = menu_of_step (history, step);
  gtk_popover_menu_set_menu_model (GTK_POPOVER_MENU (self->menu), model);
  gtk_popover_set_pointing_to (GTK_POPOVER (self->menu), &(GdkRectangle){ (int) x, (int) y, 1, 1 });
  gtk_popover_popup (GTK_POPOVER (self->menu));
}

/* The menu takes the release of the button that opened it, without which what was pressed looks
 * pressed for good. */
static void
release_pressed (GtkWidget *widget)
{
  for (; widget != NULL; widget = gtk_widget_get_parent (widget))
    gtk_widget_unset_state_flags (widget, GTK_STATE_FLAG_ACTIVE);
}

/* The row under the pointer becomes the current one, so that the menu speaks of what is on screen.
 */
static void
on_secondary (GtkGestureClick *gesture, int n_press, double x, double y, IrStepsView *self)
{
  GtkWidget *picked = gtk_widget_pick (self->list_view, x, y, GTK_PICK_DEFAULT), *widget = picked;

  for (; widget != NULL && widget != self->list_view; widget = gtk_widget_get_parent (widget))
    {
      const guint position = GPOINTER_TO_UINT (g_object_get_data (G_OBJECT (widget), "position"));

      if (position == 0)
        continue;
      gtk_single_selection_set_selected (self->selection, position - 1);
      show_menu (self, x, y);
      release_pressed (picked);
      return;
    }
}

static gboolean
on_list_key (GtkEventControllerKey *controller,
             guint key,
             guint code,
             GdkModifierType state,
             IrStepsView *self)
{
  GtkWidget *focus = gtk_widget_get_focus_child (self->list_view);
  double x = 40, y = 20;

  if (key != GDK_KEY_Menu && !(key == GDK_KEY_F10 && state & GDK_SHIFT_MASK))
    return FALSE;
  if (focus != NULL)
    gtk_widget_translate_coordinates (focus, self->list_view, x, y, &x, &y);
  show_menu (self, x, y);
  return TRUE;
}

static void
skip_action (GtkWidget *widget, const char *name, GVariant *parameter)
{
  ir_session_skip (ir_view_get_session (IR_VIEW (widget)), g_variant_get_string (parameter, NULL));
}

/* Without the step at the cursor. */
static void
skip_this_action (GtkWidget *widget, const char *name, GVariant *parameter)
{
  IrSession *session = ir_view_get_session (IR_VIEW (widget));
  IrModel *history = ir_session_get_history (session);
  const guint step = ir_session_get_cursor (session);
  g_autofree char *key = can_skip (history, step) ? ir_step_stable_key (history, step) : NULL;

  if (key != NULL)
    ir_session_skip (session, key);
}

/* Verdict of the step at the cursor, from a run of its cone. */
static void
prove_action (GtkWidget *widget, const char *name, GVariant *parameter)
{
  IrSession *session = ir_view_get_session (IR_VIEW (widget));

  ir_session_prove_step (session, ir_session_get_cursor (session));
}

/* The union of the original graph and this one, with the lineage of the step's node in it. */
static void
trace_action (GtkWidget *widget, const char *name, GVariant *parameter)
{
  IrSession *session = ir_view_get_session (IR_VIEW (widget));
  const IrModel *history = ir_session_get_history (session);
  const guint step = ir_session_get_cursor (session);

  if (history == NULL || step == 0 || step > ir_history_n_steps (history))
    return;
  ir_session_set_compare (session, IR_COMPARE_ORIGINAL);
  ir_session_select_node (session, ir_history_step (history, step)->anchor);
  ir_session_show_view (session, "properties");
  ir_session_show_view (session, "graph");
}

static void
break_action (GtkWidget *widget, const char *name, GVariant *parameter)
{
  IrSession *session = ir_view_get_session (IR_VIEW (widget));

  if (ir_session_add_breakpoint (session, g_variant_get_string (parameter, NULL), NULL))
    ir_session_show_view (session, "breakpoints");
}

static void
make_menu (IrStepsView *self)
{
  GtkGesture *click = gtk_gesture_click_new ();
  GtkEventController *keys = gtk_event_controller_key_new ();

  self->menu = gtk_popover_menu_new_from_model (NULL);
  gtk_popover_set_has_arrow (GTK_POPOVER (self->menu), FALSE);
  gtk_widget_set_halign (self->menu, GTK_ALIGN_START);
  gtk_widget_set_parent (self->menu, self->box);
  g_signal_connect_swapped (self->menu, "closed", G_CALLBACK (gtk_widget_grab_focus),
                            self->list_view);
  gtk_gesture_single_set_button (GTK_GESTURE_SINGLE (click), GDK_BUTTON_SECONDARY);
  gtk_event_controller_set_propagation_phase (GTK_EVENT_CONTROLLER (click), GTK_PHASE_CAPTURE);
  g_signal_connect (click, "pressed", G_CALLBACK (on_secondary), self);
  gtk_widget_add_controller (self->list_view, GTK_EVENT_CONTROLLER (click));
  gtk_event_controller_set_propagation_phase (keys, GTK_PHASE_CAPTURE);
  g_signal_connect (keys, "key-pressed", G_CALLBACK (on_list_key), self);
  gtk_widget_add_controller (self->list_view, keys);
}

static void
add_bars (IrStepsView *self)
{
  if (self->what_if != NULL)
    return;
  self->what_if = ir_what_if_bar_new (ir_view_get_session (IR_VIEW (self)));
  gtk_box_prepend (GTK_BOX (self->box), ir_branch_bar_new (ir_view_get_session (IR_VIEW (self))));
  gtk_box_prepend (GTK_BOX (self->box), self->what_if);
}

static void
ir_steps_view_session_changed (IrView *view, IrSessionChanges changes)
{
  IrStepsView *self = IR_STEPS_VIEW (view);

  add_bars (self);
  if (changes & IR_CHANGED_HISTORY)
    load_history (self);
  if (changes & (IR_CHANGED_HISTORY | IR_CHANGED_FRAME))
    {
      sync_cursor (self);
      show_details (self);
    }
}

static void
ir_steps_view_focus_content (IrView *view)
{
  IrStepsView *self = IR_STEPS_VIEW (view);

  gtk_widget_grab_focus (self->list_view);
  queue_scroll (self);
}

/* -- object -- */

static void
ir_steps_view_dispose (GObject *object)
{
  IrStepsView *self = IR_STEPS_VIEW (object);

  g_clear_handle_id (&self->scroll_source, g_source_remove);
  g_clear_pointer (&self->menu, gtk_widget_unparent);
  if (self->selection != NULL)
    g_signal_handlers_disconnect_by_data (self->selection, self);
  g_clear_object (&self->selection);
  g_clear_object (&self->list);
  G_OBJECT_CLASS (ir_steps_view_parent_class)->dispose (object);
}

static void
ir_steps_view_class_init (IrStepsViewClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = ir_steps_view_dispose;
  IR_VIEW_CLASS (klass)->session_changed = ir_steps_view_session_changed;
  IR_VIEW_CLASS (klass)->focus_content = ir_steps_view_focus_content;
  gtk_widget_class_install_action (GTK_WIDGET_CLASS (klass), "steps.skip", "s", skip_action);
  gtk_widget_class_install_action (GTK_WIDGET_CLASS (klass), "steps.skip-this", NULL,
                                   skip_this_action);
  gtk_widget_class_install_action (GTK_WIDGET_CLASS (klass), "steps.break", "s", break_action);
  gtk_widget_class_install_action (GTK_WIDGET_CLASS (klass), "steps.prove", NULL, prove_action);
  gtk_widget_class_install_action (GTK_WIDGET_CLASS (klass), "steps.trace", NULL, trace_action);
  gtk_widget_class_add_binding_action (GTK_WIDGET_CLASS (klass), GDK_KEY_Delete, GDK_CONTROL_MASK,
                                       "steps.skip-this", NULL);
}

static GtkWidget *
make_list (IrStepsView *self)
{
  GtkListItemFactory *factory = gtk_signal_list_item_factory_new ();
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);

  g_signal_connect_object (factory, "setup", G_CALLBACK (setup_row), self, 0);
  g_signal_connect_object (factory, "bind", G_CALLBACK (bind_row), self, 0);
  self->list = ir_step_list_new ();
  self->selection = gtk_single_selection_new (g_object_ref (G_LIST_MODEL (self->list)));
  gtk_single_selection_set_autoselect (self->selection, FALSE);
  gtk_single_selection_set_can_unselect (self->selection, TRUE);
  g_signal_connect (self->selection, "notify::selected", G_CALLBACK (on_selected), self);
  self->list_view = gtk_list_view_new (g_object_ref (GTK_SELECTION_MODEL (self->selection)),
                                       factory);
  gtk_widget_add_css_class (self->list_view, "navigation-sidebar");
  gtk_widget_add_css_class (self->list_view, "steps");
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->list_view), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  "Steps", -1);
  self->search = gtk_search_entry_new ();
  gtk_widget_set_tooltip_text (self->search, "Only steps whose rule or node has these words");
  g_object_set (self->search, "placeholder-text", "Filter by rule or node", NULL);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->search), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  "Filter steps", -1);
  gtk_widget_add_css_class (self->search, "steps-search");
  g_signal_connect (self->search, "search-changed", G_CALLBACK (on_search), self);
  g_signal_connect (self->search, "activate", G_CALLBACK (on_search_activate), self);
  g_signal_connect (self->search, "stop-search", G_CALLBACK (on_search_stop), self);
  self->none = gtk_label_new ("No step has these words.");
  gtk_widget_add_css_class (self->none, "dim-label");
  gtk_widget_set_margin_top (self->none, 6);
  gtk_widget_set_margin_bottom (self->none, 6);
  gtk_box_append (GTK_BOX (box), self->search);
  gtk_box_append (GTK_BOX (box), self->none);
  gtk_box_append (GTK_BOX (box), ir_view_scrolled (self->list_view));
  return box;
}

static GtkWidget *
make_details (IrStepsView *self)
{
  self->details = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6);
  gtk_widget_add_css_class (self->details, "step-details");
  return ir_view_scrolled (self->details);
}

static void
ir_steps_view_init (IrStepsView *self)
{
  GtkWidget *paned = gtk_paned_new (GTK_ORIENTATION_VERTICAL);

  gtk_paned_set_start_child (GTK_PANED (paned), make_list (self));
  gtk_paned_set_end_child (GTK_PANED (paned), make_details (self));
  gtk_paned_set_resize_start_child (GTK_PANED (paned), TRUE);
  gtk_paned_set_resize_end_child (GTK_PANED (paned), TRUE);
  gtk_paned_set_shrink_start_child (GTK_PANED (paned), FALSE);
  gtk_paned_set_shrink_end_child (GTK_PANED (paned), FALSE);
  gtk_paned_set_position (GTK_PANED (paned), 380);
  self->stack = gtk_stack_new ();
  gtk_stack_add_named (GTK_STACK (self->stack),
                       ir_view_empty_page ("document-open-symbolic", "No Graph",
                                           "Open a graph to optimize it step by step.", "win.open",
                                           "Open…"),
                       "closed");
  gtk_stack_add_named (
      GTK_STACK (self->stack),
      ir_view_empty_page (
          "view-list-symbolic", "No Steps Yet",
          "Run a pipeline: every rewrite becomes a step that you can go to and back from.",
          "win.optimize", "Optimize"),
      "empty");
  gtk_stack_add_named (GTK_STACK (self->stack), paned, "steps");
  gtk_widget_set_vexpand (self->stack, TRUE);
  self->box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);
  make_menu (self);
  gtk_box_append (GTK_BOX (self->box), self->stack);
  adw_bin_set_child (ADW_BIN (self), self->box);
}

const IrViewInfo ir_view_steps = {
  .id = "steps",
  .title = "Steps",
  .icon_name = "view-list-symbolic",
  .doc = "Every rewrite, in order, with its verdict.",
  .help = "A row is a rewrite: its rule, where it was applied, and what it did to the "
          "number of nodes. ✓ is bit-exact, ≈ equal up to rounding, ✗ broken; without a "
          "mark nothing was run. F8 goes on, Shift+F8 back.",
  .place = IR_VIEW_START,
  .get_type = ir_steps_view_get_type,
};
