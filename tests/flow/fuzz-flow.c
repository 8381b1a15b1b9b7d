/* Random structured programs, nested If, Loop, Scan and SequenceMap, and programs of closures in variables and functions
 * that call themselves, against a tree walker (tree-walk.h) that shares only the reference kernels.
 *
 *     fuzz-flow [--from SEED] [--graphs N] [--ways N] [--broken N] [--results FILE] [--write FILE]
 *
 * Each program runs in some ways (flow-trial.h), which it draws by its seed: as it is, lowered to tokens, with one and ten
 * iterations in flight, raised, as closures and back, written out, each as it is or behind six random exact passes,
 * on one thread or two, on the reference kernels; on cpu each is held against the program's own run there. No bit may
 * differ. --ways 0 tries all forms of each. Programs of functions are held against the same by If and Loop, too.
 *
 * Graphs of tokens, and of closures, are then broken a few times: edges are moved, dependencies are added, Exits and
 * NextIterations go, frames become one. They are checked, and run to an end or an error, within limits.
 *
 * Trials run in child processes, so a crash is a finding like any other. A finding is shrunk: passes and outputs are dropped,
 * nodes are cut out and bodies take the place of their constructs, as long as it stays; what is left is printed as
 * ONNX text. --results appends a line of what was tried to FILE. */
#include "config.h"

#include "core/io/io.h"
#include "passes/pipeline/pipeline.h"
#include "tests/flow/flow-program.h"
#include "tests/flow/flow-trial.h"
#include "tests/flow/tree-walk.h"
#include "tests/fuzz/child.h"
#include "tests/fuzz/shrink.h"
#include "tests/rules/pass-test.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRIAL_SECONDS     60 /* of the clock, which others may share */
#define SHRINK_SECONDS    60
#define TRIALS_PER_CHILD  500
#define MAX_FINDINGS      3
#define WAYS_OF_FUNCTIONS 1

/* What a finding is about: one of the two programs of a seed, and one way. */
typedef enum
{
  PROGRAM,
  FUNCTIONS,
  N_PARTS
} Part;

typedef struct
{
  ChildState state;
  FlowCounts counts;
  guint n_constructs;
  Part part;
  guint way; /* index of the draw; n_ways: the tree walk, or broken graphs */
} Shared;

typedef struct
{
  Shared *shared;
  guint64 first_seed, end;
  guint n_ways, n_broken;
} Fuzzer;

/* -- programs -- */

/* (transfer full) (nullable) */
static IrModel *
read_program (const char *text, char **found)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  IrModel *model = ir_text_read (text, -1, problems, &error);

  if (model == NULL || problems->len > 0)
    *found = g_strdup_printf ("the program is wrong: %s",
                              model == NULL ? error->message
                                            : ((IrProblem *) problems->pdata[0])->message);
  return model;
}

/* (transfer full) (nullable) @without: (out) (optional) (nullable) (transfer full): the same without functions */
static IrModel *
make_program (guint64 seed, Part part, guint *n_constructs, IrModel **without, char **found)
{
  g_autofree char *text = NULL, *plain = NULL;

  *n_constructs = 0;
  if (part == PROGRAM)
    text = flow_program (seed, n_constructs);
  else
    flow_function_programs (seed, &text, &plain);
  if (plain != NULL && without != NULL)
    *without = read_program (plain, found);
  return read_program (text, found);
}

static guint
n_ways_of (const Fuzzer *fuzzer, Part part)
{
  return part == PROGRAM || fuzzer->n_ways > flow_n_forms () / 2 ? fuzzer->n_ways
                                                                 : WAYS_OF_FUNCTIONS;
}

/* (nullable) (transfer full) What the program without functions gives otherwise */
static char *
compare_without (FlowTrial *trial, const IrModel *without)
{
  g_auto (FlowTrial) plain = { 0 };
  FlowCounts counts = { 0 };
  char *found;

  flow_trial_init (&plain, without, trial->contents, trial->seed);
  if ((found = flow_trial_check (trial, NULL, &counts)) != NULL ||
      (found = flow_trial_check (&plain, NULL, &counts)) != NULL)
    return found;
  for (guint i = 0; i < plain.expected->len && found == NULL; i++)
    found = test_compare_tensors ("without functions", trial->expected->pdata[i],
                                  plain.expected->pdata[i], 0);
  return found;
}

static char *
check_way (FlowTrial *trial, guint index, guint64 seed, FlowCounts *counts)
{
  g_auto (FlowWay) way = { 0 };

  flow_way_draw (&way, seed, index);
  return flow_trial_check (trial, &way, counts);
}

/* (nullable) (transfer full) */
static char *
check_part (const Fuzzer *fuzzer, guint64 seed, Part part)
{
  Shared *shared = fuzzer->shared;
  const guint n_ways = n_ways_of (fuzzer, part);
  g_auto (FlowTrial) trial = { 0 };
  g_autoptr (IrModel) without = NULL;
  guint n_constructs;
  char *found = NULL;
  g_autoptr (IrModel) model = make_program (seed, part, &n_constructs, &without, &found);

  shared->part = part;
  shared->way = n_ways;
  shared->n_constructs += n_constructs;
  if (found != NULL)
    return found;
  flow_trial_init (&trial, model, NULL, seed);
  if (without != NULL)
    found = compare_without (&trial, without);
  for (guint i = 0; i < n_ways && found == NULL; i++)
    {
      shared->way = i;
      found = check_way (&trial, i, seed, &shared->counts);
    }
  if (found != NULL || part != PROGRAM)
    return found;
  shared->way = n_ways;
  return flow_trial_check_broken (&trial, fuzzer->n_broken, &shared->counts);
}

/* -- children -- */

static int
run_trials (gpointer data)
{
  const Fuzzer *fuzzer = data;
  Shared *shared = fuzzer->shared;
  guint64 *position = &shared->state.position;
  const guint64 end = MIN (fuzzer->end, *position + TRIALS_PER_CHILD);

  for (; *position < end; ++*position)
    for (Part part = PROGRAM; part < N_PARTS; part++)
      {
        alarm (TRIAL_SECONDS);
        g_autofree char *found = check_part (fuzzer, fuzzer->first_seed + *position, part);
        if (found == NULL)
          continue;
        g_strlcpy (shared->state.message, found, sizeof shared->state.message);
        return 1;
      }
  alarm (0);
  shared->state.ended = TRUE;
  return 0;
}

/* -- findings -- */

typedef struct
{
  Shared *shared;
  IrModel *model;
  GHashTable *contents; /* of inputs of the whole program */
  guint64 seed;
  FlowWay way;
  const char *kind;
  gint64 deadline;
} Shrinking;

/* What a finding must keep while it is shrunk: how it ended, or what its message is like; not names, and not which passes. */
static char *
kind_of (const char *message, int status)
{
  static const char *const kinds[] = { "types differ",     "is left",        "are left",
                                       "more than before", "something else", "tree walk" };

  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    if (strstr (message, kinds[i]) != NULL)
      return g_strdup (kinds[i]);
  const gsize length = strlen (message);
  if (length > 0)
    return g_strdup (strstr (message, "]: ") != NULL ? "differs"
                                                     : message + length - MIN (length, 20));
  return g_strdup_printf (WIFSIGNALED (status) ? "signal %d" : "exit %d",
                          WIFSIGNALED (status) ? WTERMSIG (status) : WEXITSTATUS (status));
}

static int
check_again (gpointer data)
{
  const Shrinking *shrinking = data;
  Shared *shared = shrinking->shared;
  g_auto (FlowTrial) trial = { 0 };
  FlowCounts counts = { 0 };
  char *found = NULL;

  alarm (TRIAL_SECONDS);
  /* As it will be printed, and read again. */
  g_autofree char *text = ir_text_write (shrinking->model);
  g_autoptr (IrModel) model = read_program (text, &found);
  if (found != NULL)
    _exit (0);
  flow_trial_init (&trial, model, shrinking->contents, shrinking->seed);
  found = flow_trial_check (&trial, &shrinking->way, &counts);
  g_strlcpy (shared->state.message, found != NULL ? found : "", sizeof shared->state.message);
  _exit (0);
}

static gboolean
still_fails (Shrinking *shrinking)
{
  shrinking->shared->state.message[0] = '\0';
  const int status = child_run (check_again, shrinking, TRUE);
  g_autofree char *kind = kind_of (shrinking->shared->state.message, status);
  return strcmp (kind, shrinking->kind) == 0;
}

static gboolean
candidate_fails (IrModel *candidate, gpointer data)
{
  Shrinking *shrinking = data;

  if (g_get_monotonic_time () > shrinking->deadline)
    return FALSE;
  shrinking->model = candidate;
  return still_fails (shrinking);
}

static IrRun *
captured_for (IrModel *model, gpointer data)
{
  return NULL;
}

static void
shrink_passes (Shrinking *shrinking)
{
  GPtrArray *passes = shrinking->way.passes;

  for (guint i = passes->len; i > 0; i--)
    {
      gpointer pass = passes->pdata[i - 1];
      g_ptr_array_remove_index (passes, i - 1);
      if (g_get_monotonic_time () > shrinking->deadline || !still_fails (shrinking))
        g_ptr_array_insert (passes, (gint) i - 1, pass);
    }
  const guint n_threads = shrinking->way.n_threads;
  shrinking->way.n_threads = 1;
  if (!still_fails (shrinking))
    shrinking->way.n_threads = n_threads;
}

/* What nobody reads goes, outputs of branches too. */
static gboolean
shrink_dead (Shrink *least)
{
  g_autoptr (IrPipeline) pipeline = test_pipeline (ir_pass_find ("eliminate-dead-code"));
  const guint before = ir_model_n_nodes (least->model);
  IrModel *model = ir_model_clone (least->model);

  ir_pipeline_run (model, pipeline, NULL, NULL, NULL, NULL);
  return shrink_to (least, model) && ir_model_n_nodes (least->model) < before;
}

static void
shrink (Shrinking *shrinking)
{
  Shrink least = { shrinking->model, candidate_fails, captured_for, shrinking };
  gboolean less = TRUE;

  shrink_passes (shrinking);
  for (guint i = 0; i < 6 && less; i++)
    {
      shrink_outputs (&least);
      less = shrink_bodies (&least);
      less |= shrink_nodes (&least);
      less |= shrink_dead (&least);
    }
  shrinking->model = least.model;
  shrink_passes (shrinking);
}

static void
say_inputs (const Shrinking *shrinking)
{
  for (guint i = 0; i < ir_graph_n_inputs (shrinking->model->main); i++)
    {
      const IrValue *input = ir_graph_input (shrinking->model->main, i);
      const IrTensor *tensor = g_hash_table_lookup (shrinking->contents, input->name);
      g_autofree char *text = tensor != NULL ? ir_tensor_to_string (tensor, 16) : NULL;
      if (text != NULL)
        fprintf (stderr, "-- %s: %s\n", input->name, text);
    }
}

/* A program and a way alone, made smaller as long as it ends alike */
static void
shrink_finding (const Fuzzer *fuzzer, guint64 seed, const char *kind)
{
  Shared *shared = fuzzer->shared;
  g_auto (FlowTrial) trial = { 0 };
  g_autofree char *found = NULL;
  guint n_constructs;
  g_autoptr (IrModel) model = make_program (seed, shared->part, &n_constructs, NULL, &found);
  Shrinking shrinking = { .shared = shared,
                          .seed = seed,
                          .kind = kind,
                          .deadline = g_get_monotonic_time () + SHRINK_SECONDS * G_USEC_PER_SEC };

  if (found != NULL)
    return;
  flow_trial_init (&trial, model, NULL, seed);
  shrinking.contents = trial.contents;
  shrinking.model = ir_model_ref (model);
  flow_way_draw (&shrinking.way, seed, shared->way);
  if (shared->way < n_ways_of (fuzzer, shared->part) && still_fails (&shrinking))
    {
      shrink (&shrinking);
      still_fails (&shrinking);
      fprintf (stderr, "-- shrunk: %s\n", shared->state.message);
    }
  g_autofree char *text = ir_text_write (shrinking.model),
                  *way = flow_way_to_string (&shrinking.way);
  fprintf (stderr, "%s", text);
  say_inputs (&shrinking);
  fprintf (stderr, "-- way %u: %s\n", shared->way, way);
  flow_way_clear (&shrinking.way);
  ir_model_unref (shrinking.model);
}

static void
report (gpointer data, int status)
{
  const Fuzzer *fuzzer = data;
  Shared *shared = fuzzer->shared;
  const guint64 seed = fuzzer->first_seed + shared->state.position;
  g_autofree char *first = g_strdup (shared->state.message), *kind = kind_of (first, status);

  fprintf (stderr, "\n-- seed %" G_GUINT64_FORMAT ", %s: %s\n", seed,
           shared->part == PROGRAM ? "a program" : "functions", first[0] != '\0' ? first : kind);
  shrink_finding (fuzzer, seed, kind);
  fprintf (stderr,
           "-- again: fuzz-flow --graphs 1 --from %" G_GUINT64_FORMAT " --ways %u --broken %u\n",
           seed, fuzzer->n_ways, fuzzer->n_broken);
}

static gboolean
goes_on (gpointer data, guint n_findings)
{
  const Fuzzer *fuzzer = data;

  return fuzzer->shared->state.position < fuzzer->end && n_findings < MAX_FINDINGS;
}

/* -- the program -- */

/* Of all forms in all places, but values of iterations in one. */
#define N_KINDS_OF_WAYS ((flow_n_forms () - 1) * FLOW_PLACES + 1)

static guint
n_ways_tried (const FlowCounts *counts)
{
  guint n = 0;

  for (guint i = 0; i < flow_n_forms () * FLOW_PLACES; i++)
    n += counts->runs[i / FLOW_PLACES][i % FLOW_PLACES] > 0;
  return n;
}

static char *
summary (const Fuzzer *fuzzer, guint n_found)
{
  const Shared *shared = fuzzer->shared;
  const FlowCounts *counts = &shared->counts;
  guint n = 0;

  for (guint i = 0; i < flow_n_forms () * FLOW_PLACES; i++)
    n += counts->runs[i / FLOW_PLACES][i % FLOW_PLACES];
  return g_strdup_printf (
      "%" G_GUINT64_FORMAT " programs from %" G_GUINT64_FORMAT
      " with %u constructs, %u findings; %u runs in %u of %u ways; %u programs "
      "were lowered in part; loops were written out in part %u times; of %u broken graphs %u ran",
      shared->state.position, fuzzer->first_seed, shared->n_constructs, n_found, n,
      n_ways_tried (counts), N_KINDS_OF_WAYS, counts->n_left, counts->n_divided, counts->n_broken,
      counts->n_ran);
}

static gboolean
append_line (const char *path, const char *line)
{
  FILE *file = fopen (path, "a");

  return file != NULL && fprintf (file, "%s\n", line) > 0 && fclose (file) == 0;
}

int
main (int argc, char **argv)
{
  gint64 from = 1, n_graphs = 300;
  gint n_broken = 3, n_ways = 3;
  g_autofree char *write = NULL, *results = NULL;
  const GOptionEntry entries[] = {
    { "from", 0, 0, G_OPTION_ARG_INT64, &from, "First seed", "SEED" },
    { "graphs", 0, 0, G_OPTION_ARG_INT64, &n_graphs, "How many", "N" },
    { "ways", 0, 0, G_OPTION_ARG_INT, &n_ways,
      "In how many ways each runs (0: all forms; default 3)", "N" },
    { "broken", 0, 0, G_OPTION_ARG_INT, &n_broken, "How often each is broken", "N" },
    { "results", 0, 0, G_OPTION_ARG_FILENAME, &results, "Append what was tried to FILE", "FILE" },
    { "write", 0, 0, G_OPTION_ARG_FILENAME, &write, "Write the program of the first seed", "FILE" },
    { NULL }
  };
  g_autoptr (GOptionContext) options = g_option_context_new (NULL);
  g_autoptr (GError) error = NULL;
  Fuzzer fuzzer = { .shared = child_share (sizeof (Shared)) };
  const ChildLoop loop = { &fuzzer.shared->state, &fuzzer, goes_on, run_trials, report };

  g_option_context_add_main_entries (options, entries, NULL);
  if (!g_option_context_parse (options, &argc, &argv, &error))
    g_error ("%s", error->message);
  fuzzer.first_seed = (guint64) from;
  fuzzer.end = (guint64) n_graphs;
  fuzzer.n_ways = n_ways > 0 ? (guint) n_ways : flow_n_forms ();
  fuzzer.n_broken = (guint) MAX (n_broken, 0);
  if (write != NULL)
    {
      guint n;
      g_autofree char *text = flow_program (fuzzer.first_seed, &n);
      return g_file_set_contents (write, text, -1, NULL) ? 0 : 1;
    }
  const guint n_found = child_loop (&loop);
  g_autofree char *line = summary (&fuzzer, n_found);
  g_print ("%s\n", line);
  if (results != NULL && !append_line (results, line))
    return 1;
  const gboolean all = n_ways_tried (&fuzzer.shared->counts) == N_KINDS_OF_WAYS;
  return n_found > 0 || fuzzer.shared->counts.n_left > 1 + fuzzer.end / 500 ||
         (fuzzer.end >= 1000 && !all);
}
