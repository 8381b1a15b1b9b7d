#include "config.h"

#include "app/gui/edit-menu.h"

#include "app/gui/window-private.h"
#include "views/session/frame.h"

static const struct
{
  const char *title, *name;
  guint section;
} rows[] = {
  { "Add Node…", "add-node", 0 },
  { "Add Input…", "add-input", 0 },
  { "Add Constant…", "add-constant", 0 },
  { "Make Output", "make-output", 0 },
  { "Rename…", "rename", 1 },
  { "Duplicate", "duplicate", 1 },
  { "Bypass", "bypass", 1 },
  { "Wrap as Function…", "wrap", 1 },
  { "Extract…", "extract", 1 },
  { "Delete", "delete", 1 },
  { "Fix Size…", "fix-size", 2 },
  { "Change Opset…", "set-opset", 2 },
  { "Convert Element Type…", "convert", 2 },
  { "Arrange Again", "arrange", 2 },
};

/* What means nothing for what is selected is left out; on the welcome page all of it does. */
static void
fill (GMenu *menu, IrView *view)
{
  g_autoptr (GMenu) section = NULL;

  g_menu_remove_all (menu);
  if (view == NULL)
    g_menu_append (menu, "No graph is open", "win.none");
  for (guint i = 0; view != NULL && i < G_N_ELEMENTS (rows); i++)
    {
      g_autofree char *of_view = g_strconcat ("view.", rows[i].name, NULL);
      g_autoptr (GMenuItem) item = g_menu_item_new (rows[i].title, NULL);

      if (i == 0 || rows[i].section != rows[i - 1].section)
        {
          g_clear_object (&section);
          section = g_menu_new ();
          g_menu_append_section (menu, NULL, G_MENU_MODEL (section));
        }
      g_menu_item_set_action_and_target (item, "win.view", "s", rows[i].name);
      if (ir_view_can (view, of_view))
        g_menu_append_item (section, item);
    }
}

static void
on_popup (GtkMenuButton *button, gpointer window)
{
  const gboolean empty = ir_session_is_empty (ir_window_get_session (window));

  fill (g_object_get_data (G_OBJECT (button), "edit-menu"),
        empty ? NULL : ir_window_visible_view (window, IR_VIEW_CENTRE));
}

/* @menu: a part of the menu of @button, filled when that comes up */
void
ir_edit_menu_attach (GtkMenuButton *button, GMenu *menu, IrWindow *window)
{
  g_object_set_data_full (G_OBJECT (button), "edit-menu", g_object_ref (menu), g_object_unref);
  gtk_menu_button_set_create_popup_func (button, on_popup, window, NULL);
}
