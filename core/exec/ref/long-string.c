/* Strings of any length: see long-string.h. */
#include "config.h"

#include "core/exec/ref/long-string.h"

#include "core/ir/aside.h"

#include <string.h>

#define WORD   64                             /* bytes that are one piece of work */
#define PIECE  ((gsize) IR_BLOCK_LOOK * WORD) /* that are compared between two looks */
#define HASHED ((gsize) 1 << 15)              /* bytes at either end */
#define SHARED ((gsize) 1 << 16)              /* of a part that is worth keeping the whole for */

/* The element, not ended by a zero. @length: its bytes. */
const char *
ir_string_at (const IrTensor *tensor, guint64 i, gsize *length)
{
  const char *data = g_bytes_get_data (ir_tensor_string (tensor, i), length);

  return data != NULL ? data : "";
}

static int
compare (IrBlockWatch *watch, const char *a, const char *b, gsize length)
{
  gsize n;

  for (gsize at = 0; at < length; at += n)
    {
      n = MIN (length - at, PIECE);
      int order = memcmp (a + at, b + at, n);
      if (order != 0 || (n >= WORD && ir_block_worked (watch, n / WORD)))
        return order;
    }
  return 0;
}

/* As g_bytes_equal(); anything if the run is to stop */
gboolean
ir_string_equal (IrBlockWatch *watch, GBytes *a, GBytes *b)
{
  gsize a_length, b_length;
  const char *a_data = g_bytes_get_data (a, &a_length), *b_data = g_bytes_get_data (b, &b_length);

  return a_length == b_length && compare (watch, a_data, b_data, a_length) == 0;
}

/* As g_bytes_compare(); anything if the run is to stop */
int
ir_string_compare (IrBlockWatch *watch, GBytes *a, GBytes *b)
{
  gsize a_length, b_length;
  const char *a_data = g_bytes_get_data (a, &a_length), *b_data = g_bytes_get_data (b, &b_length);
  int order = compare (watch, a_data, b_data, MIN (a_length, b_length));

  return order != 0 ? order : (a_length > b_length) - (a_length < b_length);
}

static guint
hash_run (guint hash, const guint8 *data, gsize n)
{
  for (gsize i = 0; i < n; i++)
    hash = hash * 33 + data[i];
  return hash;
}

/* For tables, in place of g_bytes_hash(): of a long string it reads the ends alone. Returns a
 * hash that agrees with g_bytes_equal(). */
guint
ir_string_hash (gconstpointer bytes)
{
  gsize length;
  const guint8 *data = g_bytes_get_data ((GBytes *) bytes, &length);
  guint hash = hash_run ((guint) length, data, MIN (length, HASHED));

  return length > HASHED ? hash_run (hash, data + length - HASHED, HASHED) : hash;
}

/* A copy of both; anything if the run is to stop; NULL if there is no memory. @a: first bytes.
 * @b: bytes behind them. */
GBytes *
ir_string_join (IrBlockWatch *watch, const char *a, gsize a_length, const char *b, gsize b_length)
{
  char *text = g_try_malloc (MAX (a_length + b_length, 1));

  if (text == NULL)
    return NULL;
  ir_block_worked (watch, (a_length + b_length) / WORD);
  if (ir_call_copy (watch->call, text, a, a_length))
    ir_call_copy (watch->call, text + a_length, b, b_length);
  return g_bytes_new_take (text, a_length + b_length);
}

/* The part; a long one shares the bytes of @string. @length: its bytes. */
GBytes *
ir_string_part (IrBlockWatch *watch, GBytes *string, gsize start, gsize length)
{
  const char *data = g_bytes_get_data (string, NULL);

  if (length >= SHARED)
    return g_bytes_new_from_bytes (string, start, length);
  ir_block_worked (watch, length / WORD);
  return length > 0 ? g_bytes_new (data + start, length) : g_bytes_new_static ("", 0);
}

typedef struct
{
  GBytes *string;
  gboolean integers;
  IrStringNumber number;
} Reading;

static void
reading_free (Reading *reading)
{
  g_bytes_unref (reading->string);
  g_free (reading);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Reading, reading_free)

static void
read_number (gpointer data, IrAside *aside)
{
  Reading *reading = data;
  IrStringNumber *number = &reading->number;
  gsize length = 0;
  const char *bytes = g_bytes_get_data (reading->string, &length);
  g_autofree char *text = g_strndup (bytes != NULL ? bytes : "", length);
  char *end = text;

  g_strstrip (text);
  number->whole = reading->integers ? g_ascii_strtoll (text, &end, 10) : 0;
  number->is_whole = end != text && *end == '\0';
  number->real = number->is_whole ? 0 : g_ascii_strtod (text, &end);
  number->is_real = !number->is_whole && end != text && *end == '\0';
}

/* @number: what it is; neither whole nor real if it is no number */
gboolean
ir_string_number (IrBlockWatch *watch, GBytes *string, gboolean integers, IrStringNumber *number)
{
  gsize length = g_bytes_get_size (string);

  if (length < IR_LONG_STRING)
    {
      Reading here = { .string = string, .integers = integers };
      read_number (&here, NULL);
      *number = here.number;
      return !ir_block_worked (watch, 4 + length / 16);
    }
  g_autoptr (Reading) reading = g_new0 (Reading, 1);
  reading->string = g_bytes_ref (string);
  reading->integers = integers;
  gboolean done = ir_aside (reading, (GDestroyNotify) reading_free, read_number, ir_call_is_stopped,
                            (gpointer) watch->call);
  if (done)
    *number = reading->number;
  else
    reading = NULL; /* which goes on without us */
  return done;
}
