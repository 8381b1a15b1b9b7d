/* Comparisons and amounts, as all conditions of users have them. */
#include "config.h"

#include "core/query/condition.h"

#include <math.h>

static void
test_relations (void)
{
  static const struct
  {
    const char *text, *rest;
    IrRelation relation;
    gboolean less, equal, more;
  } cases[] = {
    { "> 5", " 5", IR_RELATION_GREATER, FALSE, FALSE, TRUE },
    { ">=5", "5", IR_RELATION_GREATER_EQUAL, FALSE, TRUE, TRUE },
    { "<5", "5", IR_RELATION_LESS, TRUE, FALSE, FALSE },
    { "<=", "", IR_RELATION_LESS_EQUAL, TRUE, TRUE, FALSE },
  };
  IrRelation relation = IR_RELATION_LESS;

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_assert_cmpstr (ir_relation_read (cases[i].text, &relation), ==, cases[i].rest);
      g_assert_cmpint (relation, ==, cases[i].relation);
      g_assert_true (g_str_has_prefix (cases[i].text, ir_relation_text (relation)));
      g_assert_cmpint (ir_relation_holds (relation, 1, 2), ==, cases[i].less);
      g_assert_cmpint (ir_relation_holds (relation, 2, 2), ==, cases[i].equal);
      g_assert_cmpint (ir_relation_holds (relation, 3, 2), ==, cases[i].more);
      g_assert_false (ir_relation_holds (relation, NAN, 2));
    }
  relation = IR_RELATION_LESS;
  g_assert_cmpstr (ir_relation_read ("=5", &relation), ==, "=5");
  g_assert_cmpint (relation, ==, IR_RELATION_LESS);
}

static void
test_amounts (void)
{
  static const struct
  {
    const char *text;
    double kilo;
    gboolean share;
    double amount; /* NaN: is none */
  } cases[] = {
    { "50", 1000, FALSE, 50 },
    { "-1.5e-3", 1000, FALSE, -1.5e-3 },
    { " 64 KiB ", 1000, FALSE, 65536 },
    { "2k", 1000, FALSE, 2000 },
    { "2K", 1024, FALSE, 2048 },
    { "1.5M", 1024, FALSE, 1572864 },
    { "1T", 1000, FALSE, 1e12 },
    { "1MB", 1024, FALSE, 1e6 },
    { "25%", 1000, TRUE, 0.25 },
    { "25%", 1000, FALSE, NAN },
    { "", 1000, TRUE, NAN },
    { "x", 1000, TRUE, NAN },
    { "5x", 1000, TRUE, NAN },
    { "nan", 1000, TRUE, NAN },
    { "inf", 1000, TRUE, NAN },
    { "1e308T", 1000, TRUE, NAN },
    { "5 5", 1000, TRUE, NAN },
    { "5mib", 1000, TRUE, NAN },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      double amount = 0;
      const gboolean is_one = ir_amount_read (cases[i].text, cases[i].kilo, cases[i].share,
                                              &amount);

      g_test_message ("%s", cases[i].text);
      g_assert_cmpint (is_one, ==, !isnan (cases[i].amount));
      if (is_one)
        g_assert_cmpfloat_with_epsilon (amount, cases[i].amount, 1e-12 * fabs (amount));
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/condition/a relation compares two numbers", test_relations);
  g_test_add_func ("/condition/an amount is a number with a unit", test_amounts);
  return g_test_run ();
}
