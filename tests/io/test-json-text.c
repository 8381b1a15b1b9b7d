/* How trees of JSON are printed. */
#include "config.h"

#include "core/io/json/print.h"

#include <math.h>

static cJSON *
random_json (GRand *rand, guint depth)
{
  const char *const strings[] = { "", "plain", "\"quoted\\\b\f\n\r\t/", "\x01\x1f\x7f", "ÄÖ→" };
  const double numbers[] = { 0, -0.0, 1, -17, 0.1, 1e300, 123456789012.0, 1.0 / 3, NAN, INFINITY };
  const gint kind = g_rand_int_range (rand, 0, depth > 0 ? 7 : 5);
  cJSON *made;

  if (kind < 2)
    return cJSON_CreateString (strings[g_rand_int_range (rand, 0, G_N_ELEMENTS (strings))]);
  if (kind < 4)
    return cJSON_CreateNumber (numbers[g_rand_int_range (rand, 0, G_N_ELEMENTS (numbers))]);
  if (kind == 4)
    return g_rand_boolean (rand) ? cJSON_CreateNull () : cJSON_CreateBool (g_rand_boolean (rand));
  made = kind == 5 ? cJSON_CreateArray () : cJSON_CreateObject ();
  for (gint n = g_rand_int_range (rand, 0, 6); n > 0; n--)
    if (kind == 5)
      cJSON_AddItemToArray (made, random_json (rand, depth - 1));
    else
      cJSON_AddItemToObject (made, strings[n % 5], random_json (rand, depth - 1));
  return made;
}

static void
test_json_text (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (11);

  for (guint i = 0; i < 500; i++)
    {
      cJSON *json = random_json (rand, 5);
      char *printed = cJSON_Print (json);
      g_auto (GStrv)
          parts = g_strsplit (printed, "\x7f", -1); /* which cJSON leaves to steer terminals */
      g_autofree char *wanted = g_strjoinv ("\\u007f", parts);
      g_autofree char *found = ir_json_print_text (json);

      g_assert_cmpstr (found, ==, wanted);
      cJSON_free (printed);
      cJSON_Delete (json);
    }
}

/* Each character alone: what JSON or a terminal must not get is escaped, and all else is not. */
static void
test_escapes (void)
{
  const char *const letters = "\bb\ff\nn\rr\tt\"\"\\\\"; /* in pairs: the character, its letter */

  for (gunichar c = 1; c < 0x250; c++)
    {
      char utf8[7] = { 0 };
      g_unichar_to_utf8 (c, utf8);
      const char *letter = letters;
      while (*letter != '\0' && (guchar) *letter != c)
        letter += 2;
      g_autofree char *escape = c < 0x80 && *letter != '\0' ? g_strdup_printf ("\\%c", letter[1])
                                : c < ' ' || (c >= 0x7f && c < 0xa0)
                                    ? g_strdup_printf ("\\u%04x", c)
                                    : g_strdup (utf8);
      g_autofree char *wanted = g_strdup_printf ("\"a%sb\"", escape);
      g_autofree char *text = g_strdup_printf ("a%sb", utf8);
      cJSON *json = cJSON_CreateString (text);
      g_autofree char *found = ir_json_print_text (json);

      g_assert_cmpstr (found, ==, wanted);
      cJSON_Delete (json);
    }
}

typedef struct
{
  gsize bytes;
  guint parts_wanted;
} Sink;

static gboolean
take_part (const char *text, gsize length, gpointer user_data)
{
  Sink *sink = user_data;

  sink->bytes += length;
  return --sink->parts_wanted > 0;
}

static void
test_sink (void)
{
  cJSON *json = cJSON_CreateArray ();
  Sink all = { 0, G_MAXUINT }, some = { 0, 2 };

  for (guint i = 0; i < 50000; i++)
    cJSON_AddItemToArray (json, cJSON_CreateNumber (i));
  g_assert_true (ir_json_print (json, take_part, &all));
  g_assert_false (ir_json_print (json, take_part, &some));
  g_assert_cmpuint (some.bytes, <, all.bytes);
  cJSON_Delete (json);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/json-text/is-what-cjson-prints", test_json_text);
  g_test_add_func ("/json-text/each-character-is-escaped-or-not", test_escapes);
  g_test_add_func ("/json-text/ends-where-nobody-wants-more", test_sink);
  return g_test_run ();
}
