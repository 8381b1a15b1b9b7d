#include "config.h"

#include "views/steps/step-row.h"

#include "core/act/act.h"
#include "passes/pipeline/pipeline.h"
#include "core/ir/count.h"
#include "views/label.h"
#include "views/name.h"
#include "views/session/records.h"

#include <string.h>

/* -- in words -- */

const IrVerdictLook *
ir_verdict_look (IrVerdict verdict)
{
  static const IrVerdictLook looks[IR_N_VERDICTS] = {
    [IR_VERDICT_NONE] = { "", "dim-label", "not proved", "" },
    [IR_VERDICT_EXACT] = { "✓", "success", "bit-exact", "✓ exact" },
    [IR_VERDICT_ROUNDING] = { "≈", "accent", "rounding", "≈ rounding" },
    [IR_VERDICT_BROKEN] = { "✗", "error", "broken", "✗ broken" },
    [IR_VERDICT_SKIPPED] = { "–", "dim-label", "not provable", "– not proved" },
  };

  return &looks[verdict];
}

const char *
ir_step_pass_title (const char *pass)
{
  const IrPass *found = ir_pass_find (pass);

  return found != NULL ? found->title : strcmp (pass, "edit") == 0 ? "Edited by hand" : pass;
}

char *
ir_step_group_title (const IrStepGroup *group)
{
  return group->op != NULL ? g_strdup_printf ("%s (%s)", group->rule, group->op)
                           : g_strdup (group->rule);
}

char *
ir_signed_text (gint64 change, char *(*text) (guint64))
{
  g_autofree char *amount = text ((guint64) (change < 0 ? -change : change));

  return g_strdup_printf ("%s%s", change < 0 ? "−" : change > 0 ? "+" : "", amount);
}

static char *
flops_text (guint64 flops)
{
  return ir_flops_text (flops, FALSE);
}

char *
ir_step_sums_text (const IrPassSummary *pass)
{
  g_autofree char *nodes = ir_signed_text (pass->nodes, ir_count_text),
                  *flops = ir_signed_text (pass->flops, flops_text),
                  *time = ir_ms_text ((double) pass->duration_ns / 1e6);
  g_autoptr (GString) text = g_string_new (NULL);

  if (pass->nodes != 0)
    g_string_append_printf (text, "%s %s", nodes, ABS (pass->nodes) == 1 ? "node" : "nodes");
  if (pass->flops != 0)
    g_string_append_printf (text, "%s%s", text->len > 0 ? " · " : "", flops);
  if (pass->duration_ns > 0)
    g_string_append_printf (text, "%s%s", text->len > 0 ? " · " : "", time);
  return g_string_free (g_steal_pointer (&text), FALSE);
}

char *
ir_unproved_text (const IrUnproved *unproved)
{
  g_autofree char *n = ir_count_text (unproved->n);
  const char *reason = unproved->reason != NULL                  ? unproved->reason
                       : unproved->verdict == IR_VERDICT_SKIPPED ? "cannot be proved here"
                                                                 : "not asked for";

  return g_strdup_printf ("%s not proved: %s", n, reason);
}

/* "✓ 40  ≈ 19  – 3"; "" where nothing was judged. (transfer full) */
static char *
verdicts_text (const IrPassSummary *pass)
{
  const guint *n = pass->n_verdicts;
  const guint n_judged = n[IR_VERDICT_EXACT] + n[IR_VERDICT_ROUNDING] + n[IR_VERDICT_BROKEN];
  const guint n_unproved = n[IR_VERDICT_SKIPPED] + n[IR_VERDICT_NONE];
  g_autoptr (GString) text = g_string_new (NULL);

  if (n_judged + n[IR_VERDICT_SKIPPED] == 0)
    return g_strdup ("");
  for (IrVerdict v = IR_VERDICT_EXACT; v <= IR_VERDICT_BROKEN; v++)
    if (n[v] > 0)
      {
        g_autofree char *count = ir_count_text (n[v]);

        g_string_append_printf (text, "%s%s %s", text->len > 0 ? "  " : "",
                                ir_verdict_look (v)->glyph, count);
      }
  if (n_unproved > 0)
    {
      g_autofree char *count = ir_count_text (n_unproved);

      g_string_append_printf (text, "%s– %s", text->len > 0 ? "  " : "", count);
    }
  return g_string_free (g_steal_pointer (&text), FALSE);
}

static char *
verdicts_tip (const IrPassSummary *pass)
{
  g_autoptr (GString) text = g_string_new (NULL);

  for (IrVerdict v = IR_VERDICT_EXACT; v <= IR_VERDICT_BROKEN; v++)
    if (pass->n_verdicts[v] > 0)
      {
        g_autofree char *count = ir_count_text (pass->n_verdicts[v]);

        g_string_append_printf (text, "%s%s %s", text->len > 0 ? "\n" : "", count,
                                ir_verdict_look (v)->text);
      }
  for (guint i = 0; i < pass->unproved->len; i++)
    {
      g_autofree char *line = ir_unproved_text (&g_array_index (pass->unproved, IrUnproved, i));

      g_string_append_printf (text, "%s%s", text->len > 0 ? "\n" : "", line);
    }
  return g_string_free (g_steal_pointer (&text), FALSE);
}

/* What is worst of it decides. */
static const char *
verdicts_css (const IrPassSummary *pass)
{
  const guint *n = pass->n_verdicts;

  return n[IR_VERDICT_BROKEN] > 0                              ? "error"
         : n[IR_VERDICT_SKIPPED] > 0 || n[IR_VERDICT_NONE] > 0 ? "dim-label"
         : n[IR_VERDICT_ROUNDING] > 0                          ? "accent"
                                                               : "success";
}

/* -- widgets -- */

typedef struct
{
  GtkWidget *mark, *number, *title, *subtitle, *verdict, *delta;
  IrStepList *list; /* (nullable) that it is bound to */
  guint position;
} Parts;

static Parts *
parts_of (GtkWidget *widget)
{
  return g_object_get_data (G_OBJECT (widget), "step-row");
}

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
on_mark (GtkWidget *widget)
{
  Parts *parts = parts_of (widget);

  if (parts->list != NULL)
    gtk_widget_activate_action (widget, "list.activate-item", "u", parts->position);
}

/* The keys of the list open and close: the button is for the pointer. */
static GtkWidget *
make_mark (GtkWidget *row)
{
  GtkWidget *mark = gtk_button_new_from_icon_name ("pan-end-symbolic");

  gtk_widget_add_css_class (mark, "flat");
  gtk_widget_add_css_class (mark, "step-mark");
  gtk_widget_set_focusable (mark, FALSE);
  gtk_widget_set_valign (mark, GTK_ALIGN_CENTER);
  g_signal_connect_swapped (mark, "clicked", G_CALLBACK (on_mark), row);
  return mark;
}

GtkWidget *
ir_step_row_widget_new (void)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 8);
  GtkWidget *texts = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0),
            *results = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);
  Parts *row = g_new0 (Parts, 1);

  g_object_set_data_full (G_OBJECT (box), "step-row", row, g_free);
  row->mark = make_mark (box);
  row->number = row_label ("step-number", 1, FALSE);
  gtk_label_set_width_chars (GTK_LABEL (row->number), 4);
  row->title = row_label (NULL, 0, TRUE);
  row->subtitle = row_label ("step-place", 0, TRUE);
  row->verdict = row_label ("verdict", 1, FALSE);
  row->delta = row_label ("step-delta", 1, FALSE);
  gtk_box_append (GTK_BOX (texts), row->title);
  gtk_box_append (GTK_BOX (texts), row->subtitle);
  gtk_box_append (GTK_BOX (box), row->mark);
  gtk_box_append (GTK_BOX (box), row->number);
  gtk_box_append (GTK_BOX (box), texts);
  gtk_box_append (GTK_BOX (results), row->delta);
  gtk_box_append (GTK_BOX (results), row->verdict);
  gtk_box_append (GTK_BOX (box), results);
  gtk_widget_set_valign (texts, GTK_ALIGN_CENTER);
  gtk_widget_set_valign (results, GTK_ALIGN_CENTER);
  gtk_widget_set_valign (row->number, GTK_ALIGN_CENTER);
  return box;
}

guint
ir_step_row_widget_position (GtkWidget *widget)
{
  const Parts *parts = parts_of (widget);

  return parts != NULL && parts->list != NULL ? parts->position : GTK_INVALID_LIST_POSITION;
}

/* -- binding -- */

static void
put (GtkWidget *label, const char *text)
{
  gtk_label_set_text (GTK_LABEL (label), text);
  gtk_widget_set_visible (label, text[0] != '\0');
}

static void
put_verdict (Parts *parts, const char *text, const char *css, const char *tip)
{
  const char *classes[] = { "verdict", css, NULL };

  put (parts->verdict, text);
  gtk_widget_set_css_classes (parts->verdict, classes);
  ir_set_tip (parts->verdict, tip);
}

static void
bind_pass (Parts *parts, const IrPassSummary *pass)
{
  g_autofree char *count = ir_count_text (pass->n_wanted), *sums = ir_step_sums_text (pass),
                  *verdicts = verdicts_text (pass), *tip = verdicts_tip (pass);

  put (parts->title, ir_step_pass_title (pass->pass));
  put (parts->subtitle, sums);
  put (parts->delta, count);
  gtk_widget_set_tooltip_text (parts->delta, "Steps");
  put_verdict (parts, verdicts, verdicts_css (pass), tip);
}

static void
bind_group (Parts *parts, const IrStepGroup *group)
{
  g_autofree char *count = ir_count_text (group->steps->len), *times = NULL,
                  *title = ir_step_group_title (group);
  const guint first = g_array_index (group->steps, guint, 0),
              last = g_array_index (group->steps, guint, group->steps->len - 1);
  g_autofree char *from = ir_count_text (first), *to = ir_count_text (last), *range = NULL;

  times = g_strdup_printf ("× %s", count);
  range = g_strdup_printf ("Steps %s to %s", from, to);
  put (parts->title, title);
  put (parts->subtitle, range);
  put (parts->delta, times);
  gtk_widget_set_tooltip_text (parts->delta, "Steps with this rule at this operator");
}

/* What a step at no node is about: of an act what it was asked for, behind its name. (transfer full) */
static char *
reason_of (const IrStep *step)
{
  const gsize length = strlen (step->rule);
  const char *reason = step->reason != NULL ? step->reason : "";

  return g_strdup (step->step_class == IR_CLASS_EDIT && ir_act_find (step->rule) != NULL &&
                           g_str_has_prefix (reason, step->rule) && reason[length] == ' '
                       ? reason + length + 1
                       : reason);
}

static void
bind_step (Parts *parts, IrModel *history, guint index)
{
  const IrStep *step = ir_history_step (history, index);
  const IrNode *anchor = step->anchor != 0 ? ir_model_node (history, step->anchor) : NULL;
  const gint64 delta = (gint64) step->cost_after.n_nodes - step->cost_before.n_nodes;
  g_autofree char *place = anchor != NULL ? ir_node_label (anchor) : reason_of (step);
  const IrAct *act = step->step_class == IR_CLASS_EDIT ? ir_act_find (step->rule) : NULL;
  g_autofree char *number = ir_count_text (index),
                  *change = delta != 0 ? ir_signed_text (delta, ir_count_text) : g_strdup ("");
  const IrVerdictLook *look = ir_verdict_look (step->proof.verdict);

  put (parts->number, number);
  put (parts->title, act != NULL ? act->title : step->rule);
  put (parts->subtitle, place);
  put (parts->delta, change);
  gtk_widget_set_tooltip_text (parts->delta, delta != 0 ? "Change in the number of nodes" : NULL);
  put_verdict (parts, look->row, look->css, step->proof.text);
}

static void
bind_idle (Parts *parts, const IrStepSummary *summary)
{
  const guint n = summary->idle->len;
  g_autofree char *count = ir_count_text (n), *title = NULL;

  title = g_strdup_printf ("%s %s did nothing", count, n == 1 ? "pass" : "passes");
  put (parts->title, title);
}

void
ir_step_row_widget_bind (
    GtkWidget *widget, IrStepList *list, guint position, IrStepRow *row, IrModel *history)
{
  Parts *parts = parts_of (widget);
  const IrStepRowKind kind = ir_step_row_get_kind (row);
  const gboolean can_open = ir_step_list_can_open (list, position),
                 open = ir_step_list_is_open (list, position);
  const char *classes[] = { "step-row",
                            kind == IR_STEP_ROW_PASS || kind == IR_STEP_ROW_ORIGINAL ? "pass-row"
                            : ir_step_row_is_within (row)                            ? "within-row"
                                                                                     : NULL,
                            NULL };

  parts->list = list;
  parts->position = position;
  gtk_widget_set_css_classes (widget, classes);
  gtk_widget_set_visible (parts->mark, can_open);
  gtk_button_set_icon_name (GTK_BUTTON (parts->mark),
                            open ? "pan-down-symbolic" : "pan-end-symbolic");
  gtk_widget_set_tooltip_text (parts->mark, open ? "Close (Left)" : "Open (Right)");
  gtk_accessible_update_property (GTK_ACCESSIBLE (parts->mark), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  open ? "Close" : "Open", -1);
  gtk_widget_set_visible (parts->number, !can_open);
  for (GtkWidget **label = (GtkWidget *[]){ parts->number, parts->subtitle, parts->delta, NULL };
       *label != NULL; label++)
    gtk_label_set_text (GTK_LABEL (*label), "");
  put_verdict (parts, "", "dim-label", NULL);
  put (parts->subtitle, "");
  put (parts->delta, "");
  if (kind == IR_STEP_ROW_ORIGINAL)
    {
      put (parts->number, "0");
      put (parts->title, "Original graph");
    }
  else if (kind == IR_STEP_ROW_PASS)
    bind_pass (parts, ir_step_list_get_pass (list, row));
  else if (kind == IR_STEP_ROW_GROUP)
    bind_group (parts, ir_step_list_get_group (list, row));
  else if (kind == IR_STEP_ROW_IDLE)
    bind_idle (parts, ir_step_list_get_summary (list));
  else if (kind == IR_STEP_ROW_IDLE_PASS)
    put (parts->title,
         ir_step_pass_title (
             ir_step_list_get_summary (list)->idle->pdata[ir_step_row_get_part (row)]));
  else
    bind_step (parts, history, ir_step_row_get_step (row));
  ir_name_row (widget);
}
