/* Elements of tensors of strings: see string-util.h. */
#include "config.h"

#include "core/exec/ref/string-util.h"

#include <string.h>

#define SHARED ((gsize) 1 << 16) /* bytes of a part that is worth keeping the whole for */

/* The element, not ended by a zero. @length: its bytes. */
const char *
ir_string_at (const IrTensor *tensor, guint64 i, gsize *length)
{
  const char *data = g_bytes_get_data (ir_tensor_string (tensor, i), length);

  return data != NULL ? data : "";
}

/* A copy of both; NULL if there is no memory. @a: first bytes. @b: bytes behind them. */
GBytes *
ir_string_join (const char *a, gsize a_length, const char *b, gsize b_length)
{
  char *text = g_try_malloc (MAX (a_length + b_length, 1));

  if (text == NULL)
    return NULL;
  if (a_length > 0)
    memcpy (text, a, a_length);
  if (b_length > 0)
    memcpy (text + a_length, b, b_length);
  return g_bytes_new_take (text, a_length + b_length);
}

/* The part; a long one shares the bytes of @string. @length: its bytes. */
GBytes *
ir_string_part (GBytes *string, gsize start, gsize length)
{
  const char *data = g_bytes_get_data (string, NULL);

  if (length >= SHARED)
    return g_bytes_new_from_bytes (string, start, length);
  return length > 0 ? g_bytes_new (data + start, length) : g_bytes_new_static ("", 0);
}

/* What it is; neither whole nor real if it is no number. */
IrStringNumber
ir_string_number (GBytes *string, gboolean integers)
{
  IrStringNumber number = { 0 };
  gsize length = 0;
  const char *bytes = g_bytes_get_data (string, &length);
  g_autofree char *text = g_strndup (bytes != NULL ? bytes : "", length);
  char *end = text;

  g_strstrip (text);
  number.whole = integers ? g_ascii_strtoll (text, &end, 10) : 0;
  number.is_whole = end != text && *end == '\0';
  number.real = number.is_whole ? 0 : g_ascii_strtod (text, &end);
  number.is_real = !number.is_whole && end != text && *end == '\0';
  return number;
}
