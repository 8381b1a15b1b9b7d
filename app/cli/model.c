#include "config.h"

#include "app/cli/model.h"

#include "app/cli/kernel-requests.h"
#include "app/cli/output.h"
#include "app/cli/session.h"
#include "core/io/io.h"
#include "passes/rule/rule.h"
#include "passes/rewrites/upgrade.h"

#include <string.h>

/* clang-format off */
#define AT(field) G_STRUCT_OFFSET (CliModelOptions, field)
#define PASS_OPTIONS \
  { "pipeline", 'p', G_OPTION_ARG_STRING, AT (pipeline), \
    "Run the passes of this pipeline: a name or a JSON file; without it commands about passes, such as optimize, " \
    "steps and why, run default, and others none", "P" }, \
  { "pass", 0, G_OPTION_ARG_STRING, AT (passes), "Run these passes instead, separated by commas", \
    "A,B" }, \
  { "class", 0, G_OPTION_ARG_STRING, AT (step_class), \
    "How far rewrites may change results: exact, rounding (default), unsafe", "C" }, \
  { "opset", 0, G_OPTION_ARG_INT64, AT (opset), \
    "First upgrade the model to this version of ai.onnx, by recorded steps", "N" }, \
  { "set", 0, G_OPTION_ARG_STRING_ARRAY, AT (set), \
    "Set an option of a pass; irscope passes lists them", "PASS.OPTION=VALUE" }, \
  { "skip", 0, G_OPTION_ARG_STRING_ARRAY, AT (skip), \
    "Leave out a rule, a pass, or one application by its number or stable key", "N" }

#define MODEL_OPTIONS \
  PASS_OPTIONS, \
  { "dim", 'd', G_OPTION_ARG_STRING_ARRAY, AT (dims), "Give a symbolic dimension its size", \
    "NAME=N" }, \
  { "shape", 0, G_OPTION_ARG_STRING_ARRAY, AT (shapes), \
    "Give an input its shape; a scalar's is the word scalar", "INPUT=1x128" }

#define RUN_OPTIONS \
  MODEL_OPTIONS, \
  { "input", 'i', G_OPTION_ARG_STRING_ARRAY, AT (inputs), \
    "Contents of an input, from a .npy, .npz or TensorProto .pb file; a .npz alone gives all arrays " \
    "that have the name of an input", "NAME=FILE" }, \
  { "value", 0, G_OPTION_ARG_STRING_ARRAY, AT (values), \
    "Contents of an input as numbers, in its shape; one number fills all of it", "NAME=1,2,3" }, \
  { "image", 0, G_OPTION_ARG_STRING_ARRAY, AT (images), \
    "Contents of an input from a picture, resized and normalized; settings behind commas: " \
    "preset=imagenet (unit, signed, bytes, caffe, clip, yolo), fit=crop (stretch, pad), crop=, pad=, " \
    "size=WxH, layout=nchw (nhwc), channels=rgb (bgr, gray), scale=, mean=, std=, invert=yes", \
    "NAME=FILE,.." }, \
  { "fill", 0, G_OPTION_ARG_STRING_ARRAY, AT (fills), \
    "Contents of an input by a distribution: normal,mean=0,std=1 or uniform,low=0,high=1 or zeros, " \
    "ones, constant,value=X; or suitable, as without; each takes seed=N", \
    "NAME=KIND,.." }, \
  { "random", 0, G_OPTION_ARG_INT64, AT (seed), \
    "Seed of the random contents of the inputs that are not given (default 0)", "SEED" }, \
  CLI_DEVICE_OPTION (AT (device)), \
  { "precision", 0, G_OPTION_ARG_STRING, AT (precision), \
    "What cuBLAS may do to the operands of products in float32: strict (default), tf32 or half round them", \
    "P" }, \
  { "streams", 0, G_OPTION_ARG_STRING, AT (streams), \
    "Streams of a GPU that run nodes beside each other, from 1 to 8 (default: 8)", "N" }, \
  { "kernel", 0, G_OPTION_ARG_STRING_ARRAY, AT (kernels), \
    "Run a node, those that fit a question of find (op:conv, scope:encoder), or with * all, by this kernel: ref, a " \
    "candidate that schedule names, or beside a GPU cpu; one in a function's body is CALL/NODE, as schedule calls it", \
    "NODE=NAME" }, \
  { "threads", 0, G_OPTION_ARG_INT, AT (threads), "Number of threads (0, the default: all cores)", "N" }
/* clang-format on */

const CliOption cli_pass_options[] = { PASS_OPTIONS, { 0 } };
const CliOption cli_model_options[] = { MODEL_OPTIONS, { 0 } };
const CliOption cli_run_options[] = { RUN_OPTIONS, { 0 } };
const CliOption cli_limited_options[] = {
  RUN_OPTIONS,
  { "memory-limit", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (CliModelOptions, memory_limit),
    "Most memory of all values of a run together: bytes, or with K, M or G (default: a quarter of "
    "memory)",
    "SIZE" },
  { "output-limit", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (CliModelOptions, output_limit),
    "Most memory of one value, likewise (default: a quarter of memory)", "SIZE" },
  { "max-iterations", 0, G_OPTION_ARG_INT64, G_STRUCT_OFFSET (CliModelOptions, iterations),
    "Most iterations of all loops of a run together (default 1000000)", "N" },
  { "time-limit", 0, G_OPTION_ARG_DOUBLE, G_STRUCT_OFFSET (CliModelOptions, seconds),
    "Seconds that a run may take (default: an hour); inf: no limit", "S" },
  { 0 },
};

/* -- passes -- */

static IrPipeline *
named_pipeline (const CliModelOptions *options, GError **error)
{
  g_auto (GStrv) names = NULL;

  if (options->passes == NULL)
    return ir_pipeline_load (options->pipeline != NULL ? options->pipeline : "default", error);
  names = g_strsplit (options->passes, ",", -1);
  return ir_pipeline_new_from_names ((const char *const *) names, error);
}

/* --opset has the upgrade first, unless a list of passes places it elsewhere. */
static gboolean
set_opset (const CliModelOptions *options, IrPipeline *pipeline, GError **error)
{
  g_autofree char *assignment = g_strdup_printf (IR_PASS_UPGRADE_OPSET ".opset=%" G_GINT64_FORMAT,
                                                 options->opset);
  const IrPass *upgrade = ir_pass_find (IR_PASS_UPGRADE_OPSET);

  if (options->opset == 0)
    return TRUE;
  if (!g_ptr_array_find (pipeline->passes, upgrade, NULL))
    g_ptr_array_insert (pipeline->passes, 0, (gpointer) upgrade);
  return ir_pipeline_set (pipeline, assignment, error);
}

/* What --pipeline or --pass, --opset and --set say. */
IrPipeline *
cli_pipeline (const CliModelOptions *options, GError **error)
{
  g_autoptr (IrPipeline) pipeline = named_pipeline (options, error);

  if (pipeline == NULL || !set_opset (options, pipeline, error))
    return NULL;
  for (guint i = 0; options->set != NULL && options->set[i] != NULL; i++)
    if (!ir_pipeline_set (pipeline, options->set[i], error))
      {
        g_prefix_error (error, "--set ");
        return NULL;
      }
  return g_steal_pointer (&pipeline);
}

static gboolean
parse_class (const char *text, IrClass *step_class, GError **error)
{
  *step_class = IR_CLASS_ROUNDING;
  if (text == NULL)
    return TRUE;
  for (IrClass c = IR_CLASS_EXACT; c <= IR_CLASS_UNSAFE; c++)
    if (strcmp (text, ir_class_name (c)) == 0 ||
        (g_str_has_prefix (text, "exact,") &&
         strcmp (strrchr (text, ',') + 1, ir_class_name (c)) == 0))
      {
        *step_class = c;
        return TRUE;
      }
  g_set_error (error, CLI_ERROR, 0, "--class %s: needs exact, rounding or unsafe", text);
  return FALSE;
}

gboolean
cli_class (const CliModelOptions *options, IrClass *step_class, GError **error)
{
  return parse_class (options->step_class, step_class, error);
}

/* A name that nothing has would leave nothing out, silently. */
static gboolean
check_skip (const char *name, GError **error)
{
  guint n;
  const IrPass *const *passes = ir_passes (&n);

  if (strchr (name, '/') != NULL ||
      (*name != '\0' && strspn (name, "0123456789") == strlen (name)) ||
      ir_pass_find (name) != NULL)
    return TRUE;
  for (guint i = 0; i < n; i++)
    for (const IrRule *rule = passes[i]->rules != NULL ? passes[i]->rules
                                                       : passes[i]->documented_rules;
         rule != NULL && rule->name != NULL; rule++)
      if (strcmp (rule->name, name) == 0)
        return TRUE;
  g_set_error (error, CLI_ERROR, 0,
               "--skip %s: is no pass, rule, number or stable key; 'irscope steps FILE --at N' "
               "shows those of a step",
               name);
  return FALSE;
}

/* Before anything runs, in the words of the option. */
static gboolean
check_opset (const CliModelOptions *options, const IrModel *model, GError **error)
{
  if (options->opset == 0 || ir_opset_may_be (model, options->opset, error))
    return TRUE;
  g_prefix_error (error, "--");
  return FALSE;
}

static void
show_pass (const char *pass, guint n_steps, gpointer data)
{
  cli_progress (data, pass, n_steps, 0);
}

gboolean
cli_run_pipeline (Cli *cli,
                  const CliModelOptions *options,
                  IrModel *model,
                  IrPipelineResult *result,
                  GError **error)
{
  g_autoptr (IrPipeline) pipeline = NULL;
  IrPolicy policy = { ir_policy_skip_named, options->skip };
  IrPipelineOptions pipeline_options = {
    .policy = options->skip != NULL ? &policy : NULL,
    .record_refusals = options->record_refusals,
    .rule_totals = options->rule_totals,
    .backend = ir_backend_find (options->device != NULL ? options->device : "cpu"),
    .progress = show_pass,
    .progress_data = cli,
  };
  gboolean done;

  for (guint i = 0; options->skip != NULL && options->skip[i] != NULL; i++)
    if (!check_skip (options->skip[i], error))
      return FALSE;
  if (!check_opset (options, model, error) || (pipeline = cli_pipeline (options, error)) == NULL ||
      !cli_class (options, &pipeline_options.max_class, error))
    return FALSE;
  done = ir_pipeline_run (model, pipeline, &pipeline_options, result, cli->cancellable, error);
  cli_progress_end (cli);
  return done;
}

/* -- opening -- */

static void
split_step (const char *file, CliModel *model)
{
  const char *at = strrchr (file, '@');
  gint64 step;

  model->step = -1;
  model->path = g_strdup (file);
  if (at == NULL || g_file_test (file, G_FILE_TEST_EXISTS) ||
      !g_ascii_string_to_signed (at + 1, 10, 0, G_MAXINT, &step, NULL))
    return;
  model->step = step;
  model->path[at - file] = '\0';
}

static gboolean
go_to_step (Cli *cli, CliModel *model, GError **error)
{
  guint n = ir_history_n_steps (model->model);

  if (model->step < 0)
    return TRUE;
  if ((guint) model->step > n)
    {
      g_set_error (error, CLI_ERROR, 0, "%s@%d: the pipeline made %u steps; steps 0 to %u exist",
                   model->path, model->step, n, n);
      return FALSE;
    }
  ir_history_goto (model->model, model->step);
  return TRUE;
}

const char *
cli_file_at (Cli *cli, gint at, char **with_step)
{
  if (at > 0 && cli->session != NULL)
    cli->session_step = at;
  if (at <= 0 || cli->session != NULL)
    return cli->args[0];
  return *with_step = g_strdup_printf ("%s@%d", cli->args[0], at);
}

gboolean
cli_model_open (Cli *cli,
                const CliModelOptions *options,
                const char *file,
                gboolean with_passes,
                CliModel *model,
                CliStatus *status)
{
  g_autoptr (GError) error = NULL;
  IrPipelineResult result;

  memset (model, 0, sizeof *model);
  if (cli->session != NULL && file == cli->args[0])
    {
      const gboolean ok = cli_session_open (cli, options, with_passes, model, &error);

      if (!ok)
        *status = cli_fail (model->model == NULL && !g_file_test (file, G_FILE_TEST_IS_REGULAR)
                                ? CLI_BAD
                                : cli_status_of (error),
                            error);
      return ok;
    }
  CliModelOptions own = *options;
  if (cli->session_pipeline) /* which is of the session's model alone */
    {
      own.pipeline = NULL;
      own.skip = own.set = NULL;
      options = &own;
    }
  split_step (file, model);
  model->problems = ir_problems_new ();
  model->model = ir_model_load (model->path, model->problems, cli->cancellable, &error);
  if (model->model == NULL)
    {
      cli_print_problems (model->problems, IR_SEVERITY_WARNING);
      /* A name that is no file is a mistake of the caller, not of the machine. */
      *status = cli_fail (g_file_test (model->path, G_FILE_TEST_IS_REGULAR) ? cli_status_of (error)
                                                                            : CLI_BAD,
                          error);
      return FALSE;
    }
  if (cli_bind_dims (options, model->model, model->problems, &error))
    {
      gboolean plain = !with_passes && options->pipeline == NULL && options->passes == NULL;
      CliModelOptions chosen = *options;

      if (plain && options->set != NULL && model->step < 0)
        g_set_error (&error, CLI_ERROR, 0, "--set %s: no passes run; add --pipeline or --pass",
                     options->set[0]);
      else if (plain && model->step < 0 && options->opset == 0 &&
               cli_ask_for_kernels (options, model->model, &error))
        return TRUE;
      if (error != NULL)
        {
          *status = cli_fail (cli_status_of (error), error);
          return FALSE;
        }
      if (plain && options->opset != 0) /* the upgrade alone */
        chosen.passes = (char *) IR_PASS_UPGRADE_OPSET;
      if (cli_run_pipeline (cli, &chosen, model->model, &result, &error) &&
          go_to_step (cli, model, &error) && cli_ask_for_kernels (options, model->model, &error))
        return TRUE;
    }
  *status = cli_fail (cli_status_of (error), error);
  return FALSE;
}

void
cli_model_clear (CliModel *model)
{
  g_clear_pointer (&model->model, ir_model_unref);
  g_clear_pointer (&model->problems, g_ptr_array_unref);
  g_clear_pointer (&model->path, g_free);
}

/* -- running -- */

static void
show_node (guint done, guint total, const IrNode *node, gpointer data)
{
  if (done % 16 == 0 || done == total)
    cli_progress (data, "node", done, total);
}

gboolean
cli_run_setup (Cli *cli,
               const CliModelOptions *options,
               IrModel *model,
               IrRunOptions *how,
               GHashTable **inputs,
               GError **error)
{
  IrRunLimits limits;

  *inputs = NULL;
  *how = (IrRunOptions){
    .backend = cli_backend (options, error),
    .n_threads = MAX (options->threads, 0),
    .iterations = options->captured,
    .budget = options->budget,
    .progress = show_node,
    .progress_data = cli,
  };
  if (how->backend == NULL || !cli_limits (options, &limits, error))
    return FALSE;
  *inputs = cli_inputs_within (cli, options, model, limits.memory_limit, error);
  ir_run_options_limit (how, &limits);
  return *inputs != NULL;
}

IrRun *
cli_run (Cli *cli,
         const CliModelOptions *options,
         IrModel *model,
         IrCaptureKind capture,
         GArray *chosen,
         IrRun **partial,
         GError **error)
{
  g_autoptr (GHashTable) inputs = NULL;
  g_autoptr (IrExecutable) executable = NULL;
  IrRunOptions run_options;
  IrRun *run;

  if (!cli_run_setup (cli, options, model, &run_options, &inputs, error))
    return NULL;
  run_options.capture = capture;
  run_options.chosen = chosen;
  run_options.partial = capture == IR_CAPTURE_CHOSEN;
  executable = ir_executable_new (model, &run_options, error);
  if (executable == NULL)
    return NULL;
  run = ir_executable_run (executable, inputs, cli->cancellable, partial, error);
  cli_progress_end (cli);
  return run;
}

gboolean
cli_value_was_run (const IrRun *run, const IrValue *value, GError **error)
{
  if (run->missing == NULL || ir_model_live_value (run->model, value->id) != NULL)
    return TRUE;
  g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_UNSUPPORTED,
               "%s cannot be computed: it waits for a node that cannot run; the first one is %s",
               value->name, g_array_index (run->missing, IrMissing, 0).why);
  return FALSE;
}
