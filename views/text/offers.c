#include "config.h"

#include "views/text/offers.h"

#define MOST_HEIGHT 220 /* px */
#define MOST_ROWS   200

typedef struct
{
  GtkPopover *popover;
  GtkTextView *text;
  GtkListBox *list;
  GPtrArray *words;
  guint n_typed;
} Offers;

static void
offers_free (gpointer data)
{
  Offers *self = data;

  g_ptr_array_unref (self->words);
  g_free (self);
}

static void
on_chosen (Offers *self, GtkListBoxRow *row)
{
  GtkTextBuffer *buffer = gtk_text_view_get_buffer (self->text);
  const char *word = self->words->pdata[gtk_list_box_row_get_index (row)];
  GtkTextIter start, end;

  gtk_text_buffer_get_iter_at_mark (buffer, &end, gtk_text_buffer_get_insert (buffer));
  start = end;
  gtk_text_iter_backward_chars (&start, (int) self->n_typed);
  gtk_text_buffer_begin_user_action (buffer);
  gtk_text_buffer_delete (buffer, &start, &end);
  gtk_text_buffer_insert (buffer, &start, word, -1);
  gtk_text_buffer_end_user_action (buffer);
  gtk_popover_popdown (self->popover);
}

/* Tab takes a word as Enter does; whoever types on does not want the list. */
static gboolean
on_key (Offers *self, guint keyval, guint keycode, GdkModifierType state)
{
  const gunichar typed = gdk_keyval_to_unicode (keyval);
  GtkWidget *row = gtk_widget_get_focus_child (GTK_WIDGET (self->list));
  char utf8[6];

  if (keyval == GDK_KEY_Tab && row != NULL)
    {
      on_chosen (self, GTK_LIST_BOX_ROW (row));
      return GDK_EVENT_STOP;
    }
  if (typed < 32 || typed == 127 || (state & (GDK_CONTROL_MASK | GDK_ALT_MASK)) != 0)
    return GDK_EVENT_PROPAGATE;
  gtk_text_buffer_insert_at_cursor (gtk_text_view_get_buffer (self->text), utf8,
                                    g_unichar_to_utf8 (typed, utf8));
  gtk_popover_popdown (self->popover);
  return GDK_EVENT_STOP;
}

static void
drop (gpointer popover)
{
  if (gtk_widget_get_parent (popover) != NULL)
    gtk_widget_unparent (popover);
  g_object_unref (popover);
}

static void
on_closed (Offers *self)
{
  gtk_widget_grab_focus (GTK_WIDGET (self->text));
  g_idle_add_once (drop, g_object_ref (self->popover)); /* not while it tells so */
}

static GtkWidget *
build_list (Offers *self)
{
  GtkWidget *scrolled = gtk_scrolled_window_new (), *list = gtk_list_box_new ();

  for (guint i = 0; i < MIN (self->words->len, MOST_ROWS); i++)
    {
      GtkWidget *label = gtk_label_new (self->words->pdata[i]);

      gtk_label_set_xalign (GTK_LABEL (label), 0);
      gtk_widget_add_css_class (label, "monospace");
      gtk_list_box_append (GTK_LIST_BOX (list), label);
    }
  self->list = GTK_LIST_BOX (list);
  gtk_widget_add_css_class (list, "found");
  gtk_accessible_update_property (GTK_ACCESSIBLE (list), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  "Completions", -1);
  g_signal_connect_swapped (list, "row-activated", G_CALLBACK (on_chosen), self);
  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (scrolled), GTK_POLICY_NEVER,
                                  GTK_POLICY_AUTOMATIC);
  gtk_scrolled_window_set_propagate_natural_height (GTK_SCROLLED_WINDOW (scrolled), TRUE);
  gtk_scrolled_window_set_max_content_height (GTK_SCROLLED_WINDOW (scrolled), MOST_HEIGHT);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scrolled), list);
  return scrolled;
}

static void
point_to_cursor (Offers *self, GtkWidget *view)
{
  GtkTextBuffer *buffer = gtk_text_view_get_buffer (self->text);
  GtkTextIter at;
  GdkRectangle place;
  double x, y;
  int left, top;

  gtk_text_buffer_get_iter_at_mark (buffer, &at, gtk_text_buffer_get_insert (buffer));
  gtk_text_view_get_iter_location (self->text, &at, &place);
  gtk_text_view_buffer_to_window_coords (self->text, GTK_TEXT_WINDOW_WIDGET, place.x, place.y,
                                         &left, &top);
  gtk_widget_translate_coordinates (GTK_WIDGET (self->text), view, left, top, &x, &y);
  gtk_popover_set_pointing_to (self->popover, &(GdkRectangle){ (int) x, (int) y, 1, place.height });
}

void
ir_text_offer (GtkWidget *view, GtkTextView *text, GPtrArray *words, guint n_typed)
{
  Offers *self = g_new0 (Offers, 1);
  GtkEventController *keys = gtk_event_controller_key_new ();
  GtkWidget *popover = gtk_popover_new ();

  *self = (Offers){
    .popover = GTK_POPOVER (popover), .text = text, .words = words, .n_typed = n_typed
  };
  g_object_set_data_full (G_OBJECT (popover), "offers", self, offers_free);
  gtk_popover_set_child (self->popover, build_list (self));
  gtk_popover_set_has_arrow (self->popover, FALSE);
  gtk_popover_set_position (self->popover, GTK_POS_BOTTOM);
  gtk_widget_set_halign (popover, GTK_ALIGN_START);
  gtk_event_controller_set_propagation_phase (keys, GTK_PHASE_CAPTURE);
  g_signal_connect_swapped (keys, "key-pressed", G_CALLBACK (on_key), self);
  gtk_widget_add_controller (popover, keys);
  g_signal_connect_swapped (popover, "closed", G_CALLBACK (on_closed), self);
  gtk_widget_set_parent (popover, view);
  point_to_cursor (self, view);
  g_signal_connect_object (view, "destroy", G_CALLBACK (gtk_widget_unparent), popover,
                           G_CONNECT_SWAPPED);
  gtk_popover_popup (self->popover);
  gtk_widget_grab_focus (GTK_WIDGET (gtk_list_box_get_row_at_index (self->list, 0)));
}
