/* Which kernel computes a node, why, and how fast each is. */
#include "config.h"

#include "views/properties/sections.h"

#include "core/ir/count.h"
#include "views/kernel-chooser.h"
#include "views/label.h"
#include "views/name.h"
#include "views/session/execution.h"
#include "views/session/kernels.h"
#include "views/session/records.h"

/* What the node does otherwise than in the run before. */
static void
add_node_change (IrSession *session, GtkWidget *group, IrNodeId id)
{
  IrNodeChange change;
  g_autofree char *before = NULL, *after = NULL, *percent = NULL, *difference = NULL, *text = NULL;

  if (!ir_session_get_node_change (session, id, &change))
    return;
  before = ir_ms_text (change.before.median);
  after = ir_ms_text (change.after.median);
  difference = change.compared ? ir_difference_text (&change.difference)
                               : g_strdup ("values not compared");
  percent = ir_percent_text (change.before.median, change.after.median);
  text = g_strdup_printf ("%s → %s (%s)\n%s", before, after, percent, difference);
  ir_property_row (group, "Since the run before", text);
}

/* Every kernel that was measured; the one in use has a check mark. */
static void
add_kernel_times (IrSession *session, GtkWidget *group, const IrNode *node, const char *kernel)
{
  guint step;
  const GPtrArray *times = ir_session_get_kernel_times (session, node->id, &step);

  for (guint i = 0; times != NULL && i < times->len; i++)
    {
      const IrKernelTime *time = times->pdata[i];
      g_autofree char *ms = ir_times_text (&time->ms),
                      *difference = time->compared && !time->taken
                                        ? ir_difference_text (&time->difference)
                                        : NULL,
                      *subtitle = g_strdup_printf ("%s%s%s", ms, difference != NULL ? "\n" : "",
                                                   difference != NULL ? difference : "");
      g_autofree char *tip = ir_times_tip (&time->ms);
      GtkWidget *row = ir_property_row (group, time->kernel, subtitle);

      ir_set_tip (row, tip);
      if (g_strcmp0 (time->kernel, kernel) == 0)
        {
          GtkWidget *mark = gtk_image_new_from_icon_name ("object-select-symbolic");

          gtk_widget_set_tooltip_text (mark, "In use");
          adw_action_row_add_suffix (ADW_ACTION_ROW (row), mark);
        }
    }
}

/* A text in a row that unfolds. */
static void
add_code (GtkWidget *group, const char *title, const char *subtitle, const char *code)
{
  GtkWidget *row = adw_expander_row_new (), *scrolled = gtk_scrolled_window_new (),
            *text = gtk_text_view_new ();
  g_autofree char *name = g_strdup_printf ("Text of %s", title);

  adw_preferences_row_set_use_markup (ADW_PREFERENCES_ROW (row), FALSE);
  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (row), title);
  adw_expander_row_set_subtitle (ADW_EXPANDER_ROW (row), subtitle);
  ir_set_tip (row, subtitle);
  gtk_widget_add_css_class (row, "property-row");
  gtk_text_buffer_set_text (gtk_text_view_get_buffer (GTK_TEXT_VIEW (text)), code, -1);
  gtk_text_view_set_editable (GTK_TEXT_VIEW (text), FALSE);
  gtk_text_view_set_monospace (GTK_TEXT_VIEW (text), TRUE);
  gtk_text_view_set_left_margin (GTK_TEXT_VIEW (text), 12);
  gtk_text_view_set_top_margin (GTK_TEXT_VIEW (text), 6);
  ir_name (text, name);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scrolled), text);
  gtk_scrolled_window_set_min_content_height (GTK_SCROLLED_WINDOW (scrolled), 240);
  adw_expander_row_add_row (ADW_EXPANDER_ROW (row), scrolled);
  adw_preferences_group_add (ADW_PREFERENCES_GROUP (group), row);
}

static void
add_facts (IrSession *session, GtkWidget *group, const IrNode *node)
{
  g_autoptr (GPtrArray) facts = ir_session_get_kernel_facts (session, node);

  for (guint i = 0; facts != NULL && i < facts->len; i++)
    {
      const IrKernelFact *fact = facts->pdata[i];
      if (fact->code != NULL)
        add_code (group, fact->title, fact->text, fact->code);
      else
        ir_property_row (group, fact->title, fact->text);
    }
}

static GtkWidget *
measure_button (void)
{
  GtkWidget *button = gtk_button_new_with_label ("Measure All");

  gtk_widget_set_tooltip_text (
      button, "Run the graph with each kernel of this node, seven times each, in turn (Ctrl+K)");
  gtk_actionable_set_action_name (GTK_ACTIONABLE (button), "win.measure-kernels");
  gtk_widget_set_valign (button, GTK_ALIGN_CENTER);
  gtk_widget_add_css_class (button, "flat");
  return button;
}

void
ir_properties_add_kernel (IrPropertyPage *page, const IrNode *node)
{
  IrSession *session = page->session;
  const char *why, *layout, *kernel = ir_session_get_kernel (session, node, &why, &layout);
  IrTimes times = ir_session_get_node_times (session, node->id);
  GtkWidget *chooser = ir_kernel_chooser_new (session), *group = ir_property_group (page, "Kernel"),
            *row;
  g_autofree char *time = NULL, *tip = NULL;

  row = ir_property_row (group, kernel != NULL ? kernel : "none",
                         why == NULL && layout == NULL ? "the first that fits" : NULL);
  if (!ir_kernel_chooser_set_node (chooser, node))
    g_object_unref (g_object_ref_sink (chooser));
  else
    {
      adw_action_row_add_suffix (ADW_ACTION_ROW (row), chooser);
      page->chooser = chooser;
      adw_preferences_group_set_header_suffix (ADW_PREFERENCES_GROUP (group), measure_button ());
    }
  if (why != NULL)
    adw_action_row_set_subtitle_lines (ADW_ACTION_ROW (ir_property_row (group, "Why", why)), 0);
  if (layout != NULL)
    ir_property_row (group, "Layout", layout);
  if (times.n > 0)
    {
      time = ir_times_text (&times);
      tip = ir_times_tip (&times);
      gtk_widget_set_tooltip_text (ir_property_row (group, "Last run", time), tip);
    }
  add_facts (session, group, node);
  add_node_change (session, group, node->id);
  add_kernel_times (session, group, node, kernel);
}
