/* How long opening and saving a large model takes, and how much memory: bench-open [MEGABYTES]. The
 * weights must stay in the file, so neither may grow with them. Prints JSON. */
#include "config.h"

#include "tests/io/models.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N_RUNS       21
#define TENSOR_BYTES ((gsize) 16 * 1024 * 1024)

static int
compare (gconstpointer a, gconstpointer b)
{
  double left = *(const double *) a, right = *(const double *) b;

  return left < right ? -1 : left > right;
}

/* Memory of its own, without pages of files: MiB. */
static double
private_mebibytes (void)
{
  g_autofree char *text = NULL;
  const char *line;

  if (!g_file_get_contents ("/proc/self/status", &text, NULL, NULL))
    return 0;
  line = strstr (text, "RssAnon:");
  return line != NULL ? (double) g_ascii_strtoull (line + strlen ("RssAnon:"), NULL, 10) / 1024 : 0;
}

int
main (int argc, char **argv)
{
  guint megabytes = argc > 1 ? (guint) atoi (argv[1]) : 400;
  g_autofree char *folder = test_folder ();
  g_autofree char *path = g_build_filename (folder, "big.onnx", NULL);
  g_autofree char *copy = g_build_filename (folder, "copy.onnx", NULL);
  double open_ms[N_RUNS], before, after_open, after_save, save_ms;
  g_autoptr (IrModel) model = NULL;
  g_autoptr (GError) error = NULL;
  gint64 start;

  test_write_weights (path,
                      (guint) (((gsize) megabytes * 1000 * 1000 + TENSOR_BYTES - 1) / TENSOR_BYTES),
                      TENSOR_BYTES);
  for (guint i = 0; i < N_RUNS; i++)
    {
      g_autoptr (IrModel) opened = NULL;

      start = g_get_monotonic_time ();
      opened = ir_model_load (path, NULL, NULL, &error);
      open_ms[i] = (double) (g_get_monotonic_time () - start) / 1000;
      g_assert_no_error (error);
    }
  qsort (open_ms, N_RUNS, sizeof (double), compare);
  before = private_mebibytes ();
  model = ir_model_load (path, NULL, NULL, &error);
  after_open = private_mebibytes ();
  start = g_get_monotonic_time ();
  ir_model_save (model, copy, NULL, NULL, &error);
  save_ms = (double) (g_get_monotonic_time () - start) / 1000;
  after_save = private_mebibytes ();
  g_assert_no_error (error);
  g_print (
      "{\"megabytes\": %u, \"open_ms\": {\"median\": %.3f, \"min\": %.3f, \"max\": %.3f, \"runs\": "
      "%d}, \"open_private_mib\": %.1f, \"save_ms\": %.0f, \"save_private_mib\": %.1f}\n",
      megabytes, open_ms[N_RUNS / 2], open_ms[0], open_ms[N_RUNS - 1], N_RUNS, after_open - before,
      save_ms, after_save - after_open);
  test_remove_folder (folder);
  return 0;
}
