/* Why not: the rules that start at the selected node, nearest to a match first, each with the first
 * condition that failed. The chosen one is drawn on the graph and told in full below the list. */
#include "config.h"
#include "views/label.h"

#include "views/session/debug.h"
#include "views/session/frame.h"
#include "views/session/selection.h"
#include "views/session/timeline.h"
#include "views/view.h"

#include <string.h>

struct _IrWhyView
{
  IrView parent;
  GtkWidget *stack, *title, *subtitle, *search, *list, *none, *details;
  IrNodeId shown;  /* the node that the list is about */
  GPtrArray *whys; /* (nullable) (transfer none): that the list was made of */
  gboolean filling;
  gboolean wants_focus; /* when the rules are there */
};

#define IR_TYPE_WHY_VIEW (ir_why_view_get_type ())
G_DECLARE_FINAL_TYPE (IrWhyView, ir_why_view, IR, WHY_VIEW, IrView)
G_DEFINE_FINAL_TYPE (IrWhyView, ir_why_view, IR_TYPE_VIEW)

static IrSession *
session (IrWhyView *self)
{
  return ir_view_get_session (IR_VIEW (self));
}

/* -- an answer in words -- */

static const struct
{
  const char *glyph, *css, *text;
} answers[IR_N_WHY_ANSWERS] = {
  [IR_WHY_FIRED] = { "✓", "success", "fired" },
  [IR_WHY_REFUSED] = { "✗", "error", "did not fire" },
  [IR_WHY_MATCHES] = { "≈", "accent", "fits, but was left out or not reached" },
  [IR_WHY_CLASS] = { "–", "dim-label", "its class is not among those that run" },
  [IR_WHY_NOT_RUN] = { "–", "dim-label", "its pass is not in the pipeline" },
  [IR_WHY_CODE] = { "–", "dim-label", "its pass is a function: no pattern to compare" },
  [IR_WHY_OTHER_OPERATOR] = { "–", "dim-label", "starts at another operator" },
};

static gboolean
no_pipeline_ran (IrWhyView *self)
{
  const IrModel *history = ir_session_get_history (session (self));

  return history == NULL || ir_history_n_pass_runs (history) == 0;
}

static char *
short_text (IrWhyView *self, const IrWhy *why)
{
  if (why->answer == IR_WHY_FIRED)
    return g_strdup_printf ("fired at step %u", g_array_index (why->steps, guint, 0));
  if (why->answer == IR_WHY_REFUSED && why->reason != NULL)
    return g_strdup (why->reason);
  if (why->answer == IR_WHY_NOT_RUN && why->holds)
    return g_strdup (no_pipeline_ran (self) ? "would be applied"
                                            : "would be applied, but its pass did not run");
  if (why->answer == IR_WHY_NOT_RUN && no_pipeline_ran (self))
    return g_strdup (why->reason != NULL ? why->reason : "would not be applied");
  return g_strdup (answers[why->answer].text);
}

/* The same in full, for the details. */
static char *
long_text (IrWhyView *self, const IrWhy *why)
{
  const char *would = why->holds ? "The rule would be applied here" : "It would not be applied";

  if (why->answer != IR_WHY_NOT_RUN)
    return g_strdup (answers[why->answer].text);
  return no_pipeline_ran (self) ? g_strdup_printf ("%s. No pipeline has run yet.", would)
                                : g_strdup_printf ("Its pass is not in the pipeline. %s.", would);
}

static const char *
glyph_of (IrWhyView *self, const IrWhy *why, const char **css)
{
  IrWhyAnswer answer = why->answer;

  if (answer == IR_WHY_NOT_RUN && why->holds)
    answer = IR_WHY_MATCHES;
  else if (answer == IR_WHY_NOT_RUN && no_pipeline_ran (self))
    answer = IR_WHY_REFUSED;
  *css = answers[answer].css;
  return answers[answer].glyph;
}

/* -- details -- */

static GtkWidget *
add_text (IrWhyView *self, const char *text, const char *css)
{
  GtkWidget *label = gtk_label_new (text);

  gtk_label_set_xalign (GTK_LABEL (label), 0);
  ir_label_wrap_names (GTK_LABEL (label));
  gtk_label_set_selectable (GTK_LABEL (label), TRUE);
  gtk_widget_set_can_focus (label, FALSE);
  if (css != NULL)
    gtk_widget_add_css_class (label, css);
  gtk_box_append (GTK_BOX (self->details), label);
  return label;
}

static void
add_pair (IrWhyView *self, const char *name, const char *text)
{
  g_autofree char *line = g_strdup_printf ("%s: %s", name, text);

  if (text != NULL)
    add_text (self, line, NULL);
}

static void
add_parts (IrWhyView *self, const IrWhy *why)
{
  IrModel *history = ir_session_get_history (session (self));

  if (why->parts->len > 0)
    add_text (self, "The pattern", "heading");
  for (guint i = 0; i < why->parts->len; i++)
    {
      const IrWhyPart *part = why->parts->pdata[i];
      const IrNode *node = part->node != 0 ? ir_model_node (history, part->node) : NULL;
      g_autofree char *label = node != NULL ? ir_node_label (node) : g_strdup ("not found");
      g_autofree char *line = g_strdup_printf ("%s  %s — %s", part->fits ? "✓" : "✗", part->needed,
                                               label);

      add_text (self, line, part->fits ? "success" : "error");
    }
}

static void
show_details (IrWhyView *self, const IrWhy *why)
{
  GtkWidget *child;
  const IrModel *history = ir_session_get_history (session (self));
  g_autofree char *text = why != NULL ? long_text (self, why) : NULL;
  const char *css;

  while ((child = gtk_widget_get_first_child (self->details)) != NULL)
    gtk_box_remove (GTK_BOX (self->details), child);
  if (why == NULL)
    {
      add_text (self,
                "Choose a rule to see on the graph what fits its pattern and what is missing.",
                "dim-label");
      return;
    }
  add_text (self, why->rule, "heading");
  add_pair (self, "Pass", why->pass);
  glyph_of (self, why, &css);
  add_text (self, text, css);
  if (why->answer == IR_WHY_FIRED)
    return;
  if (why->reason != NULL)
    add_text (self, why->reason, NULL);
  add_pair (self, "Found", why->found);
  add_pair (self, "Needed", why->needed);
  add_parts (self, why);
  if (why->removed_by != 0)
    {
      g_autofree char *note = g_strdup_printf ("Compared before step %u, %s, which took the node.",
                                               why->removed_by,
                                               ir_history_step (history, why->removed_by)->rule);
      add_text (self, note, "dim-label");
    }
}

/* -- the list -- */

static const IrWhy *
why_of_row (IrWhyView *self, GtkListBoxRow *row)
{
  const guint index = row != NULL ? GPOINTER_TO_UINT (g_object_get_data (G_OBJECT (row), "index"))
                                  : G_MAXUINT;

  return self->whys != NULL && self->whys == ir_session_get_whys (session (self)) &&
                 index < self->whys->len
             ? self->whys->pdata[index]
             : NULL;
}

static void
on_row (GtkListBox *list, GtkListBoxRow *row, IrWhyView *self)
{
  const IrWhy *why = why_of_row (self, row);

  if (self->filling)
    return;
  show_details (self, why);
  if (why != NULL)
    ir_session_show_why (session (self), why);
}

static GtkWidget *
make_label (const char *text, const char *css, float xalign)
{
  GtkWidget *label = gtk_label_new (text);

  gtk_label_set_xalign (GTK_LABEL (label), xalign);
  if (css != NULL)
    gtk_widget_add_css_class (label, css);
  return label;
}

static GtkWidget *
make_row (IrWhyView *self, const IrWhy *why, guint index)
{
  GtkWidget *row = gtk_list_box_row_new (), *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 8),
            *texts = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0), *title, *subtitle;
  const char *css, *glyph = glyph_of (self, why, &css);
  g_autofree char *text = short_text (self, why),
                  *parts = why->n_parts > 0
                               ? g_strdup_printf ("%u/%u", why->n_matched, why->n_parts)
                               : g_strdup (""),
                  *name = g_strdup_printf ("%s: %s", why->rule, text);

  title = make_label (why->rule, NULL, 0);
  subtitle = make_label (text, "step-place", 0);
  gtk_label_set_ellipsize (GTK_LABEL (title), PANGO_ELLIPSIZE_END);
  gtk_label_set_ellipsize (GTK_LABEL (subtitle), PANGO_ELLIPSIZE_END);
  ir_label_wrap_names (GTK_LABEL (subtitle));
  gtk_label_set_lines (GTK_LABEL (subtitle), 2);
  gtk_box_append (GTK_BOX (texts), title);
  gtk_box_append (GTK_BOX (texts), subtitle);
  gtk_widget_set_hexpand (texts, TRUE);
  gtk_box_append (GTK_BOX (box), make_label (glyph, css, 0.5f));
  gtk_box_append (GTK_BOX (box), texts);
  gtk_box_append (GTK_BOX (box), make_label (parts, "step-delta", 1));
  gtk_widget_set_tooltip_text (row, text);
  gtk_list_box_row_set_child (GTK_LIST_BOX_ROW (row), box);
  gtk_accessible_update_property (GTK_ACCESSIBLE (row), GTK_ACCESSIBLE_PROPERTY_LABEL, name, -1);
  g_object_set_data (G_OBJECT (row), "index", GUINT_TO_POINTER (index));
  g_object_set_data (G_OBJECT (row), "rule", (gpointer) why->rule);
  return row;
}

static gboolean
is_wanted (GtkListBoxRow *row, gpointer data)
{
  IrWhyView *self = data;
  const char *text = gtk_editable_get_text (GTK_EDITABLE (self->search));

  return text[0] == '\0' || strstr (g_object_get_data (G_OBJECT (row), "rule"), text) != NULL;
}

static void
focus_first (IrWhyView *self)
{
  GtkListBoxRow *row = NULL;

  for (int i = 0; (row = gtk_list_box_get_row_at_index (GTK_LIST_BOX (self->list), i)) != NULL; i++)
    if (gtk_widget_get_child_visible (GTK_WIDGET (row)))
      break;
  self->wants_focus = FALSE;
  gtk_widget_grab_focus (row != NULL ? GTK_WIDGET (row) : self->search);
}

static void
fill_list (IrWhyView *self)
{
  GtkWidget *child;

  self->filling = TRUE;
  while ((child = gtk_widget_get_first_child (self->list)) != NULL && GTK_IS_LIST_BOX_ROW (child))
    gtk_list_box_remove (GTK_LIST_BOX (self->list), child);
  self->whys = ir_session_get_whys (session (self));
  for (guint i = 0; self->whys != NULL && i < self->whys->len; i++)
    gtk_list_box_append (GTK_LIST_BOX (self->list), make_row (self, self->whys->pdata[i], i));
  self->filling = FALSE;
  show_details (self, NULL);
  if (self->wants_focus && self->whys != NULL)
    focus_first (self);
}

static void
show_heading (IrWhyView *self, const IrNode *node)
{
  g_autofree char *label = ir_node_label (node), *text = NULL;
  const GPtrArray *whys = self->whys;

  if (whys == NULL)
    text = g_strdup ("Comparing the rules…");
  else if (whys->len == 0)
    text = g_strdup_printf ("No rule starts at %s. Rules start at the last node of their pattern: "
                            "select one further down.",
                            node->op_type);
  else
    text = g_strdup_printf (
        "%u %s at %s%s%s", whys->len, whys->len == 1 ? "rule starts" : "rules start", node->op_type,
        whys->len > 1 ? ", the nearest to a match first" : "",
        no_pipeline_ran (self) ? ". No pipeline has run yet: this is what would happen" : "");
  gtk_label_set_text (GTK_LABEL (self->title), label);
  gtk_label_set_text (GTK_LABEL (self->subtitle), text);
}

static const IrNode *
node_to_ask (IrWhyView *self)
{
  const IrModel *history = ir_session_get_history (session (self));
  const IrNodeId id = ir_session_get_selected_node (session (self));

  return history != NULL && id != 0 && (id & IR_OTHER_SIDE) == 0 ? ir_model_node (history, id)
                                                                 : NULL;
}

static void
ir_why_view_session_changed (IrView *view, IrSessionChanges changes)
{
  IrWhyView *self = IR_WHY_VIEW (view);
  const IrNode *node = node_to_ask (self);

  if (!(changes & (IR_CHANGED_HISTORY | IR_CHANGED_FRAME | IR_CHANGED_SELECTION | IR_CHANGED_WHY)))
    return;
  if (changes & IR_CHANGED_HISTORY)
    self->whys = NULL;
  gtk_stack_set_visible_child_name (GTK_STACK (self->stack), node != NULL ? "rules" : "empty");
  if (node != NULL)
    ir_session_ask_why (session (self), node->id);
  if (node != NULL && (self->whys != ir_session_get_whys (session (self)) || self->whys == NULL))
    fill_list (self);
  if (node != NULL)
    show_heading (self, node);
  if (ir_session_get_shown_why (session (self)) == NULL &&
      why_of_row (self, gtk_list_box_get_selected_row (GTK_LIST_BOX (self->list))) != NULL &&
      changes & IR_CHANGED_WHY)
    {
      self->filling = TRUE; /* closed at the graph */
      gtk_list_box_unselect_all (GTK_LIST_BOX (self->list));
      self->filling = FALSE;
    }
}

static void
ir_why_view_focus_content (IrView *view)
{
  IrWhyView *self = IR_WHY_VIEW (view);

  self->wants_focus = ir_session_get_whys (session (self)) == NULL;
  if (!self->wants_focus)
    focus_first (self);
}

/* -- object -- */

static void
ir_why_view_class_init (IrWhyViewClass *klass)
{
  IR_VIEW_CLASS (klass)->session_changed = ir_why_view_session_changed;
  IR_VIEW_CLASS (klass)->focus_content = ir_why_view_focus_content;
}

static GtkWidget *
make_heading (IrWhyView *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 2);

  self->title = make_label (NULL, "heading", 0);
  self->subtitle = make_label (NULL, "dim-label", 0);
  for (GtkWidget **label = (GtkWidget *[]){ self->title, self->subtitle, NULL }; *label != NULL;
       label++)
    {
      ir_label_wrap_names (GTK_LABEL (*label));
      gtk_box_append (GTK_BOX (box), *label);
    }
  gtk_widget_add_css_class (self->subtitle, "caption");
  gtk_widget_add_css_class (box, "list-heading");
  return box;
}

static GtkWidget *
make_list (IrWhyView *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);

  self->search = gtk_search_entry_new ();
  g_object_set (self->search, "placeholder-text", "Filter by rule", NULL);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->search), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  "Filter rules", -1);
  gtk_widget_add_css_class (self->search, "steps-search");
  self->list = gtk_list_box_new ();
  gtk_list_box_set_filter_func (GTK_LIST_BOX (self->list), is_wanted, self, NULL);
  gtk_widget_add_css_class (self->list, "navigation-sidebar");
  gtk_widget_add_css_class (self->list, "steps");
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->list), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  "Rules at this node", -1);
  g_signal_connect (self->list, "row-selected", G_CALLBACK (on_row), self);
  g_signal_connect_swapped (self->search, "search-changed",
                            G_CALLBACK (gtk_list_box_invalidate_filter), self->list);
  g_signal_connect_swapped (self->search, "activate", G_CALLBACK (focus_first), self);
  gtk_box_append (GTK_BOX (box), make_heading (self));
  gtk_box_append (GTK_BOX (box), self->search);
  gtk_box_append (GTK_BOX (box), ir_view_scrolled (self->list));
  return box;
}

static void
ir_why_view_init (IrWhyView *self)
{
  GtkWidget *paned = gtk_paned_new (GTK_ORIENTATION_VERTICAL);

  self->details = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6);
  gtk_widget_add_css_class (self->details, "step-details");
  gtk_paned_set_start_child (GTK_PANED (paned), make_list (self));
  gtk_paned_set_end_child (GTK_PANED (paned), ir_view_scrolled (self->details));
  gtk_paned_set_shrink_start_child (GTK_PANED (paned), FALSE);
  gtk_paned_set_shrink_end_child (GTK_PANED (paned), FALSE);
  gtk_paned_set_position (GTK_PANED (paned), 380);
  self->stack = gtk_stack_new ();
  gtk_stack_add_named (
      GTK_STACK (self->stack),
      ir_view_empty_page ("dialog-question-symbolic", "No Node Selected",
                          "Select a node to see the rules that start there, and what keeps each "
                          "from firing.",
                          NULL, NULL),
      "empty");
  gtk_stack_add_named (GTK_STACK (self->stack), paned, "rules");
  adw_bin_set_child (ADW_BIN (self), self->stack);
}

const IrViewInfo ir_view_why = {
  .id = "why",
  .title = "Why Not",
  .icon_name = "dialog-question-symbolic",
  .doc = "What keeps rules from firing at the selected node.",
  .help = "Rules that could start at the selected node, the nearest to fitting first: what "
          "fits, and where each stops to fit. “Show” draws the pattern on the graph.",
  .place = IR_VIEW_END,
  .get_type = ir_why_view_get_type,
};
