/* What the numbers of `irscope bench` are made of: order statistics of samples. */
#include "config.h"

#include "app/cli/times.h"

static IrTimes
times_of (guint n, const double *samples)
{
  g_autoptr (GArray) array = g_array_new (FALSE, FALSE, sizeof (double));

  g_array_append_vals (array, samples, n);
  IrTimes times = ir_times (array);
  for (guint i = 0; i < n; i++)
    g_assert_cmpfloat (g_array_index (array, double, i), ==, samples[i]);
  return times;
}

static void
test_order (void)
{
  const double samples[] = { 9, 1, 5, 3, 7 };
  IrTimes times = times_of (5, samples);

  g_assert_cmpuint (times.n, ==, 5);
  g_assert_cmpfloat (times.median, ==, 5);
  g_assert_cmpfloat (times.min, ==, 1);
  g_assert_cmpfloat (times.max, ==, 9);
  g_assert_cmpfloat (times.q1, ==, 3);
  g_assert_cmpfloat (times.q3, ==, 7);
}

static void
test_even (void)
{
  const double samples[] = { 4, 1, 2, 3 };
  IrTimes times = times_of (4, samples);

  g_assert_cmpfloat (times.median, ==, 2.5);
  g_assert_cmpfloat (times.q1, ==, 1.75);
  g_assert_cmpfloat (times.q3, ==, 3.25);
}

static void
test_few (void)
{
  const double one[] = { 2 };
  IrTimes times = times_of (1, one);

  g_assert_cmpfloat (times.median, ==, 2);
  g_assert_cmpfloat (times.q1, ==, 2);
  g_assert_cmpfloat (times.max, ==, 2);
  times = times_of (0, one);
  g_assert_cmpuint (times.n, ==, 0);
  g_assert_cmpfloat (times.median, ==, 0);
}

static void
test_json (void)
{
  const IrTimes none = { 0 },
                 some = { .n = 3, .median = 2, .min = 1, .max = 4, .q1 = 1.5, .q3 = 3 };
  cJSON *json = cJSON_CreateObject ();

  cli_json_add_times (json, "none", &none);
  cli_json_add_times (json, "some", &some);
  g_assert_true (cJSON_IsNull (cJSON_GetObjectItem (json, "none")));
  const cJSON *object = cJSON_GetObjectItem (json, "some");
  g_assert_cmpfloat (cJSON_GetObjectItem (object, "q1")->valuedouble, ==, 1.5);
  g_assert_cmpint (cJSON_GetObjectItem (object, "runs")->valueint, ==, 3);
  cJSON_Delete (json);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/bench/quartiles of an odd number of samples are samples", test_order);
  g_test_add_func ("/bench/quantiles lie between samples in proportion", test_even);
  g_test_add_func ("/bench/one sample is all quantiles, and none is nothing", test_few);
  g_test_add_func ("/bench/times without samples are null in JSON", test_json);
  return g_test_run ();
}
