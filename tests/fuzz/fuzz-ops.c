/* The differential fuzzer of operators. For every row of the op table random attributes, shapes,
 * types and contents: the reference kernel runs or gives an error that names the node; what comes
 * out has the type that inference gave; the CPU kernel, where it takes the node, gives the same
 * within the row's tolerance, and so it does in every layout, place and sharing of bytes that it
 * declares (op-terms.c). No input may crash, hang, leak or be undefined behaviour, so build it
 * with sanitizers, too.
 *
 *   fuzz-ops [--trials N] [--seconds N] [--seed FIRST] [--op NAME]...
 *   fuzz-ops --op NAME --seed N --size K     one trial again, as the report of a finding says
 *
 * Trials run in child processes, so that a crash is a finding like any other. A finding is shrunk
 * by running its seed again with fewer places along the axes. */
#include "config.h"

#include "core/op/infer.h"
#include "tests/fuzz/child.h"
#include "tests/fuzz/op-terms.h"
#include "tests/fuzz/op-trial.h"

#include <locale.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRIAL_SECONDS    30        /* a trial that takes longer hangs */
#define TRIALS_PER_CHILD 4000      /* then a new one, so that leaks are found now and then */
#define OUTPUT_LIMIT     (1 << 22) /* bytes */
#define MAX_FINDINGS     2         /* of one operator, then it is left alone */

typedef struct
{
  ChildState state;
  guint64 n_ran, n_compared;
  TermsCounts terms;
  guint n_ran_of[IR_N_OPS], n_compared_of[IR_N_OPS], n_findings_of[IR_N_OPS];
} Shared;

typedef struct
{
  Shared *shared;
  GPtrArray *ops; /* of const IrOp */
  guint32 first_seed;
  gint64 deadline;  /* of g_get_monotonic_time() */
  guint64 n_trials; /* at most */
} Fuzzer;

const char *__asan_default_options (void);
const char *__ubsan_default_options (void);

/* Kernels ask for absurd amounts of memory on purpose, and live with getting none. */
const char *
__asan_default_options (void)
{
  return "allocator_may_return_null=1";
}

const char *
__ubsan_default_options (void)
{
  return "halt_on_error=1:print_stacktrace=1";
}

/* -- one trial -- */

static char *
inference_difference (const Trial *trial, IrTensor *const *outputs)
{
  IrContext *context = trial->model->context;
  for (guint i = 0; i < trial->node->n_outputs; i++)
    {
      if (outputs[i] == NULL)
        continue;
      const IrType *inferred = trial->node->outputs[i]->type;
      const IrType *actual = ir_tensor_type (outputs[i], context);
      if (inferred == NULL || ir_type_merge (context, inferred, actual) != NULL)
        continue;
      g_autofree char *said = ir_type_to_string (context, inferred);
      g_autofree char *is = ir_type_to_string (context, actual);
      return g_strdup_printf ("output %u was inferred as %s and is %s", i, said, is);
    }
  return NULL;
}

#define MAX_OUTPUTS 16

static char *
compare_with_cpu (Trial *trial,
                  IrTensor *const *wanted,
                  const GError *refused,
                  guint32 seed,
                  TermsCounts *counts,
                  gboolean *compared)
{
  const IrBackend *cpu = ir_backend_find ("cpu");
  const IrNode *node = trial->node;
  IrTensor *outputs[MAX_OUTPUTS] = { NULL };
  const IrTensor *inputs[TRIAL_MAX_INPUTS] = { NULL };
  g_autoptr (GError) error = NULL;
  char *found = NULL;

  if (cpu == NULL || cpu->refuses (node) != NULL || cpu->kernel (node) == NULL ||
      (node->op->flags & IR_OP_RANDOM) != 0)
    return NULL;
  for (guint i = 0; i < trial->n; i++)
    inputs[i] = trial->tensors[i];
  gboolean done = ir_eval_node (node, inputs, outputs, cpu, OUTPUT_LIMIT, &error);
  if (done != (refused == NULL))
    found = done ? g_strdup_printf ("refused by the reference alone: %s", refused->message)
                 : g_strdup_printf ("refused by the CPU alone: %s", error->message);
  for (guint i = 0; i < node->n_outputs && done; i++)
    {
      if (found == NULL && outputs[i] != NULL && wanted[i] != NULL)
        found = trial_difference (trial, i, outputs[i], wanted[i]);
      g_clear_pointer (&outputs[i], ir_tensor_unref);
    }
  *compared = done && refused == NULL;
  if (found == NULL && *compared)
    found = terms_trial (trial, wanted, seed, trial_difference, counts);
  return found;
}

/* What is wrong, or NULL. */
static char *
run_trial (Trial *trial, guint32 seed, TermsCounts *counts, gboolean *ran, gboolean *compared)
{
  const IrNode *node = trial->node;
  const IrTensor *inputs[TRIAL_MAX_INPUTS] = { NULL };
  IrTensor *outputs[MAX_OUTPUTS] = { NULL };
  g_autoptr (GError) error = NULL;
  char *found = NULL;

  *ran = *compared = FALSE;
  if (node->n_outputs > MAX_OUTPUTS)
    return NULL;
  for (guint i = 0; i < trial->n; i++)
    inputs[i] = trial->tensors[i];
  ir_infer_model (trial->edit, IR_INFER_DEFAULT, NULL);
  ir_cost_node_flops (node, NULL);
  ir_cost_node_bytes (node, NULL);
  *ran = ir_eval_node (node, inputs, outputs, ir_backend_find ("ref"), OUTPUT_LIMIT, &error);
  if (!*ran && (error == NULL || strstr (error->message, node->op_type) == NULL))
    found = g_strdup_printf ("an error that does not name the node: %s",
                             error != NULL ? error->message : "none");
  if (*ran)
    found = inference_difference (trial, outputs);
  if (found == NULL)
    found = compare_with_cpu (trial, outputs, error, seed, counts, compared);
  for (guint i = 0; i < node->n_outputs; i++)
    g_clear_pointer (&outputs[i], ir_tensor_unref);
  return found;
}

/* -- children -- */

/* Runs the trials from the position on, up to the first finding. */
static int
run_trials (gpointer data)
{
  Fuzzer *fuzzer = data;
  Shared *shared = fuzzer->shared;
  guint64 *position = &shared->state.position,
          end = MIN (*position + TRIALS_PER_CHILD, fuzzer->n_trials);
  guint n_ops = fuzzer->ops->len;

  for (; *position < end && g_get_monotonic_time () < fuzzer->deadline; ++*position)
    {
      const IrOp *op = fuzzer->ops->pdata[shared->state.position % n_ops];
      gboolean ran, compared;
      if (shared->n_findings_of[op->id] >= MAX_FINDINGS)
        continue;
      g_auto (Trial) trial = { 0 };
      alarm (TRIAL_SECONDS);
      guint32 seed = fuzzer->first_seed + (guint32) (shared->state.position / n_ops);
      trial_init (&trial, op, seed, 0);
      g_autofree char *found = run_trial (&trial, seed, &shared->terms, &ran, &compared);
      if (found != NULL)
        {
          g_strlcpy (shared->state.message, found, sizeof shared->state.message);
          return 1;
        }
      shared->n_ran += ran;
      shared->n_compared += compared;
      shared->n_ran_of[op->id] += ran;
      shared->n_compared_of[op->id] += compared;
    }
  alarm (0);
  shared->state.ended = TRUE;
  return 0;
}

typedef struct
{
  Shared *shared;
  const IrOp *op;
  guint32 seed;
  guint size;
  gboolean show;
} Again;

static int
run_one (gpointer data)
{
  const Again *again = data;
  char *message = again->shared->state.message;
  gboolean ran, compared;
  Trial trial;

  alarm (TRIAL_SECONDS);
  trial_init (&trial, again->op, again->seed, again->size);
  if (again->show)
    {
      g_autofree char *text = trial_to_string (&trial);
      fprintf (stderr, "%s\n", text);
    }
  g_autofree char *found = run_trial (&trial, again->seed, &again->shared->terms, &ran, &compared);
  trial_clear (&trial);
  if (found != NULL)
    g_strlcpy (message, found, sizeof again->shared->state.message);
  if (again->show)
    fprintf (stderr, "%s\n", found != NULL ? found : ran ? "ran" : "was refused");
  return found != NULL;
}

/* One trial; TRUE if nothing was found. */
static gboolean
run_again (Shared *shared, const IrOp *op, guint32 seed, guint size, gboolean show)
{
  Again again = { shared, op, seed, size, show };

  return child_succeeded (child_run (run_one, &again, !show));
}

/* Says what was found, as small as the seed gives it. */
static void
report (gpointer data, int status)
{
  static const guint sizes[] = { 1, 2, 3, 5, 0 };
  const Fuzzer *fuzzer = data;
  Shared *shared = fuzzer->shared;
  guint64 position = shared->state.position;
  const IrOp *op = fuzzer->ops->pdata[position % fuzzer->ops->len];
  guint32 seed = fuzzer->first_seed + (guint32) (position / fuzzer->ops->len);
  g_autofree char *what = WIFSIGNALED (status) && WTERMSIG (status) == SIGALRM
                              ? g_strdup_printf ("did not end within %d s", TRIAL_SECONDS)
                          : shared->state.message[0] != '\0' ? g_strdup (shared->state.message)
                          : WIFSIGNALED (status)
                              ? g_strdup_printf ("died of signal %d", WTERMSIG (status))
                              : g_strdup ("a sanitizer stopped it");
  guint i = 0;

  shared->n_findings_of[op->id]++;
  while (i + 1 < G_N_ELEMENTS (sizes) && run_again (shared, op, seed, sizes[i], FALSE))
    i++;
  fprintf (stderr, "\n%s%s%s: %s\n", op->domain != NULL ? op->domain : "",
           op->domain != NULL ? "." : "", op->name, what);
  gboolean vanished = run_again (shared, op, seed, sizes[i], TRUE);
  fprintf (stderr, "again: fuzz-ops --op %s%s%s --seed %u --size %u%s\n",
           op->domain != NULL ? op->domain : "", op->domain != NULL ? "." : "", op->name, seed,
           sizes[i], vanished ? " (not by itself: needs the trials before it)" : "");
}

static gboolean
goes_on (gpointer data, guint n_findings)
{
  const Fuzzer *fuzzer = data;
  return fuzzer->shared->state.position < fuzzer->n_trials &&
         g_get_monotonic_time () < fuzzer->deadline;
}

/* -- the program -- */

static gboolean
add_ops (GPtrArray *ops, char **names)
{
  for (guint id = 1; id < ir_op_n (); id++)
    {
      const IrOp *op = ir_op_by_id ((IrOpId) id);
      g_autofree char *full = g_strdup_printf ("%s.%s", op->domain != NULL ? op->domain : "ai.onnx",
                                               op->name);
      if (ir_ref_kernel (op) != NULL &&
          (names == NULL || g_strv_contains ((const char *const *) names, op->name) ||
           g_strv_contains ((const char *const *) names, full)))
        g_ptr_array_add (ops, (gpointer) op);
    }
  return ops->len > 0;
}

static void
print_rows (const Fuzzer *fuzzer)
{
  printf ("# %-30s %8s %8s\n", "operator", "ran", "compared");
  for (guint i = 0; i < fuzzer->ops->len; i++)
    {
      const IrOp *op = fuzzer->ops->pdata[i];
      printf ("# %-30s %8u %8u\n", op->name, fuzzer->shared->n_ran_of[op->id],
              fuzzer->shared->n_compared_of[op->id]);
    }
}

int
main (int argc, char **argv)
{
  gint seconds = 0, trials = 0, seed = 0, size = -1;
  gboolean verbose = FALSE;
  g_auto (GStrv) names = NULL;
  const GOptionEntry entries[] = {
    { "trials", 0, 0, G_OPTION_ARG_INT, &trials, "How many (default: as --seconds says)", "N" },
    { "seconds", 0, 0, G_OPTION_ARG_INT, &seconds,
      "At most so long (default: 45 without --trials, else no limit)", "N" },
    { "seed", 0, 0, G_OPTION_ARG_INT, &seed, "First seed (default 0), or that of --size", "N" },
    { "op", 0, 0, G_OPTION_ARG_STRING_ARRAY, &names, "Only these operators", "NAME" },
    { "size", 0, 0, G_OPTION_ARG_INT, &size, "Run one trial of this size, 0 as drawn", "K" },
    { "verbose", 'v', 0, G_OPTION_ARG_NONE, &verbose, "Count by operator", NULL },
    G_OPTION_ENTRY_NULL
  };
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) ops = g_ptr_array_new ();

  setlocale (LC_ALL, "C.UTF-8");
  g_log_set_always_fatal ((GLogLevelFlags) (G_LOG_LEVEL_CRITICAL | G_LOG_FATAL_MASK));
  g_option_context_add_main_entries (context, entries, NULL);
  if (!g_option_context_parse (context, &argc, &argv, &error))
    {
      fprintf (stderr, "%s\n", error->message);
      return 2;
    }
  if (!add_ops (ops, names))
    {
      fprintf (stderr, "There is no such operator.\n");
      return 2;
    }
  Shared *shared = child_share (sizeof *shared);
  if (shared == NULL)
    return 3;
  if (size >= 0)
    return run_again (shared, ops->pdata[0], (guint32) seed, (guint) size, TRUE) ? 0 : 1;

  if (seconds <= 0 && trials <= 0)
    seconds = 45;
  Fuzzer fuzzer = { shared, ops, (guint32) seed,
                    seconds > 0 ? g_get_monotonic_time () + (gint64) seconds * G_USEC_PER_SEC
                                : G_MAXINT64,
                    trials > 0 ? (guint64) trials : G_MAXUINT64 };
  const ChildLoop loop = { &shared->state, &fuzzer, goes_on, run_trials, report };
  guint n_findings = child_loop (&loop);
  if (verbose)
    print_rows (&fuzzer);
  printf ("# %" G_GUINT64_FORMAT " trials, %" G_GUINT64_FORMAT " ran, %" G_GUINT64_FORMAT
          " compared with the CPU, of %u operators\n",
          shared->state.position, shared->n_ran, shared->n_compared, ops->len);
  printf (
      "# of these %" G_GUINT64_FORMAT " also with operands in NCHWc, %" G_GUINT64_FORMAT
      " at odd addresses, %" G_GUINT64_FORMAT " over an input, %" G_GUINT64_FORMAT " in pieces\n",
      shared->terms.n_blocks, shared->terms.n_loose, shared->terms.n_over, shared->terms.n_pieces);
  printf ("1..1\n%s 1 - random applications of every operator agree\n",
          n_findings == 0 ? "ok" : "not ok");
  return n_findings == 0 ? 0 : 1;
}
