#include "config.h"

#include "views/text/find-bar.h"

#include "core/ir/count.h"

typedef struct
{
  GtkSourceView *view; /* (transfer none) in the same view as the bar */
  GtkSourceSearchSettings *settings;
  GtkSourceSearchContext *context;
  GtkWidget *entry, *label;
} FindBar;

static void
find_bar_free (gpointer data)
{
  FindBar *self = data;

  g_clear_object (&self->context);
  g_clear_object (&self->settings);
  g_free (self);
}

static FindBar *
find_bar (GtkWidget *bar)
{
  return g_object_get_data (G_OBJECT (bar), "find-bar");
}

static GtkTextBuffer *
buffer_of (const FindBar *self)
{
  return gtk_text_view_get_buffer (GTK_TEXT_VIEW (self->view));
}

/* Hits are counted while nothing else is to be done: until then neither number is known. */
static void
update_label (FindBar *self)
{
  GtkTextIter start, end;
  const int n = gtk_source_search_context_get_occurrences_count (self->context);
  int at = -1;
  g_autofree char *text = NULL;

  if (gtk_text_buffer_get_selection_bounds (buffer_of (self), &start, &end))
    at = gtk_source_search_context_get_occurrence_position (self->context, &start, &end);
  if (gtk_source_search_settings_get_search_text (self->settings) == NULL || n < 0)
    text = g_strdup ("");
  else if (n == 0)
    text = g_strdup ("Nothing found");
  else
    {
      g_autofree char *all = ir_count_text ((guint) n), *hit = ir_count_text ((guint) MAX (at, 0));

      text = at > 0 ? g_strdup_printf ("%s of %s", hit, all) : g_strdup_printf ("%s hits", all);
    }
  gtk_label_set_text (GTK_LABEL (self->label), text);
}

static void
on_counted (GtkWidget *bar)
{
  update_label (find_bar (bar));
}

static void
show_hit (FindBar *self, const GtkTextIter *start, const GtkTextIter *end)
{
  gtk_text_buffer_select_range (buffer_of (self), start, end);
  gtk_text_view_scroll_to_mark (GTK_TEXT_VIEW (self->view),
                                gtk_text_buffer_get_insert (buffer_of (self)), 0.2, FALSE, 0, 0);
  update_label (self);
}

/* From the beginning of what is selected, so that more letters stay at the same hit. */
static void
on_search_changed (FindBar *self)
{
  const char *text = gtk_editable_get_text (GTK_EDITABLE (self->entry));
  GtkTextIter from, start, end;
  gboolean wrapped;

  gtk_source_search_settings_set_search_text (self->settings, text);
  gtk_text_buffer_get_selection_bounds (buffer_of (self), &from, NULL);
  if (text[0] != '\0' &&
      gtk_source_search_context_forward (self->context, &from, &start, &end, &wrapped))
    show_hit (self, &start, &end);
  else
    update_label (self);
}

/* Selects another hit; behind the last comes the first */
void
ir_find_bar_move (GtkWidget *bar, gboolean forward)
{
  FindBar *self = find_bar (bar);
  const char *text = gtk_editable_get_text (GTK_EDITABLE (self->entry));
  GtkTextIter first, last, start, end;
  gboolean wrapped, found;

  if (text[0] == '\0')
    return;
  gtk_source_search_settings_set_search_text (self->settings, text);
  gtk_text_buffer_get_selection_bounds (buffer_of (self), &first, &last);
  found = forward
              ? gtk_source_search_context_forward (self->context, &last, &start, &end, &wrapped)
              : gtk_source_search_context_backward (self->context, &first, &start, &end, &wrapped);
  if (found)
    show_hit (self, &start, &end);
}

static void
on_next (GtkWidget *bar)
{
  ir_find_bar_move (bar, TRUE);
}

static void
on_previous (GtkWidget *bar)
{
  ir_find_bar_move (bar, FALSE);
}

static void
on_stopped (GtkWidget *bar)
{
  gtk_search_bar_set_search_mode (GTK_SEARCH_BAR (bar), FALSE);
  gtk_widget_grab_focus (GTK_WIDGET (find_bar (bar)->view));
}

static void
on_mode (GtkWidget *bar)
{
  FindBar *self = find_bar (bar);

  gtk_source_search_context_set_highlight (self->context,
                                           gtk_search_bar_get_search_mode (GTK_SEARCH_BAR (bar)));
}

/* What has only begun to unfold cannot keep the focus: the first keys would be lost. */
static void
unfold_at_once (GtkWidget *bar)
{
  GtkWidget *revealer = gtk_widget_get_first_child (bar);

  if (GTK_IS_REVEALER (revealer))
    gtk_revealer_set_transition_duration (GTK_REVEALER (revealer), 0);
}

/* Shows it and gives it the focus; words that are selected in one line are what is looked for. */
void
ir_find_bar_open (GtkWidget *bar)
{
  FindBar *self = find_bar (bar);
  GtkTextIter start, end;
  g_autofree char *words = NULL;

  gtk_search_bar_set_search_mode (GTK_SEARCH_BAR (bar), TRUE);
  if (gtk_text_buffer_get_selection_bounds (buffer_of (self), &start, &end) &&
      gtk_text_iter_get_line (&start) == gtk_text_iter_get_line (&end))
    words = gtk_text_buffer_get_text (buffer_of (self), &start, &end, FALSE);
  if (words != NULL)
    gtk_editable_set_text (GTK_EDITABLE (self->entry), words);
  gtk_widget_grab_focus (self->entry);
  gtk_editable_select_region (GTK_EDITABLE (self->entry), 0, -1);
}

/* -- building -- */

static GtkWidget *
move_button (GtkWidget *bar, const char *icon, const char *label, GCallback callback)
{
  GtkWidget *button = gtk_button_new_from_icon_name (icon);

  gtk_widget_set_tooltip_text (button, label);
  gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_LABEL, label,
                                  -1);
  g_signal_connect_swapped (button, "clicked", callback, bar);
  return button;
}

static void
connect_entry (FindBar *self, GtkWidget *bar)
{
  g_signal_connect_swapped (self->entry, "search-changed", G_CALLBACK (on_search_changed), self);
  g_signal_connect_swapped (self->entry, "activate", G_CALLBACK (on_next), bar);
  g_signal_connect_swapped (self->entry, "next-match", G_CALLBACK (on_next), bar);
  g_signal_connect_swapped (self->entry, "previous-match", G_CALLBACK (on_previous), bar);
  g_signal_connect_swapped (self->entry, "stop-search", G_CALLBACK (on_stopped), bar);
  g_signal_connect (bar, "notify::search-mode-enabled", G_CALLBACK (on_mode), NULL);
}

GtkWidget *
ir_find_bar_new (GtkSourceView *view)
{
  GtkWidget *bar = gtk_search_bar_new (), *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6);
  FindBar *self = g_new0 (FindBar, 1);
  GtkTextBuffer *buffer = gtk_text_view_get_buffer (GTK_TEXT_VIEW (view));

  g_object_set_data_full (G_OBJECT (bar), "find-bar", self, find_bar_free);
  self->view = view;
  self->settings = gtk_source_search_settings_new ();
  gtk_source_search_settings_set_wrap_around (self->settings, TRUE);
  self->context = gtk_source_search_context_new (GTK_SOURCE_BUFFER (buffer), self->settings);
  gtk_source_search_context_set_highlight (self->context, FALSE);
  self->entry = gtk_search_entry_new ();
  self->label = gtk_label_new (NULL);
  gtk_widget_set_size_request (self->entry, 130, -1);
  gtk_widget_set_hexpand (self->entry, TRUE);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->entry), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  "Find in the text", -1);
  gtk_label_set_width_chars (GTK_LABEL (self->label), 9);
  gtk_label_set_xalign (GTK_LABEL (self->label), 0);
  gtk_widget_add_css_class (self->label, "dim-label");
  gtk_widget_add_css_class (self->label, "numeric");
  gtk_box_append (GTK_BOX (box), self->entry);
  gtk_box_append (GTK_BOX (box), move_button (bar, "go-up-symbolic", "Previous hit (Ctrl+Shift+G)",
                                              G_CALLBACK (on_previous)));
  gtk_box_append (GTK_BOX (box),
                  move_button (bar, "go-down-symbolic", "Next hit (Ctrl+G)", G_CALLBACK (on_next)));
  gtk_box_append (GTK_BOX (box), self->label);
  unfold_at_once (bar);
  gtk_search_bar_set_child (GTK_SEARCH_BAR (bar), box);
  gtk_search_bar_connect_entry (GTK_SEARCH_BAR (bar), GTK_EDITABLE (self->entry));
  g_signal_connect_object (self->context, "notify::occurrences-count", G_CALLBACK (on_counted), bar,
                           G_CONNECT_SWAPPED);
  connect_entry (self, bar);
  return bar;
}
