#include "config.h"

#include "views/text/folding.h"

#include "core/ir/count.h"

#include <string.h>

#define FOLDED    "folded"
#define LEAST     4   /* lines: fewer are not in the way */
#define MOST_HEAD 100 /* lines before the graph */

typedef struct
{
  GtkTextBuffer *buffer; /* not referenced: lives with the view */
  gboolean updating;
} Fold;

static Fold *
fold_of (GtkWidget *button)
{
  return g_object_get_data (G_OBJECT (button), "fold");
}

static gboolean
line_ends_so (const GtkTextIter *line, const char *end)
{
  GtkTextIter to = *line;
  g_autofree char *text = NULL;

  if (!gtk_text_iter_ends_line (&to))
    gtk_text_iter_forward_to_line_end (&to);
  text = gtk_text_iter_get_slice (line, &to);
  return g_str_has_suffix (text, end) && strstr (text, "=>") != NULL;
}

static gboolean
line_begins_so (const GtkTextIter *line, const char *start)
{
  GtkTextIter to = *line;
  g_autofree char *text = NULL;

  gtk_text_iter_forward_chars (&to, (int) strlen (start));
  text = gtk_text_iter_get_slice (line, &to);
  return strcmp (text, start) == 0;
}

/* The lines behind that of the main graph, deeper in than its nodes, but for the last: that ends the list.
 * Returns how many there are */
static guint
find_weights (GtkTextBuffer *buffer, GtkTextIter *from, GtkTextIter *to)
{
  GtkTextIter line;
  guint n = 0;

  gtk_text_buffer_get_start_iter (buffer, &line);
  for (guint i = 0; i < MOST_HEAD && !line_ends_so (&line, "<"); i++)
    if (!gtk_text_iter_forward_line (&line))
      return 0;
  if (!line_ends_so (&line, "<") || !gtk_text_iter_forward_line (&line))
    return 0;
  *from = *to = line;
  while (line_begins_so (&line, "    ") && gtk_text_iter_forward_line (&line) &&
         line_begins_so (&line, "    "))
    {
      *to = line;
      n++;
    }
  return n;
}

static void
show (GtkWidget *button, gboolean shown)
{
  Fold *self = fold_of (button);
  GtkTextIter start, end, from, to;
  const guint n = find_weights (self->buffer, &from, &to);
  g_autofree char *count = ir_count_text (n), *label = NULL;

  gtk_text_buffer_get_bounds (self->buffer, &start, &end);
  gtk_text_buffer_remove_tag_by_name (self->buffer, FOLDED, &start, &end);
  if (!shown && n >= LEAST)
    gtk_text_buffer_apply_tag_by_name (self->buffer, FOLDED, &from, &to);
  label = g_strdup_printf ("%s Weights", count);
  gtk_button_set_label (GTK_BUTTON (button), label);
  gtk_widget_set_visible (button, n >= LEAST);
  self->updating = TRUE;
  gtk_toggle_button_set_active (GTK_TOGGLE_BUTTON (button), shown);
  self->updating = FALSE;
}

static void
on_toggled (GtkToggleButton *button)
{
  if (!fold_of (GTK_WIDGET (button))->updating)
    show (GTK_WIDGET (button), gtk_toggle_button_get_active (button));
}

void
ir_text_fold_update (GtkWidget *button)
{
  show (button, gtk_toggle_button_get_active (GTK_TOGGLE_BUTTON (button)));
}

void
ir_text_fold_open_at (GtkWidget *button, const GtkTextIter *place)
{
  GtkTextTag *tag = gtk_text_tag_table_lookup (
      gtk_text_buffer_get_tag_table (fold_of (button)->buffer), FOLDED);

  if (gtk_text_iter_has_tag (place, tag))
    show (button, TRUE);
}

/* -- numbers of lines: the editor's own would print those of hidden lines over each other -- */

static void
on_query (GtkSourceGutterRenderer *renderer, GtkSourceGutterLines *lines, guint line)
{
  GtkTextTag *tag = gtk_text_tag_table_lookup (
      gtk_text_buffer_get_tag_table (gtk_source_gutter_lines_get_buffer (lines)), FOLDED);
  g_autofree char *text = g_strdup_printf ("%u", line + 1);
  GtkTextIter start;

  gtk_source_gutter_lines_get_iter_at_line (lines, &start, line);
  gtk_source_gutter_renderer_text_set_text (
      GTK_SOURCE_GUTTER_RENDERER_TEXT (renderer),
      tag != NULL && gtk_text_iter_has_tag (&start, tag) ? "" : text, -1);
}

/* As wide as the last number. */
static void
fit_numbers (GtkTextBuffer *buffer, GtkWidget *renderer)
{
  g_autofree char *text = g_strdup_printf ("%d", MAX (gtk_text_buffer_get_line_count (buffer), 99));
  int width = 0;

  gtk_source_gutter_renderer_text_measure (GTK_SOURCE_GUTTER_RENDERER_TEXT (renderer), text, &width,
                                           NULL);
  gtk_widget_set_size_request (renderer, width, -1);
}

void
ir_text_number_lines (GtkSourceView *view)
{
  GtkSourceGutterRenderer *renderer = gtk_source_gutter_renderer_text_new ();
  GtkTextBuffer *buffer = gtk_text_view_get_buffer (GTK_TEXT_VIEW (view));

  gtk_source_gutter_renderer_set_xalign (renderer, 1);
  gtk_source_gutter_renderer_set_xpad (renderer, 6);
  gtk_widget_add_css_class (GTK_WIDGET (renderer), "line-numbers");
  g_signal_connect (renderer, "query-data", G_CALLBACK (on_query), NULL);
  g_signal_connect_object (buffer, "changed", G_CALLBACK (fit_numbers), renderer, 0);
  gtk_source_gutter_insert (gtk_source_view_get_gutter (view, GTK_TEXT_WINDOW_LEFT), renderer, 0);
  fit_numbers (buffer, GTK_WIDGET (renderer));
}

GtkWidget *
ir_text_fold_new (GtkTextBuffer *buffer)
{
  GtkWidget *button = gtk_toggle_button_new ();
  Fold *self = g_new0 (Fold, 1);

  self->buffer = buffer;
  gtk_text_buffer_create_tag (buffer, FOLDED, "invisible", TRUE, NULL);
  g_object_set_data_full (G_OBJECT (button), "fold", self, g_free);
  gtk_widget_set_tooltip_text (button, "Show the initializers in the text, or fold them");
  gtk_widget_set_visible (button, FALSE);
  gtk_widget_add_css_class (button, "flat");
  g_signal_connect (button, "toggled", G_CALLBACK (on_toggled), NULL);
  return button;
}
