/* How long the first view of what is inside takes: bench-inside [--megabytes N] [--nodes N] [--rounds N].
 *
 * Of a tensor: its sample, the statistics and the picture of that, which is what is seen first; then the same
 * of all elements. Of a graph: its summary and the picture of that. Medians and quartiles in ms of the processor. */
#include "config.h"

#include "core/exec/exec.h"
#include "core/exec/measure/summary.h"
#include "core/exec/measure/times.h"
#include "core/io/io.h"
#include "core/layout/charts.h"
#include "core/op/infer.h"
#include "core/ir/edit.h"
#include "core/render/tensor-picture.h"

#include <stdio.h>
#include <time.h>

#define SAMPLE 1000000 /* elements, as views/tensor takes */
#define N_BINS 44

static gint megabytes = 10, n_nodes = 50000, n_rounds = 9;

static const GOptionEntry entries[] = {
  { "megabytes", 'm', 0, G_OPTION_ARG_INT, &megabytes, "Of the tensor of float32", "N" },
  { "nodes", 'n', 0, G_OPTION_ARG_INT, &n_nodes, "Of the graph", "N" },
  { "rounds", 'r', 0, G_OPTION_ARG_INT, &n_rounds, "Measurements", "N" },
  { NULL },
};

static IrTensor *
new_tensor (void)
{
  const gint64 side = (gint64) megabytes * 1000000 / 4 / 1000, dims[] = { 1000, MAX (side, 1) };
  g_autoptr (GError) error = NULL;
  IrTensor *tensor = ir_tensor_new_alloc (IR_DTYPE_FLOAT, 2, dims, &error);

  if (tensor == NULL)
    g_error ("%s", error->message);
  float *data = ir_tensor_data_writable (tensor);
  guint32 state = 1;
  for (guint64 i = 0; i < ir_tensor_n_elements (tensor); i++)
    {
      state = state * 1664525u + 1013904223u;
      data[i] = (float) (state >> 8) / 0x1p20f - 8;
    }
  return tensor;
}

/* ms of the processor: one thread, so that other work on the machine counts little */
static double
now (void)
{
  struct timespec time;

  clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &time);
  return (double) time.tv_sec * 1e3 + (double) time.tv_nsec / 1e6;
}

static double
see_tensor (const IrTensor *tensor, gboolean sampled)
{
  const double start = now ();
  g_autoptr (IrTensor) sample = sampled ? ir_tensor_sample (tensor, SAMPLE) : NULL;
  IrTensorStats stats;
  IrTensorLayout layout;

  ir_tensor_stats (sample != NULL ? sample : tensor, N_BINS, &stats);
  if (!ir_tensor_layout_init (&layout, tensor, "auto", NULL))
    g_error ("no picture");
  layout.samples = sampled ? 2 : 0;
  layout.most = sampled ? 512 : 0;
  g_autoptr (IrTensorPicture)
      picture = ir_tensor_picture_new (tensor, NULL, &stats, &layout, IR_PALETTE_LIGHT, NULL);
  return now () - start;
}

/* A chain of scopes, as networks of layers are. */
static IrModel *
new_model (void)
{
  static const char *const ops[] = { "Relu", "Sigmoid", "Tanh", "Neg", "Abs" };
  g_autoptr (GString) text = g_string_new (
      "<ir_version: 8, opset_import: [\"\" : 17]>\ng (float[64,256] v0) => (float[64,256] y) {\n");
  g_autoptr (GError) error = NULL;

  for (gint i = 0; i < n_nodes; i++)
    g_string_append_printf (text, "[\"/layer%d/%s%d\"] %s%d = %s (v%d)\n", i / 100,
                            ops[i % G_N_ELEMENTS (ops)], i, "v", i + 1, ops[i % G_N_ELEMENTS (ops)],
                            i);
  g_string_append_printf (text, "y = Identity (v%d) }\n", n_nodes);
  IrModel *model = ir_text_read (text->str, -1, NULL, &error);
  if (model == NULL)
    g_error ("%s", error->message);
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);
  ir_infer_model (edit, IR_INFER_DEFAULT, NULL);
  return model;
}

static double
see_summary (const IrModel *model)
{
  const double start = now ();
  g_autoptr (IrSummary) summary = ir_summary_new (model, NULL, NULL, 1, 10);
  g_autoptr (IrScene) scene = ir_chart_summary (summary, IR_SUMMARY_FLOPS, NULL, NULL);

  return now () - start;
}

static int
compare (const void *a, const void *b)
{
  const double x = *(const double *) a, y = *(const double *) b;

  return x < y ? -1 : x > y;
}

static void
print (const char *what, double *ms)
{
  qsort (ms, (gsize) n_rounds, sizeof *ms, compare);
  printf ("%-36s %8.2f  (%.2f to %.2f)\n", what, ms[n_rounds / 2], ms[n_rounds / 4],
          ms[n_rounds * 3 / 4]);
}

int
main (int argc, char **argv)
{
  g_autoptr (GOptionContext) context = g_option_context_new ("- the first view of what is inside");
  g_autoptr (GError) error = NULL;

  g_option_context_add_main_entries (context, entries, NULL);
  if (!g_option_context_parse (context, &argc, &argv, &error) || megabytes < 1 || n_nodes < 1 ||
      n_rounds < 1)
    {
      g_printerr ("%s\n", error != NULL ? error->message : "numbers must be positive");
      return 2;
    }
  g_autoptr (IrTensor) tensor = new_tensor ();
  g_autoptr (IrModel) model = new_model ();
  g_autofree double *first = g_new (double, n_rounds), *whole = g_new (double, n_rounds),
                    *summary = g_new (double, n_rounds);
  for (gint i = 0; i < n_rounds; i++)
    {
      first[i] = see_tensor (tensor, TRUE);
      whole[i] = see_tensor (tensor, FALSE);
      summary[i] = see_summary (model);
    }
  print ("tensor, first picture", first);
  print ("tensor, exact picture", whole);
  print ("summary", summary);
  return 0;
}
