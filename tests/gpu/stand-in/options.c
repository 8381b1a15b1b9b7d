/* What the environment asks of the stand-in. It is read again for each call: tests change it. */
#include "tests/gpu/stand-in/stand-in.h"

#include <string.h>

/* What stands behind @name and an equals sign; "": nothing. */
char *
stand_in_text (const char *name)
{
  g_auto (GStrv) parts = g_strsplit (
      g_getenv (STAND_IN_VARIABLE) != NULL ? g_getenv (STAND_IN_VARIABLE) : "", ",", -1);
  gsize length = strlen (name);

  for (guint i = 0; parts[i] != NULL; i++)
    if (strncmp (parts[i], name, length) == 0 &&
        (parts[i][length] == '\0' || parts[i][length] == '='))
      return g_strdup (parts[i] + length + (parts[i][length] == '='));
  return NULL;
}

gboolean
stand_in_option (const char *name, guint64 fallback, guint64 *value)
{
  g_autofree char *text = stand_in_text (name);

  *value = text != NULL && *text != '\0' ? g_ascii_strtoull (text, NULL, 10) : fallback;
  return text != NULL;
}

guint64
stand_in_make (void)
{
  g_autofree char *prelude = NULL;
  guint64 unused;

  g_file_get_contents (STAND_IN_PRELUDE, &prelude, NULL, NULL);
  return (guint64) g_str_hash (prelude != NULL ? prelude : "") << 1 |
         (stand_in_option ("fast", 0, &unused) ? 1 : 0);
}

/* Of an option NAME=FUNCTION:N..: whether this call of @symbol is meant, the N-th since the option is as it is; 0: each.
 * (transfer full) (nullable): its parts */
static GStrv
take_call (const char *name, const char *symbol, const char **seen, guint64 *calls)
{
  g_autofree char *text = stand_in_text (name);
  g_auto (GStrv) parts = text != NULL ? g_strsplit (text, ":", 3) : NULL;
  guint64 wanted;

  if (g_strcmp0 (text, *seen) != 0)
    {
      *seen = g_intern_string (text);
      *calls = 0;
    }
  if (text == NULL || g_strv_length (parts) < 2 || !g_str_equal (parts[0], symbol))
    return NULL;
  wanted = g_ascii_strtoull (parts[1], NULL, 10);
  return ++*calls == wanted || wanted == 0 ? g_steal_pointer (&parts) : NULL;
}

unsigned int
stand_in_fails (const char *symbol)
{
  static const char *seen; /* interned: the library may be unloaded */
  static guint64 calls;
  g_auto (GStrv) parts = take_call ("fail", symbol, &seen, &calls);

  return parts != NULL && parts[2] != NULL ? (unsigned int) g_ascii_strtoull (parts[2], NULL, 10)
                                           : 0;
}

extern int stand_in_n_skipped; /* for tests, which find it by name */
int stand_in_n_skipped;

gboolean
stand_in_skips (const char *symbol)
{
  static const char *seen;
  static guint64 calls;
  g_auto (GStrv) parts = take_call ("skip", symbol, &seen, &calls);

  stand_in_n_skipped += parts != NULL;
  return parts != NULL;
}
