#include "config.h"

#include "app/cli/model.h"

#include "app/cli/kernel-requests.h"
#include "app/cli/output.h"
#include "app/cli/plans.h"
#include "core/io/io.h"
#include "passes/rule/rule.h"
#include "passes/rewrites/upgrade.h"

#include <stdlib.h>
#include <string.h>

#define PASS_OPTIONS                                                                               \
  { "pipeline",                                                                                    \
    'p',                                                                                           \
    G_OPTION_ARG_STRING,                                                                           \
    G_STRUCT_OFFSET (CliModelOptions, pipeline),                                                   \
    "Run the passes of this pipeline: a name or a JSON file (default: default)",                   \
    "P" },                                                                                         \
      { "pass",                                                                                    \
        0,                                                                                         \
        G_OPTION_ARG_STRING,                                                                       \
        G_STRUCT_OFFSET (CliModelOptions, passes),                                                 \
        "Run these passes instead, separated by commas",                                           \
        "A,B" },                                                                                   \
      { "class",                                                                                   \
        0,                                                                                         \
        G_OPTION_ARG_STRING,                                                                       \
        G_STRUCT_OFFSET (CliModelOptions, step_class),                                             \
        "How far rewrites may change results: exact, rounding (default), unsafe",                  \
        "C" },                                                                                     \
      { "opset",                                                                                   \
        0,                                                                                         \
        G_OPTION_ARG_INT64,                                                                        \
        G_STRUCT_OFFSET (CliModelOptions, opset),                                                  \
        "First upgrade the model to this version of ai.onnx, by recorded steps",                   \
        "N" },                                                                                     \
  {                                                                                                \
    "skip", 0, G_OPTION_ARG_STRING_ARRAY, G_STRUCT_OFFSET (CliModelOptions, skip),                 \
        "Leave out a rule, a pass, or one application by its number or stable key", "N"            \
  }

#define MODEL_OPTIONS                                                                              \
  PASS_OPTIONS,                                                                                    \
      { "dim",                                                                                     \
        'd',                                                                                       \
        G_OPTION_ARG_STRING_ARRAY,                                                                 \
        G_STRUCT_OFFSET (CliModelOptions, dims),                                                   \
        "Give a symbolic dimension its size",                                                      \
        "NAME=N" },                                                                                \
  {                                                                                                \
    "shape", 0, G_OPTION_ARG_STRING_ARRAY, G_STRUCT_OFFSET (CliModelOptions, shapes),              \
        "Give an input its shape", "INPUT=1x128"                                                   \
  }

#define RUN_OPTIONS                                                                                \
  MODEL_OPTIONS,                                                                                   \
      { "input",                                                                                   \
        'i',                                                                                       \
        G_OPTION_ARG_STRING_ARRAY,                                                                 \
        G_STRUCT_OFFSET (CliModelOptions, inputs),                                                 \
        "Contents of an input, from a .npy or TensorProto .pb file",                               \
        "NAME=FILE" },                                                                             \
      { "random",                                                                                  \
        0,                                                                                         \
        G_OPTION_ARG_INT64,                                                                        \
        G_STRUCT_OFFSET (CliModelOptions, seed),                                                   \
        "Seed of the random contents of the inputs that are not given (default 0)",                \
        "SEED" },                                                                                  \
      { "device",                                                                                  \
        0,                                                                                         \
        G_OPTION_ARG_STRING,                                                                       \
        G_STRUCT_OFFSET (CliModelOptions, device),                                                 \
        "Back end: cpu (default), ref, gpu",                                                       \
        "NAME" },                                                                                  \
      { "kernel",                                                                                  \
        0,                                                                                         \
        G_OPTION_ARG_STRING_ARRAY,                                                                 \
        G_STRUCT_OFFSET (CliModelOptions, kernels),                                                \
        "Run a node, or with * all, by this kernel: ref, or a candidate that schedule names; "     \
        "one in a function's body is CALL/NODE, as schedule calls it",                             \
        "NODE=NAME" },                                                                             \
  {                                                                                                \
    "threads", 0, G_OPTION_ARG_INT, G_STRUCT_OFFSET (CliModelOptions, threads),                    \
        "Number of threads (default: all cores)", "N"                                              \
  }

const CliOption cli_pass_options[] = { PASS_OPTIONS, { 0 } };
const CliOption cli_model_options[] = { MODEL_OPTIONS, { 0 } };
const CliOption cli_run_options[] = { RUN_OPTIONS, { 0 } };

/* -- dimensions -- */

gboolean
cli_split_assignment (
    const char *text, const char *option, char **name, const char **value, GError **error)
{
  const char *equals = strrchr (text, '=');

  if (equals == NULL || equals == text || equals[1] == '\0')
    {
      g_set_error (error, CLI_ERROR, 0, "--%s %s: needs NAME=VALUE", option, text);
      return FALSE;
    }
  *name = g_strndup (text, equals - text);
  *value = equals + 1;
  return TRUE;
}

GHashTable *
cli_bindings (const CliModelOptions *options, GError **error)
{
  g_autoptr (GHashTable) bindings = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);

  for (guint i = 0; options->dims != NULL && options->dims[i] != NULL; i++)
    {
      g_autofree char *name = NULL;
      const char *text;
      gint64 value;

      if (!cli_split_assignment (options->dims[i], "dim", &name, &text, error))
        return NULL;
      if (!g_ascii_string_to_signed (text, 10, 0, G_MAXINT32, &value, NULL))
        {
          g_set_error (error, CLI_ERROR, 0, "--dim %s: needs a number from 0 to %d, found '%s'",
                       options->dims[i], G_MAXINT32, text);
          return NULL;
        }
      g_hash_table_replace (bindings, g_steal_pointer (&name), g_memdup2 (&value, sizeof value));
    }
  return g_steal_pointer (&bindings);
}

static gboolean
parse_shape (const char *text, gint64 *dims, guint *rank)
{
  g_auto (GStrv) parts = g_strsplit (text, "x", -1);

  *rank = 0;
  for (guint i = 0; parts[i] != NULL; i++)
    if (*rank == IR_MAX_RANK ||
        !g_ascii_string_to_signed (parts[i], 10, 0, G_MAXINT32, &dims[(*rank)++], NULL))
      return FALSE;
  return TRUE;
}

static gboolean
bind_shape (IrEdit *edit, const char *option, GError **error)
{
  IrModel *model = ir_edit_model (edit);
  g_autofree char *name = NULL;
  const char *text;
  gint64 dims[IR_MAX_RANK];
  guint rank;
  IrValue *input;

  if (!cli_split_assignment (option, "shape", &name, &text, error))
    return FALSE;
  if (!parse_shape (text, dims, &rank))
    {
      g_set_error (error, CLI_ERROR, 0,
                   "--shape %s: needs sizes joined by x, such as 1x128; found '%s'", option, text);
      return FALSE;
    }
  input = ir_graph_find_value (model->main, name);
  if (input == NULL || !ir_value_is_graph_input (input))
    {
      g_set_error (error, CLI_ERROR, 0, "--shape %s: the graph has no input '%s'", option, name);
      return FALSE;
    }
  ir_infer_bind_input (edit, input, rank, dims);
  return TRUE;
}

static gboolean
bind_dims (const CliModelOptions *options, IrModel *model, GPtrArray *problems, GError **error)
{
  g_autoptr (IrEdit) edit = NULL;
  g_autoptr (GHashTable) bindings = NULL;

  if (options->dims == NULL && options->shapes == NULL)
    return TRUE;
  edit = ir_edit_new_import (model);
  for (guint i = 0; options->shapes != NULL && options->shapes[i] != NULL; i++)
    if (!bind_shape (edit, options->shapes[i], error))
      return FALSE;
  bindings = cli_bindings (options, error);
  for (guint i = 0; bindings != NULL && options->dims != NULL && options->dims[i] != NULL; i++)
    {
      g_autofree char *name = g_strndup (options->dims[i],
                                         strrchr (options->dims[i], '=') - options->dims[i]);

      if (ir_context_has_string (model->context, name))
        continue;
      g_set_error (
          error, CLI_ERROR, 0,
          "--dim %s: the model has no symbol '%s'; 'irscope info' shows those of its inputs",
          options->dims[i], name);
      return FALSE;
    }
  return bindings != NULL && ir_infer_bind (edit, bindings, problems, error);
}

/* -- passes -- */

IrPipeline *
cli_pipeline (const CliModelOptions *options, GError **error)
{
  g_auto (GStrv) names = NULL;

  if (options->passes == NULL)
    return ir_pipeline_load (options->pipeline != NULL ? options->pipeline : "default", error);
  names = g_strsplit (options->passes, ",", -1);
  return ir_pipeline_new_from_names ((const char *const *) names, error);
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

/* --skip names a rule, a pass, a number of the application, or a stable key. */
static IrPolicyAnswer
ask_skip (const char *pass,
          const char *rule,
          const IrNode *anchor,
          guint ordinal,
          const char *stable_key,
          gpointer data)
{
  char **skip = data;
  g_autofree char *number = g_strdup_printf ("%u", ordinal);

  for (guint i = 0; skip[i] != NULL; i++)
    if (strcmp (skip[i], pass) == 0 || strcmp (skip[i], rule) == 0 ||
        strcmp (skip[i], number) == 0 || g_strcmp0 (skip[i], stable_key) == 0)
      return IR_POLICY_SKIP;
  return IR_POLICY_APPLY;
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

/* The pipeline with the upgrade first, unless a list of passes places it elsewhere. */
static gboolean
put_upgrade_first (const CliModelOptions *options,
                   const IrModel *model,
                   IrPipeline *pipeline,
                   GError **error)
{
  const IrPass *upgrade = ir_pass_find (IR_PASS_UPGRADE_OPSET);

  if (options->opset == 0)
    return TRUE;
  if (!ir_opset_may_be (model, options->opset, error))
    {
      g_prefix_error (error, "--");
      return FALSE;
    }
  if (!g_ptr_array_find (pipeline->passes, upgrade, NULL))
    g_ptr_array_insert (pipeline->passes, 0, (gpointer) upgrade);
  return TRUE;
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
  g_autoptr (IrPipeline) pipeline = cli_pipeline (options, error);
  IrPolicy policy = { ask_skip, options->skip };
  IrPipelineOptions pipeline_options = {
    .policy = options->skip != NULL ? &policy : NULL,
    .record_refusals = options->record_refusals,
    .rule_totals = options->rule_totals,
    .opset = options->opset,
    .backend = ir_backend_find (options->device != NULL ? options->device : "cpu"),
    .progress = show_pass,
    .progress_data = cli,
  };
  gboolean done;

  for (guint i = 0; options->skip != NULL && options->skip[i] != NULL; i++)
    if (!check_skip (options->skip[i], error))
      return FALSE;
  if (pipeline == NULL || !put_upgrade_first (options, model, pipeline, error) ||
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
  if (bind_dims (options, model->model, model->problems, &error))
    {
      gboolean plain = !with_passes && options->pipeline == NULL && options->passes == NULL;
      CliModelOptions chosen = *options;

      if (plain && model->step < 0 && options->opset == 0 &&
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

const IrBackend *
cli_backend (const CliModelOptions *options, GError **error)
{
  const char *name = options->device != NULL ? options->device : "cpu";
  const IrBackend *backend = ir_backend_find (name);

  if (options->threads < 0)
    {
      g_set_error (error, CLI_ERROR, 0, "--threads %d: needs a number from 1, or 0 for all cores",
                   options->threads);
      return NULL;
    }
  if (backend != NULL)
    return backend;
  if (strcmp (name, "gpu") == 0)
    g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_DEVICE,
                 "--device gpu: this build has no GPU back end; use cpu or ref");
  else
    g_set_error (error, CLI_ERROR, 0, "--device %s: there is no such back end; use cpu or ref",
                 name);
  return NULL;
}

static gboolean
load_input (IrModel *model, const char *option, GHashTable *inputs, GError **error)
{
  g_autofree char *name = NULL;
  const char *path;
  IrValue *value;
  IrTensor *tensor;
  gboolean missing;

  if (!cli_split_assignment (option, "input", &name, &path, error))
    return FALSE;
  value = ir_graph_find_value (model->main, name);
  /* Names and paths may have more of the sign: the first one that ends the name of an input. */
  for (const char *at = strchr (option, '='); at != NULL && value == NULL;
       at = strchr (at + 1, '='))
    {
      g_autofree char *front = g_strndup (option, at - option);

      value = ir_graph_find_value (model->main, front);
      path = value != NULL ? at + 1 : path;
    }
  if (value == NULL || !ir_value_is_graph_input (value))
    {
      g_set_error (error, CLI_ERROR, 0, "--input %s: the graph has no input '%s'", option, name);
      return FALSE;
    }
  missing = !g_file_test (path, G_FILE_TEST_EXISTS);
  tensor = missing ? NULL : ir_value_load (path, value->type, error);
  if (missing)
    g_set_error (error, CLI_ERROR, 0, "--input %s: there is no file '%s'", option, path);
  if (tensor == NULL)
    return FALSE;
  g_hash_table_replace (inputs, GUINT_TO_POINTER (value->id), tensor);
  return TRUE;
}

/* A symbol that a given input fixes must have the same size in the random ones. */
static void
bind_from_inputs (IrModel *model, GHashTable *given, GHashTable *bindings)
{
  GHashTableIter iter;
  gpointer id, tensor;

  g_hash_table_iter_init (&iter, given);
  while (g_hash_table_iter_next (&iter, &id, &tensor))
    {
      const IrType *type = ir_model_value (model, GPOINTER_TO_UINT (id))->type;

      if (!ir_type_has_rank (type) || (guint) type->rank != ir_tensor_rank (tensor))
        continue;
      for (int i = 0; i < type->rank; i++)
        {
          const char *symbol = ir_dim_is_symbolic (type->dims[i])
                                   ? ir_dim_symbol_name (model->context, type->dims[i])
                                   : NULL;
          if (symbol != NULL && !g_hash_table_contains (bindings, symbol))
            g_hash_table_insert (bindings, g_strdup (symbol),
                                 g_memdup2 (&ir_tensor_dims (tensor)[i], sizeof (gint64)));
        }
    }
}

/* (transfer full) (nullable): those of --input; their sizes are added to @bindings */
static GHashTable *
given_inputs (const CliModelOptions *options, IrModel *model, GHashTable *bindings, GError **error)
{
  g_autoptr (GHashTable)
      given = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);

  for (guint i = 0; options->inputs != NULL && options->inputs[i] != NULL; i++)
    if (!load_input (model, options->inputs[i], given, error))
      return NULL;
  bind_from_inputs (model, given, bindings);
  return g_steal_pointer (&given);
}

GHashTable *
cli_inputs_within (
    Cli *cli, const CliModelOptions *options, IrModel *model, guint64 limit, GError **error)
{
  g_autoptr (GHashTable) bindings = cli_bindings (options, error);
  g_autoptr (GHashTable) given = bindings != NULL ? given_inputs (options, model, bindings, error)
                                                  : NULL;
  IrRandomOptions random = { .seed = (guint64) options->seed,
                             .bindings = bindings,
                             .given = given,
                             .limit = limit,
                             .cancellable = cli->cancellable };
  GHashTable *inputs = given != NULL ? ir_random_inputs_with (model, &random, error) : NULL;
  GHashTableIter iter;
  gpointer id, tensor;

  if (inputs == NULL)
    return NULL;
  g_hash_table_iter_init (&iter, given);
  while (g_hash_table_iter_next (&iter, &id, &tensor))
    g_hash_table_replace (inputs, id, ir_tensor_ref (tensor));
  return inputs;
}

GHashTable *
cli_inputs (Cli *cli, const CliModelOptions *options, IrModel *model, GError **error)
{
  return cli_inputs_within (cli, options, model, 0, error);
}

gboolean
cli_bind_sizes (const CliModelOptions *options, IrModel *model, IrEdit *edit, GError **error)
{
  g_autoptr (GHashTable) bindings = cli_bindings (options, error);
  g_autoptr (GHashTable) given = bindings != NULL ? given_inputs (options, model, bindings, error)
                                                  : NULL;
  IrRandomOptions random = { .bindings = bindings, .given = given };

  return given != NULL && ir_random_bind_sizes (edit, &random, error);
}

/* @text: (nullable): off */
gboolean
cli_parallel (const char *text, IrParallelMode *mode, GError **error)
{
  if (text == NULL || ir_parallel_mode_find (text, mode))
    return TRUE;
  g_set_error (error, CLI_ERROR, 0, "--parallel %s: needs off, on or auto", text);
  return FALSE;
}

static void
show_node (guint done, guint total, const IrNode *node, gpointer data)
{
  if (done % 16 == 0 || done == total)
    cli_progress (data, "node", done, total);
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
  IrRunOptions run_options = {
    .backend = cli_backend (options, error),
    .n_threads = MAX (options->threads, 0),
    .capture = capture,
    .chosen = chosen,
    .progress = show_node,
    .progress_data = cli,
  };
  IrRun *run;

  if (run_options.backend == NULL || (inputs = cli_inputs (cli, options, model, error)) == NULL)
    return NULL;
  const IrStop stop = { .cancellable = cli->cancellable };
  executable = ir_executable_new_until (model, &run_options, &stop, error);
  if (executable == NULL)
    return NULL;
  run = ir_executable_run (executable, inputs, cli->cancellable, partial, error);
  cli_progress_end (cli);
  return run;
}

IrTensor *
cli_contents (
    Cli *cli, const CliModelOptions *options, IrModel *model, const IrValue *value, GError **error)
{
  const IrTensor *constant = ir_value_constant (value);
  g_autoptr (GArray) chosen = NULL;
  g_autoptr (IrRun) run = NULL;
  IrTensor *tensor;

  if (constant != NULL)
    return ir_tensor_ref ((IrTensor *) constant);
  chosen = g_array_new (FALSE, FALSE, sizeof (IrValueId));
  g_array_append_val (chosen, value->id);
  run = cli_run (cli, options, model, IR_CAPTURE_CHOSEN, chosen, NULL, error);
  if (run == NULL)
    return NULL;
  tensor = ir_run_value (run, value->id);
  if (tensor == NULL)
    g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_UNSUPPORTED,
                 "%s was not computed in this run: it lies in a subgraph or function", value->name);
  return tensor != NULL ? ir_tensor_ref (tensor) : NULL;
}

/* -- finding -- */

static gboolean
parse_id (const char *name, guint32 *id)
{
  gint64 n;

  if (name[0] != '#' || !g_ascii_string_to_signed (name + 1, 10, 1, G_MAXINT32, &n, NULL))
    return FALSE;
  *id = n;
  return TRUE;
}

IrNode *
cli_find_node (const IrModel *model, const char *name, GError **error)
{
  guint32 id;
  IrNode *found = NULL;

  if (parse_id (name, &id))
    found = ir_model_node (model, id);
  for (guint i = 1; i < model->graphs->len && found == NULL; i++)
    found = ir_graph_find_node (model->graphs->pdata[i], name);
  for (guint i = 1; i < model->nodes->len && found == NULL; i++)
    if (strcmp (((IrNode *) model->nodes->pdata[i])->name, name) == 0)
      found = model->nodes->pdata[i];
  if (found == NULL)
    g_set_error (error, CLI_ERROR, 0, "there is no node '%s'; give a node's name, or #N for its id",
                 name);
  return found;
}

IrValue *
cli_find_value (const IrModel *model, const char *name, GError **error)
{
  guint32 id;
  IrValue *found = NULL;

  if (parse_id (name, &id))
    found = ir_model_live_value (model, id);
  for (guint i = 1; i < model->graphs->len && found == NULL; i++)
    found = ir_graph_find_value (model->graphs->pdata[i], name);
  if (found == NULL)
    g_set_error (error, CLI_ERROR, 0,
                 "there is no value '%s' at this step; give a value's name, or #N for its id",
                 name);
  return found;
}

IrValue *
cli_find_run_value (IrModel *model, IrModel **expanded, const char *name, GError **error)
{
  g_autoptr (GError) local = NULL;
  IrValue *value = cli_find_value (model, name, &local);

  if (value == NULL && strchr (name, '/') != NULL)
    {
      if (*expanded == NULL)
        *expanded = ir_exec_expand (model, NULL);
      if (*expanded != NULL)
        value = cli_find_value (*expanded, name, NULL);
    }
  if (value == NULL)
    g_propagate_error (error, g_steal_pointer (&local));
  return value;
}
