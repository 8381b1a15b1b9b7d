/* The palette of operators. */
#include "config.h"

#include "views/graph/palette.h"

#include "core/act/act.h"
#include "core/op/op.h"
#include "views/view.h"

#include <string.h>

#define WIDTH        400
#define HEIGHT       340
#define LEAST_HEIGHT 120
#define PADDING      24 /* of a popover, above and below together */

struct _IrOpPalette
{
  GtkWidget *parent, *popover, *title, *entry, *scrolled, *list, *hint;
  IrOpPaletteChosen chosen;
  gpointer data;
  guint8 *fits; /* by operator: whether it takes the value */
  gboolean has_value;
};

static IrOpId
op_of_row (GtkListBoxRow *row)
{
  return GPOINTER_TO_UINT (g_object_get_data (G_OBJECT (row), "op"));
}

/* The first word that is typed: the operator, or its beginning. (transfer full) */
static char *
typed_name (IrOpPalette *self)
{
  const char *text = gtk_editable_get_text (GTK_EDITABLE (self->entry));

  text += strspn (text, " ");
  return g_strndup (text, strcspn (text, " "));
}

static gboolean
contains (const char *text, const char *part)
{
  const gsize length = strlen (part);

  for (; *text != '\0'; text++)
    if (g_ascii_strncasecmp (text, part, length) == 0)
      return TRUE;
  return FALSE;
}

static gboolean
is_standard (const IrOp *op)
{
  return op->domain == NULL || op->domain[0] == '\0';
}

/* (transfer full): with the domain, but for ai.onnx */
static char *
full_name (const IrOp *op)
{
  return is_standard (op) ? g_strdup (op->name) : g_strdup_printf ("%s.%s", op->domain, op->name);
}

/* 0: it is what is typed; the larger the less alike; G_MAXUINT: not at all */
static guint
unlikeness (const IrOp *op, const char *typed)
{
  const gsize length = strlen (typed);

  if (g_ascii_strcasecmp (op->name, typed) == 0)
    return 0;
  if (g_ascii_strncasecmp (op->name, typed, length) == 0)
    return 1;
  if (contains (op->name, typed))
    return 2;
  return length > 2 && contains (op->doc, typed) ? 3 : G_MAXUINT;
}

static gboolean
filter_row (GtkListBoxRow *row, gpointer data)
{
  IrOpPalette *self = data;
  const IrOp *op = ir_op_by_id (op_of_row (row));
  g_autofree char *typed = typed_name (self);
  const guint unlike = unlikeness (op, typed);

  return unlike != G_MAXUINT && (!self->has_value || self->fits[op->id] || unlike == 0);
}

/* Those of ONNX itself first. */
static int
sort_rows (GtkListBoxRow *a, GtkListBoxRow *b, gpointer data)
{
  const IrOp *first = ir_op_by_id (op_of_row (a)), *second = ir_op_by_id (op_of_row (b));
  g_autofree char *typed = typed_name (data);

  if (typed[0] != '\0')
    {
      const guint left = unlikeness (first, typed), right = unlikeness (second, typed);

      if (left != right)
        return left < right ? -1 : 1;
    }
  else if (first->family != second->family)
    return (int) first->family - (int) second->family;
  if (is_standard (first) != is_standard (second))
    return is_standard (first) ? -1 : 1;
  return strcmp (first->name, second->name);
}

/* Families, while nothing is typed. */
static void
add_header (GtkListBoxRow *row, GtkListBoxRow *before, gpointer data)
{
  const IrOp *op = ir_op_by_id (op_of_row (row));
  g_autofree char *typed = typed_name (data);
  GtkWidget *label = NULL;

  if (typed[0] == '\0' &&
      (before == NULL || ir_op_by_id (op_of_row (before))->family != op->family))
    {
      label = gtk_label_new (ir_op_family_doc (op->family));
      gtk_label_set_xalign (GTK_LABEL (label), 0);
      gtk_widget_add_css_class (label, "caption-heading");
      gtk_widget_add_css_class (label, "dim-label");
      gtk_widget_set_margin_start (label, 10);
      gtk_widget_set_margin_top (label, 8);
    }
  gtk_list_box_row_set_header (row, label);
}

static GtkListBoxRow *
first_shown (IrOpPalette *self)
{
  GtkListBoxRow *row;

  for (int i = 0; (row = gtk_list_box_get_row_at_index (GTK_LIST_BOX (self->list), i)) != NULL; i++)
    if (gtk_widget_get_child_visible (GTK_WIDGET (row)))
      return row;
  return NULL;
}

/* Two lines under the list; all of what is wrong. */
static void
set_hint (IrOpPalette *self, const char *text, gboolean is_wrong)
{
  gtk_widget_remove_css_class (self->hint, is_wrong ? "dim-label" : "error");
  gtk_widget_add_css_class (self->hint, is_wrong ? "error" : "dim-label");
  gtk_label_set_lines (GTK_LABEL (self->hint), is_wrong ? -1 : 2);
  gtk_label_set_ellipsize (GTK_LABEL (self->hint),
                           is_wrong ? PANGO_ELLIPSIZE_NONE : PANGO_ELLIPSIZE_END);
  gtk_label_set_text (GTK_LABEL (self->hint), text);
}

/* Under the list: what the chosen one takes. */
static void
on_row_selected (IrOpPalette *self, GtkListBoxRow *row)
{
  const IrOp *op = row != NULL ? ir_op_by_id (op_of_row (row)) : NULL;
  g_autofree char *text = op != NULL
                              ? g_strdup_printf ("%s (%s): %s", op->name,
                                                 op->in_names != NULL ? op->in_names : "", op->doc)
                              : NULL;

  set_hint (self, text != NULL ? text : "No operator of that name takes the value", FALSE);
}

static void
on_typed (IrOpPalette *self)
{
  GtkListBoxRow *row;

  gtk_list_box_invalidate_filter (GTK_LIST_BOX (self->list));
  gtk_list_box_invalidate_sort (GTK_LIST_BOX (self->list));
  gtk_list_box_invalidate_headers (GTK_LIST_BOX (self->list));
  row = first_shown (self);
  gtk_list_box_select_row (GTK_LIST_BOX (self->list), row);
  if (row == NULL)
    on_row_selected (self, NULL);
}

/* The operator of the row, with the other words that were typed. */
static void
choose (IrOpPalette *self, GtkListBoxRow *row)
{
  g_auto (GStrv) typed = NULL;
  g_autoptr (GPtrArray) words = g_ptr_array_new_with_free_func (g_free);
  const char *text = gtk_editable_get_text (GTK_EDITABLE (self->entry));

  if (!g_shell_parse_argv (text, NULL, &typed, NULL))
    typed = g_strsplit (text, " ", -1);
  if (row != NULL)
    {
      const IrOp *op = ir_op_by_id (op_of_row (row));

      g_ptr_array_add (words, full_name (op));
    }
  else if (typed != NULL && typed[0] != NULL && typed[0][0] != '\0')
    g_ptr_array_add (words, g_strdup (typed[0])); /* perhaps a function of the model */
  else
    return;
  for (guint i = 1; typed != NULL && typed[0] != NULL && typed[i] != NULL; i++)
    g_ptr_array_add (words, g_strdup (typed[i]));
  g_ptr_array_add (words, NULL);
  gtk_popover_popdown (GTK_POPOVER (self->popover));
  self->chosen ((const char *const *) words->pdata, self->data);
}

static void
on_entry_activated (IrOpPalette *self)
{
  choose (self, gtk_list_box_get_selected_row (GTK_LIST_BOX (self->list)));
}

static void
on_row_activated (IrOpPalette *self, GtkListBoxRow *row)
{
  choose (self, row);
}

/* Up and down choose in the list while the entry has the focus. */
static gboolean
on_key (
    GtkEventControllerKey *keys, guint keyval, guint code, GdkModifierType state, IrOpPalette *self)
{
  GtkListBoxRow *row = gtk_list_box_get_selected_row (GTK_LIST_BOX (self->list));
  const int by = keyval == GDK_KEY_Down ? 1 : keyval == GDK_KEY_Up ? -1 : 0;
  int index = row != NULL ? gtk_list_box_row_get_index (row) : -1;

  if (keyval == GDK_KEY_Escape)
    {
      gtk_popover_popdown (GTK_POPOVER (self->popover));
      return GDK_EVENT_STOP;
    }
  if (by == 0)
    return GDK_EVENT_PROPAGATE;
  do
    row = gtk_list_box_get_row_at_index (GTK_LIST_BOX (self->list), index += by);
  while (row != NULL && !gtk_widget_get_child_visible (GTK_WIDGET (row)));
  if (row != NULL)
    {
      GtkAllocation at;
      GtkAdjustment *adjustment = gtk_list_box_get_adjustment (GTK_LIST_BOX (self->list));

      gtk_list_box_select_row (GTK_LIST_BOX (self->list), row);
      gtk_widget_get_allocation (GTK_WIDGET (row), &at);
      if (adjustment != NULL)
        gtk_adjustment_clamp_page (adjustment, at.y, at.y + at.height);
    }
  return GDK_EVENT_STOP;
}

/* Keys go on where they went before. */
static void
on_closed (IrOpPalette *self)
{
  ir_view_focus_content (IR_VIEW (self->parent));
}

/* -- building -- */

static GtkWidget *
make_row (const IrOp *op)
{
  GtkWidget *row = gtk_list_box_row_new (), *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 10);
  g_autofree char *full = full_name (op); /* three domains have an Attention */
  GtkWidget *name = gtk_label_new (full), *doc = gtk_label_new (op->doc);

  gtk_label_set_xalign (GTK_LABEL (name), 0);
  gtk_label_set_xalign (GTK_LABEL (doc), 0);
  gtk_label_set_ellipsize (GTK_LABEL (doc), PANGO_ELLIPSIZE_END);
  gtk_widget_set_hexpand (doc, TRUE);
  gtk_widget_add_css_class (doc, "dim-label");
  gtk_widget_add_css_class (doc, "caption");
  gtk_box_append (GTK_BOX (box), name);
  gtk_box_append (GTK_BOX (box), doc);
  gtk_list_box_row_set_child (GTK_LIST_BOX_ROW (row), box);
  gtk_accessible_update_property (GTK_ACCESSIBLE (row), GTK_ACCESSIBLE_PROPERTY_LABEL, full, -1);
  g_object_set_data (G_OBJECT (row), "op", GUINT_TO_POINTER ((guint) op->id));
  return row;
}

static GtkWidget *
build_list (IrOpPalette *self)
{
  self->scrolled = gtk_scrolled_window_new ();
  self->list = gtk_list_box_new ();
  for (guint id = 1; id < ir_op_n (); id++)
    gtk_list_box_append (GTK_LIST_BOX (self->list), make_row (ir_op_by_id ((IrOpId) id)));
  gtk_list_box_set_selection_mode (GTK_LIST_BOX (self->list), GTK_SELECTION_BROWSE);
  gtk_list_box_set_filter_func (GTK_LIST_BOX (self->list), filter_row, self, NULL);
  gtk_list_box_set_sort_func (GTK_LIST_BOX (self->list), sort_rows, self, NULL);
  gtk_list_box_set_header_func (GTK_LIST_BOX (self->list), add_header, self, NULL);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->list), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  "Operators", -1);
  g_signal_connect_swapped (self->list, "row-activated", G_CALLBACK (on_row_activated), self);
  g_signal_connect_swapped (self->list, "row-selected", G_CALLBACK (on_row_selected), self);
  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (self->scrolled), GTK_POLICY_NEVER,
                                  GTK_POLICY_AUTOMATIC);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (self->scrolled), self->list);
  return self->scrolled;
}

static void
build (IrOpPalette *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6);
  GtkEventController *keys = gtk_event_controller_key_new ();

  self->popover = gtk_popover_new ();
  self->title = gtk_label_new (NULL);
  self->entry = gtk_search_entry_new ();
  self->hint = gtk_label_new (NULL);
  gtk_label_set_xalign (GTK_LABEL (self->title), 0);
  gtk_label_set_ellipsize (GTK_LABEL (self->title), PANGO_ELLIPSIZE_END);
  gtk_label_set_max_width_chars (GTK_LABEL (self->title), 40);
  gtk_widget_add_css_class (self->title, "heading");
  gtk_label_set_xalign (GTK_LABEL (self->hint), 0);
  gtk_label_set_wrap (GTK_LABEL (self->hint), TRUE);
  gtk_label_set_max_width_chars (GTK_LABEL (self->hint), 40);
  gtk_widget_add_css_class (self->hint, "caption");
  g_object_set (self->entry, "placeholder-text", "Operator, or: Operator value.. attribute=text",
                NULL);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->entry), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  "Operator", -1);
  g_signal_connect_swapped (self->entry, "changed", G_CALLBACK (on_typed), self);
  g_signal_connect_swapped (self->entry, "activate", G_CALLBACK (on_entry_activated), self);
  g_signal_connect (keys, "key-pressed", G_CALLBACK (on_key), self);
  g_signal_connect_swapped (self->popover, "closed", G_CALLBACK (on_closed), self);
  gtk_event_controller_set_propagation_phase (keys, GTK_PHASE_CAPTURE);
  gtk_widget_add_controller (self->popover, keys);
  gtk_box_append (GTK_BOX (box), self->title);
  gtk_box_append (GTK_BOX (box), self->entry);
  gtk_box_append (GTK_BOX (box), build_list (self));
  gtk_box_append (GTK_BOX (box), self->hint);
  gtk_popover_set_child (GTK_POPOVER (self->popover), box);
  gtk_popover_set_has_arrow (GTK_POPOVER (self->popover), FALSE);
  gtk_widget_set_parent (self->popover, self->parent);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->popover), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  "Palette of operators", -1);
}

IrOpPalette *
ir_op_palette_new (GtkWidget *parent, IrOpPaletteChosen chosen, gpointer data)
{
  IrOpPalette *self = g_new0 (IrOpPalette, 1);

  self->parent = parent;
  self->chosen = chosen;
  self->data = data;
  self->fits = g_new0 (guint8, ir_op_n ());
  return self;
}

void
ir_op_palette_free (IrOpPalette *self)
{
  if (self->popover != NULL)
    {
      /* rows that go ask for the header of the next one, when the entry has gone already */
      gtk_list_box_set_header_func (GTK_LIST_BOX (self->list), NULL, NULL, NULL);
      gtk_widget_unparent (self->popover);
    }
  g_free (self->fits);
  g_free (self);
}

/* All of it is within the view, which a small screen has no more than. Returns where it begins. */
static int
fit_height (IrOpPalette *self, int y)
{
  const int height = gtk_widget_get_height (self->parent);
  int around;

  gtk_widget_set_size_request (self->scrolled, WIDTH, 0);
  gtk_widget_measure (gtk_popover_get_child (GTK_POPOVER (self->popover)), GTK_ORIENTATION_VERTICAL,
                      -1, NULL, &around, NULL, NULL);
  around += PADDING;
  const int list = CLAMP (height - around, LEAST_HEIGHT, HEIGHT);
  gtk_widget_set_size_request (self->scrolled, WIDTH, list);
  return MAX (MIN (y, height - around - list), 0);
}

void
ir_op_palette_open (IrOpPalette *self, double x, double y, const char *title, const IrValue *value)
{
  if (self->popover == NULL)
    build (self);
  self->has_value = value != NULL;
  for (guint id = 1; id < ir_op_n () && value != NULL; id++)
    self->fits[id] = ir_act_op_slot_for (ir_op_by_id ((IrOpId) id), value) >= 0;
  gtk_label_set_text (GTK_LABEL (self->title), title);
  gtk_editable_set_text (GTK_EDITABLE (self->entry), "");
  gtk_popover_set_pointing_to (GTK_POPOVER (self->popover),
                               &(GdkRectangle){ (int) x, fit_height (self, (int) y), 1, 1 });
  gtk_popover_popup (GTK_POPOVER (self->popover));
  on_typed (self);
  gtk_widget_grab_focus (self->entry);
}

gboolean
ir_op_palette_reopen (IrOpPalette *self, const char *why)
{
  GdkRectangle at;

  if (gtk_widget_get_visible (self->popover))
    return FALSE;
  set_hint (self, why, TRUE); /* has its room before the list */
  gtk_popover_get_pointing_to (GTK_POPOVER (self->popover), &at);
  at.y = fit_height (self, at.y);
  gtk_popover_set_pointing_to (GTK_POPOVER (self->popover), &at);
  gtk_popover_popup (GTK_POPOVER (self->popover));
  gtk_widget_grab_focus (self->entry);
  gtk_editable_set_position (GTK_EDITABLE (self->entry), -1);
  return TRUE;
}
