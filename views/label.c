#include "config.h"

#include "views/label.h"

#include <string.h>

#define MAX_NAME 36 /* characters of a file's name that is short enough for a line */
#define TAIL     14 /* that are left of a longer one's end */
#define TIP_LINE 60 /* characters of a tooltip behind which its line ends at the next space */
#define FITS     18 /* that fit into a line of any pane, as a title */

/* Wraps @label, also within words. A hyphen there would read as part of the name. */
void
ir_label_wrap_names (GtkLabel *label)
{
  PangoAttrList *attributes = pango_attr_list_new ();

  pango_attr_list_insert (attributes, pango_attr_insert_hyphens_new (FALSE));
  gtk_label_set_wrap (label, TRUE);
  gtk_label_set_wrap_mode (label, PANGO_WRAP_WORD_CHAR);
  gtk_label_set_attributes (label, attributes);
  pango_attr_list_unref (attributes);
}

/* The toolkit's tooltips have no width of their own: a long line is as wide as the screen. */
void
ir_set_tip (GtkWidget *widget, const char *text)
{
  g_autoptr (GString) tip = g_string_new (text);
  guint n = 0;

  for (gsize i = 0; i < tip->len; i++)
    {
      if (tip->str[i] == '\n')
        n = 0;
      else if ((tip->str[i] & 0xc0) != 0x80) /* a character begins */
        n++;
      if (n > TIP_LINE && tip->str[i] == ' ')
        {
          tip->str[i] = '\n';
          n = 0;
        }
    }
  gtk_widget_set_tooltip_text (widget, tip->len > 0 ? tip->str : NULL);
}

/**
 * ir_short_name:
 * @name: of a file
 *
 * Returns: (transfer full): the name, short enough for a line; what is left out is in the middle, as the end says what
 * it is
 */
char *
ir_short_name (const char *name)
{
  const glong n = g_utf8_strlen (name, -1);
  g_autofree char *head = NULL, *tail = NULL;

  if (n <= MAX_NAME)
    return g_strdup (name);
  head = g_utf8_substring (name, 0, MAX_NAME - TAIL - 1);
  tail = g_utf8_substring (name, n - TAIL, n);
  return g_strconcat (head, "…", tail, NULL);
}

#define ZERO_WIDTH_SPACE "\342\200\213"

/**
 * ir_breakable_name:
 * @path: of a file, or its name
 *
 * Returns: (transfer full): the same, which a label breaks at its underscores and before its suffix, not within them,
 * if it is too long for a line
 */
char *
ir_breakable_name (const char *path)
{
  const char *slash = strrchr (path, '/'), *point = strrchr (path, '.');
  GString *text;

  if (g_utf8_strlen (slash != NULL ? slash + 1 : path, -1) <= FITS)
    return g_strdup (path);
  text = g_string_new (NULL);
  for (const char *p = path; *p != '\0'; p++)
    {
      if (p == point)
        g_string_append (text, ZERO_WIDTH_SPACE);
      g_string_append_c (text, *p);
      if (*p == '_')
        g_string_append (text, ZERO_WIDTH_SPACE);
    }
  return g_string_free (text, FALSE);
}
