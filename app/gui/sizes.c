/* A row for each dimension that the graph leaves open. One that was not asked for follows from nodes
 * that need it, or is a default; the row says which. */
#include "config.h"

#include "app/gui/sizes.h"
#include "views/label.h"

#include "views/session/frame.h"
#include "views/session/inputs.h"
#include "views/session/timeline.h"
#include "views/spin.h"

#include <adwaita.h>

typedef struct
{
  IrSession *session; /* referenced */
  GtkWidget *row, *spin, *reset;
  char *name;
  gboolean updating;
} SizeRow;

static void
size_row_free (gpointer data)
{
  SizeRow *self = data;

  g_clear_object (&self->session);
  g_free (self->name);
  g_free (self);
}

/* What contents of an input fix. (transfer full): name -> gint64 * */
static GHashTable *
given_sizes (IrSession *session)
{
  GHashTable *sizes = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);

  ir_bind_given (ir_session_get_original (session), ir_session_get_inputs (session), sizes);
  return sizes;
}

static char *
dim_text (IrSession *session, const IrFreeDim *dim, const gint64 *fixed)
{
  const IrFrame *frame = ir_session_get_frame (session);
  const IrNode *node = frame != NULL && dim->node != 0 ? ir_model_node (frame->before, dim->node)
                                                       : NULL;

  if (fixed != NULL && !(dim->given && dim->size == *fixed))
    return g_strdup_printf ("%" G_GINT64_FORMAT ", as an input that is given has it", *fixed);
  if (dim->given)
    return g_strdup_printf ("As irscope run --dim %s=%" G_GINT64_FORMAT, dim->name, dim->size);
  if (node == NULL)
    return g_strdup_printf ("%" G_GINT64_FORMAT ", chosen by default", dim->size);
  g_autofree char *label = ir_node_label (node);
  return g_strdup_printf ("%s, by %s", dim->why, label);
}

static void
update_row (SizeRow *self, const IrFreeDim *dim)
{
  g_autoptr (GHashTable) given = given_sizes (self->session);
  const gint64 *fixed = g_hash_table_lookup (given, dim->name);
  const gint64 size = fixed != NULL ? *fixed : dim->size;
  g_autofree char *text = dim_text (self->session, dim, fixed);

  adw_action_row_set_subtitle (ADW_ACTION_ROW (self->row), text);
  gtk_widget_set_tooltip_text (self->row, dim->node != 0 ? text : NULL); /* names may be long */
  gtk_widget_set_sensitive (self->reset, dim->given);
  if ((gint64) gtk_spin_button_get_value (GTK_SPIN_BUTTON (self->spin)) != size)
    {
      self->updating = TRUE;
      gtk_spin_button_set_value (GTK_SPIN_BUTTON (self->spin), (double) size);
      self->updating = FALSE;
    }
}

static void
on_size (GtkSpinButton *spin, SizeRow *self)
{
  g_autoptr (GArray) dims = ir_session_free_dims (self->session);
  const gint64 size = (gint64) gtk_spin_button_get_value (spin);

  for (guint i = 0; i < dims->len && !self->updating; i++)
    {
      const IrFreeDim *dim = &g_array_index (dims, IrFreeDim, i);

      if (strcmp (dim->name, self->name) == 0 && (dim->size != size || !dim->given))
        ir_session_set_size (self->session, self->name, size);
    }
}

static void
on_default_size (GtkButton *button, SizeRow *self)
{
  ir_session_set_size (self->session, self->name, -1);
}

static SizeRow *
size_row_new (IrSession *session, const IrFreeDim *dim)
{
  SizeRow *self = g_new0 (SizeRow, 1);
  g_autofree char *label = g_strdup_printf ("Size of %s", dim->name),
                  *reset = g_strdup_printf ("%s: by default", label);

  self->session = g_object_ref (session);
  self->name = g_strdup (dim->name);
  self->row = adw_action_row_new ();
  self->spin = ir_spin_new (0, G_MAXINT32);
  self->reset = gtk_button_new_from_icon_name ("edit-undo-symbolic");
  adw_preferences_row_set_use_markup (ADW_PREFERENCES_ROW (self->row), FALSE);
  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (self->row), dim->name);
  adw_action_row_set_subtitle_lines (ADW_ACTION_ROW (self->row), 2);
  gtk_editable_set_width_chars (GTK_EDITABLE (self->spin), 7);
  gtk_widget_set_valign (self->spin, GTK_ALIGN_CENTER);
  gtk_widget_set_valign (self->reset, GTK_ALIGN_CENTER);
  gtk_widget_add_css_class (self->reset, "flat");
  gtk_widget_set_tooltip_text (self->reset, "Leave it to the run");
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->spin), GTK_ACCESSIBLE_PROPERTY_LABEL, label,
                                  -1);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->reset), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  reset, -1);
  update_row (self, dim);
  g_signal_connect (self->spin, "value-changed", G_CALLBACK (on_size), self);
  g_signal_connect (self->reset, "clicked", G_CALLBACK (on_default_size), self);
  adw_action_row_add_suffix (ADW_ACTION_ROW (self->row), self->reset);
  adw_action_row_add_suffix (ADW_ACTION_ROW (self->row), self->spin);
  g_object_set_data_full (G_OBJECT (self->row), "size", self, size_row_free);
  return self;
}

/* -- all of them: one size changes what follows for others -- */

typedef struct
{
  GtkWidget *conflict; /* says what does not fit */
  GPtrArray *rows;     /* of SizeRow, in the order of the free dims; each lives with its widget */
} SizesGroup;

static void
sizes_group_free (gpointer data)
{
  SizesGroup *self = data;

  g_ptr_array_unref (self->rows);
  g_free (self);
}

static void
update_conflict (SizesGroup *self, IrSession *session)
{
  g_autoptr (GArray) conflicts = ir_session_size_conflicts (session);
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i < conflicts->len; i++)
    g_string_append_printf (text, "%s%s", i > 0 ? "\n" : "",
                            g_array_index (conflicts, IrSizeConflict, i).text);
  gtk_label_set_text (GTK_LABEL (self->conflict), text->str);
  gtk_widget_set_visible (self->conflict, conflicts->len > 0);
}

static void
on_changed (IrSession *session, guint flags, GtkWidget *group)
{
  SizesGroup *self = g_object_get_data (G_OBJECT (group), "sizes");
  g_autoptr (GArray) dims = NULL;

  if (!(flags & IR_CHANGED_INPUTS) || ir_session_is_empty (session))
    return;
  dims = ir_session_free_dims (session);
  for (guint i = 0; i < MIN (dims->len, self->rows->len); i++)
    {
      const IrFreeDim *dim = &g_array_index (dims, IrFreeDim, i);

      if (strcmp (((SizeRow *) self->rows->pdata[i])->name, dim->name) == 0)
        update_row (self->rows->pdata[i], dim);
    }
  update_conflict (self, session);
}

static GtkWidget *
conflict_label (void)
{
  GtkWidget *label = gtk_label_new (NULL);

  gtk_label_set_xalign (GTK_LABEL (label), 0);
  ir_label_wrap_names (GTK_LABEL (label));
  gtk_label_set_selectable (GTK_LABEL (label), TRUE);
  gtk_widget_set_can_focus (label, FALSE);
  gtk_widget_add_css_class (label, "error");
  gtk_widget_set_margin_top (label, 6);
  return label;
}

/* (nullable): there is nothing to choose */
GtkWidget *
ir_sizes_group_new (IrSession *session)
{
  g_autoptr (GArray) dims = ir_session_free_dims (session);
  GtkWidget *group;
  SizesGroup *self;

  if (dims->len == 0)
    return NULL;
  group = adw_preferences_group_new ();
  self = g_new0 (SizesGroup, 1);
  self->rows = g_ptr_array_new ();
  self->conflict = conflict_label ();
  adw_preferences_group_set_title (ADW_PREFERENCES_GROUP (group), "Sizes");
  adw_preferences_group_set_description (
      ADW_PREFERENCES_GROUP (group),
      "Of the dimensions that the graph leaves open. Pictures and numbers follow; a file has its own.");
  for (guint i = 0; i < dims->len; i++)
    {
      SizeRow *row = size_row_new (session, &g_array_index (dims, IrFreeDim, i));

      g_ptr_array_add (self->rows, row);
      adw_preferences_group_add (ADW_PREFERENCES_GROUP (group), row->row);
    }
  adw_preferences_group_add (ADW_PREFERENCES_GROUP (group), self->conflict);
  g_object_set_data_full (G_OBJECT (group), "sizes", self, sizes_group_free);
  g_signal_connect_object (session, "changed", G_CALLBACK (on_changed), group, 0);
  update_conflict (self, session);
  return group;
}
