/* The page of the properties: groups, and rows in them. */
#include "config.h"

#include "views/properties/page.h"

#include "core/ir/count.h"
#include "views/label.h"
#include "views/session/frame.h"
#include "views/session/selection.h"
#include "views/session/timeline.h"
#include "views/view.h"

gboolean
ir_property_page_is_live (IrPropertyPage *page, const IrNode *node)
{
  const IrFrame *frame = ir_session_get_frame (page->session);

  return frame != NULL && ir_model_live_node (frame->model, node->id) == node;
}

GtkWidget *
ir_property_group (IrPropertyPage *page, const char *title)
{
  GtkWidget *group = adw_preferences_group_new ();

  adw_preferences_group_set_title (ADW_PREFERENCES_GROUP (group), title);
  gtk_box_append (GTK_BOX (page->box), group);
  return group;
}

GtkWidget *
ir_property_row (GtkWidget *group, const char *title, const char *subtitle)
{
  GtkWidget *row = adw_action_row_new ();

  adw_preferences_row_set_use_markup (ADW_PREFERENCES_ROW (row), FALSE);
  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (row), title);
  adw_action_row_set_subtitle (ADW_ACTION_ROW (row), subtitle);
  adw_action_row_set_subtitle_lines (ADW_ACTION_ROW (row), 3);
  adw_action_row_set_title_lines (ADW_ACTION_ROW (row), 2);
  ir_set_tip (row, subtitle);
  gtk_widget_add_css_class (row, "property-row");
  adw_preferences_group_add (ADW_PREFERENCES_GROUP (group), row);
  return row;
}

void
ir_property_suffix (GtkWidget *row, const char *text, const char *css)
{
  GtkWidget *label = gtk_label_new (text);

  gtk_label_set_ellipsize (GTK_LABEL (label), PANGO_ELLIPSIZE_END);
  gtk_label_set_max_width_chars (GTK_LABEL (label), 22);
  gtk_widget_add_css_class (label, css);
  ir_set_tip (label, text);
  adw_action_row_add_suffix (ADW_ACTION_ROW (row), label);
}

void
ir_property_more (GtkWidget *group, guint n)
{
  g_autofree char *text = NULL, *more = NULL;

  if (n <= IR_PROPERTY_MAX_ROWS)
    return;
  more = ir_count_text (n - IR_PROPERTY_MAX_ROWS);
  text = g_strdup_printf ("… %s more", more);
  ir_property_row (group, text, "");
}

/* -- what a click on a row selects -- */

static void
on_value_row (GtkWidget *row, gpointer data)
{
  IrView *view = IR_VIEW (gtk_widget_get_ancestor (row, IR_TYPE_VIEW));

  ir_session_select_value (ir_view_get_session (view), GPOINTER_TO_UINT (data));
  ir_session_show_view (ir_view_get_session (view), "tensor");
}

static void
on_node_row (GtkWidget *row, gpointer data)
{
  IrView *view = IR_VIEW (gtk_widget_get_ancestor (row, IR_TYPE_VIEW));
  ir_session_select_node (ir_view_get_session (view), GPOINTER_TO_UINT (data));
}

static void
on_step_row (GtkWidget *row, gpointer data)
{
  IrView *view = IR_VIEW (gtk_widget_get_ancestor (row, IR_TYPE_VIEW));
  ir_session_goto (ir_view_get_session (view), GPOINTER_TO_UINT (data));
}

static void
leads_to (GtkWidget *row, GCallback callback, guint id)
{
  gtk_list_box_row_set_activatable (GTK_LIST_BOX_ROW (row), TRUE);
  adw_action_row_add_suffix (ADW_ACTION_ROW (row),
                             gtk_image_new_from_icon_name ("go-next-symbolic"));
  g_signal_connect (row, "activated", callback, GUINT_TO_POINTER (id));
}

void
ir_property_leads_to_value (GtkWidget *row, IrValueId value)
{
  leads_to (row, G_CALLBACK (on_value_row), value);
}

void
ir_property_leads_to_node (GtkWidget *row, IrNodeId node)
{
  leads_to (row, G_CALLBACK (on_node_row), node);
}

void
ir_property_leads_to_step (GtkWidget *row, guint step)
{
  leads_to (row, G_CALLBACK (on_step_row), step);
}

void
ir_property_heading (IrPropertyPage *page, const char *title, const char *subtitle, const char *doc)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 4);
  const char *texts[] = { title, subtitle, doc }, *css[] = { "title-3", "dim-label", NULL };

  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      GtkWidget *label;

      if (texts[i] == NULL || texts[i][0] == '\0')
        continue;
      label = gtk_label_new (texts[i]);
      gtk_label_set_xalign (GTK_LABEL (label), 0);
      ir_label_wrap_names (GTK_LABEL (label));
      if (css[i] != NULL)
        gtk_widget_add_css_class (label, css[i]);
      gtk_box_append (GTK_BOX (box), label);
    }
  gtk_box_append (GTK_BOX (page->box), box);
}
