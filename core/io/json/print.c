#include "config.h"

#include "core/io/json/print.h"

#include <string.h>

#define PART_BYTES 65536

typedef struct
{
  GString *part;
  IrJsonSink sink;
  gpointer user_data;
} Printer;

static gboolean print_item (Printer *printer, const cJSON *item, guint depth);

static gboolean
hand_over (Printer *printer)
{
  if (!printer->sink (printer->part->str, printer->part->len, printer->user_data))
    return FALSE;
  g_string_truncate (printer->part, 0);
  return TRUE;
}

static void
indent (GString *text, guint depth)
{
  for (guint i = 0; i < depth; i++)
    g_string_append_c (text, '\t');
}

/* Bytes at @at that JSON or a terminal must not get as they are: DEL and the controls of Latin-1
 * are allowed in JSON, and steer a terminal. */
static guint
escaped_length (const char *at)
{
  const guchar *c = (const guchar *) at;

  if (*c < ' ' || *c == '"' || *c == '\\' || *c == 0x7f)
    return 1;
  return c[0] == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0 ? 2 : 0;
}

static void
append_escaped (GString *text, guchar c)
{
  static const char plain[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
  const char *found = strchr (plain, c);

  if (found != NULL)
    g_string_append_printf (text, "\\%c", letters[found - plain]);
  else
    g_string_append_printf (text, "\\u%04x", c);
}

static void
append_string (GString *text, const char *string)
{
  const char *from = string != NULL ? string : "", *at = from;

  g_string_append_c (text, '"');
  for (guint length; *at != '\0'; at += MAX (length, 1))
    if ((length = escaped_length (at)) > 0)
      {
        g_string_append_len (text, from, at - from);
        append_escaped (text,
                        (guchar) at[length - 1]); /* the last byte is the character's number */
        from = at + length;
      }
  g_string_append_len (text, from, at - from);
  g_string_append_c (text, '"');
}

static gboolean
print_array (Printer *printer, const cJSON *array, guint depth)
{
  g_string_append_c (printer->part, '[');
  for (const cJSON *item = array->child; item != NULL; item = item->next)
    {
      if (!print_item (printer, item, depth + 1))
        return FALSE;
      if (item->next != NULL)
        g_string_append (printer->part, ", ");
    }
  g_string_append_c (printer->part, ']');
  return TRUE;
}

static gboolean
print_object (Printer *printer, const cJSON *object, guint depth)
{
  g_string_append (printer->part, "{\n");
  for (const cJSON *item = object->child; item != NULL; item = item->next)
    {
      indent (printer->part, depth + 1);
      append_string (printer->part, item->string);
      g_string_append (printer->part, ":\t");
      if (!print_item (printer, item, depth + 1))
        return FALSE;
      g_string_append (printer->part, item->next != NULL ? ",\n" : "\n");
    }
  indent (printer->part, depth);
  g_string_append_c (printer->part, '}');
  return TRUE;
}

static gboolean
print_item (Printer *printer, const cJSON *item, guint depth)
{
  char number[64];

  if (printer->part->len >= PART_BYTES && !hand_over (printer))
    return FALSE;
  if (cJSON_IsObject (item))
    return print_object (printer, item, depth);
  if (cJSON_IsArray (item))
    return print_array (printer, item, depth);
  if (cJSON_IsString (item))
    append_string (printer->part, item->valuestring);
  else if (cJSON_PrintPreallocated ((cJSON *) item, number, sizeof number, FALSE))
    g_string_append (printer->part, number);
  return TRUE;
}

/**
 * ir_json_print:
 * @json: a tree
 * @sink: (scope call): takes the text, part by part
 * @user_data: for @sink
 *
 * Prints as cJSON_Print() does.
 *
 * Returns: %FALSE if @sink did not want more
 */
gboolean
ir_json_print (const cJSON *json, IrJsonSink sink, gpointer user_data)
{
  g_autoptr (GString) part = g_string_sized_new (256);
  Printer printer = { part, sink, user_data };

  return print_item (&printer, json, 0) && hand_over (&printer);
}

static gboolean
append_part (const char *text, gsize length, gpointer user_data)
{
  g_string_append_len (user_data, text, (gssize) length);
  return TRUE;
}

/**
 * ir_json_print_text:
 * @json: a tree
 *
 * Returns: (transfer full): all of its text
 */
char *
ir_json_print_text (const cJSON *json)
{
  GString *text = g_string_new (NULL);

  ir_json_print (json, append_part, text);
  return g_string_free (text, FALSE);
}

/**
 * ir_json_print_line:
 * @json: a tree
 *
 * Returns: (transfer full): all of its text in one line, by g_free()
 */
char *
ir_json_print_line (const cJSON *json)
{
  GString *text = g_string_new (NULL);
  char *line = cJSON_PrintUnformatted (json);
  guint length;

  /* Beside strings there is nothing in it that must be escaped. */
  for (const char *at = line; at != NULL && *at != '\0'; at += length)
    {
      length = *at == '"' || *at == '\\' ? 0 : escaped_length (at);
      if (length > 0)
        append_escaped (text, (guchar) at[length - 1]);
      else
        g_string_append_c (text, *at);
      length = MAX (length, 1);
    }
  cJSON_free (line);
  return g_string_free (text, FALSE);
}
