/* irscope kernels: for every node the kernels that could run it, and how long each of them takes.
 */
#include "config.h"

#include "app/cli/commands.h"
#include "app/cli/kernel-dump.h"
#include "app/cli/model.h"
#include "app/cli/output.h"
#include "app/cli/plans.h"
#include "app/cli/times.h"

#include <stdio.h>
#include <string.h>

typedef struct
{
  CliModelOptions model;
  gint runs;
  double seconds;
  char *dump;
  gint architecture;
  gboolean keep;
} Options;

static const CliOption kernels_options[] = {
  { "runs", 'n', G_OPTION_ARG_INT, G_STRUCT_OFFSET (Options, runs),
    "Timed runs of each kind of kernels, in turn, after one that warms up (default 7)", "N" },
  { "seconds", 0, G_OPTION_ARG_DOUBLE, G_STRUCT_OFFSET (Options, seconds),
    "Seconds that one run may take; nodes that it does not reach have no time (default 10)", "S" },
  { "dump", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, dump),
    "Instead of measuring: write the kernels that the nodes have for GPUs into this folder, as text "
    "(.cu), and, where NVRTC is installed, as .ptx and .cubin",
    "DIR" },
  { "architecture", 0, G_OPTION_ARG_INT, G_STRUCT_OFFSET (Options, architecture),
    "With --dump: what to compile for; 90 (the default) is sm_90", "N" },
  { "keep", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (Options, keep),
    "With --dump: keep what was compiled where runs look for it, too ('irscope info --devices' says where): a "
    "machine without NVRTC can run it",
    NULL },
  { 0 },
};

/* The graph with one kernel asked for wherever it fits. */
typedef struct
{
  char *name; /* NULL: none, as the graph runs */
  CliModel opened;
  IrModel *sized; /* what the schedule is of: bodies of functions in place of their calls */
  IrSchedule *schedule;
  IrExecutable *executable;
  GHashTable *inputs;
  GArray **ms; /* by node id: of double */
  guint n_ms;
  gboolean slow; /* the last run ended by its limit of time */
} Variant;

static void
variant_free (gpointer data)
{
  Variant *variant = data;

  for (guint i = 0; i < variant->n_ms; i++)
    if (variant->ms[i] != NULL)
      g_array_unref (variant->ms[i]);
  g_free (variant->ms);
  ir_executable_free (variant->executable);
  if (variant->schedule != NULL)
    ir_schedule_unref (variant->schedule);
  if (variant->sized != NULL)
    ir_model_unref (variant->sized);
  g_clear_pointer (&variant->inputs, g_hash_table_unref);
  cli_model_clear (&variant->opened);
  g_free (variant->name);
  g_free (variant);
}

static const IrScheduleItem *
item_at (const IrSchedule *schedule, guint i)
{
  return &g_array_index (schedule->items, IrScheduleItem, i);
}

/* The item of @node; node ids are the same in all variants, as they come from the same steps. */
static const IrScheduleItem *
item_of (const Variant *variant, IrNodeId node)
{
  for (guint i = 0; i < variant->schedule->items->len; i++)
    if (item_at (variant->schedule, i)->node == node)
      return item_at (variant->schedule, i);
  return NULL;
}

/* @name: (nullable): what is asked for; %NULL: nothing more than the options do */
static Variant *
variant_new (Cli *cli, const Options *options, const char *name, CliStatus *status)
{
  Variant *variant = g_new0 (Variant, 1);
  g_autoptr (GPtrArray) kernels = g_ptr_array_new_with_free_func (g_free);
  CliModelOptions asked = options->model;
  g_autoptr (GError) error = NULL;

  for (guint i = 0; asked.kernels != NULL && asked.kernels[i] != NULL; i++)
    g_ptr_array_add (kernels, g_strdup (asked.kernels[i]));
  if (name != NULL)
    g_ptr_array_add (kernels, g_strdup_printf ("*=%s", name));
  g_ptr_array_add (kernels, NULL);
  asked.kernels = kernels->len > 1 ? (char **) kernels->pdata : NULL;
  variant->name = g_strdup (name);
  if (!cli_model_open (cli, &asked, cli->args[0], FALSE, &variant->opened, status))
    {
      variant_free (variant);
      return NULL;
    }
  IrRunOptions settings = {
    .backend = cli_backend (&asked, &error),
    .n_threads = (guint) MAX (asked.threads, 0),
    .seed = (guint64) asked.seed,
    .time_limit_ms = (guint) CLAMP (options->seconds * 1000, 1, 4e9),
  };
  if (settings.backend != NULL)
    variant->inputs = cli_inputs (cli, &asked, variant->opened.model, &error);
  if (variant->inputs != NULL)
    variant->schedule = cli_schedule (cli, &asked, variant->opened.model, 1, &variant->sized,
                                      &error);
  if (variant->schedule != NULL)
    variant->executable = ir_executable_new (variant->opened.model, &settings, &error);
  if (variant->executable != NULL)
    return variant;
  *status = cli_fail (cli_status_of (error), error);
  variant_free (variant);
  return NULL;
}

static void
take_times (Variant *variant, const IrTrace *trace)
{
  for (guint i = 0; i < trace->items->len; i++)
    {
      const IrTraceItem *item = &g_array_index (trace->items, IrTraceItem, i);
      double ms = (double) (item->end_ns - item->start_ns) / 1e6;

      if (item->node >= variant->n_ms)
        {
          variant->ms = g_renew (GArray *, variant->ms, item->node + 1);
          for (guint k = variant->n_ms; k <= item->node; k++)
            variant->ms[k] = NULL;
          variant->n_ms = item->node + 1;
        }
      if (variant->ms[item->node] == NULL)
        variant->ms[item->node] = g_array_new (FALSE, FALSE, sizeof (double));
      g_array_append_val (variant->ms[item->node], ms);
    }
}

/* Beyond its limit of time a run tells of the nodes that it has reached. */
static gboolean
run_variant (Cli *cli, Variant *variant, gboolean timed, GError **error)
{
  g_autoptr (GError) local = NULL;
  g_autoptr (IrRun) partial = NULL;
  g_autoptr (IrRun) run = NULL;

  if (variant->slow)
    return TRUE;
  run = ir_executable_run (variant->executable, variant->inputs, cli->cancellable, &partial,
                           &local);
  variant->slow = g_error_matches (local, IR_EXEC_ERROR, IR_EXEC_ERROR_LIMIT);
  if (run == NULL && !variant->slow)
    {
      g_propagate_error (error, g_steal_pointer (&local));
      return FALSE;
    }
  if ((timed || variant->slow) && (run != NULL || partial != NULL))
    take_times (variant, run != NULL ? run->trace : partial->trace);
  return TRUE;
}

static gboolean
measure (Cli *cli, GPtrArray *variants, guint runs, GError **error)
{
  for (guint round = 0; round <= runs; round++)
    for (guint k = 0; k < variants->len; k++)
      {
        guint which = (k + round) % variants->len;

        if (!run_variant (cli, g_ptr_array_index (variants, which), round > 0, error))
          return FALSE;
        cli_progress (cli, "run", round * variants->len + k + 1, (runs + 1) * variants->len);
      }
  cli_progress_end (cli);
  return TRUE;
}

/* -- what can be asked for -- */

static void
add_name (GPtrArray *names, const char *name)
{
  if (!g_ptr_array_find_with_equal_func (names, name, g_str_equal, NULL))
    g_ptr_array_add (names, g_strdup (name));
}

/* Names of all kernels that the nodes of @variant could have, in the order of the back end. */
static GPtrArray *
names_of (const Variant *variant, const IrBackend *backend)
{
  GPtrArray *names = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; i < variant->schedule->items->len; i++)
    {
      const char *candidates = item_at (variant->schedule, i)->candidates;
      g_auto (GStrv) own = g_strsplit (candidates != NULL ? candidates : "", ", ", -1);

      for (guint k = 0; own[k] != NULL; k++)
        add_name (names, own[k]);
    }
  if (strcmp (backend->name, "ref") != 0 && variant->schedule->items->len > 0)
    add_name (names, "ref");
  return names;
}

/* Whether @variant really asked for another kernel of @node, and what it got. */
static gboolean
could_run (const Variant *variant, const IrScheduleItem *base, const IrScheduleItem *own)
{
  g_auto (GStrv) names = g_strsplit (base->candidates != NULL ? base->candidates : "", ", ", -1);

  if (own == NULL)
    return FALSE;
  if (strcmp (variant->name, "ref") == 0)
    return strcmp (own->kernel, base->kernel) != 0 || strcmp (base->kernel, "ref") == 0;
  return g_strv_contains ((const char *const *) names, variant->name);
}

/* -- reporting -- */

typedef struct
{
  const char *name, *kernel, *why; /* name as --kernel takes it; NULL: there is but this one */
  const char *layout;              /* (nullable) what it does about NCHWc */
  gboolean taken;
  IrTimes ms;
} Candidate;

static IrTimes
times_of (const Variant *variant, IrNodeId node)
{
  if (node >= variant->n_ms || variant->ms[node] == NULL)
    return (IrTimes){ 0 };
  return ir_times (variant->ms[node]);
}

/* What is taken first, with the times of the graph as it runs; then the others. */
static GArray *
candidates_of (GPtrArray *variants, const IrScheduleItem *base)
{
  GArray *found = g_array_new (FALSE, TRUE, sizeof (Candidate));
  Candidate taken = { .kernel = base->kernel,
                      .why = base->why != NULL ? base->why : base->choice,
                      .layout = base->layout != base->choice ? base->layout : NULL,
                      .taken = TRUE,
                      .ms = times_of (g_ptr_array_index (variants, 0), base->node) };

  g_array_append_val (found, taken);
  for (guint k = 1; k < variants->len; k++)
    {
      const Variant *variant = g_ptr_array_index (variants, k);
      const IrScheduleItem *own = item_of (variant, base->node);

      if (!could_run (variant, base, own))
        continue;
      if (strcmp (own->kernel, base->kernel) == 0)
        {
          Candidate *first = &g_array_index (found, Candidate, 0);
          first->name = first->name == NULL ? variant->name : first->name;
          continue;
        }
      Candidate other = { .name = variant->name,
                          .kernel = own->kernel,
                          .ms = times_of (variant, base->node) };
      g_array_append_val (found, other);
    }
  return found;
}

static cJSON *
candidate_to_json (const Candidate *candidate)
{
  cJSON *object = cJSON_CreateObject ();

  if (candidate->name != NULL)
    cJSON_AddStringToObject (object, "name", candidate->name);
  else
    cJSON_AddNullToObject (object, "name");
  cJSON_AddStringToObject (object, "kernel", candidate->kernel);
  cJSON_AddBoolToObject (object, "taken", candidate->taken);
  if (candidate->why != NULL)
    cJSON_AddStringToObject (object, "why", candidate->why);
  if (candidate->layout != NULL)
    cJSON_AddStringToObject (object, "layout", candidate->layout);
  cli_json_add_times (object, "ms", &candidate->ms);
  return object;
}

static void
print_candidate (const Candidate *candidate)
{
  cli_print ("  %c %-9s %-28s", candidate->taken ? '*' : ' ',
             candidate->name != NULL ? candidate->name : "", candidate->kernel);
  if (candidate->ms.n == 0)
    cli_print (" not measured");
  else
    cli_print (" %10.4f ms  (half of %u between %.4f and %.4f)", candidate->ms.median,
               candidate->ms.n, candidate->ms.q1, candidate->ms.q3);
  cli_print ("%s%s\n", candidate->why != NULL ? "  # " : "",
             candidate->why != NULL ? candidate->why : "");
}

static void
report (const Cli *cli, GPtrArray *variants)
{
  const Variant *base = g_ptr_array_index (variants, 0);
  cJSON *json = cJSON_CreateObject (), *nodes = cJSON_AddArrayToObject (json, "nodes");

  for (guint i = 0; i < base->schedule->items->len; i++)
    {
      const IrScheduleItem *item = item_at (base->schedule, i);
      const IrNode *node = ir_model_node (base->sized, item->node);
      g_autoptr (GArray) candidates = candidates_of (variants, item);
      g_autofree char *label = ir_node_label (node);
      cJSON *object = cJSON_CreateObject (), *array;

      cJSON_AddStringToObject (object, "node", node->name);
      cJSON_AddStringToObject (object, "op", node->op_type);
      cJSON_AddNumberToObject (object, "id", node->id);
      array = cJSON_AddArrayToObject (object, "candidates");
      if (!cli->json)
        cli_print ("%s\n", label);
      for (guint k = 0; k < candidates->len; k++)
        {
          const Candidate *candidate = &g_array_index (candidates, Candidate, k);
          cJSON_AddItemToArray (array, candidate_to_json (candidate));
          if (!cli->json)
            print_candidate (candidate);
        }
      cJSON_AddItemToArray (nodes, object);
    }
  if (cli->json)
    cli_json_print (json);
  else
    cJSON_Delete (json);
}

static CliStatus
run (Cli *cli)
{
  Options *options = cli->options;
  g_autoptr (GPtrArray) variants = g_ptr_array_new_with_free_func (variant_free);
  g_autoptr (GPtrArray) names = NULL;
  g_autoptr (GError) error = NULL;
  CliStatus status = CLI_OK;

  if (options->runs < 0 || !(options->seconds >= 0))
    {
      cli_printerr ("irscope kernels: --runs and --seconds must not be negative\n");
      return CLI_BAD;
    }
  if (options->architecture < 0 || (options->architecture > 0 && options->dump == NULL))
    {
      cli_printerr ("irscope kernels: --architecture %d: %s\n", options->architecture,
                    options->dump == NULL
                        ? "it says for what --dump DIR compiles; nothing else is made for it"
                        : "a number such as 90, for sm_90, was needed");
      return CLI_BAD;
    }
  if (options->keep && options->dump == NULL)
    {
      cli_printerr (
          "irscope kernels: --keep: it keeps what --dump DIR compiles; give a folder, too\n");
      return CLI_BAD;
    }
  if (options->dump != NULL)
    return cli_dump_kernels (cli, &options->model, options->dump,
                             options->architecture > 0 ? options->architecture : 90, options->keep);
  options->seconds = options->seconds > 0 ? options->seconds : 10;
  Variant *base = variant_new (cli, options, NULL, &status);
  if (base == NULL)
    return status;
  g_ptr_array_add (variants, base);
  const IrBackend *backend = cli_backend (&options->model, &error);
  names = backend != NULL ? names_of (base, backend) : NULL;
  for (guint i = 0; names != NULL && i < names->len; i++)
    {
      Variant *variant = variant_new (cli, options, g_ptr_array_index (names, i), &status);
      if (variant == NULL)
        return status;
      g_ptr_array_add (variants, variant);
    }
  if (names == NULL ||
      !measure (cli, variants, options->runs > 0 ? (guint) options->runs : 7, &error))
    return cli_fail (cli_status_of (error), error);
  report (cli, variants);
  return CLI_OK;
}

const CliCommand cli_command_kernels = {
  .name = "kernels",
  .arguments = "FILE",
  .takes_model = TRUE,
  .summary = "Measure every kernel that could run each node, beside the one that is taken",
  .doc =
      "The graph runs as it is, and with each kernel asked for wherever it fits, in turn. A node\n"
      "shows the kernel that is taken (*) and why, then the others, each with the median of its\n"
      "times and between which half of them lie. 'irscope run --kernel NODE=NAME' asks for one.",
  .min_args = 1,
  .max_args = 1,
  .options = kernels_options,
  .model_options = cli_run_options,
  .options_size = sizeof (Options),
  .run = run,
};
