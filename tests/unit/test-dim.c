/* Symbolic dimensions: canonical form, text, bounds; and that every simplification agrees with the
 * integers, on random expressions. */
#include "config.h"

#include "core/ir/dim.h"

static IrDim
parse (IrContext *context, const char *text)
{
  return ir_dim_parse (context, text);
}

static void
assert_text (IrContext *context, IrDim dim, const char *expected)
{
  g_autofree char *text = ir_dim_to_string (context, dim);
  g_assert_cmpstr (text, ==, expected);
}

static void
test_canonical (void)
{
  g_autoptr (IrContext) context = ir_context_new ();
  IrDim n = ir_dim_symbol (context, "n"), m = ir_dim_symbol (context, "m");

  g_assert_true (ir_dim_is_symbolic (n));
  g_assert_cmpint (ir_dim_symbol (context, "n"), ==, n);
  g_assert_cmpint (ir_dim_mul (context, n, m), ==, ir_dim_mul (context, m, n));
  g_assert_cmpint (ir_dim_add (context, n, n), ==, ir_dim_mul (context, 2, n));
  g_assert_cmpint (ir_dim_sub (context, ir_dim_add (context, n, m), m), ==, n);
  g_assert_cmpint (ir_dim_sub (context, n, n), ==, 0);
  g_assert_cmpint (ir_dim_mul (context, n, 0), ==, 0);
  g_assert_cmpint (ir_dim_mul (context, 0, IR_DIM_UNKNOWN), ==, 0);
  g_assert_cmpint (ir_dim_add (context, n, IR_DIM_UNKNOWN), ==, IR_DIM_UNKNOWN);
  g_assert_cmpint (ir_dim_sub (context, 2, 5), ==, IR_DIM_UNKNOWN);
  g_assert_cmpint (ir_dim_add (context, 2, 5), ==, 7);
}

static void
test_text (void)
{
  static const char *const texts[] = { "2*n + 1",
                                       "batch*seq",
                                       "floor(n/2)",
                                       "floor((n + 1)/2)",
                                       "floor(batch*seq/(2*n))",
                                       "floor(n/m)",
                                       "n - 1",
                                       "-n + 5",
                                       "n*n",
                                       "max(n, 3)",
                                       "min(n, m)",
                                       "mod(n, 4)",
                                       "3*mod(n, 4) + 2*floor(n/7) - 6",
                                       "2*'seq len' + 1",
                                       "?",
                                       "17",
                                       "0" };
  g_autoptr (IrContext) context = ir_context_new ();

  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      IrDim dim = parse (context, texts[i]);
      g_autofree char *text = ir_dim_to_string (context, dim);
      g_assert_cmpint (parse (context, text), ==, dim);
    }
  assert_text (context, parse (context, "1 + n*2"), "2*n + 1");
  assert_text (context, parse (context, "seq*batch"), "batch*seq");
  assert_text (context, parse (context, "n//2"), "floor(n/2)");
  assert_text (context, parse (context, "(n+1)*(n-1)"), "n*n - 1");
  assert_text (context, parse (context, "n**2"), "n*n");
  assert_text (context, parse (context, "ceil(n/2)"), "floor((n + 1)/2)");
  assert_text (context, parse (context, "floor(n/2 + 1/2)"), "floor((n + 1)/2)");
  assert_text (context, parse (context, "Max(1, n)"), "max(n, 1)");
  assert_text (context, parse (context, "4*n/2"), "2*n");
}

/* Names that exporters write are kept, whatever they look like. */
static void
test_odd_names (void)
{
  static const char *const names[] = { "p2o.DynamicDimension.0",
                                       "unk__12",
                                       "batch-size",
                                       "seq len",
                                       "n/2",
                                       "-1",
                                       "1x",
                                       "f(n)",
                                       "floor(n",
                                       "a b",
                                       "(n",
                                       "n +",
                                       "'open",
                                       "onnx::Shape:0",
                                       "größe",
                                       "99999999999999999999",
                                       "max(n",
                                       "n % 0" };
  g_autoptr (IrContext) context = ir_context_new ();
  g_autoptr (GString) deep = g_string_new (NULL);

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      IrDim dim = parse (context, names[i]);
      g_assert_cmpstr (ir_dim_symbol_name (context, dim), ==, names[i]);
      assert_text (context, dim, names[i]);
    }
  for (guint i = 0; i < 1000; i++)
    g_string_append_c (deep, '(');
  g_assert_cmpstr (ir_dim_symbol_name (context, parse (context, deep->str)), ==, deep->str);
  g_assert_cmpint (parse (context, ""), ==, IR_DIM_UNKNOWN);
}

static void
test_division (void)
{
  g_autoptr (IrContext) context = ir_context_new ();
  IrDim n = parse (context, "n"), m = parse (context, "m"), quotient;

  assert_text (context, ir_dim_floordiv (context, parse (context, "4*n"), 2), "2*n");
  assert_text (context, ir_dim_floordiv (context, parse (context, "2*n + 1"), 2), "n");
  assert_text (context, ir_dim_floordiv (context, parse (context, "n + 7"), 2),
               "floor((n + 1)/2) + 3");
  assert_text (context, ir_dim_floordiv (context, parse (context, "4*n + 3"), 6),
               "floor((2*n + 1)/3)");
  assert_text (context, ir_dim_floordiv (context, parse (context, "floor(n/2) + 1"), 2),
               "floor((n + 2)/4)");
  assert_text (context,
               ir_dim_floordiv (context, parse (context, "12*n*m"), parse (context, "4*n")), "3*m");
  assert_text (context,
               ir_dim_floordiv (context, parse (context, "n*n - 1"), parse (context, "n + 1")),
               "n - 1");
  assert_text (context, ir_dim_mod (context, parse (context, "4*n + 3"), 2), "1");
  assert_text (context, ir_dim_mod (context, parse (context, "4*n + 2"), 6), "2*mod(2*n + 1, 3)");
  g_assert_cmpint (ir_dim_floordiv (context, n, n), ==, 1);
  g_assert_cmpint (ir_dim_floordiv (context, n, 0), ==, IR_DIM_UNKNOWN);
  g_assert_cmpint (ir_dim_ceildiv (context, 7, 2), ==, 4);
  g_assert_cmpint (ir_dim_ceildiv (context, ir_dim_mul (context, n, m), m), ==, n);
  g_assert_true (
      ir_dim_divides (context, parse (context, "6*n*m"), parse (context, "2*m"), &quotient));
  assert_text (context, quotient, "3*n");
  g_assert_false (ir_dim_divides (context, n, 2, NULL));
  g_assert_false (ir_dim_divides (context, 7, 2, NULL));
  g_assert_true (ir_dim_divides (context, 8, 2, &quotient));
  g_assert_cmpint (quotient, ==, 4);
}

/* At least 1 where symbols are. */
static void
test_positive (void)
{
  static const char *const yes[] = { "n", "3", "2*n", "n*m", "n + m - 1", "mod(n, 8) + 1", "n*n" };
  static const char *const no[] = { "0", "n - 1", "n - m", "floor(n/2)", "mod(n, 8)", "n*n - n" };
  g_autoptr (IrContext) context = ir_context_new ();

  for (guint i = 0; i < G_N_ELEMENTS (yes); i++)
    g_assert_true (ir_dim_is_positive (context, parse (context, yes[i])));
  for (guint i = 0; i < G_N_ELEMENTS (no); i++)
    g_assert_false (ir_dim_is_positive (context, parse (context, no[i])));
  g_assert_false (ir_dim_is_positive (context, IR_DIM_UNKNOWN));
}

static void
test_bounds (void)
{
  g_autoptr (IrContext) context = ir_context_new ();
  gint64 lower, upper;

  ir_dim_bounds (context, parse (context, "2*n + 3"), &lower, &upper);
  g_assert_cmpint (lower, ==, 3);
  g_assert_cmpint (upper, ==, G_MAXINT64);
  ir_dim_bounds (context, parse (context, "mod(n, 8) + 1"), &lower, &upper);
  g_assert_cmpint (lower, ==, 1);
  g_assert_cmpint (upper, ==, 8);
  ir_dim_bounds (context, parse (context, "n - 4"), &lower, &upper);
  g_assert_cmpint (lower, ==, -4);
  ir_dim_bounds (context, parse (context, "min(n, 6)"), &lower, &upper);
  g_assert_cmpint (lower, ==, 0);
  g_assert_cmpint (upper, ==, 6);
  ir_dim_bounds (context, IR_DIM_UNKNOWN, &lower, &upper);
  g_assert_cmpint (lower, ==, 0);
  assert_text (context, ir_dim_max (context, parse (context, "n + 1"), 1), "n + 1");
  assert_text (context, ir_dim_max (context, parse (context, "n + 1"), parse (context, "n")),
               "n + 1");
  assert_text (context, ir_dim_min (context, parse (context, "n"), 0), "0");
  assert_text (context, ir_dim_max (context, parse (context, "max(n, 4)"), 4), "max(n, 4)");
  assert_text (context, parse (context, "max(n, min(n, 4))"), "n");
}

static void
test_overflow (void)
{
  g_autoptr (IrContext) context = ir_context_new ();
  IrDim n = parse (context, "n"), big = ir_dim_mul (context, n, G_MAXINT64), power = n;

  g_assert_cmpint (ir_dim_add (context, big, n), ==, IR_DIM_UNKNOWN);
  g_assert_cmpint (ir_dim_mul (context, big, 2), ==, IR_DIM_UNKNOWN);
  g_assert_cmpint (ir_dim_mul (context, G_MAXINT64, 2), ==, IR_DIM_UNKNOWN);
  for (guint i = 0; i < 40; i++)
    power = ir_dim_mul (context, power, n);
  g_assert_cmpint (power, ==, IR_DIM_UNKNOWN);
  power = n;
  for (guint i = 0; i < 200; i++)
    power = ir_dim_max (context, ir_dim_sub (context, power, 1), parse (context, "m"));
  g_assert_cmpint (power, ==, IR_DIM_UNKNOWN);
}

static void
test_numbers (void)
{
  g_autoptr (IrContext) context = ir_context_new ();
  IrNumber n = ir_number_from_dim (parse (context, "n"));
  IrNumber minus = ir_number_sub (context, ir_number_known (2), ir_number_known (5));

  g_assert_true (minus.known);
  g_assert_cmpint (minus.value, ==, -3);
  g_assert_cmpint (ir_number_to_dim (minus), ==, IR_DIM_UNKNOWN);
  assert_text (context, ir_number_to_dim (ir_number_add (context, n, minus)), "n - 3");
  minus = ir_number_floordiv (context, minus, ir_number_known (2));
  g_assert_cmpint (minus.value, ==, -2);
  g_assert_false (ir_number_floordiv (context, n, ir_number_known (0)).known);
  n = ir_number_mul (context, n, ir_number_known (0));
  g_assert_true (n.known && n.value == 0);
}

/* -- random expressions against integers -- */

#define N_SYMBOLS 3
static const char *const symbols[N_SYMBOLS] = { "a", "b", "c" };

static gint64
int_floordiv (gint64 a, gint64 b)
{
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/* Builds an expression and, alongside, its values under 4 bindings; FALSE where one has none. */
typedef struct
{
  IrDim dim;
  gint64 values[4];
} Sample;

static Sample
random_sample (IrContext *context, gint64 bindings[4][N_SYMBOLS], guint depth)
{
  Sample a, b, result;
  int kind = g_test_rand_int_range (0, depth == 0 ? 2 : 9);

  if (kind < 2)
    {
      int which = g_test_rand_int_range (0, N_SYMBOLS), number = g_test_rand_int_range (0, 7);
      result.dim = kind == 0 ? ir_dim_symbol (context, symbols[which]) : number;
      for (guint i = 0; i < 4; i++)
        result.values[i] = kind == 0 ? bindings[i][which] : number;
      return result;
    }
  a = random_sample (context, bindings, depth - 1);
  b = random_sample (context, bindings, depth - 1);
  if (kind >= 5 && kind <= 7)
    for (guint i = 0; i < 4; i++)
      if (b.values[i] <= 0)
        b.dim = IR_DIM_UNKNOWN;
  if (a.dim == IR_DIM_UNKNOWN || b.dim == IR_DIM_UNKNOWN)
    {
      result.dim = IR_DIM_UNKNOWN;
      return result;
    }
  result.dim = kind == 2   ? ir_dim_add (context, a.dim, b.dim)
               : kind == 3 ? ir_dim_sub (context, a.dim, b.dim)
               : kind == 4 ? ir_dim_mul (context, a.dim, b.dim)
               : kind == 5 ? ir_dim_floordiv (context, a.dim, b.dim)
               : kind == 6 ? ir_dim_ceildiv (context, a.dim, b.dim)
               : kind == 7 ? ir_dim_mod (context, a.dim, b.dim)
                           : ir_dim_max (context, a.dim, ir_dim_min (context, b.dim, 5));
  for (guint i = 0; i < 4; i++)
    {
      gint64 x = a.values[i], y = b.values[i];
      result.values[i] = kind == 2   ? x + y
                         : kind == 3 ? x - y
                         : kind == 4 ? x * y
                         : kind == 5 ? int_floordiv (x, y)
                         : kind == 6 ? -int_floordiv (-x, y)
                         : kind == 7 ? x - y * int_floordiv (x, y)
                                     : MAX (x, MIN (y, 5));
    }
  return result;
}

static void
check_sample (IrContext *context, gint64 bindings[4][N_SYMBOLS], const Sample *sample)
{
  g_autofree char *text = ir_dim_to_string (context, sample->dim);
  gint64 lower, upper, value;

  ir_dim_bounds (context, sample->dim, &lower, &upper);
  for (guint i = 0; i < 4; i++)
    {
      g_autoptr (GHashTable) table = g_hash_table_new (g_str_hash, g_str_equal);
      for (guint j = 0; j < N_SYMBOLS; j++)
        g_hash_table_insert (table, (char *) symbols[j], &bindings[i][j]);
      g_assert_true (ir_dim_evaluate (context, sample->dim, table, &value));
      g_assert_cmpint (value, ==, sample->values[i]);
      g_assert_cmpint (value, >=, lower);
      g_assert_cmpint (value, <=, upper);
    }
  if (ir_dim_is_symbolic (sample->dim))
    {
      IrDim again = ir_dim_parse (context, text);
      g_autofree char *printed = ir_dim_to_string (context, again);
      g_assert_cmpstr (printed, ==, text);
      g_assert_cmpint (again, ==, sample->dim);
    }
}

static void
test_random (void)
{
  g_autoptr (IrContext) context = ir_context_new ();
  guint checked = 0;

  for (guint round = 0; round < 20000; round++)
    {
      gint64 bindings[4][N_SYMBOLS];
      Sample sample;

      for (guint i = 0; i < 4; i++)
        for (guint j = 0; j < N_SYMBOLS; j++)
          bindings[i][j] = g_test_rand_int_range (1, 20);
      sample = random_sample (context, bindings, 4);
      if (sample.dim != IR_DIM_UNKNOWN)
        {
          check_sample (context, bindings, &sample);
          checked++;
        }
    }
  g_assert_cmpuint (checked, >, 5000);
}

static void
test_partial (void)
{
  g_autoptr (IrContext) context = ir_context_new ();
  g_autoptr (GHashTable) table = g_hash_table_new (g_str_hash, g_str_equal);
  gint64 three = 3, value;

  g_hash_table_insert (table, (char *) "n", &three);
  assert_text (context, ir_dim_substitute (context, parse (context, "n*m + floor(n/2)"), table),
               "3*m + 1");
  g_assert_false (ir_dim_evaluate (context, parse (context, "n*m"), table, &value));
  g_assert_true (ir_dim_evaluate (context, parse (context, "n - 5"), table, &value));
  g_assert_cmpint (value, ==, -2);
}

/* The order of terms comes from their texts, not from which was made first. */
static void
test_order (void)
{
  g_autoptr (IrContext) one = ir_context_new ();
  g_autoptr (IrContext) two = ir_context_new ();
  g_autofree char *a = NULL;
  g_autofree char *b = NULL;

  parse (two, "z + y + x + floor(x/2)");
  a = ir_dim_to_string (one, parse (one, "x*y + floor(x/2)*z + y"));
  b = ir_dim_to_string (two, parse (two, "y + z*floor(x/2) + y*x"));
  g_assert_cmpstr (a, ==, b);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/dim/equal expressions are equal integers", test_canonical);
  g_test_add_func ("/dim/text is read back as the same dim", test_text);
  g_test_add_func ("/dim/odd names are symbols and kept exactly", test_odd_names);
  g_test_add_func ("/dim/division is simplified where exact", test_division);
  g_test_add_func ("/dim/bounds follow from symbols that are at least 0", test_bounds);
  g_test_add_func ("/dim/what is positive wherever its symbols are is known", test_positive);
  g_test_add_func ("/dim/overflow and endless growth are unknown", test_overflow);
  g_test_add_func ("/dim/numbers may be negative", test_numbers);
  g_test_add_func ("/dim/random expressions agree with integers", test_random);
  g_test_add_func ("/dim/some symbols are replaced", test_partial);
  g_test_add_func ("/dim/order does not depend on history", test_order);
  return g_test_run ();
}
