/* The language of expressions: emit.h, GpuScalar. */
#include "config.h"

#include "core/exec/gpu/emit.h"

#include <string.h>

/* What the words of an expression stand for. */
typedef struct
{
  const IrCall *call;
  const char *compute;
  guint64 n;
} Words;

gboolean
gpu_is_real (const char *compute)
{
  return compute[0] == 'f' || compute[0] == 'd';
}

static const char *
lowest_of (const char *compute)
{
  return gpu_is_real (compute)            ? "(-K_INFINITY)"
         : g_str_equal (compute, "k_i64") ? "(-0x7fffffffffffffffll - 1)"
                                          : "0ull";
}

static const char *
highest_of (const char *compute)
{
  return gpu_is_real (compute)            ? "K_INFINITY"
         : g_str_equal (compute, "k_i64") ? "0x7fffffffffffffffll"
                                          : "0xffffffffffffffffull";
}

/* The number of an attribute, which has a default in its row. */
static double
attribute (const Words *e, const char *name)
{
  const IrAttrSpec *spec = ir_op_attr (e->call->op, name);
  double fallback = spec != NULL && spec->fallback != NULL
                        ? (float) g_ascii_strtod (spec->fallback, NULL)
                        : 0;

  if (spec != NULL && spec->kind == IR_ATTR_INT)
    return (double) ir_call_int (e->call, name, (gint64) fallback);
  return ir_call_float (e->call, name, fallback);
}

/* What a word of an expression stands for; NULL: itself. */
static char *
word_value (const Words *e, const char *word, gsize length)
{
  gboolean is_double = g_str_equal (e->compute, "double");
  g_autofree char *text = g_strndup (word, length);

  if (text[0] == '@')
    return gpu_number (attribute (e, text + 1), is_double);
  if (g_str_equal (text, "lowest"))
    return g_strdup (lowest_of (e->compute));
  if (g_str_equal (text, "highest"))
    return g_strdup (highest_of (e->compute));
  if (g_str_equal (text, "N"))
    return g_strdup_printf ("%" G_GUINT64_FORMAT, e->n);
  if (length > 1 && text[length - 1] == 'F')
    {
      text[length - 1] = is_double ? '\0' : 'f';
      return g_steal_pointer (&text);
    }
  return NULL;
}

static gboolean
is_of_word (char c)
{
  return g_ascii_isalnum (c) || c == '_' || c == '@' || c == '.';
}

char *
gpu_expression (const IrCall *call, const char *compute, guint64 n, const char *expression)
{
  const Words words = { call, compute, n }, *e = &words;
  GString *text = g_string_new (NULL);

  for (const char *at = expression; *at != '\0';)
    {
      gsize length = 0;
      while (is_of_word (at[length]))
        length++;
      g_autofree char *value = length > 0 ? word_value (e, at, length) : NULL;
      if (value != NULL)
        g_string_append (text, value);
      else
        g_string_append_len (text, at, (gssize) MAX (length, 1));
      at += MAX (length, 1);
    }
  return g_string_free (text, FALSE);
}
