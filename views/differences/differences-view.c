/* The differences of what is on screen: two steps, two results or two files. The same change in
 * many places is one row; choosing it selects them all in the graph and lists them below. What the
 * two graphs compute is compared on request, beside it (values.c). */
#include "config.h"

#include "core/ir/count.h"
#include "views/differences/values.h"
#include "views/jobs.h"
#include "views/session/file.h"
#include "views/session/frame.h"
#include "views/session/selection.h"
#include "views/session/values.h"
#include "views/view.h"

#define MAX_ROWS  400
#define MAX_LINES 4 /* of one change */

struct _IrDifferencesView
{
  IrView parent;
  GtkWidget *stack, *title, *swap, *summary, *list, *members, *members_title;
  GtkWidget *pages, *switcher, *values;
  IrFrame *frame;    /* (nullable) that the groups are of */
  GPtrArray *groups; /* (nullable) of IrDiffGroup */
  IrJob *job;        /* (nullable) */
  gboolean filling;
};

#define IR_TYPE_DIFFERENCES_VIEW (ir_differences_view_get_type ())
G_DECLARE_FINAL_TYPE (IrDifferencesView, ir_differences_view, IR, DIFFERENCES_VIEW, IrView)
G_DEFINE_FINAL_TYPE (IrDifferencesView, ir_differences_view, IR_TYPE_VIEW)

static IrSession *
session (IrDifferencesView *self)
{
  return ir_view_get_session (IR_VIEW (self));
}

/* -- what is in a group -- */

static const struct
{
  const char *glyph, *css;
} kinds[IR_N_DIFF_KINDS] = {
  [IR_DIFF_SAME] = { "", "" },
  [IR_DIFF_ADDED] = { "+", "new" },
  [IR_DIFF_REMOVED] = { "−", "removed" },
  [IR_DIFF_CHANGED] = { "~", "changed" },
};

static const IrNodeDiff *
node_row (IrDifferencesView *self, const IrDiffGroup *group, guint place)
{
  return &g_array_index (self->frame->diff->nodes, IrNodeDiff,
                         g_array_index (group->items, guint, place));
}

static const IrValueDiff *
value_row (IrDifferencesView *self, const IrDiffGroup *group, guint place)
{
  return &g_array_index (self->frame->diff->values, IrValueDiff,
                         g_array_index (group->items, guint, place));
}

static guint
id_of (IrDifferencesView *self, guint a, guint b)
{
  return b != 0 ? b : self->frame->foreign ? a | IR_OTHER_SIDE : a;
}

static IrValueId
value_of (IrDifferencesView *self, const IrDiffGroup *group, guint place)
{
  const IrValueDiff *row = group->of_values ? value_row (self, group, place) : NULL;

  return row != NULL ? id_of (self, row->a, row->b) : 0;
}

/* The node of the place: itself, or who makes the value. */
static IrNodeId
node_of (IrDifferencesView *self, const IrDiffGroup *group, guint place)
{
  const IrNodeDiff *row = group->of_values ? NULL : node_row (self, group, place);
  const IrValueId id = value_of (self, group, place);
  const IrValue *value;

  if (row != NULL)
    return id_of (self, row->a, row->b);
  value = ir_frame_value (self->frame, id);
  return value != NULL && value->producer != NULL ? value->producer->id | (id & IR_OTHER_SIDE) : 0;
}

/* Adds the nodes that take @value, or, where those are written in their users, these. */
static void
add_users (IrDifferencesView *self, const IrValue *value, guint side, guint depth, GtkBitset *nodes)
{
  for (guint i = 0; i < value->n_uses; i++)
    {
      const IrNode *user = ir_value_use (value, i).node;

      if (user == NULL)
        continue;
      if (ir_frame_find_box (self->frame, user->id | side) >= 0 || depth == 0)
        gtk_bitset_add (nodes, user->id | side);
      else
        for (guint k = 0; k < user->n_outputs; k++)
          if (user->outputs[k] != NULL)
            add_users (self, user->outputs[k], side, depth - 1, nodes);
    }
}

#define MAX_DEPTH 3 /* of constants that are made of constants */

/* Adds what the graph shows of a place: constants are drawn as rows of the nodes that take them. */
static void
add_shown (IrDifferencesView *self, const IrDiffGroup *group, guint place, GtkBitset *nodes)
{
  const IrNodeId id = node_of (self, group, place);
  const IrValueId value = value_of (self, group, place);
  const IrNode *node = ir_frame_node (self->frame, id);
  const guint64 before = gtk_bitset_get_size (nodes);

  if (id != 0 && ir_frame_find_box (self->frame, id) >= 0)
    {
      gtk_bitset_add (nodes, id);
      return;
    }
  for (guint i = 0; node != NULL && i < node->n_outputs; i++)
    if (node->outputs[i] != NULL)
      add_users (self, node->outputs[i], id & IR_OTHER_SIDE, MAX_DEPTH, nodes);
  if (node == NULL && ir_frame_value (self->frame, value) != NULL)
    add_users (self, ir_frame_value (self->frame, value), value & IR_OTHER_SIDE, MAX_DEPTH, nodes);
  if (id != 0 && gtk_bitset_get_size (nodes) == before)
    gtk_bitset_add (nodes, id);
}

static char *
name_of (IrDifferencesView *self, const IrDiffGroup *group, guint place)
{
  const IrValue *value = ir_frame_value (self->frame, value_of (self, group, place));
  const IrNode *node = ir_frame_node (self->frame, node_of (self, group, place));

  if (group->of_values)
    return g_strdup (value != NULL ? value->name : "?");
  return node != NULL ? ir_node_label (node) : g_strdup ("?");
}

static char *
changes_text (const IrDiffGroup *group)
{
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i < MIN (group->changes->len, MAX_LINES); i++)
    g_string_append_printf (text, "%s%s", i > 0 ? "\n" : "",
                            (const char *) group->changes->pdata[i]);
  if (group->changes->len > MAX_LINES)
    g_string_append_printf (text, "\nand %u more", group->changes->len - MAX_LINES);
  return g_string_free (g_steal_pointer (&text), FALSE);
}

/* -- choosing -- */

/* The value of a Constant, which no box of its own shows; 0 of other nodes. */
static IrValueId
constant_of (IrDifferencesView *self, const IrDiffGroup *group, guint place)
{
  const IrNodeId id = node_of (self, group, place);
  const IrNode *node = ir_frame_node (self->frame, id);
  const IrValue *value = node != NULL ? ir_node_output (node, 0) : NULL;

  return value != NULL && ir_value_constant (value) != NULL ? value->id | (id & IR_OTHER_SIDE) : 0;
}

static void
select_group (IrDifferencesView *self, const IrDiffGroup *group)
{
  g_autoptr (GtkBitset) nodes = gtk_bitset_new_empty ();

  for (guint i = 0; i < group->items->len; i++)
    add_shown (self, group, i, nodes);
  ir_session_select_value (session (self), 0);
  ir_session_set_selection (session (self), nodes);
  if (group->items->len == 1)
    ir_session_select_value (session (self), group->of_values ? value_of (self, group, 0)
                                                              : constant_of (self, group, 0));
}

static const IrDiffGroup *
group_of_row (IrDifferencesView *self, GtkListBoxRow *row)
{
  const guint index = row != NULL ? GPOINTER_TO_UINT (g_object_get_data (G_OBJECT (row), "index"))
                                  : G_MAXUINT;

  return self->groups != NULL && index < self->groups->len ? self->groups->pdata[index] : NULL;
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

static void
clear_list (GtkWidget *list)
{
  GtkWidget *child;

  while ((child = gtk_widget_get_first_child (list)) != NULL && GTK_IS_LIST_BOX_ROW (child))
    gtk_list_box_remove (GTK_LIST_BOX (list), child);
}

static void
show_members (IrDifferencesView *self, const IrDiffGroup *group)
{
  g_autofree char *title = NULL, *count = ir_count_text (group != NULL ? group->items->len : 0);

  self->filling = TRUE;
  clear_list (self->members);
  if (group == NULL)
    title = g_strdup ("Choose a difference to select it in the graph.");
  else
    title = group->items->len == 1 ? g_strdup ("In one place")
                                   : g_strdup_printf ("The same change in %s places", count);
  gtk_label_set_text (GTK_LABEL (self->members_title), title);
  gtk_widget_set_css_classes (
      self->members_title,
      (const char *[]){ "list-heading", group != NULL ? "heading" : "dim-label", NULL });
  for (guint i = 0; group != NULL && i < MIN (group->items->len, MAX_ROWS); i++)
    {
      g_autofree char *name = name_of (self, group, i);
      GtkWidget *label = make_label (name, NULL, 0);

      gtk_label_set_ellipsize (GTK_LABEL (label), PANGO_ELLIPSIZE_MIDDLE);
      gtk_widget_set_tooltip_text (label, name);
      gtk_list_box_append (GTK_LIST_BOX (self->members), label);
      g_object_set_data (G_OBJECT (gtk_widget_get_parent (label)), "index", GUINT_TO_POINTER (i));
    }
  self->filling = FALSE;
}

static void
on_group (GtkListBox *list, GtkListBoxRow *row, IrDifferencesView *self)
{
  const IrDiffGroup *group = group_of_row (self, row);

  if (self->filling || group == NULL)
    return;
  show_members (self, group);
  select_group (self, group);
}

static void
on_member (GtkListBox *list, GtkListBoxRow *row, IrDifferencesView *self)
{
  const IrDiffGroup *group = group_of_row (
      self, gtk_list_box_get_selected_row (GTK_LIST_BOX (self->list)));
  const guint place = row != NULL ? GPOINTER_TO_UINT (g_object_get_data (G_OBJECT (row), "index"))
                                  : 0;

  g_autoptr (GtkBitset) nodes = gtk_bitset_new_empty ();

  if (self->filling || group == NULL || row == NULL || place >= group->items->len)
    return;
  add_shown (self, group, place, nodes);
  if (gtk_bitset_get_size (nodes) == 1)
    ir_session_select_node (session (self), gtk_bitset_get_nth (nodes, 0));
  else
    ir_session_set_selection (session (self), nodes);
  ir_session_select_value (session (self), group->of_values ? value_of (self, group, place)
                                                            : constant_of (self, group, place));
}

/* -- the list -- */

static GtkWidget *
make_row (IrDifferencesView *self, const IrDiffGroup *group, guint index)
{
  GtkWidget *row = gtk_list_box_row_new (), *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 8),
            *texts = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0), *badge, *title, *subtitle;
  g_autofree char *changes = changes_text (group), *first = name_of (self, group, 0),
                  *count = ir_count_text (group->items->len), *name = NULL;
  const char *what = group->op != NULL ? group->op : group->of_values ? "Values" : "Operator";

  badge = make_label (kinds[group->kind].glyph, "state-badge", 0.5f);
  gtk_widget_add_css_class (badge, kinds[group->kind].css);
  gtk_widget_set_valign (badge, GTK_ALIGN_CENTER);
  title = make_label (group->items->len == 1 ? first : what, NULL, 0);
  subtitle = make_label (changes, "step-place", 0);
  gtk_label_set_ellipsize (GTK_LABEL (title), PANGO_ELLIPSIZE_MIDDLE);
  gtk_label_set_ellipsize (GTK_LABEL (subtitle), PANGO_ELLIPSIZE_END);
  gtk_widget_set_visible (subtitle, changes[0] != '\0');
  gtk_box_append (GTK_BOX (texts), title);
  gtk_box_append (GTK_BOX (texts), subtitle);
  gtk_widget_set_hexpand (texts, TRUE);
  gtk_widget_set_valign (texts, GTK_ALIGN_CENTER);
  gtk_box_append (GTK_BOX (box), badge);
  gtk_box_append (GTK_BOX (box), texts);
  if (group->items->len > 1)
    gtk_box_append (GTK_BOX (box), make_label (count, "step-delta", 1));
  name = g_strdup_printf ("%s %s, %s", ir_diff_kind_name (group->kind), what, count);
  gtk_accessible_update_property (GTK_ACCESSIBLE (row), GTK_ACCESSIBLE_PROPERTY_LABEL, name, -1);
  gtk_widget_set_tooltip_text (row, changes[0] != '\0' ? changes : NULL);
  gtk_list_box_row_set_child (GTK_LIST_BOX_ROW (row), box);
  g_object_set_data (G_OBJECT (row), "index", GUINT_TO_POINTER (index));
  return row;
}

/* "3 new, 20 removed; 9 are the same" */
static char *
counts_text (const guint *n, guint n_renamed, gboolean is_cut)
{
  g_autoptr (GString) text = g_string_new (NULL);
  const struct
  {
    IrDiffKind kind;
    const char *word;
  } parts[] = { { IR_DIFF_ADDED, "new" },
                { IR_DIFF_REMOVED, "removed" },
                { IR_DIFF_CHANGED, "changed" },
                { IR_DIFF_SAME, "the same" } };

  for (guint i = 0; i < G_N_ELEMENTS (parts); i++)
    if (n[parts[i].kind] > 0)
      {
        g_autofree char *count = ir_count_text (n[parts[i].kind]);

        g_string_append_printf (
            text, "%s%s %s", text->len > 0 ? ", " : "Nodes and constants: ", count, parts[i].word);
      }
  g_autofree char *renamed = ir_count_text (n_renamed);
  if (n_renamed > 0)
    g_string_append_printf (text, "; %s of the changed only in names", renamed);
  if (is_cut)
    g_string_append (text, "; the largest groups are listed");
  return g_string_free (g_steal_pointer (&text), FALSE);
}

static void
show_summary (IrDifferencesView *self)
{
  const IrFrame *frame = self->frame;
  g_autofree char *other = ir_session_other_title (session (self)), *title = NULL, *text = NULL;
  const gboolean is_file = ir_session_get_compare (session (self)) == IR_COMPARE_FILE;

  if (frame->foreign && is_file)
    title = g_strdup_printf ("%s → %s", other, ir_session_get_title (session (self)));
  else if (frame->foreign)
    title = g_strdup ("The other result → this one");
  else if (frame->from == frame->to)
    title = g_strdup ("Nothing is compared");
  else
    title = frame->from == 0 ? g_strdup_printf ("Original → step %u", frame->to)
                             : g_strdup_printf ("Step %u → step %u", frame->from, frame->to);
  text = counts_text (frame->diff->n_nodes, ir_diff_n_renamed (frame->diff),
                      self->groups->len > MAX_ROWS);
  gtk_label_set_text (GTK_LABEL (self->title), title);
  gtk_widget_set_tooltip_text (self->title, title);
  gtk_label_set_text (GTK_LABEL (self->summary), text);
  gtk_widget_set_visible (self->swap, frame->foreign && is_file);
  gtk_widget_set_visible (self->switcher, ir_session_can_compare_values (session (self)));
}

static void
fill_list (IrDifferencesView *self)
{
  self->filling = TRUE;
  clear_list (self->list);
  for (guint part = 0; part < 4; part++) /* nodes say more than values, names say least */
    for (guint i = 0; i < MIN (self->groups->len, MAX_ROWS); i++)
      {
        const IrDiffGroup *group = self->groups->pdata[i];
        if (part == (guint) group->of_values +
                        2 * (guint) ir_diff_group_is_renamed (self->frame->diff, group))
          gtk_list_box_append (GTK_LIST_BOX (self->list), make_row (self, group, i));
      }
  self->filling = FALSE;
  show_members (self, NULL);
  show_summary (self);
  gtk_stack_set_visible_child_name (GTK_STACK (self->stack),
                                    self->groups->len > 0 ? "groups" : "same");
}

/* -- making the groups -- */

static gpointer
run_groups (IrJob *job, gpointer data, GCancellable *cancellable, GError **error)
{
  return ir_diff_groups (((const IrFrame *) data)->diff);
}

static void load (IrDifferencesView *self);

static void
on_groups (gpointer owner, gpointer result, const GError *error, gpointer data)
{
  IrDifferencesView *self = IR_DIFFERENCES_VIEW (owner);
  g_autoptr (GPtrArray) groups = result;

  g_clear_pointer (&self->job, ir_job_unref);
  if (groups != NULL && data == ir_session_get_frame (session (self)))
    {
      g_clear_pointer (&self->groups, g_ptr_array_unref);
      g_clear_pointer (&self->frame, ir_frame_unref);
      self->groups = g_steal_pointer (&groups);
      self->frame = ir_frame_ref (data);
      fill_list (self);
    }
  load (self);
}

static void
load (IrDifferencesView *self)
{
  IrFrame *frame = ir_session_get_frame (session (self));

  if (frame == NULL)
    {
      gtk_stack_set_visible_child_name (GTK_STACK (self->stack), "closed");
      gtk_widget_set_visible (self->switcher, FALSE);
    }
  if (!ir_session_can_compare_values (session (self)))
    gtk_stack_set_visible_child_name (GTK_STACK (self->pages), "structure");
  if (frame == NULL || frame == self->frame || self->job != NULL)
    return;
  self->job = ir_job_start (self, &(IrJobSpec){ .run = run_groups,
                                                .data = ir_frame_ref (frame),
                                                .data_free = (GDestroyNotify) ir_frame_unref,
                                                .result_free = (GDestroyNotify) g_ptr_array_unref,
                                                .done = on_groups });
}

static void
ir_differences_view_session_changed (IrView *view, IrSessionChanges changes)
{
  if (changes & (IR_CHANGED_FRAME | IR_CHANGED_HISTORY))
    load (IR_DIFFERENCES_VIEW (view));
  if (changes & (IR_CHANGED_FRAME | IR_CHANGED_HISTORY | IR_CHANGED_VALUES | IR_CHANGED_BUSY))
    ir_values_page_update (IR_VALUES_PAGE (IR_DIFFERENCES_VIEW (view)->values));
  if (changes & IR_CHANGED_SELECTION)
    ir_values_page_follow (IR_VALUES_PAGE (IR_DIFFERENCES_VIEW (view)->values));
}

static void
ir_differences_view_focus_content (IrView *view)
{
  IrDifferencesView *self = IR_DIFFERENCES_VIEW (view);
  GtkListBoxRow *row = gtk_list_box_get_row_at_index (GTK_LIST_BOX (self->list), 0);

  if (row != NULL)
    gtk_widget_grab_focus (GTK_WIDGET (row));
}

/* -- object -- */

static void
ir_differences_view_dispose (GObject *object)
{
  IrDifferencesView *self = IR_DIFFERENCES_VIEW (object);

  if (self->job != NULL)
    ir_job_cancel (self->job);
  g_clear_pointer (&self->job, ir_job_unref);
  g_clear_pointer (&self->groups, g_ptr_array_unref);
  g_clear_pointer (&self->frame, ir_frame_unref);
  G_OBJECT_CLASS (ir_differences_view_parent_class)->dispose (object);
}

static GtkWidget *
make_list_box (const char *name)
{
  GtkWidget *list = gtk_list_box_new ();

  gtk_widget_add_css_class (list, "navigation-sidebar");
  gtk_widget_add_css_class (list, "steps");
  gtk_accessible_update_property (GTK_ACCESSIBLE (list), GTK_ACCESSIBLE_PROPERTY_LABEL, name, -1);
  return list;
}

static GtkWidget *
make_heading (IrDifferencesView *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 2),
            *line = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6);

  self->title = make_label (NULL, "heading", 0);
  gtk_label_set_ellipsize (GTK_LABEL (self->title), PANGO_ELLIPSIZE_MIDDLE);
  gtk_widget_set_hexpand (self->title, TRUE);
  self->swap = gtk_button_new_from_icon_name ("object-flip-horizontal-symbolic");
  gtk_widget_set_tooltip_text (self->swap, "Swap the files: open the other one");
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->swap), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  "Swap files", -1);
  gtk_widget_add_css_class (self->swap, "flat");
  gtk_actionable_set_action_name (GTK_ACTIONABLE (self->swap), "win.swap-files");
  self->summary = make_label (NULL, "caption", 0);
  gtk_widget_add_css_class (self->summary, "dim-label");
  gtk_label_set_wrap (GTK_LABEL (self->summary), TRUE);
  gtk_box_append (GTK_BOX (line), self->title);
  gtk_box_append (GTK_BOX (line), self->swap);
  self->switcher = gtk_stack_switcher_new ();
  gtk_stack_switcher_set_stack (GTK_STACK_SWITCHER (self->switcher), GTK_STACK (self->pages));
  gtk_widget_set_margin_top (self->switcher, 6);
  gtk_widget_set_margin_bottom (self->switcher, 2);
  gtk_box_append (GTK_BOX (box), line);
  gtk_box_append (GTK_BOX (box), self->summary);
  gtk_box_append (GTK_BOX (box), self->switcher);
  gtk_widget_add_css_class (box, "list-heading");
  return box;
}

static GtkWidget *
make_groups (IrDifferencesView *self)
{
  GtkWidget *paned = gtk_paned_new (GTK_ORIENTATION_VERTICAL),
            *below = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);

  self->list = make_list_box ("Differences");
  self->members = make_list_box ("Places of the difference");
  self->members_title = make_label (NULL, "heading", 0);
  gtk_label_set_wrap (GTK_LABEL (self->members_title), TRUE);
  gtk_widget_add_css_class (self->members_title, "list-heading");
  g_signal_connect (self->list, "row-selected", G_CALLBACK (on_group), self);
  g_signal_connect (self->members, "row-selected", G_CALLBACK (on_member), self);
  gtk_box_append (GTK_BOX (below), self->members_title);
  gtk_box_append (GTK_BOX (below), ir_view_scrolled (self->members));
  gtk_paned_set_start_child (GTK_PANED (paned), ir_view_scrolled (self->list));
  gtk_paned_set_end_child (GTK_PANED (paned), below);
  gtk_paned_set_shrink_start_child (GTK_PANED (paned), FALSE);
  gtk_paned_set_shrink_end_child (GTK_PANED (paned), FALSE);
  gtk_paned_set_position (GTK_PANED (paned), 340);
  return paned;
}

static void
ir_differences_view_constructed (GObject *object)
{
  IrDifferencesView *self = IR_DIFFERENCES_VIEW (object);
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0), *content = gtk_stack_new ();

  G_OBJECT_CLASS (ir_differences_view_parent_class)->constructed (object);
  self->stack = content;
  gtk_stack_add_named (GTK_STACK (content),
                       ir_view_empty_page ("document-open-symbolic", "No Graph",
                                           "Open a graph, or drop two files to compare them.",
                                           "win.open", "Open…"),
                       "closed");
  gtk_stack_add_named (GTK_STACK (content),
                       ir_view_empty_page ("emblem-ok-symbolic", "No Differences",
                                           "Choose above the graph what it is compared with, or "
                                           "compare it with another file.",
                                           "win.compare", "Compare…"),
                       "same");
  gtk_stack_add_named (GTK_STACK (content), make_groups (self), "groups");
  self->pages = gtk_stack_new ();
  self->values = ir_values_page_new (session (self));
  gtk_stack_add_titled (GTK_STACK (self->pages), content, "structure", "Structure");
  gtk_stack_add_titled (GTK_STACK (self->pages), self->values, "values", "Values");
  gtk_widget_set_vexpand (self->pages, TRUE);
  gtk_box_append (GTK_BOX (box), make_heading (self));
  gtk_box_append (GTK_BOX (box), self->pages);
  adw_bin_set_child (ADW_BIN (self), box);
}

static void
ir_differences_view_class_init (IrDifferencesViewClass *klass)
{
  G_OBJECT_CLASS (klass)->constructed = ir_differences_view_constructed;
  G_OBJECT_CLASS (klass)->dispose = ir_differences_view_dispose;
  IR_VIEW_CLASS (klass)->session_changed = ir_differences_view_session_changed;
  IR_VIEW_CLASS (klass)->focus_content = ir_differences_view_focus_content;
}

static void
ir_differences_view_init (IrDifferencesView *self)
{
}

const IrViewInfo ir_view_differences = {
  .id = "differences",
  .title = "Differences",
  .icon_name = "object-flip-horizontal-symbolic",
  .doc = "What differs between the two sides on screen, the same changes together.",
  .help = "Structure: each line is a kind of change, with how often it occurs; a click "
          "goes there. Values: both graphs run on the same inputs; the first value that "
          "differs is named; the list is of those that differ, or of all, in the order "
          "that you choose, and can be saved as a table. A click selects who makes the value "
          "on both sides.",
  .place = IR_VIEW_START,
  .get_type = ir_differences_view_get_type,
};
