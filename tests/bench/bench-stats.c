/* How fast the statistics of a tensor are: bench-stats [--threads N] [--elements N] [--rounds N].
 *
 * One line per element type: gigabytes of the tensor per second, median and quartiles of the
 * rounds, which take turns between the types, so that what else the machine does falls on all of
 * them. */
#include "config.h"

#include "core/exec/exec.h"
#include "core/exec/kernel/threads.h"
#include "core/exec/measure/times.h"

#include <stdio.h>

#define N_BINS 64

static gint n_threads = 1, n_elements = 20000000, n_rounds = 9;

static const GOptionEntry entries[] = {
  { "threads", 't', 0, G_OPTION_ARG_INT, &n_threads, "Threads", "N" },
  { "elements", 'n', 0, G_OPTION_ARG_INT, &n_elements, "Elements of each tensor", "N" },
  { "rounds", 'r', 0, G_OPTION_ARG_INT, &n_rounds, "Measurements of each type", "N" },
  { NULL },
};

static const IrDtype dtypes[] = { IR_DTYPE_FLOAT,    IR_DTYPE_DOUBLE, IR_DTYPE_FLOAT16,
                                  IR_DTYPE_BFLOAT16, IR_DTYPE_INT64,  IR_DTYPE_INT32,
                                  IR_DTYPE_INT8,     IR_DTYPE_UINT8,  IR_DTYPE_FLOAT8E4M3FN };

/* Numbers around 0, as activations are. */
static IrTensor *
filled (IrDtype dtype)
{
  gint64 dims[] = { n_elements };
  g_autoptr (GError) error = NULL;
  IrTensor *tensor = ir_tensor_new_alloc (dtype, 1, dims, &error);

  if (tensor == NULL)
    g_error ("%s", error->message);
  gpointer data = ir_tensor_data_writable (tensor);
  guint32 state = 1;

  for (gint i = 0; i < n_elements; i++)
    {
      state = state * 1664525u + 1013904223u;
      ir_dtype_set_double (dtype, data, (gsize) i, (double) (state >> 8) / 0x1p20 - 8);
    }
  return tensor;
}

int
main (int argc, char **argv)
{
  g_autoptr (GOptionContext) context = g_option_context_new ("- statistics of tensors");
  g_autoptr (GError) error = NULL;

  g_option_context_add_main_entries (context, entries, NULL);
  if (!g_option_context_parse (context, &argc, &argv, &error) || n_elements < 1 || n_rounds < 1)
    {
      g_printerr ("%s\n", error != NULL ? error->message : "numbers must be positive");
      return 2;
    }
  IrThreads threads = ir_threads_of ((guint) MAX (n_threads, 1), FALSE);
  IrTensor *tensors[G_N_ELEMENTS (dtypes)];
  GArray *rates[G_N_ELEMENTS (dtypes)];

  for (guint i = 0; i < G_N_ELEMENTS (dtypes); i++)
    {
      tensors[i] = filled (dtypes[i]);
      rates[i] = g_array_new (FALSE, FALSE, sizeof (double));
    }
  for (gint round = -1; round < n_rounds; round++)
    for (guint i = 0; i < G_N_ELEMENTS (dtypes); i++)
      {
        IrTensorStats stats;
        gint64 start_us = g_get_monotonic_time ();

        ir_tensor_stats_with (tensors[i], N_BINS, threads, &stats);
        double us = (double) MAX (g_get_monotonic_time () - start_us, 1);
        double rate = (double) ir_tensor_n_bytes (tensors[i]) / us / 1e3;
        if (round >= 0)
          g_array_append_val (rates[i], rate);
      }
  for (guint i = 0; i < G_N_ELEMENTS (dtypes); i++)
    {
      IrTimes times = ir_times (rates[i]);

      printf ("%-14s %6.2f GB/s (%.2f to %.2f, %u rounds, %u threads)\n", ir_dtype_name (dtypes[i]),
              times.median, times.q1, times.q3, times.n, ir_threads_n (threads));
      ir_tensor_unref (tensors[i]);
      g_array_unref (rates[i]);
    }
  return 0;
}
