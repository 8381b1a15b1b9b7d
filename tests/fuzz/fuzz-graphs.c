/* The fuzzer of whole graphs. Layout, placement, sharing of memory and chaining are decisions about
 * all of a graph; here random whole graphs (graph-gen.h) run in several ways (graph-ways.h), which
 * must agree with each other and with the reference kernels, node by node.
 *
 *   fuzz-graphs [--from SEED | --fresh] [--graphs N] [--seconds N] [--jobs N] [--family NAME]
 *               [--coverage] [--keep-going] [--results FILE]
 *   fuzz-graphs --from SEED --graphs 1       one trial again, as the report of a finding says
 *   fuzz-graphs --from SEED --graphs N --write DIR   the graphs as files, for other programs
 *
 * Each graph draws one pipeline and three of the ways by its seed. Ways that promise the same bits
 * are compared by bits. Others may differ from the reference by a few units in the last place of
 * the largest number; beyond that by what they differ by when every value is disturbed by a few
 * units in its last place, and results that this changes in the first digits say nothing.
 *
 * Trials run in child processes, so that a crash is a finding like any other. A finding is shrunk:
 * outputs are dropped, nodes are cut out and sizes become smaller, as long as it stays. With
 * --results, counts are added to those of FILE, and seeds go on where the last portion ended. */
#include "config.h"

#include "core/io/io.h"
#include "core/op/infer.h"
#include "tests/fuzz/child.h"
#include "tests/fuzz/graph-counts.h"
#include "tests/fuzz/shrink.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRIAL_SECONDS    60 /* of the clock, which others may share */
#define SHRINK_SECONDS   60
#define TRIALS_PER_CHILD 500
#define MAX_FINDINGS     3
#define MAX_JOBS         64

typedef struct
{
  ChildState state;
  GraphCounts counts;
} Shared;

typedef struct
{
  Shared *shared;
  guint32 first_seed;
  guint64 end; /* of the positions */
  gint64 deadline;
  gboolean keep_going;
  const GraphFamily *family; /* (nullable) */
} Fuzzer;

/* -- children -- */

static int
run_trials (gpointer data)
{
  const Fuzzer *fuzzer = data;
  Shared *shared = fuzzer->shared;
  guint64 *position = &shared->state.position;
  guint64 end = MIN (fuzzer->end, *position + TRIALS_PER_CHILD);

  for (; *position < end && g_get_monotonic_time () < fuzzer->deadline; ++*position)
    {
      g_auto (GraphTrial) trial = { 0 };
      GraphJudgement judgement = { 0 };

      alarm (TRIAL_SECONDS);
      graph_trial_init (&trial, fuzzer->first_seed + (guint32) *position, fuzzer->family);
      g_autofree char *found = graph_trial_check (&trial, &judgement);
      graph_counts_count (&shared->counts, &trial, &judgement);
      if (found != NULL)
        {
          g_strlcpy (shared->state.message, found, sizeof shared->state.message);
          return 1;
        }
    }
  alarm (0);
  shared->state.ended = TRUE;
  return 0;
}

/* What a finding must keep while it is shrunk: the ways and the sort of difference. */
static char *
kind_of (const char *message, int status)
{
  const char *colon = strchr (message, ':'),
             *second = colon != NULL ? strchr (colon + 1, ':') : NULL;

  if (message[0] != '\0')
    return g_strndup (message, second != NULL && strstr (message, "against") != NULL
                                   ? (gsize) (second - message)
                                   : strcspn (message, ":"));
  return WIFSIGNALED (status) ? g_strdup_printf ("signal %s", strsignal (WTERMSIG (status)))
                              : g_strdup (WEXITSTATUS (status) > 0 ? "exit" : "");
}

typedef struct
{
  Shared *shared;
  GraphTrial *trial;
  const char *kind;
  gint64 deadline;
} Shrinking;

static int
check_again (gpointer data)
{
  const Shrinking *shrinking = data;
  char *message = shrinking->shared->state.message;
  GraphJudgement judgement = { 0 };
  char *found = NULL;

  alarm (TRIAL_SECONDS);
  if (graph_trial_replace (shrinking->trial, shrinking->trial->graph.model))
    found = graph_trial_check (shrinking->trial, &judgement);
  g_strlcpy (message, found != NULL ? found : "", sizeof shrinking->shared->state.message);
  _exit (0);
}

static gboolean
still_fails (Shrinking *shrinking)
{
  shrinking->shared->state.message[0] = '\0';
  int status = child_run (check_again, shrinking, TRUE);
  g_autofree char *kind = kind_of (shrinking->shared->state.message, status);
  return strcmp (kind, shrinking->kind) == 0;
}

static gboolean
candidate_fails (IrModel *candidate, gpointer data)
{
  Shrinking *shrinking = data;

  if (g_get_monotonic_time () > shrinking->deadline)
    return FALSE;
  shrinking->trial->graph.model = candidate;
  return still_fails (shrinking);
}

static IrRun *
captured_for (IrModel *model, gpointer data)
{
  const Shrinking *shrinking = data;

  shrinking->trial->graph.model = model;
  return graph_trial_captured (shrinking->trial);
}

/* -- reports -- */

/* Leaves out the ways that are not needed. */
static void
shrink_ways (Shrinking *shrinking)
{
  GraphTrial *trial = shrinking->trial;

  for (guint i = 0; i < GRAPH_WAYS; i++)
    for (guint k = 0; k < GRAPH_WAYS; k++)
      {
        const Way *kept = trial->ways[i];
        trial->ways[i] = trial->ways[k];
        if (kept != trial->ways[i] && !still_fails (shrinking))
          trial->ways[i] = kept;
      }
}

static void
shrink_passes (Shrinking *shrinking)
{
  GPtrArray *passes = shrinking->trial->passes;

  for (guint i = passes->len; i > 0; i--)
    {
      gpointer pass = passes->pdata[i - 1];
      g_ptr_array_remove_index (passes, i - 1);
      if (g_get_monotonic_time () > shrinking->deadline || !still_fails (shrinking))
        g_ptr_array_insert (passes, (gint) i - 1, pass);
    }
}

/* Sizes that are free become those that they are. */
static void
shrink_symbols (Shrink *shrink, guint32 seed)
{
  IrModel *model = ir_model_clone (shrink->model);
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);

  for (guint i = 1; i < model->values->len; i++)
    {
      IrValue *value = ir_model_live_value (model, i);
      if (value != NULL && value->producer != NULL)
        ir_edit_set_type (edit, value, NULL);
    }
  for (guint i = 0; i < ir_graph_n_inputs (model->main); i++)
    {
      IrValue *value = ir_graph_input (model->main, i);
      g_autoptr (IrTensor) tensor = graph_input_contents (value, seed, 0);
      ir_edit_set_type (edit, value, ir_tensor_type (tensor, model->context));
    }
  ir_infer_model (edit, IR_INFER_DEFAULT, NULL);
  g_clear_pointer (&edit, ir_edit_free);
  shrink_to (shrink, model);
}

static void
shrink (Shrinking *shrinking)
{
  GraphTrial *trial = shrinking->trial;
  Shrink least = { trial->graph.model, candidate_fails, captured_for, shrinking };
  gboolean less = TRUE;

  shrink_passes (shrinking);
  shrink_outputs (&least);
  shrink_constants (&least);
  shrink_symbols (&least, trial->seed);
  for (guint i = 0; i < 6 && less; i++)
    {
      less = shrink_nodes (&least);
      less |= shrink_bodies (&least);
      less |= shrink_sizes (&least);
      shrink_outputs (&least);
    }
  shrink_numbers (&least);
  trial->graph.model = least.model;
  shrink_passes (shrinking);
  shrink_ways (shrinking);
}

static void
say_trial (const GraphTrial *trial)
{
  g_autofree char *text = ir_text_write (trial->graph.model);

  fprintf (stderr, "%s-- ways:", text);
  for (guint i = 0; i < GRAPH_WAYS; i++)
    fprintf (stderr, " %s", trial->ways[i]->name);
  fprintf (stderr, "; class %s; passes:", ir_class_name (trial->max_class));
  for (guint i = 0; i < trial->passes->len; i++)
    fprintf (stderr, " %s", ((const IrPass *) trial->passes->pdata[i])->name);
  fprintf (stderr, "\n");
}

static int
make_again (gpointer data)
{
  const Fuzzer *fuzzer = data;
  g_auto (GraphTrial) trial = { 0 };

  alarm (TRIAL_SECONDS);
  graph_trial_init (&trial, fuzzer->first_seed + (guint32) fuzzer->shared->state.position,
                    fuzzer->family);
  _exit (0);
}

static void
report (gpointer data, int status)
{
  const Fuzzer *fuzzer = data;
  Shared *shared = fuzzer->shared;
  guint32 seed = fuzzer->first_seed + (guint32) shared->state.position;

  if (!child_succeeded (child_run (make_again, data, TRUE)))
    {
      fprintf (stderr, "\n-- seed %u: the reference kernels fail while the graph is made\n", seed);
      return;
    }
  g_auto (GraphTrial) trial = { 0 };
  g_autofree char *first = g_strdup (shared->state.message), *kind = kind_of (first, status);
  Shrinking shrinking = { shared, &trial, kind,
                          g_get_monotonic_time () + SHRINK_SECONDS * G_USEC_PER_SEC };

  graph_trial_init (&trial, seed, fuzzer->family);
  fprintf (stderr, "\n-- seed %u, family %s: %s\n", seed, trial.graph.family->name,
           first[0] != '\0' ? first : kind);
  if (still_fails (&shrinking))
    shrink (&shrinking);
  else
    fprintf (stderr, "-- not by itself: it needs the trials before it.\n");
  still_fails (&shrinking);
  fprintf (stderr, "-- shrunk: %s\n", shared->state.message);
  say_trial (&trial);
  fprintf (stderr, "-- again: fuzz-graphs --graphs 1 --from %u%s%s\n", seed,
           fuzzer->family != NULL ? " --family " : "",
           fuzzer->family != NULL ? fuzzer->family->name : "");
}

static gboolean
goes_on (gpointer data, guint n_findings)
{
  const Fuzzer *fuzzer = data;

  return fuzzer->shared->state.position < fuzzer->end &&
         g_get_monotonic_time () < fuzzer->deadline &&
         (n_findings < MAX_FINDINGS || fuzzer->keep_going);
}

static int
fuzz (gpointer data)
{
  Fuzzer *fuzzer = data;
  const ChildLoop loop = { &fuzzer->shared->state, fuzzer, goes_on, run_trials, report };

  fuzzer->shared->counts.findings = child_loop (&loop);
  return 0;
}

/* -- several at once -- */

/* Each job has its own part of the seeds. A job that does not come back is a finding. Returns: how
 * many seeds from the first one on were tried by all means */
static guint64
fuzz_jobs (const Fuzzer *whole, Shared *shares, guint n_jobs, GraphCounts *all)
{
  pid_t pids[MAX_JOBS];
  guint64 tried = whole->end;

  fflush (NULL);
  for (guint i = 0; i < n_jobs; i++)
    {
      Fuzzer fuzzer = *whole;

      fuzzer.shared = &shares[i];
      shares[i].state.position = whole->end * i / n_jobs;
      fuzzer.end = whole->end * (i + 1) / n_jobs;
      pids[i] = n_jobs > 1 ? fork () : -1;
      if (pids[i] == 0)
        _exit (fuzz (&fuzzer));
      if (pids[i] < 0)
        fuzz (&fuzzer);
    }
  for (guint i = 0; i < n_jobs; i++)
    {
      all->findings += pids[i] > 0 && !child_succeeded (child_wait (pids[i]));
      graph_counts_add (all, &shares[i].counts);
      if (shares[i].state.position < whole->end * (i + 1) / n_jobs)
        tried = MIN (tried, shares[i].state.position);
    }
  return tried;
}

/* -- files for other programs -- */

static gboolean
write_tensor (const char *folder, const char *stem, guint i, const IrTensor *tensor, GError **error)
{
  g_autofree char *name = g_strdup_printf ("%s_%u.pb", stem, i);
  g_autofree char *path = g_build_filename (folder, name, NULL);

  return ir_tensor_save (tensor, path, error);
}

/* As the tests of the standard are laid out: model.onnx, and inputs and outputs in their order. */
static gboolean
write_trial (guint32 seed, const GraphFamily *family, const char *folder, GError **error)
{
  g_auto (GraphTrial) trial = { 0 };

  graph_trial_init (&trial, seed, family);
  g_autofree char *name = g_strdup_printf ("%u-%s", seed, trial.graph.family->name);
  g_autofree char *data = g_build_filename (folder, name, "test_data_set_0", NULL);
  g_autofree char *path = g_build_filename (folder, name, "model.onnx", NULL);
  g_autoptr (GHashTable) inputs = graph_inputs (trial.graph.model, seed, 0);
  const IrGraph *graph = trial.graph.model->main;

  g_mkdir_with_parents (data, 0777);
  if (!ir_model_save (trial.graph.model, path, "onnx", NULL, error))
    return FALSE;
  for (guint i = 0; i < ir_graph_n_inputs (graph); i++)
    if (!write_tensor (
            data, "input", i,
            g_hash_table_lookup (inputs, GUINT_TO_POINTER (ir_graph_input (graph, i)->id)), error))
      return FALSE;
  for (guint i = 0; i < trial.graph.outputs->len; i++)
    if (!write_tensor (data, "output", i, trial.graph.outputs->pdata[i], error))
      return FALSE;
  return TRUE;
}

static int
write_trials (const Fuzzer *fuzzer, const char *folder)
{
  g_autoptr (GError) error = NULL;

  for (guint64 i = 0; i < fuzzer->end; i++)
    if (!write_trial (fuzzer->first_seed + (guint32) i, fuzzer->family, folder, &error))
      {
        fprintf (stderr, "fuzz-graphs: %s\n", error->message);
        return 3;
      }
  return 0;
}

/* -- the program -- */

typedef struct
{
  gint seconds, graphs, jobs;
  gint64 from;
  gboolean keep_going, coverage, fresh;
  char *family, *results, *folder;
} Options;

static gboolean
parse (Options *options, int argc, char **argv)
{
  const GOptionEntry entries[] = {
    { "from", 0, 0, G_OPTION_ARG_INT64, &options->from,
      "First seed (default 1, or where the file of results ends)", "SEED" },
    { "fresh", 0, 0, G_OPTION_ARG_NONE, &options->fresh, "Seeds by the clock", NULL },
    { "graphs", 0, 0, G_OPTION_ARG_INT, &options->graphs, "How many (default 2000)", "N" },
    { "seconds", 0, 0, G_OPTION_ARG_INT, &options->seconds, "At most so long (0: no limit)", "N" },
    { "jobs", 'j', 0, G_OPTION_ARG_INT, &options->jobs, "So many at once (default 1)", "N" },
    { "family", 0, 0, G_OPTION_ARG_STRING, &options->family, "Only graphs of this family", "NAME" },
    { "keep-going", 0, 0, G_OPTION_ARG_NONE, &options->keep_going,
      "Do not stop at the third finding", NULL },
    { "coverage", 0, 0, G_OPTION_ARG_NONE, &options->coverage, "Print what was tried how often",
      NULL },
    { "results", 0, 0, G_OPTION_ARG_FILENAME, &options->results, "Add what was tried to FILE",
      "FILE" },
    { "write", 0, 0, G_OPTION_ARG_FILENAME, &options->folder,
      "Write the graphs, inputs and outputs to DIR, and run none", "DIR" },
    G_OPTION_ENTRY_NULL
  };
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  g_autoptr (GError) error = NULL;

  g_option_context_add_main_entries (context, entries, NULL);
  if (!g_option_context_parse (context, &argc, &argv, &error))
    {
      fprintf (stderr, "fuzz-graphs: %s\n", error->message);
      return FALSE;
    }
  if (options->family != NULL && graph_family_find (options->family) == NULL)
    {
      guint n;
      const GraphFamily *families = graph_families (&n);
      fprintf (stderr, "fuzz-graphs: there is no family %s. Those that there are:\n",
               options->family);
      for (guint i = 0; i < n; i++)
        fprintf (stderr, "  %-14s %s\n", families[i].name, families[i].title);
      return FALSE;
    }
  return TRUE;
}

static int
say_result (const Fuzzer *fuzzer, const Options *options, const GraphCounts *all, guint64 tried)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *text = graph_counts_to_text (all);
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);

  for (guint i = 0; options->coverage && lines[i] != NULL && lines[i][0] != '\0'; i++)
    printf ("# %s\n", lines[i]);
  printf ("# %" G_GUINT64_FORMAT " graphs from seed %u on, %" G_GUINT64_FORMAT
          " nodes; outputs: %" G_GUINT64_FORMAT " close, %" G_GUINT64_FORMAT
          " judged by disturbing, %" G_GUINT64_FORMAT " too sensitive; %" G_GUINT64_FORMAT
          " findings\n",
          all->graphs, fuzzer->first_seed, all->nodes, all->close, all->disturbed, all->sensitive,
          all->findings);
  printf ("1..1\n%s 1 - random whole graphs agree in all ways to run them\n",
          all->findings == 0 ? "ok" : "not ok");
  if (options->results != NULL &&
      !graph_counts_save (all, fuzzer->first_seed + tried, options->results, &error))
    {
      fprintf (stderr, "fuzz-graphs: %s\n", error->message);
      return 3;
    }
  return all->findings == 0 ? 0 : 1;
}

int
main (int argc, char **argv)
{
  Options options = { .graphs = 2000, .jobs = 1, .from = -1 };
  GraphCounts all = { 0 };

  setlocale (LC_ALL, "C.UTF-8");
  g_log_set_always_fatal ((GLogLevelFlags) (G_LOG_LEVEL_CRITICAL | G_LOG_FATAL_MASK));
  if (!parse (&options, argc, argv))
    return 2;
  guint n_jobs = (guint) CLAMP (options.jobs, 1, MAX_JOBS);
  Shared *shares = child_share (sizeof *shares * n_jobs);
  if (shares == NULL)
    return 3;
  gint64 from = options.from >= 0 ? options.from
                : options.fresh   ? g_get_real_time () / G_USEC_PER_SEC
                                  : (gint64) graph_counts_next_seed (options.results, 1);
  Fuzzer fuzzer = { .first_seed = (guint32) from,
                    .end = (guint64) MAX (options.graphs, 0),
                    .deadline = options.seconds > 0
                                    ? g_get_monotonic_time () + options.seconds * G_USEC_PER_SEC
                                    : G_MAXINT64,
                    .keep_going = options.keep_going,
                    .family = options.family != NULL ? graph_family_find (options.family) : NULL };
  if (options.folder != NULL)
    return write_trials (&fuzzer, options.folder);
  guint64 tried = fuzz_jobs (&fuzzer, shares, n_jobs, &all);
  return say_result (&fuzzer, &options, &all, tried);
}
