#include "config.h"

#include "core/ir/printable.h"

#include <string.h>

/* Whether @at begins a character that is shown as it is; @length: (out): how many bytes it, or what
 * is in its place, has. */
static gboolean
is_plain (const char *at, gboolean lines, guint *length)
{
  guchar first = (guchar) *at;
  gunichar c;

  *length = 1;
  if (first < 0x80)
    return (first >= ' ' && first != 0x7f) || (lines && (first == '\n' || first == '\t'));
  c = g_utf8_get_char_validated (at, -1);
  if (c == (gunichar) -1 || c == (gunichar) -2)
    return FALSE;
  *length = (guint) (g_utf8_next_char (at) - at);
  return !g_unichar_iscntrl (c);
}

/**
 * ir_is_printable:
 * @text: any text
 * @lines: whether line breaks and tabs are part of it
 *
 * Returns: whether ir_printable() changes nothing
 */
gboolean
ir_is_printable (const char *text, gboolean lines)
{
  guint length;

  for (const char *at = text; *at != '\0'; at += length)
    if (!is_plain (at, lines, &length))
      return FALSE;
  return TRUE;
}

static void
put_escaped (GString *out, const char *at, guint length)
{
  if (*at == '\n')
    g_string_append (out, "\\n");
  else if (*at == '\t')
    g_string_append (out, "\\t");
  else if (*at == '\r')
    g_string_append (out, "\\r");
  else if (length > 1)
    g_string_append_printf (out, "\\u%04x", g_utf8_get_char (at));
  else
    g_string_append_printf (out, "\\x%02x", (guchar) *at);
}

/**
 * ir_printable:
 * @text: any text, also of bytes that are no UTF-8
 * @lines: whether line breaks and tabs are part of it
 *
 * Writes control characters, those of Latin-1 too, and stray bytes as escapes: "\x1b", "\n",
 * "\u009b". All else stays as it is.
 *
 * Returns: (transfer full): valid UTF-8
 */
char *
ir_printable (const char *text, gboolean lines)
{
  GString *out = g_string_sized_new (strlen (text));
  guint length;

  for (const char *at = text; *at != '\0'; at += length)
    if (is_plain (at, lines, &length))
      g_string_append_len (out, at, length);
    else
      put_escaped (out, at, length);
  return g_string_free (out, FALSE);
}
