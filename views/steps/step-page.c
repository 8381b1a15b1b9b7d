/* First what a rewrite looks like, then what it is in two sentences, then numbers; the records of
 * which it consists stand behind "Details". What needs no picture is there at once; the picture
 * comes with the frame. */
#include "config.h"

#include "views/steps/step-page.h"

#include "passes/pipeline/pipeline.h"
#include "passes/rule/rule.h"
#include "core/ir/count.h"
#include "views/label.h"
#include "views/name.h"
#include "views/session/records.h"
#include "views/session/timeline.h"
#include "views/steps/step-picture.h"
#include "views/steps/step-row.h"

#include <string.h>

#define MAX_RECORDS 200  /* lines of records that are shown */
#define MAX_LINES   12   /* of the expression, on each side */
#define MAX_REASON  2000 /* bytes */

typedef struct
{
  IrSession *session;
  GtkWidget *box;
  gboolean opened; /* the details */
} Page;

static Page *
page_of (GtkWidget *widget)
{
  return g_object_get_data (G_OBJECT (widget), "step-page");
}

/* -- texts -- */

static GtkWidget *
add_text (GtkWidget *box, const char *text, const char *css)
{
  GtkWidget *label = gtk_label_new (text);

  gtk_label_set_xalign (GTK_LABEL (label), 0);
  ir_label_wrap_names (GTK_LABEL (label));
  gtk_label_set_selectable (GTK_LABEL (label), TRUE);
  gtk_widget_set_can_focus (label, FALSE);
  if (css != NULL)
    gtk_widget_add_css_class (label, css);
  gtk_box_append (GTK_BOX (box), label);
  return label;
}

/* (nullable) An edit has none, though an act may be called as a rule of some pass is. */
static const IrRule *
rule_of (const char *pass_name, const char *name)
{
  guint n = 0;
  const IrPass *const *passes = ir_pass_find (pass_name) != NULL ? ir_passes (&n) : NULL;

  for (guint i = 0; i < n; i++)
    for (const IrRule *rule = passes[i]->rules != NULL ? passes[i]->rules
                                                       : passes[i]->documented_rules;
         rule != NULL && rule->name != NULL; rule++)
      if (strcmp (rule->name, name) == 0)
        return rule;
  return NULL;
}

static char *
proof_sentence (const IrModel *history, const IrStep *step)
{
  const IrProof *proof = &step->proof;
  const IrVerdictLook *look = ir_verdict_look (proof->verdict);

  /* none: only zeros became something else */
  g_autofree char *relative = proof->max_rel > 0 ? g_strdup_printf ("%.3g relative", proof->max_rel)
                                                 : g_strdup ("");

  if (proof->verdict == IR_VERDICT_NONE && step->step_class != IR_CLASS_EDIT &&
      ir_history_is_large (history))
    return g_strdup ("not checked: large");
  if (proof->verdict == IR_VERDICT_ROUNDING || proof->verdict == IR_VERDICT_BROKEN)
    return g_strdup_printf (
        "%s  %s: largest difference %.3g absolute%s%s, %" G_GUINT64_FORMAT " ULP%s%s", look->glyph,
        look->text, proof->max_abs, relative[0] != '\0' ? ", " : "", relative, proof->max_ulp,
        proof->text != NULL ? "; " : "", proof->text != NULL ? proof->text : "");
  return g_strdup_printf ("%s%s%s%s%s", look->glyph, proof->verdict != IR_VERDICT_NONE ? "  " : "",
                          look->text, proof->text != NULL ? ": " : "",
                          proof->text != NULL ? proof->text : "");
}

/* -- numbers -- */

static void
add_number (GtkWidget *grid, int *row, const char *name, const char *value)
{
  GtkWidget *left = gtk_label_new (name), *right = gtk_label_new (value);

  gtk_label_set_xalign (GTK_LABEL (left), 0);
  gtk_label_set_xalign (GTK_LABEL (right), 0);
  gtk_label_set_wrap (GTK_LABEL (right), TRUE);
  gtk_widget_add_css_class (left, "dim-label");
  gtk_widget_add_css_class (right, "numeric");
  gtk_widget_set_valign (left, GTK_ALIGN_START);
  gtk_grid_attach (GTK_GRID (grid), left, 0, *row, 1, 1);
  gtk_grid_attach (GTK_GRID (grid), right, 1, (*row)++, 1, 1);
}

static char *
flops_text (guint64 flops)
{
  return ir_flops_text (flops, FALSE);
}

static char *
bytes_text (guint64 bytes)
{
  return g_format_size_full (bytes, G_FORMAT_SIZE_IEC_UNITS);
}

static void
add_change (GtkWidget *grid,
            int *row,
            const char *name,
            guint64 before,
            guint64 after,
            char *(*text) (guint64))
{
  g_autofree char *from = text (before), *to = text (after),
                  *change = ir_signed_text ((gint64) (after - before), text),
                  *whole = ir_unbroken (change), *line = NULL;

  if (before == after)
    return;
  line = g_strdup_printf ("%s → %s  (%s)", from, to, whole);
  add_number (grid, row, name, line);
}

static GtkWidget *
add_grid (GtkWidget *box)
{
  GtkWidget *grid = gtk_grid_new ();

  gtk_grid_set_column_spacing (GTK_GRID (grid), 12);
  gtk_grid_set_row_spacing (GTK_GRID (grid), 2);
  gtk_box_append (GTK_BOX (box), grid);
  return grid;
}

static void
add_numbers (GtkWidget *box, const IrStep *step)
{
  const IrCost *a = &step->cost_before, *b = &step->cost_after;
  g_autofree char *time = ir_ms_text ((double) step->duration_ns / 1e6);
  GtkWidget *grid = add_grid (box);
  int row = 0;

  add_change (grid, &row, "Nodes", a->n_nodes, b->n_nodes, ir_count_text);
  add_change (grid, &row, "Arithmetic", a->flops, b->flops, flops_text);
  add_change (grid, &row, "Traffic", a->bytes, b->bytes, bytes_text);
  add_change (grid, &row, "Parameters", a->params, b->params, ir_count_text);
  if (step->duration_ns > 0)
    add_number (grid, &row, "Rewritten in", time);
}

/* -- the expression -- */

static gboolean
has_line (const GPtrArray *lines, const char *line)
{
  for (guint i = 0; i < lines->len; i++)
    if (strcmp (lines->pdata[i], line) == 0)
      return TRUE;
  return FALSE;
}

static void
add_lines (GtkWidget *box, const GPtrArray *lines, const GPtrArray *other, gboolean later)
{
  for (guint i = 0; i < MIN (lines->len, MAX_LINES); i++)
    {
      g_autofree char *line = g_strdup_printf ("%s %s", later ? "+" : "−",
                                               (const char *) lines->pdata[i]);
      GtkWidget *label;

      if (has_line (other, lines->pdata[i]))
        continue;
      label = add_text (box, line, "expression");
      gtk_widget_add_css_class (label, later ? "new" : "removed");
    }
  if (lines->len > MAX_LINES)
    {
      g_autofree char *more = g_strdup_printf ("… %u more", lines->len - MAX_LINES);
      add_text (box, more, "dim-label");
    }
}

static void
add_expression (GtkWidget *box, const IrRewrite *rewrite)
{
  g_autoptr (GPtrArray) before = ir_rewrite_text (rewrite, IR_REWRITE_BEFORE),
                        after = ir_rewrite_text (rewrite, IR_REWRITE_AFTER);
  GtkWidget *lines = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);

  gtk_widget_add_css_class (lines, "expressions");
  add_lines (lines, before, after, FALSE);
  add_lines (lines, after, before, TRUE);
  gtk_box_append (GTK_BOX (box), lines);
}

/* -- details -- */

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

/* What variables of the pattern stand for can be long: weights have many elements. */
static void
add_reason (GtkWidget *box, const char *reason)
{
  g_autofree char *cut = NULL;

  if (reason == NULL)
    return;
  if (strlen (reason) > MAX_REASON)
    {
      g_autofree char *head = g_utf8_make_valid (reason, MAX_REASON);

      cut = g_strconcat (head, " …", NULL);
    }
  add_text (box, cut != NULL ? cut : reason, "dim-label");
}

/* Made when they are opened: they may be long. */
static void
on_expanded (GtkExpander *expander, GParamSpec *pspec, Page *page)
{
  GtkWidget *inner = gtk_expander_get_child (expander);
  IrModel *history = ir_session_get_history (page->session);
  const guint index = GPOINTER_TO_UINT (g_object_get_data (G_OBJECT (expander), "step"));
  const IrStep *step;
  const IrRule *rule;

  page->opened = gtk_expander_get_expanded (expander);
  if (!page->opened || gtk_widget_get_first_child (inner) != NULL || history == NULL ||
      index > ir_history_n_steps (history))
    return;
  step = ir_history_step (history, index);
  rule = rule_of (ir_history_pass_of (history, index), step->rule);
  if (rule != NULL && rule->pattern != NULL)
    {
      g_autofree char *text = g_strdup_printf ("%s\n→ %s", rule->pattern, rule->replacement);

      add_text (inner, "Rule", "heading");
      add_text (inner, text, "records");
    }
  add_reason (inner, step->reason);
  add_records (inner, history, step);
}

static void
add_details (Page *page, guint step)
{
  GtkWidget *expander = gtk_expander_new ("Details"),
            *inner = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6);

  gtk_widget_set_margin_top (inner, 6);
  ir_name (expander, "Details");
  gtk_expander_set_child (GTK_EXPANDER (expander), inner);
  gtk_widget_set_tooltip_text (expander, "The rule, its variables, and the records of the step");
  g_object_set_data (G_OBJECT (expander), "step", GUINT_TO_POINTER (step));
  g_signal_connect (expander, "notify::expanded", G_CALLBACK (on_expanded), page);
  gtk_box_append (GTK_BOX (page->box), expander);
  gtk_expander_set_expanded (GTK_EXPANDER (expander), page->opened);
}

/* -- a step -- */

static void
show_step (Page *page, IrModel *history, guint index)
{
  const IrStep *step = ir_history_step (history, index);
  const IrRule *rule = rule_of (ir_history_pass_of (history, index), step->rule);
  IrFrame *frame = ir_session_get_frame (page->session);
  const IrRewrite *rewrite = frame != NULL && frame->to == index ? frame->rewrite : NULL;
  g_autofree char *number = ir_count_text (index), *proof = proof_sentence (history, step),
                  *title = g_strdup_printf ("%s  %s", number, step->rule),
                  *sentence = rewrite != NULL ? ir_rewrite_sentence (rewrite) : NULL;

  add_text (page->box, title, "heading");
  if (rewrite != NULL && frame->rewrite_across != NULL)
    gtk_box_append (GTK_BOX (page->box), ir_step_picture_new (frame, sentence));
  if (rule != NULL)
    add_text (page->box, rule->doc, NULL);
  if (sentence != NULL)
    add_text (page->box, sentence, NULL);
  add_text (page->box, proof, ir_verdict_look (step->proof.verdict)->css);
  add_numbers (page->box, step);
  if (rewrite != NULL)
    add_expression (page->box, rewrite);
  add_details (page, index);
}

/* -- a pass, equal steps, and passes that did nothing -- */

static void
on_goto (GtkWidget *button, Page *page)
{
  ir_session_goto (page->session, GPOINTER_TO_UINT (g_object_get_data (G_OBJECT (button), "step")));
}

static void
add_link (Page *page, const char *text, guint step, const char *css)
{
  GtkWidget *label = gtk_label_new (text), *button = gtk_button_new ();
  g_autofree char *tip = g_strdup_printf ("Go to step %u, the first of them", step);

  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_label_set_wrap (GTK_LABEL (label), TRUE);
  ir_label_wrap_names (GTK_LABEL (label));
  gtk_button_set_child (GTK_BUTTON (button), label);
  gtk_widget_add_css_class (button, "flat");
  gtk_widget_add_css_class (button, "step-link");
  if (css != NULL)
    gtk_widget_add_css_class (label, css);
  ir_set_tip (button, tip);
  g_object_set_data (G_OBJECT (button), "step", GUINT_TO_POINTER (step));
  g_signal_connect (button, "clicked", G_CALLBACK (on_goto), page);
  gtk_box_append (GTK_BOX (page->box), button);
}

static void
add_verdicts (Page *page, const IrPassSummary *pass)
{
  for (IrVerdict v = IR_VERDICT_EXACT; v <= IR_VERDICT_BROKEN; v++)
    if (pass->n_verdicts[v] > 0)
      {
        const IrVerdictLook *look = ir_verdict_look (v);
        g_autofree char *count = ir_count_text (pass->n_verdicts[v]),
                        *text = g_strdup_printf ("%s  %s %s", look->glyph, count, look->text);

        add_text (page->box, text, look->css);
      }
  for (guint i = 0; i < pass->unproved->len; i++)
    {
      const IrUnproved *unproved = &g_array_index (pass->unproved, IrUnproved, i);
      g_autofree char *why = ir_unproved_text (unproved), *text = g_strdup_printf ("–  %s", why);

      add_link (page, text, unproved->first, "dim-label");
    }
}

static void
add_sum (GtkWidget *grid, int *row, const char *name, gint64 change, char *(*text) (guint64))
{
  g_autofree char *line = ir_signed_text (change, text);

  if (change != 0)
    add_number (grid, row, name, line);
}

static void
show_pass (Page *page, const IrPassSummary *summary)
{
  const IrPass *pass = ir_pass_find (summary->pass);
  g_autofree char *count = ir_count_text (summary->n_wanted),
                  *time = ir_ms_text ((double) summary->duration_ns / 1e6);
  GtkWidget *grid;
  int row = 0;

  add_text (page->box, ir_step_pass_title (summary->pass), "heading");
  if (pass != NULL && pass->before_after != NULL)
    add_text (page->box, pass->before_after, "records");
  if (pass != NULL)
    add_text (page->box, pass->doc, NULL);
  grid = add_grid (page->box);
  add_number (grid, &row, "Steps", count);
  add_sum (grid, &row, "Nodes", summary->nodes, ir_count_text);
  add_sum (grid, &row, "Arithmetic", summary->flops, flops_text);
  add_sum (grid, &row, "Traffic", summary->bytes, bytes_text);
  add_sum (grid, &row, "Parameters", summary->params, ir_count_text);
  if (summary->duration_ns > 0)
    add_number (grid, &row, "Time", time);
  add_verdicts (page, summary);
  add_text (page->box, "Its Steps", "heading");
  for (guint i = 0; i < summary->groups->len; i++)
    {
      const IrStepGroup *group = summary->groups->pdata[i];
      g_autofree char *title = ir_step_group_title (group), *n = ir_count_text (group->steps->len),
                      *text = g_strdup_printf ("%s × %s", title, n);

      add_link (page, text, g_array_index (group->steps, guint, 0), NULL);
    }
}

static void
show_idle (Page *page, const IrStepSummary *summary)
{
  add_text (page->box, "Passes That Did Nothing", "heading");
  add_text (page->box, "They ran, and no rule of theirs applied.", NULL);
  for (guint i = 0; i < summary->idle->len; i++)
    add_text (page->box, ir_step_pass_title (summary->idle->pdata[i]), "dim-label");
}

static void
show_idle_pass (Page *page, const char *name)
{
  const IrPass *pass = ir_pass_find (name);

  add_text (page->box, ir_step_pass_title (name), "heading");
  add_text (page->box, "It ran, and did nothing.", "dim-label");
  if (pass != NULL && pass->before_after != NULL)
    add_text (page->box, pass->before_after, "records");
  if (pass != NULL)
    add_text (page->box, pass->doc, NULL);
}

/* -- which -- */

static void
clear_page (Page *page)
{
  GtkWidget *child;

  while ((child = gtk_widget_get_first_child (page->box)) != NULL)
    gtk_box_remove (GTK_BOX (page->box), child);
}

void
ir_step_page_show (GtkWidget *widget, IrStepList *list, IrStepRow *row)
{
  Page *page = page_of (widget);
  IrModel *history = ir_session_get_history (page->session);
  const guint cursor = ir_session_get_cursor (page->session);
  const IrStepRowKind kind = row != NULL ? ir_step_row_get_kind (row) : IR_STEP_ROW_STEP;

  clear_page (page);
  if (history == NULL)
    return;
  if (kind == IR_STEP_ROW_PASS)
    show_pass (page, ir_step_list_get_pass (list, row));
  else if (kind == IR_STEP_ROW_IDLE)
    show_idle (page, ir_step_list_get_summary (list));
  else if (kind == IR_STEP_ROW_IDLE_PASS)
    show_idle_pass (page, ir_step_list_get_summary (list)->idle->pdata[ir_step_row_get_part (row)]);
  else if (cursor > 0 && cursor <= ir_history_n_steps (history))
    show_step (page, history, cursor);
  else
    add_text (page->box, "The graph as it was opened. Choose a step, or press F8.", "dim-label");
}

GtkWidget *
ir_step_page_new (IrSession *session)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6);
  Page *page = g_new0 (Page, 1);

  page->session = session;
  page->box = box;
  gtk_widget_add_css_class (box, "step-details");
  g_object_set_data_full (G_OBJECT (box), "step-page", page, g_free);
  return box;
}
