/* A row for each folder test_data_set_N beside the model: the inputs can be taken from it, and behind a
 * run the row says how the outputs compare. */
#include "config.h"

#include "app/gui/data-sets.h"

#include "core/exec/eval/data-set.h"
#include "views/session/data-set.h"
#include "views/session/file.h"

#include <adwaita.h>

#define MAX_ROWS 50

typedef struct
{
  IrSession *session; /* referenced */
  GtkWidget *row, *button;
  char *dir, *name;
  char *failure; /* (nullable) why it cannot be read */
} SetRow;

static void
set_row_free (gpointer data)
{
  SetRow *self = data;

  g_clear_object (&self->session);
  g_free (self->dir);
  g_free (self->name);
  g_free (self->failure);
  g_free (self);
}

static gboolean
is_used (SetRow *self)
{
  return g_strcmp0 (ir_session_get_data_set (self->session), self->dir) == 0;
}

static void
update (SetRow *self)
{
  const gboolean used = is_used (self);
  gboolean differs = FALSE;
  g_autofree char *result = used ? ir_session_data_set_text (self->session, &differs) : NULL;
  g_autofree char *label = g_strdup_printf ("%s: %s", self->name, used ? "Leave" : "Use");
  const char *text = self->failure != NULL ? self->failure
                     : result != NULL      ? result
                     : used                ? "Used by the next run, which compares the outputs"
                                           : "Inputs, and the outputs that belong to them";

  adw_action_row_set_subtitle (ADW_ACTION_ROW (self->row), text);
  gtk_widget_set_tooltip_text (self->row, text);
  gtk_button_set_label (GTK_BUTTON (self->button), used ? "Leave" : "Use");
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->button), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  label, -1);
  if (differs || self->failure != NULL)
    gtk_widget_add_css_class (self->row, "error");
  else
    gtk_widget_remove_css_class (self->row, "error");
}

static void
on_use (GtkButton *button, SetRow *self)
{
  g_autoptr (GError) error = NULL;

  g_clear_pointer (&self->failure, g_free);
  if (!ir_session_set_data_set (self->session, is_used (self) ? NULL : self->dir, &error))
    self->failure = g_strdup (error->message);
  update (self);
}

static void
on_changed (IrSession *session, guint flags, GtkWidget *row)
{
  if (flags & (IR_CHANGED_INPUTS | IR_CHANGED_RUNS))
    update (g_object_get_data (G_OBJECT (row), "data-set"));
}

static GtkWidget *
set_row_new (IrSession *session, const char *dir)
{
  SetRow *self = g_new0 (SetRow, 1);

  self->session = g_object_ref (session);
  self->dir = g_strdup (dir);
  self->name = g_path_get_basename (dir);
  self->row = adw_action_row_new ();
  self->button = gtk_button_new ();
  adw_preferences_row_set_use_markup (ADW_PREFERENCES_ROW (self->row), FALSE);
  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (self->row), self->name);
  adw_action_row_set_subtitle_lines (ADW_ACTION_ROW (self->row), 2);
  gtk_widget_set_valign (self->button, GTK_ALIGN_CENTER);
  gtk_widget_add_css_class (self->button, "flat");
  g_signal_connect (self->button, "clicked", G_CALLBACK (on_use), self);
  adw_action_row_add_suffix (ADW_ACTION_ROW (self->row), self->button);
  g_object_set_data_full (G_OBJECT (self->row), "data-set", self, set_row_free);
  g_signal_connect_object (session, "changed", G_CALLBACK (on_changed), self->row, 0);
  update (self);
  return self->row;
}

GtkWidget *
ir_data_sets_group_new (IrSession *session)
{
  const char *path = ir_session_get_path (session);
  g_auto (GStrv) dirs = path != NULL ? ir_data_set_list (path) : NULL;
  GtkWidget *group;

  if (dirs == NULL || dirs[0] == NULL)
    return NULL;
  group = adw_preferences_group_new ();
  adw_preferences_group_set_title (ADW_PREFERENCES_GROUP (group), "Data Sets");
  adw_preferences_group_set_description (
      ADW_PREFERENCES_GROUP (group),
      "Folders beside the model. A run on one compares its outputs.");
  for (guint i = 0; dirs[i] != NULL && i < MAX_ROWS; i++)
    adw_preferences_group_add (ADW_PREFERENCES_GROUP (group), set_row_new (session, dirs[i]));
  return group;
}
