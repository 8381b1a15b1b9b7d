#include "config.h"

#include "views/graph/part-bar.h"

#include "core/ir/count.h"
#include "views/session/frame.h"

struct _IrPartBar
{
  GtkBox parent_instance;

  IrSession *session; /* referenced */
};

G_DEFINE_FINAL_TYPE (IrPartBar, ir_part_bar, GTK_TYPE_BOX)

/* -- the way -- */

static void
on_crumb (IrPartBar *self, GtkWidget *button)
{
  ir_session_enter (self->session, g_object_get_data (G_OBJECT (button), "root"));
}

static void
add_crumb (IrPartBar *self, const char *title, const char *root, gboolean is_last)
{
  GtkWidget *label = gtk_label_new (title), *button;

  gtk_label_set_ellipsize (GTK_LABEL (label), PANGO_ELLIPSIZE_MIDDLE);
  gtk_label_set_max_width_chars (GTK_LABEL (label), 28);
  if (is_last)
    {
      gtk_widget_add_css_class (label, "heading");
      gtk_box_append (GTK_BOX (self), label);
      return;
    }
  button = gtk_button_new ();
  gtk_button_set_child (GTK_BUTTON (button), label);
  gtk_widget_add_css_class (button, "flat");
  gtk_widget_add_css_class (button, "crumb");
  gtk_widget_set_tooltip_text (button, "Back to this graph (Alt+Up: one up)");
  g_object_set_data_full (G_OBJECT (button), "root", g_strdup (root), g_free);
  g_signal_connect_object (button, "clicked", G_CALLBACK (on_crumb), self, G_CONNECT_SWAPPED);
  gtk_box_append (GTK_BOX (self), button);
  gtk_box_append (GTK_BOX (self), gtk_label_new ("›"));
}

/* "If_3 · then_branch" */
static char *
title_of (const IrGraph *graph)
{
  const IrNode *owner = graph->kind == IR_GRAPH_SUBGRAPH
                            ? ir_model_live_node (graph->model, graph->owner)
                            : NULL;
  g_autofree char *root = ir_scene_graph_root (graph);
  const char *slash = root != NULL ? strrchr (root, '/') : NULL;

  if (owner == NULL)
    return g_strdup (graph->function != NULL ? graph->function->name : graph->name);
  return g_strdup_printf ("%s · %s", owner->name[0] != '\0' ? owner->name : owner->op_type,
                          slash != NULL ? slash + 1 : graph->name);
}

static void
add_way (IrPartBar *self, const IrGraph *graph)
{
  g_autoptr (GPtrArray) way = g_ptr_array_new ();
  const IrGraph *last = graph;

  while (graph != NULL && graph->kind != IR_GRAPH_MAIN && way->len < 100)
    {
      const IrNode *owner = graph->kind == IR_GRAPH_SUBGRAPH
                                ? ir_model_live_node (graph->model, graph->owner)
                                : NULL;

      g_ptr_array_insert (way, 0, (gpointer) graph);
      graph = owner != NULL ? owner->graph : NULL;
    }
  add_crumb (self, "Graph", NULL, FALSE);
  for (guint i = 0; i < way->len; i++)
    {
      g_autofree char *title = title_of (way->pdata[i]);
      g_autofree char *root = ir_scene_graph_root (way->pdata[i]);

      add_crumb (self, title, root, way->pdata[i] == last);
    }
}

/* -- what filters and colours -- */

static GtkWidget *
new_chip (const char *text, const char *tip, const char *close)
{
  GtkWidget *chip = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 2);
  GtkWidget *label = gtk_label_new (text);
  GtkWidget *button = gtk_button_new_from_icon_name ("window-close-symbolic");

  gtk_label_set_ellipsize (GTK_LABEL (label), PANGO_ELLIPSIZE_END);
  gtk_label_set_max_width_chars (GTK_LABEL (label), 32);
  gtk_widget_add_css_class (label, "caption");
  gtk_widget_add_css_class (button, "flat");
  gtk_widget_add_css_class (button, "circular");
  gtk_widget_set_tooltip_text (button, close);
  gtk_widget_set_tooltip_text (label, tip);
  gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_LABEL, close,
                                  -1);
  gtk_widget_add_css_class (chip, "chip");
  gtk_box_append (GTK_BOX (chip), label);
  gtk_box_append (GTK_BOX (chip), button);
  return chip;
}

static void
on_remove_rule (IrPartBar *self, GtkWidget *button)
{
  ir_session_remove_rule (self->session,
                          GPOINTER_TO_UINT (g_object_get_data (G_OBJECT (button), "rule")));
}

static void
add_rule (IrPartBar *self, const IrLookRule *rule, guint index)
{
  g_autofree char *text = rule->effect == IR_RULE_COLOUR
                              ? g_strdup_printf ("%s: %s", ir_rule_colour_name (rule->colour),
                                                 rule->query)
                              : g_strdup_printf (
                                    "%s %s", rule->effect == IR_RULE_ONLY ? "only" : "highlight",
                                    rule->query);
  g_autofree char *close = g_strdup_printf ("Remove “%s”", text);
  GtkWidget *chip = new_chip (text, text, close);
  GtkWidget *button = gtk_widget_get_last_child (chip);

  if (rule->effect == IR_RULE_COLOUR)
    gtk_widget_add_css_class (chip, ir_rule_colour_name (rule->colour));
  g_object_set_data (G_OBJECT (button), "rule", GUINT_TO_POINTER (index));
  g_signal_connect_object (button, "clicked", G_CALLBACK (on_remove_rule), self, G_CONNECT_SWAPPED);
  gtk_box_append (GTK_BOX (self), chip);
}

static void
on_show_all (IrPartBar *self)
{
  ir_session_show_only (self->session, NULL);
}

static void
add_nodes (IrPartBar *self, GHashTable *nodes)
{
  g_autofree char *n = ir_count_text (g_hash_table_size (nodes));
  g_autofree char *text = g_strdup_printf (
      g_hash_table_size (nodes) == 1 ? "only %s node" : "only %s nodes", n);
  GtkWidget *chip = new_chip (text, "Grow by [ to inputs, by ] to outputs", "Show all nodes");

  g_signal_connect_object (gtk_widget_get_last_child (chip), "clicked", G_CALLBACK (on_show_all),
                           self, G_CONNECT_SWAPPED);
  gtk_box_append (GTK_BOX (self), chip);
}

/* -- */

void
ir_part_bar_update (IrPartBar *self)
{
  const IrLook *look = ir_session_get_look (self->session);
  const IrFrame *frame = ir_session_get_frame (self->session);
  const IrGraph *graph = frame != NULL ? ir_scene_find_root (frame->model, look->root) : NULL;
  GtkWidget *child;

  while ((child = gtk_widget_get_first_child (GTK_WIDGET (self))) != NULL)
    gtk_box_remove (GTK_BOX (self), child);
  if (graph != NULL)
    add_way (self, graph);
  if (look->nodes != NULL)
    add_nodes (self, look->nodes);
  for (guint i = 0; i < look->rules->len; i++)
    add_rule (self, &g_array_index (look->rules, IrLookRule, i), i);
  gtk_widget_set_visible (GTK_WIDGET (self),
                          gtk_widget_get_first_child (GTK_WIDGET (self)) != NULL);
}

static void
ir_part_bar_dispose (GObject *object)
{
  g_clear_object (&IR_PART_BAR (object)->session);
  G_OBJECT_CLASS (ir_part_bar_parent_class)->dispose (object);
}

static void
ir_part_bar_class_init (IrPartBarClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = ir_part_bar_dispose;
  gtk_widget_class_set_accessible_role (GTK_WIDGET_CLASS (klass), GTK_ACCESSIBLE_ROLE_GROUP);
}

static void
ir_part_bar_init (IrPartBar *self)
{
  gtk_box_set_spacing (GTK_BOX (self), 4);
  gtk_widget_add_css_class (GTK_WIDGET (self), "part-bar");
  gtk_widget_set_visible (GTK_WIDGET (self), FALSE);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  "Part of the graph that is shown", -1);
}

GtkWidget *
ir_part_bar_new (IrSession *session)
{
  IrPartBar *self = g_object_new (IR_TYPE_PART_BAR, NULL);

  self->session = g_object_ref (session);
  return GTK_WIDGET (self);
}
