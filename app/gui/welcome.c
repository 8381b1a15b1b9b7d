#include "config.h"

#include "app/gui/welcome.h"

#include <adwaita.h>

#define MAX_RECENT 6

static const struct
{
  const char *file, *title, *text;
} examples[] = {
  { "digits.onnx", "Digits", "A small convolutional network, trained on handwritten digits" },
  { "transformer-block.onnx", "Transformer block",
    "Attention and feed-forward, as exporters write it" },
  { "worked-example.onnx", "Worked example",
    "ln(x1) + x1·x2 − sin(x2): seven lines to follow by hand" },
  { "if-branch.onnx", "If branch", "A graph whose branches use values from around them" },
  { "while-newton.onnxtxt", "A loop to play", "A square root by Newton's method, iteration by iteration" },
};

char *
ir_welcome_examples_dir (void)
{
  const char *const roots[] = { g_getenv ("IRSCOPE_DATADIR"), IR_SOURCE_DATADIR, IR_DATADIR };

  for (guint i = 0; i < G_N_ELEMENTS (roots); i++)
    {
      g_autofree char *dir = roots[i] != NULL ? g_build_filename (roots[i], "examples", NULL)
                                              : NULL;

      if (dir != NULL && g_file_test (dir, G_FILE_TEST_IS_DIR))
        return g_steal_pointer (&dir);
    }
  return NULL;
}

static GtkWidget *
file_row (const char *path, const char *title, const char *text)
{
  GtkWidget *row = adw_action_row_new ();
  GtkWidget *arrow = gtk_image_new_from_icon_name ("go-next-symbolic");

  adw_preferences_row_set_use_markup (ADW_PREFERENCES_ROW (row), FALSE);
  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (row), title);
  adw_action_row_set_subtitle (ADW_ACTION_ROW (row), text);
  adw_action_row_set_subtitle_lines (ADW_ACTION_ROW (row), 1);
  gtk_widget_add_css_class (arrow, "dim-label");
  adw_action_row_add_suffix (ADW_ACTION_ROW (row), arrow);
  gtk_list_box_row_set_activatable (GTK_LIST_BOX_ROW (row), TRUE);
  gtk_actionable_set_action_name (GTK_ACTIONABLE (row), "win.open-file");
  gtk_actionable_set_action_target (GTK_ACTIONABLE (row), "s", path);
  gtk_accessible_update_property (GTK_ACCESSIBLE (row), GTK_ACCESSIBLE_PROPERTY_LABEL, title,
                                  GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, text, -1);
  return row;
}

static GtkWidget *
examples_group (void)
{
  g_autofree char *dir = ir_welcome_examples_dir ();
  GtkWidget *group = adw_preferences_group_new ();
  guint n = 0;

  adw_preferences_group_set_title (ADW_PREFERENCES_GROUP (group), "Examples");
  for (guint i = 0; dir != NULL && i < G_N_ELEMENTS (examples); i++)
    {
      g_autofree char *path = g_build_filename (dir, examples[i].file, NULL);

      if (!g_file_test (path, G_FILE_TEST_EXISTS))
        continue;
      adw_preferences_group_add (ADW_PREFERENCES_GROUP (group),
                                 file_row (path, examples[i].title, examples[i].text));
      n++;
    }
  gtk_widget_set_visible (group, n > 0);
  return group;
}

static char *
home_relative (const char *path)
{
  g_autofree char *dir = g_path_get_dirname (path);
  const char *home = g_get_home_dir ();

  if (g_str_has_prefix (dir, home))
    return g_strconcat ("~", dir + strlen (home), NULL);
  return g_steal_pointer (&dir);
}

/* The toolkit's dialogs remember every file that was chosen in them: inputs, pictures. Graphs alone
 * are in the group of them. */
gboolean
ir_recent_is_graph (GtkRecentInfo *info, const char *path)
{
  return path != NULL && gtk_recent_info_has_application (info, g_get_application_name ()) &&
         gtk_recent_info_has_group (info, IR_RECENT_GROUP) &&
         g_file_test (path, G_FILE_TEST_EXISTS);
}

static GtkWidget *
recent_group (void)
{
  GtkWidget *group = adw_preferences_group_new ();
  GList *items = gtk_recent_manager_get_items (gtk_recent_manager_get_default ());
  guint n = 0;

  adw_preferences_group_set_title (ADW_PREFERENCES_GROUP (group), "Recent");
  for (GList *l = items; l != NULL && n < MAX_RECENT; l = l->next)
    {
      g_autofree char *path = g_filename_from_uri (gtk_recent_info_get_uri (l->data), NULL, NULL);
      g_autofree char *base = NULL, *where = NULL;

      if (!ir_recent_is_graph (l->data, path))
        continue;
      base = g_path_get_basename (path);
      where = home_relative (path);
      adw_preferences_group_add (ADW_PREFERENCES_GROUP (group), file_row (path, base, where));
      n++;
    }
  g_list_free_full (items, (GDestroyNotify) gtk_recent_info_unref);
  gtk_widget_set_visible (group, n > 0);
  return group;
}

static GtkWidget *
button (const char *label, const char *action, gboolean suggested)
{
  GtkWidget *widget = gtk_button_new_with_label (label);

  gtk_actionable_set_action_name (GTK_ACTIONABLE (widget), action);
  gtk_widget_add_css_class (widget, "pill");
  if (suggested)
    gtk_widget_add_css_class (widget, "suggested-action");
  return widget;
}

/* The page; made anew each time it is shown, so that the recent files are up to date. */
GtkWidget *
ir_welcome_new (void)
{
  GtkWidget *page = adw_status_page_new ();
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 24);
  GtkWidget *buttons = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 12);
  GtkWidget *lists = gtk_box_new (GTK_ORIENTATION_VERTICAL, 24);
  GtkWidget *clamp = adw_clamp_new ();

  adw_status_page_set_icon_name (ADW_STATUS_PAGE (page), "org.irscope.Irscope");
  adw_status_page_set_title (ADW_STATUS_PAGE (page), "Look inside a computation graph");
  adw_status_page_set_description (
      ADW_STATUS_PAGE (page),
      "Open an ONNX model, or drop one here. Then optimize it, step through every rewrite, "
      "run it and look at every value.");
  gtk_widget_set_halign (buttons, GTK_ALIGN_CENTER);
  gtk_box_append (GTK_BOX (buttons), button ("Open…", "win.open", TRUE));
  gtk_box_append (GTK_BOX (buttons), button ("New Graph", "win.new", FALSE));
  gtk_box_append (GTK_BOX (lists), recent_group ());
  gtk_box_append (GTK_BOX (lists), examples_group ());
  adw_clamp_set_maximum_size (ADW_CLAMP (clamp), 560);
  adw_clamp_set_child (ADW_CLAMP (clamp), lists);
  gtk_box_append (GTK_BOX (box), buttons);
  gtk_box_append (GTK_BOX (box), clamp);
  adw_status_page_set_child (ADW_STATUS_PAGE (page), box);
  return page;
}
