/* How long it takes to have iterations of a long loop again: what a frame of the scrubber shows (67 iterations with their events
 * and statistics), and one value, at places that are drawn by a fixed seed, in
 * time of the processor.
 *
 *     bench-parts [--times N] [--budget MIB] FILE LOOP VALUE NUMBER..
 *
 * NUMBER are one for each input, which has one element. */
#include "config.h"

#include "core/exec/run/capture.h"
#include "core/exec/run/flow-state.h"
#include "core/exec/run/iteration-name.h"
#include "core/io/io.h"

#include <time.h>

/* What else happens on the machine does not count. */
static gint64
processor_us (void)
{
  struct timespec now;

  clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &now);
  return (gint64) now.tv_sec * G_USEC_PER_SEC + now.tv_nsec / 1000;
}

static gint
compare (gconstpointer a, gconstpointer b)
{
  const double x = *(const double *) a, y = *(const double *) b;

  return (x > y) - (x < y);
}

static void
print (const char *what, GArray *ms)
{
  g_array_sort (ms, compare);
  g_print ("%s: %.3g ms (median of %u, %.3g to %.3g)\n", what,
           g_array_index (ms, double, ms->len / 2), ms->len, g_array_index (ms, double, 0),
           g_array_index (ms, double, ms->len - 1));
}

static GHashTable *
read_inputs (const IrModel *model, char **numbers)
{
  GHashTable *inputs = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);

  for (guint i = 0; i < ir_graph_n_inputs (model->main) && numbers[i] != NULL; i++)
    {
      const IrValue *input = ir_graph_input (model->main, i);
      const double number = g_ascii_strtod (numbers[i], NULL);
      g_hash_table_insert (inputs, GUINT_TO_POINTER (input->id),
                           ir_tensor_new_scalar (ir_value_dtype (input), number));
    }
  return inputs;
}

int
main (int argc, char **argv)
{
  gint times = 21, budget = 64;
  const GOptionEntry entries[] = {
    { "times", 0, 0, G_OPTION_ARG_INT, &times, "How many places", "N" },
    { "budget", 0, 0, G_OPTION_ARG_INT, &budget, "Of statistics and checkpoints", "MIB" },
    { NULL }
  };
  g_autoptr (GOptionContext) context = g_option_context_new ("FILE LOOP VALUE NUMBER..");
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (GRand) rand = g_rand_new_with_seed (19);
  g_autoptr (GArray) parts = g_array_new (FALSE, FALSE, sizeof (double)),
                     found = g_array_new (FALSE, FALSE, sizeof (double));

  g_option_context_add_main_entries (context, entries, NULL);
  if (!g_option_context_parse (context, &argc, &argv, &error) || argc < 4)
    g_error ("%s", error != NULL ? error->message : "FILE LOOP VALUE are needed");
  g_autoptr (IrModel) model = ir_model_load (argv[1], problems, NULL, &error);
  if (model == NULL)
    g_error ("%s", error->message);
  g_autoptr (GHashTable) inputs = read_inputs (model, argv + 4);
  g_autoptr (GArray) chosen = ir_flow_values (model, ir_backend_find ("cpu"));
  const IrRunOptions options = { .backend = ir_backend_find ("cpu"),
                                 .capture = IR_CAPTURE_CHOSEN,
                                 .chosen = chosen,
                                 .capture_budget = (gsize) budget << 20,
                                 .iterations = { .kind = IR_ITERATIONS_OVERVIEW } };
  const IrFlowFilter filter = { .to = 200000, .iteration = -1 };
  g_autoptr (IrFlowLog) log = ir_flow_log_new (&filter);
  gint64 begin = processor_us ();
  g_autoptr (IrRun) run = ir_flow_log_run (log, model, inputs, &options, NULL, &error);
  if (run == NULL)
    g_error ("%s", error->message);
  guint64 bytes;
  const guint n_checkpoints = ir_run_n_checkpoints (run, &bytes);
  const IrNodeId loop = ir_flow_log_outer_loop (log, argv[2]);
  const gint64 n = (gint64) g_array_index (ir_flow_log_frames (log), IrFlowFrame, 0).n_iterations;
  g_print ("%" G_GINT64_FORMAT " iterations, %" G_GUINT64_FORMAT
           " events, played in %.3g ms; %u checkpoints of %" G_GUINT64_FORMAT " bytes\n",
           n, ir_flow_log_n_events (log), (double) (processor_us () - begin) / 1e3, n_checkpoints,
           bytes);
  for (gint i = 0; i < times; i++)
    {
      const gint64 at = (gint64) (g_rand_double (rand) * (double) n);
      g_autofree char *text = g_strdup_printf ("%s@%" G_GINT64_FORMAT "/%s", argv[2], at, argv[3]);
      g_auto (IrIterationName) name = { 0 };
      begin = processor_us ();
      g_autoptr (IrFlowLog)
          part = ir_flow_log_replay (log, loop, MAX (at - 2, 0), at + 64, 200000, NULL, &error);
      if (part == NULL || ir_flow_log_events (part)->len == 0)
        g_error ("%s", error != NULL ? error->message : "no events");
      double ms = (double) (processor_us () - begin) / 1e3;
      g_array_append_val (parts, ms);
      if (!ir_iteration_name_parse (run->model, text, &name, &error))
        g_error ("%s", error->message);
      begin = processor_us ();
      g_autoptr (IrTensor) value = ir_run_find_iteration (run, &name, NULL, NULL, &error);
      if (value == NULL)
        g_error ("%s", error->message);
      ms = (double) (processor_us () - begin) / 1e3;
      g_array_append_val (found, ms);
    }
  print ("a frame of the scrubber", parts);
  print ("a value", found);
  return 0;
}
