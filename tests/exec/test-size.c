/* Sizes of memory as people write them. */
#include "config.h"

#include "core/exec/kernel/size.h"

static const struct
{
  const char *text;
  guint64 whole, bytes; /* bytes 0: no size */
} cases[] = {
  { "1", 0, 1 },
  { "500000", 0, 500000 },
  { "20M", 0, 20 << 20 },
  { "20m", 0, 20 << 20 },
  { "2G", 0, G_GUINT64_CONSTANT (2) << 30 },
  { "50%", 1000, 500 },
  { "200%", 1000, 2000 },
  { "50%", 0, 0 },
  { "0", 1000, 0 },
  { "0%", 1000, 0 },
  { "", 1000, 0 },
  { "much", 1000, 0 },
  { "-5", 1000, 0 },
  { "5 M", 1000, 0 },
  { "5MB", 1000, 0 },
  { "9223372036854775807", 0, G_MAXINT64 },
  { "9223372036854775808", 0, 0 },
  { "18446744073709551617", 0, 0 },
  { "99999999999999999999999999999999", 0, 0 },
  { "9999999999T", 0, 0 },
  { "8388607T", 0, G_GUINT64_CONSTANT (8388607) << 40 },
  { "99999999999999999999%", 1000, 0 },
  { "99999999999999999999x", 1000, 0 },
};

static void
test_parse (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      guint64 bytes = 0;

      g_test_message ("%s", cases[i].text);
      g_assert_cmpint (ir_size_parse (cases[i].text, cases[i].whole, &bytes), ==,
                       cases[i].bytes != 0);
      g_assert_cmpuint (bytes, ==, cases[i].bytes);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/size/bytes, units and parts are read, and nothing else", test_parse);
  return g_test_run ();
}
