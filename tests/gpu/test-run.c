/* Whole graphs on the device, under the stand-in: each node that ran is computed again by ref on the inputs
 * that it had, a plain run gives the bits of one that keeps every value, a second run those of the
 * first, and the copies that were made are those of the plan, each once. Two random graphs of three are run behind a pipeline.
 *
 *     test-gpu-run [--graphs 300] [--left-out N] [--from SEED] [--streams SEED] [--here] [FILE.onnx..] */
#include "config.h"

#include "core/exec/check/check.h"
#include "core/exec/exec.h"
#include "core/exec/gpu/backend.h"
#include "core/exec/gpu/cache.h"
#include "core/exec/gpu/runtime.h"
#include "core/exec/lower/lower.h"
#include "core/exec/measure/timeline.h"
#include "core/exec/plan/plan.h"
#include "core/io/io.h"
#include "passes/pipeline/pipeline.h"
#include "tests/fuzz/graph-gen.h"

#include <dlfcn.h>
#include <string.h>

#define AT_ONCE 100 /* graphs whose kernels are compiled together */

static int n_graphs = 300, n_left_out, from = 1, stream_seed = 1;
static gboolean here;

static const GOptionEntry options[] = {
  { "graphs", 0, 0, G_OPTION_ARG_INT, &n_graphs, "Random graphs", "N" },
  { "left-out", 0, 0, G_OPTION_ARG_INT, &n_left_out, "Random graphs without a wait or copy", "N" },
  { "from", 0, 0, G_OPTION_ARG_INT, &from, "Seed of the first", "N" },
  { "streams", 0, 0, G_OPTION_ARG_INT, &stream_seed, "Seed of the order of streams", "N" },
  { "here", 0, 0, G_OPTION_ARG_NONE, &here, "On the GPU of this machine, not the stand-in", NULL },
  { NULL },
};

static guint n_own, n_fallback, n_copies, n_run, n_beside, n_timed, n_items, n_out, n_late,
    n_launched, n_counted, n_steps;

/* What is predicted lies in the streams that a run uses. */
static void
check_lanes (const IrSchedule *schedule, const IrPlaces *places, const IrModel *model)
{
  g_autoptr (IrTimeline) timeline = ir_timeline_new_predicted (schedule, model);
  guint n_lanes = 0;

  for (guint i = 0; i < timeline->lanes->len; i++)
    n_lanes += g_str_has_prefix (timeline->lanes->pdata[i], "gpu stream");
  g_assert_cmpuint (n_lanes, ==, places->streams->n_streams);
}

/* Whether the steps of a plan for @model are in several streams. */
static gboolean
has_streams (IrModel *model)
{
  g_autoptr (IrSchedule) schedule = ir_schedule_new (model, &ir_backend_gpu, 1, NULL);
  g_autoptr (IrPlaces) places = schedule != NULL ? ir_places_new (schedule, model, NULL) : NULL;

  if (places != NULL)
    check_lanes (schedule, places, model);
  return places != NULL && places->streams->n_streams > 1;
}

/* Names the kernels of all nodes of @model, so that they are compiled together with those of others. */
static void
announce (IrModel *model, GHashTable *inputs)
{
  g_autoptr (IrModel) lowered = ir_exec_lower (model, &ir_backend_gpu, NULL);
  g_autoptr (IrModel) bound = lowered != NULL ? ir_prepared_bind_shapes (lowered, inputs, NULL)
                                              : NULL;

  n_beside += bound != NULL && has_streams (bound);
  for (guint i = 1; bound != NULL && i < bound->nodes->len; i++)
    {
      const IrNode *node = ir_model_live_node (bound, i);
      if (node == NULL || node->op == NULL || ir_backend_gpu.refuses (node) != NULL)
        continue;
      IrCall call;
      ir_call_init (&call, node);
      gpointer state = ir_backend_gpu.prepare (&call, NULL);
      if (state != NULL)
        ir_backend_gpu.release (state);
      ir_call_clear (&call);
    }
}

static void
check_nodes (const char *what, IrModel *model, GHashTable *inputs)
{
  IrRunOptions run = { .backend = &ir_backend_gpu, .n_threads = 1, .seed = 1 };
  g_autoptr (GError) error = NULL;
  g_autoptr (IrExecutionCheck) check = ir_execution_check (model, inputs, &run, NULL, NULL, &error);

  if (error != NULL)
    g_error ("%s: %s", what, error->message);
  if (check->error != NULL)
    g_error ("%s: %s", what, check->error->message);
  if (check->first > 0)
    {
      g_autofree char *text = ir_node_check_to_string (check, ir_execution_check_first (check));
      g_error ("%s: %s", what, text);
    }
}

static gboolean
same (const IrTensor *a, const IrTensor *b)
{
  if (a == NULL || b == NULL || ir_tensor_is_container (a) || ir_tensor_data (a) == NULL)
    return (a == NULL) == (b == NULL);
  return ir_tensor_n_bytes (a) == ir_tensor_n_bytes (b) &&
         memcmp (ir_tensor_data (a), ir_tensor_data (b), ir_tensor_n_bytes (a)) == 0;
}

static void
compare (const char *what, const char *how, IrRun *a, IrRun *b)
{
  for (guint i = 0; i < ir_graph_n_outputs (a->model->main); i++)
    {
      const IrValue *value = ir_graph_output (a->model->main, i);
      if (value != NULL && !same (ir_run_value (a, value->id), ir_run_value (b, value->id)))
        g_error ("%s: output %s has other bits %s", what, value->name, how);
    }
}

/* Each value at most once each way. */
static void
check_copies (const char *what, const IrRun *run)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);
  const GArray *copies = run->trace->copies;

  for (guint i = 0; copies != NULL && i < copies->len; i++)
    {
      const IrTraceCopy *copy = &g_array_index (copies, IrTraceCopy, i);
      if (!g_hash_table_add (seen, GUINT_TO_POINTER (2 * copy->value + copy->to_host)))
        g_error ("%s: %s is copied twice", what, ir_model_value (run->model, copy->value)->name);
      n_copies++;
    }
}

/* Steps on the device have the times of its events, which the stand-in lets take whole microseconds from the
 * beginning; so have copies that nobody waits for before the end. */
static void
check_times (const char *what, const IrRun *run)
{
  const GArray *copies = run->trace->copies;
  gint64 begin_ns = -1;

  for (guint i = 0; i < run->trace->items->len; i++)
    {
      const IrTraceItem *item = &g_array_index (run->trace->items, IrTraceItem, i);
      if (item->start_ns > item->end_ns)
        g_error ("%s: step %u ends before it begins", what, i);
      if (g_strcmp0 (item->device, "gpu") != 0 || item->start_ns == item->end_ns || here)
        continue;
      begin_ns = begin_ns < 0 ? item->start_ns % 1000 : begin_ns;
      n_timed += item->start_ns % 1000 == begin_ns && item->end_ns % 1000 == begin_ns;
      n_items++;
    }
  for (guint i = 0; copies != NULL && i < copies->len; i++)
    {
      const IrTraceCopy *copy = &g_array_index (copies, IrTraceCopy, i);
      n_out += copy->to_host;
      n_late += copy->to_host && copy->start_ns % 1000 == begin_ns &&
                copy->end_ns % 1000 == begin_ns;
    }
}

static IrRun *
run_once (const char *what, IrExecutable *executable, GHashTable *inputs)
{
  g_autoptr (GError) error = NULL;
  IrRun *run = ir_executable_run (executable, inputs, NULL, NULL, &error);

  if (run == NULL)
    g_error ("%s: %s", what, error->message);
  check_copies (what, run);
  check_times (what, run);
  return run;
}

/* Of a run whose times nobody wants, from the third one on steps are launched as graphs. */
static void
try_device_graphs (const char *what, IrModel *model, GHashTable *inputs, IrRun *first)
{
  IrRunOptions untimed = { .backend = &ir_backend_gpu, .n_threads = 1, .seed = 1, .untimed = TRUE };
  g_autoptr (GError) error = NULL;
  g_autoptr (IrExecutable) executable = ir_executable_new (model, &untimed, &error);

  if (executable == NULL)
    g_error ("%s: %s", what, error->message);
  for (guint i = 0; i < 3; i++)
    {
      g_autoptr (IrRun) run = ir_executable_run (executable, inputs, NULL, NULL, &error);
      if (run == NULL)
        g_error ("%s: %s", what, error->message);
      compare (what, i == 0 ? "without times" : "by graphs of the device", first, run);
      g_assert_true (i > 0 || run->trace->n_graphs == 0);
      n_launched += i == 2 && run->trace->n_graphs > 0;
    }
}

static guint
n_copied_to_host (const IrRun *run)
{
  const GArray *copies = run->trace->copies;
  guint n = 0;

  for (guint i = 0; copies != NULL && i < copies->len; i++)
    n += g_array_index (copies, IrTraceCopy, i).to_host;
  return n;
}

/* The bits that the host counts where every value is kept, and no copy of a value beside those of a @plain run: the device has
 * counted what was not copied. */
static void
try_stats (const char *what, IrModel *model, GHashTable *inputs, const IrRun *plain, IrRun *kept)
{
  IrRunOptions counting = {
    .backend = &ir_backend_gpu, .n_threads = 1, .seed = 1, .capture = IR_CAPTURE_STATS
  };
  g_autoptr (IrExecutable) executable = ir_executable_new (model, &counting, NULL);
  g_autoptr (IrRun) run = run_once (what, executable, inputs);
  GHashTableIter iter;
  gpointer id, found;

  if (n_copied_to_host (run) != n_copied_to_host (plain))
    g_error ("%s: with statistics, %u values are copied to the host, and %u without", what,
             n_copied_to_host (run), n_copied_to_host (plain));
  g_hash_table_iter_init (&iter, run->stats);
  while (g_hash_table_iter_next (&iter, &id, &found))
    {
      const IrValue *value = ir_model_value (run->model, GPOINTER_TO_UINT (id));
      IrTensor *tensor = ir_run_value (kept, value->id);
      IrTensorStats wanted;
      if (tensor == NULL || value->graph != run->model->main)
        continue;
      ir_tensor_stats (tensor, G_N_ELEMENTS (wanted.bins), &wanted);
      if (memcmp (found, &wanted, sizeof wanted) != 0)
        g_error ("%s: the device counts %s otherwise than the host", what, value->name);
      n_counted++;
    }
}

static void
try_runs (const char *what, IrModel *model, GHashTable *inputs)
{
  IrRunOptions plain = { .backend = &ir_backend_gpu, .n_threads = 1, .seed = 1 }, all = plain;
  g_autoptr (GError) error = NULL;

  all.capture = IR_CAPTURE_ALL;
  g_autoptr (IrExecutable) executable = ir_executable_new (model, &plain, &error);
  g_autoptr (IrExecutable) keeping = ir_executable_new (model, &all, NULL);
  if (executable == NULL)
    g_error ("%s: %s", what, error->message);
  g_autoptr (IrRun) first = run_once (what, executable, inputs);
  g_autoptr (IrRun) second = run_once (what, executable, inputs);
  g_autoptr (IrRun) kept = run_once (what, keeping, inputs);
  compare (what, "in the second run", first, second);
  compare (what, "where every value is kept", first, kept);
  try_device_graphs (what, model, inputs, first);
  try_stats (what, model, inputs, first, kept);
  n_own += first->n_own;
  n_fallback += first->n_fallback;
  n_run++;
}

/* By cuBLAS, or by kernels as without it. */
static void
set_products (gboolean by_library)
{
  g_autofree char *option = g_strdup_printf ("seed=%d%s", stream_seed,
                                             by_library ? "" : ",fail=cublasCreate_v2:0:1");

  if (here)
    return;
  ir_gpu_runtime_close ();
  g_setenv ("IRSCOPE_STAND_IN", option, TRUE);
}

static void
try_seed (guint32 seed)
{
  g_auto (Graph) graph = { NULL };
  g_autofree char *what = NULL;

  graph_init (&graph, seed, NULL);
  g_autoptr (GHashTable) inputs = graph_inputs (graph.model, seed, 0);
  what = g_strdup_printf ("seed %u (%s)", seed, graph.family->name);
  check_nodes (what, graph.model, inputs);
  try_runs (what, graph.model, inputs);
}

/* Seeds beyond those below that once found something: operands without elements; a copy before a graph of the device to bytes
 * that another stream still reads; one to bytes of the host that lie in another value, too, which the host reads. */
static void
test_found (void)
{
  static const struct
  {
    guint32 seed;
    int streams; /* 0: any */
  } rows[] = { { 501702, 0 }, { 503042, 0 }, { 512610, 0 }, { 6004974, 5 } };
  const int seed = stream_seed;

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      stream_seed = rows[i].streams > 0 ? rows[i].streams : seed;
      set_products (TRUE);
      try_seed (rows[i].seed);
    }
  stream_seed = seed;
  set_products (TRUE);
}

/* Two graphs of three are run as a pipeline leaves them. */
static void
optimize (Graph *graph, guint32 seed)
{
  static const char *const names[] = { NULL, "basic", "default" };
  const char *name = names[seed % G_N_ELEMENTS (names)];
  const IrPipelineOptions how = { .max_class = IR_CLASS_ROUNDING };
  IrPipelineResult result = { 0 };
  g_autoptr (GError) error = NULL;

  if (name == NULL)
    return;
  g_autoptr (IrPipeline) pipeline = ir_pipeline_load (name, &error);
  g_assert_no_error (error);
  IrModel *model = ir_model_clone (graph->model);
  if (!ir_pipeline_run (model, pipeline, &how, &result, NULL, &error))
    g_error ("seed %u (%s): pipeline %s: %s", seed, graph->family->name, name, error->message);
  n_steps += result.n_steps;
  ir_model_unref (graph->model);
  graph->model = model;
}

static void
test_graphs (void)
{
  for (int at = 0; at < n_graphs; at += AT_ONCE)
    {
      set_products (at / AT_ONCE % 2 == 0);
      int n = MIN (AT_ONCE, n_graphs - at);
      g_autofree Graph *graphs = g_new0 (Graph, (gsize) n);
      g_autoptr (GPtrArray)
          inputs = g_ptr_array_new_with_free_func ((GDestroyNotify) g_hash_table_unref);
      for (int i = 0; i < n; i++)
        {
          graph_init (&graphs[i], (guint32) (from + at + i), NULL);
          optimize (&graphs[i], (guint32) (from + at + i));
          g_ptr_array_add (inputs, graph_inputs (graphs[i].model, (guint32) (from + at + i), 0));
          announce (graphs[i].model, inputs->pdata[i]);
        }
      for (int i = 0; i < n; i++)
        {
          g_autofree char *what = g_strdup_printf ("seed %d (%s)", from + at + i,
                                                   graphs[i].family->name);
          check_nodes (what, graphs[i].model, inputs->pdata[i]);
          try_runs (what, graphs[i].model, inputs->pdata[i]);
          graph_clear (&graphs[i]);
        }
    }
  g_test_message (
      "%u graphs, %u in several streams: %u nodes on the device, %u elsewhere, %u copies", n_run,
      n_beside, n_own, n_fallback, n_copies);
  g_assert_cmpuint (n_beside, >=, n_run / 4);
  g_test_message ("%u steps of pipelines before", n_steps);
  g_assert_cmpuint (n_steps, >=, n_run / 2);
  g_test_message ("%u graphs have steps that are launched together", n_launched);
  g_assert_cmpuint (n_launched, >=, n_run / 4);
  g_test_message ("%u of %u steps have the times of the device", n_timed, n_items);
  g_assert_cmpuint (4 * n_timed, >=, 3 * n_items);
  g_test_message ("statistics of %u values are those of their contents", n_counted);
  g_assert_cmpuint (n_counted, >=, n_run);
  g_test_message ("%u of %u copies to the host were not waited for", n_late, n_out);
  g_assert_cmpuint (2 * n_late, >=, here ? 0 : n_out);
}

/* Of more than the memory that they go through, which the device reads and writes as late as it may. */
static void
test_large_copies (void)
{
  static const gsize sizes[] = { 0, 1, (4 << 20) - 1, 4 << 20, (8 << 20) + 5, (61 << 20) + 3 };

  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    {
      g_autofree guint32 *out = g_malloc (sizes[i] + 8), *back = g_malloc0 (sizes[i] + 8);
      IrMemoryBlock block = { NULL };
      g_autoptr (GError) error = NULL;
      for (gsize k = 0; k < sizes[i] / 4 + 1; k++)
        out[k] = (guint32) k * 2654435761u;
      ir_gpu_memory.alloc (sizes[i], &block, &error);
      g_assert_no_error (error);
      ir_gpu_memory.copy_in (block.data, out, sizes[i], &error);
      g_assert_no_error (error);
      ir_gpu_memory.copy_out (back, block.data, sizes[i], &error);
      g_assert_no_error (error);
      g_assert_true (memcmp (out, back, sizes[i]) == 0);
      ir_gpu_memory.free (&block);
    }
}

/* -- waits and copies that are left out -- */

static int *n_skipped; /* of the stand-in */
static IrExecutable
    *executable_of_run; /* to let go of it waits for the device, as the run should have */

/* (nullable) The first run, where @left_out is a function and the number of its call. */
static IrRun *
run_without (IrModel *model, GHashTable *inputs, guint seed, const char *left_out)
{
  IrRunOptions run = { .backend = &ir_backend_gpu,
                       .n_threads = 1,
                       .seed = 1,
                       .capture = IR_CAPTURE_ALL,
                       .untimed = TRUE };
  g_autofree char *option = g_strdup_printf ("seed=%u,%sskip=%s", seed, seed == 1 ? "late," : "",
                                             left_out);

  g_clear_pointer (&executable_of_run, ir_executable_free);
  ir_gpu_runtime_close ();
  g_setenv ("IRSCOPE_STAND_IN", option, TRUE);
  *n_skipped = 0;
  executable_of_run = ir_executable_new (model, &run, NULL);
  return ir_executable_run (executable_of_run, inputs, NULL, NULL, NULL);
}

static gboolean
is_same_run (const IrRun *a, const IrRun *b)
{
  for (guint id = 1; id < a->model->values->len; id++)
    if (!same (ir_run_value (a, id), ir_run_value (b, id)))
      return FALSE;
  return TRUE;
}

/* Whether some order of the streams shows that the call is missing; @there: (out): whether there was such a call */
static gboolean
is_noticed (
    IrModel *model, GHashTable *inputs, const IrRun *right, const char *call, gboolean *there)
{
  *there = FALSE;
  for (guint seed = 1; seed <= 3; seed++)
    {
      g_autoptr (IrRun) run = run_without (model, inputs, seed, call);
      if (*n_skipped == 0)
        return FALSE;
      *there = TRUE;
      if (run == NULL || !is_same_run (right, run))
        return TRUE;
    }
  return FALSE;
}

/* What a body computes is not kept, so what is wrong there need not show. */
static gboolean
has_bodies (const IrModel *model)
{
  for (guint i = 1; i < model->nodes->len; i++)
    {
      const IrNode *node = ir_model_live_node (model, i);
      if (node != NULL && node->op != NULL && (node->op->flags & IR_OP_SUBGRAPHS) != 0)
        return TRUE;
    }
  return FALSE;
}

typedef struct
{
  const char *function;
  guint least; /* per cent that must be noticed */
  guint tried, noticed;
} LeftOut;

/* Behind the last copy through the staging memory nothing else goes through it, and the word of faults is 0 before most fills. */
static LeftOut left_out[] = {
  { "cuStreamWaitEvent", 98, 0, 0 },    { "cuMemcpyHtoDAsync_v2", 98, 0, 0 },
  { "cuMemcpyDtoHAsync_v2", 98, 0, 0 }, { "cuMemcpyDtoDAsync_v2", 98, 0, 0 },
  { "cuStreamSynchronize", 80, 0, 0 },  { "cuMemsetD8Async", 0, 0, 0 },
};

static void
leave_out (guint32 seed)
{
  g_auto (Graph) graph = { NULL };
  graph_init (&graph, seed, NULL);
  g_autoptr (GHashTable) inputs = graph_inputs (graph.model, seed, 0);
  if (has_bodies (graph.model))
    return;
  g_autoptr (IrRun) right = run_without (graph.model, inputs, 1, "none:1");

  g_assert_nonnull (right);
  for (guint i = 0; i < G_N_ELEMENTS (left_out); i++)
    for (guint n = 1;; n++)
      {
        g_autofree char *call = g_strdup_printf ("%s:%u", left_out[i].function, n);
        gboolean there, seen = is_noticed (graph.model, inputs, right, call, &there);
        if (!there)
          break;
        left_out[i].tried++;
        left_out[i].noticed += seen;
        if (!seen)
          g_test_message ("seed %u (%s): nothing shows that %s is missing", seed,
                          graph.family->name, call);
      }
}

/* Each wait for an event, each copy and each wait of the host in a run, in turn. */
static void
test_left_out (void)
{
  g_autofree char *path = g_build_filename (g_test_get_dir (G_TEST_BUILT), "libcuda.so.1", NULL);
  void *driver = dlopen (path, RTLD_NOW);

  n_skipped = driver != NULL ? dlsym (driver, "stand_in_n_skipped") : NULL;
  g_assert_nonnull (n_skipped);
  for (int i = 0; i < n_left_out; i++)
    leave_out ((guint32) (from + i));
  for (guint i = 0; i < G_N_ELEMENTS (left_out); i++)
    {
      const LeftOut *row = &left_out[i];
      g_test_message ("%s: %u of %u that are missing are noticed", row->function, row->noticed,
                      row->tried);
      g_assert_cmpuint (100 * row->noticed, >=, row->least * row->tried);
      g_assert_cmpuint (row->tried, >, 0);
    }
  g_clear_pointer (&executable_of_run, ir_executable_free);
  set_products (TRUE);
}

/* A kernel that uses an address which is not its own takes all that is on the device away; the next run has it again. */
static void
test_lost (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrModel)
      model = ir_text_read ("<ir_version: 8, opset_import: [\"\" : 17]>\n"
                            "g (float[4096] x) => (float[4096] y) { y = Exp (x) }\n",
                            -1, NULL, &error);
  g_assert_no_error (error);
  g_autoptr (GHashTable) inputs = graph_inputs (model, 1, 0);
  IrMemoryBlock small = { NULL };
  gpointer nowhere = GSIZE_TO_POINTER (4096);
  IrGpuFault fault;
  IrCall call;

  check_nodes ("before", model, inputs);
  g_autoptr (IrModel) lowered = ir_exec_lower (model, &ir_backend_gpu, &error);
  g_assert_no_error (error);
  ir_call_init (&call, ir_graph_output (lowered->main, 0)->producer);
  IrGpuProgram *program = ir_backend_gpu.prepare (&call, &error);
  g_assert_nonnull (program);
  if (ir_gpu_runtime_is_stand_in ()) /* which does not launch it at all where there is no memory */
    {
      ir_gpu_memory.alloc (256, &small, &error);
      g_assert_no_error (error);
      nowhere = small.data;
    }
  if (ir_gpu_run (program, &nowhere, &nowhere, &fault, &error))
    ir_gpu_memory.finish (&error);
  g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_DEVICE);
  g_assert_nonnull (strstr (error->message, "what was on the device is lost"));
  ir_backend_gpu.release (program);
  ir_call_clear (&call);
  ir_gpu_memory.free (&small);
  check_nodes ("after", model, inputs);
}

/* Profilers are told of each node that the device is asked for, by its name. */
static void
test_ranges (void)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *path = g_build_filename (g_test_get_dir (G_TEST_BUILT), "libnvToolsExt.so.1",
                                            NULL);
  g_autoptr (IrModel)
      model = ir_text_read ("<ir_version: 8, opset_import: [\"\" : 17]>\n"
                            "g (float[4,8] x) => (float[4,8] y) {\n"
                            "  [first] a = Exp (x)\n  [second] y = Softmax (a)\n}\n",
                            -1, NULL, &error);
  g_assert_no_error (error);
  g_autoptr (GHashTable) inputs = graph_inputs (model, 1, 0);
  void *nvtx = dlopen (path, RTLD_NOW);
  char *names = nvtx != NULL ? dlsym (nvtx, "nvtx_names") : NULL;

  if (here)
    {
      g_test_skip ("of the stand-in alone");
      return;
    }
  g_assert_nonnull (names);
  names[0] = '\0';
  IrRunOptions run = { .backend = &ir_backend_gpu, .n_threads = 1 };
  g_autoptr (IrExecutable) executable = ir_executable_new (model, &run, &error);
  g_assert_no_error (error);
  g_autoptr (IrRun) done = run_once ("ranges", executable, inputs);
  g_assert_cmpstr (names, ==, "first second ");
  g_assert_cmpint (*(const int *) dlsym (nvtx, "nvtx_depth"), ==, 0);
}

/* What has no elements has a place of its own, too: kernels are given its address. */
static void
test_empty (void)
{
  static const char *const texts[] = {
    "g (float[2,3] x) => (float[2,3] y) <int64[0,3] i = {}, float[0,3] u = {}> {\n"
    "  y = ScatterElements <axis = 0> (x, i, u)\n}\n",
    "g (float[2,3] x) => (float[2,3] y) <float[3] c = {1, 2, 3}, int64[0,3] i = {}, float[0,3] u = {}> {\n"
    "  a = Add (x, c)\n  y = ScatterElements <axis = 0> (a, i, u)\n}\n",
    "g (float[2,3] x, int64[0,3] i, float[0,3] u) => (float[2,3] y) {\n"
    "  y = ScatterElements <axis = 0, reduction = \"add\"> (x, i, u)\n}\n",
    "g (float[2,3] x, int64[0,3] i) => (float[0,3] y, float[2,3] z) <float[0,3] u = {}> {\n  a = Exp (x)\n"
    "  y = GatherElements <axis = 0> (a, i)\n  z = ScatterElements <axis = 0> (a, i, u)\n}\n",
    "g (float[2,3] x, float[2,0] u) => (float[2,3] y) {\n  y = Concat <axis = 1> (x, u)\n}\n",
    "g (float[2,0] x, float[0,4] w) => (float[2,4] y) {\n  y = MatMul (x, w)\n}\n",
    "g (float[2,0] x) => (float[2,1] y) <int64[1] axes = {1}> {\n  a = Exp (x)\n"
    "  y = ReduceSum (a, axes)\n}\n",
  };

  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autofree char *text = g_strconcat ("<ir_version: 8, opset_import: [\"\" : 18]>\n", texts[i],
                                           NULL);
      g_autoptr (IrModel) model = ir_text_read (text, -1, NULL, &error);
      g_assert_no_error (error);
      g_autoptr (GHashTable) inputs = graph_inputs (model, 1, 0);
      check_nodes (texts[i], model, inputs);
      try_runs (texts[i], model, inputs);
    }
}

/* What is told of a node: each launch with its text, behind a product of the library nothing. */
static void
test_facts (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrModel)
      model = ir_text_read ("<ir_version: 8, opset_import: [\"\" : 17]>\n"
                            "g (float[4,8] x, float[8,5] w) => (float[4,5] y) "
                            "{ m = MatMul (x, w)\n s = Softmax (m)\n y = Exp (s) }\n",
                            -1, NULL, &error);
  g_assert_no_error (error);
  g_autoptr (GHashTable) inputs = graph_inputs (model, 1, 0);
  g_autoptr (IrModel) lowered = ir_exec_lower (model, &ir_backend_gpu, &error);
  g_assert_no_error (error);
  check_nodes ("facts", model, inputs);
  for (guint i = 1; i < lowered->nodes->len; i++)
    {
      const IrNode *node = ir_model_live_node (lowered, i);
      g_autoptr (GPtrArray) facts = node != NULL ? ir_backend_gpu.facts (node) : NULL;
      if (node == NULL)
        continue;
      g_assert_cmpuint (facts->len, ==, 1);
      const IrKernelFact *fact = facts->pdata[0];
      if (g_str_equal (node->op_type, "MatMul"))
        g_assert_true (g_str_has_prefix (fact->title, "cuBLAS") && fact->code == NULL &&
                       strstr (fact->text, "4 × 8 × 5") != NULL);
      else
        g_assert_true (strstr (fact->code, fact->title) != NULL &&
                       strstr (fact->text, "threads") != NULL);
    }
}

static void
test_file (gconstpointer path)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrModel) model = ir_model_load (path, NULL, NULL, &error);

  g_assert_no_error (error);
  g_autoptr (GHashTable) inputs = graph_inputs (model, 1, 0);
  check_nodes (path, model, inputs);
  g_test_message ("%s: as ref", (const char *) path);
}

int
main (int argc, char **argv)
{
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  g_autofree char *path = NULL, *option = NULL;

  g_option_context_add_main_entries (context, options, NULL);
  g_option_context_set_ignore_unknown_options (context, TRUE);
  g_option_context_set_help_enabled (context, FALSE);
  if (!g_option_context_parse (context, &argc, &argv, NULL))
    return 2;
  g_test_init (&argc, &argv, NULL);
  path = g_strdup_printf ("%s:-", g_test_get_dir (G_TEST_BUILT));
  if (!here)
    g_setenv (IR_GPU_PATH, path, TRUE);
  g_setenv (IR_GPU_CACHE, "-", TRUE);
  option = g_strdup_printf ("seed=%d%s", stream_seed, argc > 1 ? ",fast" : "");
  g_setenv ("IRSCOPE_STAND_IN", option, TRUE);
  if (argc <= 1)
    {
      g_test_add_func ("/gpu/run/large copies", test_large_copies);
      g_test_add_func ("/gpu/run/device lost", test_lost);
      if (n_left_out > 0 && !here)
        g_test_add_func ("/gpu/run/waits and copies left out", test_left_out);
      g_test_add_func ("/gpu/run/ranges for profilers", test_ranges);
      g_test_add_func ("/gpu/run/operands without elements", test_empty);
      g_test_add_func ("/gpu/run/what was found", test_found);
      g_test_add_func ("/gpu/run/facts", test_facts);
      g_test_add_func ("/gpu/run/random graphs", test_graphs);
    }
  for (int i = 1; i < argc; i++)
    {
      g_autofree char *name = g_path_get_basename (argv[i]);
      g_autofree char *test = g_strdup_printf ("/gpu/run/%s", name);
      g_test_add_data_func (test, argv[i], test_file);
    }
  int failed = g_test_run ();
  ir_gpu_runtime_close ();
  return failed;
}
