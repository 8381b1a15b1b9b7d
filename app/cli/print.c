#include "config.h"

#include "app/cli/print.h"

#include "core/ir/printable.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* -- formatting with escapes in strings -- */

/* One conversion of a format, "%-*.3s", with its * already numbers. */
typedef struct
{
  GString *spec;
  int length; /* h is -1, hh -2, l 1, ll 2, z, j and t 3 */
  char kind;
} Conversion;

static int
length_of (char c)
{
  return c == 'h' ? -1 : c == 'l' ? 1 : strchr ("zjt", c) != NULL ? 3 : 0;
}

/* va_list by pointer: what is taken here is not taken again. */
typedef struct
{
  va_list list;
} Arguments;

/* Gives what follows the conversion that begins at @format. */
static const char *
read_conversion (const char *format, Conversion *conversion, Arguments *arguments)
{
  const char *at = format + 1;

  g_string_assign (conversion->spec, "%");
  conversion->length = 0;
  for (; strchr ("-+ #0123456789.*hlzjt", *at) != NULL && *at != '\0'; at++)
    if (*at == '*')
      g_string_append_printf (conversion->spec, "%d", va_arg (arguments->list, int));
    else if (length_of (*at) != 0)
      conversion->length += length_of (*at);
    else
      g_string_append_c (conversion->spec, *at);
  conversion->kind = *at;
  return *at != '\0' ? at + 1 : at;
}

/* All integers are printed as the widest. */
static gint64
take_integer (const Conversion *conversion, Arguments *arguments)
{
  gboolean is_signed = strchr ("di", conversion->kind) != NULL;

  switch (conversion->length)
    {
    case 1:
      return is_signed ? (gint64) va_arg (arguments->list, long)
                       : (gint64) va_arg (arguments->list, unsigned long);
    case 2:
      return (gint64) va_arg (arguments->list, long long);
    case 3:
      return is_signed ? (gint64) va_arg (arguments->list, ptrdiff_t)
                       : (gint64) va_arg (arguments->list, size_t);
    default:
      return is_signed ? (gint64) va_arg (arguments->list, int)
                       : (gint64) va_arg (arguments->list, unsigned);
    }
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static void
put_conversion (GString *out, const Conversion *conversion, Arguments *arguments)
{
  GString *spec = conversion->spec;

  if (strchr ("diuxXo", conversion->kind) != NULL)
    {
      g_string_append (spec, "ll");
      g_string_append_c (spec, conversion->kind);
      g_string_append_printf (out, spec->str, (long long) take_integer (conversion, arguments));
      return;
    }
  g_string_append_c (spec, conversion->kind);
  if (conversion->kind == 's')
    {
      const char *text = va_arg (arguments->list, const char *);
      g_autofree char *printable = ir_printable (text != NULL ? text : "(null)", FALSE);
      g_string_append_printf (out, spec->str, printable);
    }
  else if (conversion->kind == 'c')
    {
      char text[2] = { (char) va_arg (arguments->list, int), '\0' };
      g_autofree char *printable = ir_printable (text, FALSE);
      g_string_append (out, printable);
    }
  else if (conversion->kind == '%')
    g_string_append_c (out, '%');
  else if (conversion->kind == 'p')
    g_string_append_printf (out, spec->str, va_arg (arguments->list, void *));
  else
    g_string_append_printf (out, spec->str, va_arg (arguments->list, double));
}
#pragma GCC diagnostic pop

static char *
format_escaped (const char *format, Arguments *arguments)
{
  GString *out = g_string_new (NULL);
  Conversion conversion = { .spec = g_string_new (NULL) };

  while (*format != '\0')
    {
      gsize n = strcspn (format, "%");

      g_string_append_len (out, format, (gssize) n);
      format += n;
      if (*format == '\0')
        break;
      format = read_conversion (format, &conversion, arguments);
      put_conversion (out, &conversion, arguments);
    }
  g_string_free (conversion.spec, TRUE);
  return g_string_free (out, FALSE);
}

static guint
count_breaks (const char *text)
{
  guint n = 0;

  for (; (text = strpbrk (text, "\n\t")) != NULL; text++)
    n++;
  return n;
}

/* Nearly all that is printed has nothing to be escaped, and is formatted once. */
static void
print (FILE *to, const char *format, va_list list)
{
  g_autofree char *text = NULL;
  Arguments again;

  va_copy (again.list, list);
  text = g_strdup_vprintf (format, list);
  if (!ir_is_printable (text, TRUE) || count_breaks (text) != count_breaks (format))
    {
      g_free (text);
      text = format_escaped (format, &again);
    }
  va_end (again.list);
  fputs (text, to);
}

void
cli_print (const char *format, ...)
{
  va_list list;

  va_start (list, format);
  print (stdout, format, list);
  va_end (list);
}

void
cli_printerr (const char *format, ...)
{
  va_list list;

  va_start (list, format);
  print (stderr, format, list);
  va_end (list);
}

/* -- texts of many lines -- */

static void
write_lines (FILE *to, const char *text)
{
  g_autofree char *escaped = ir_is_printable (text, TRUE) ? NULL : ir_printable (text, TRUE);

  fputs (escaped != NULL ? escaped : text, to);
}

void
cli_write (const char *text)
{
  write_lines (stdout, text);
}

static void
write_error (const char *text)
{
  write_lines (stderr, text);
}

void
cli_print_init (void)
{
  g_set_print_handler (cli_write);
  g_set_printerr_handler (write_error);
}
