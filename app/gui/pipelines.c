#include "config.h"

#include "app/gui/pipelines.h"

#include "passes/pipeline/pipeline.h"
#include "views/name.h"

#define DOC_CHARS    52
#define BUTTON_CHARS 7 /* at least: a narrow header has no room for long titles */

/* -- rows of the list -- */

static void
mark_chosen (GtkDropDown *widget, GParamSpec *pspec, GtkListItem *item)
{
  GtkWidget *box = gtk_list_item_get_child (item);

  gtk_widget_set_opacity (gtk_widget_get_last_child (box),
                          gtk_drop_down_get_selected (widget) == gtk_list_item_get_position (item));
}

static void
setup_row (GtkSignalListItemFactory *factory, GtkListItem *item, GtkDropDown *widget)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 12),
            *texts = gtk_box_new (GTK_ORIENTATION_VERTICAL, 2), *title = gtk_label_new (NULL),
            *doc = gtk_label_new (NULL);

  for (GtkWidget **label = (GtkWidget *[]){ title, doc, NULL }; *label != NULL; label++)
    {
      gtk_label_set_xalign (GTK_LABEL (*label), 0);
      gtk_box_append (GTK_BOX (texts), *label);
    }
  gtk_label_set_wrap (GTK_LABEL (doc), TRUE);
  gtk_label_set_width_chars (GTK_LABEL (doc), DOC_CHARS);
  gtk_label_set_max_width_chars (GTK_LABEL (doc), DOC_CHARS);
  gtk_widget_add_css_class (doc, "caption");
  gtk_widget_add_css_class (doc, "dim-label");
  gtk_widget_set_hexpand (texts, TRUE);
  gtk_box_append (GTK_BOX (box), texts);
  gtk_box_append (GTK_BOX (box), gtk_image_new_from_icon_name ("object-select-symbolic"));
  gtk_list_item_set_child (item, box);
  g_signal_connect_object (widget, "notify::selected", G_CALLBACK (mark_chosen), item, 0);
}

static void
bind_row (GtkSignalListItemFactory *factory, GtkListItem *item, GtkDropDown *widget)
{
  GtkWidget *title = gtk_widget_get_first_child (
      gtk_widget_get_first_child (gtk_list_item_get_child (item)));
  GStrv docs = g_object_get_data (G_OBJECT (widget), "docs");

  gtk_label_set_text (GTK_LABEL (title),
                      gtk_string_object_get_string (gtk_list_item_get_item (item)));
  gtk_label_set_text (GTK_LABEL (gtk_widget_get_next_sibling (title)),
                      docs[gtk_list_item_get_position (item)]);
  mark_chosen (widget, NULL, item);
  ir_name_row (gtk_list_item_get_child (item));
}

/* -- the one that is chosen, on the button -- */

static void
setup_chosen (GtkSignalListItemFactory *factory, GtkListItem *item)
{
  GtkWidget *label = gtk_label_new (NULL);

  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_label_set_ellipsize (GTK_LABEL (label), PANGO_ELLIPSIZE_END);
  gtk_label_set_width_chars (GTK_LABEL (label), BUTTON_CHARS);
  gtk_list_item_set_child (item, label);
}

static void
bind_chosen (GtkSignalListItemFactory *factory, GtkListItem *item)
{
  gtk_label_set_text (GTK_LABEL (gtk_list_item_get_child (item)),
                      gtk_string_object_get_string (gtk_list_item_get_item (item)));
}

/* -- the widget -- */

static gboolean
on_query (GtkWidget *widget, int x, int y, gboolean keyboard, GtkTooltip *tooltip, gpointer data)
{
  g_autofree char *tip = ir_pipelines_tip (GTK_DROP_DOWN (widget));

  gtk_tooltip_set_text (tooltip, tip);
  return TRUE;
}

/* (transfer full) */
char *
ir_pipelines_tip (GtkDropDown *widget)
{
  GStrv docs = g_object_get_data (G_OBJECT (widget), "docs");
  const guint selected = gtk_drop_down_get_selected (widget);

  return g_strdup_printf ("Which passes run, in which order. %s",
                          selected < g_strv_length (docs) ? docs[selected] : "");
}

/* Puts the pipelines that come with irscope into @widget, and last the passes that are chosen one by one.
 * (transfer full): names of the others */
GStrv
ir_pipelines_fill (GtkDropDown *widget)
{
  GtkListItemFactory *factory = gtk_signal_list_item_factory_new (),
                     *chosen = gtk_signal_list_item_factory_new ();
  g_autoptr (GtkStringList) titles = gtk_string_list_new (NULL);
  g_autoptr (GStrvBuilder) docs = g_strv_builder_new ();
  GStrv names = ir_pipeline_names ();

  ir_name (GTK_WIDGET (widget), "Pipeline");
  for (guint i = 0; names[i] != NULL; i++)
    {
      g_autoptr (IrPipeline) pipeline = ir_pipeline_load (names[i], NULL);

      gtk_string_list_append (titles, pipeline != NULL && pipeline->title != NULL ? pipeline->title
                                                                                  : names[i]);
      g_strv_builder_add (docs, pipeline != NULL && pipeline->doc != NULL ? pipeline->doc : "");
    }
  gtk_string_list_append (titles, "Chosen passes…");
  g_strv_builder_add (docs, "Single passes, or a list of them in an order of your own.");
  g_object_set_data_full (G_OBJECT (widget), "docs", g_strv_builder_end (docs),
                          (GDestroyNotify) g_strfreev);
  g_signal_connect (factory, "setup", G_CALLBACK (setup_row), widget);
  g_signal_connect (factory, "bind", G_CALLBACK (bind_row), widget);
  g_signal_connect (chosen, "setup", G_CALLBACK (setup_chosen), NULL);
  g_signal_connect (chosen, "bind", G_CALLBACK (bind_chosen), NULL);
  gtk_drop_down_set_factory (widget, chosen);
  gtk_drop_down_set_list_factory (widget, factory);
  g_object_unref (chosen);
  g_object_unref (factory);
  gtk_drop_down_set_model (widget, G_LIST_MODEL (titles));
  g_signal_connect (widget, "query-tooltip", G_CALLBACK (on_query), NULL);
  return names;
}
