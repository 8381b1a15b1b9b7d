/* irscope train: trains a network on samples in files. */
#include "config.h"

#include "app/cli/commands.h"
#include "app/cli/output.h"
#include "app/cli/recompute.h"
#include "app/cli/run-control.h"
#include "app/cli/train-log.h"
#include "passes/training/order.h"
#include "passes/training/parameters.h"
#include "passes/training/training.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

typedef struct
{
  CliModelOptions model;
  char **data, **freeze, **stop;
  char *target, *loss, *of, *optimizer, *betas, *schedule, *validate, *resume, *log, *output;
  char *rate, *momentum, *epsilon, *weight_decay, *clip, *loss_scale;
  gboolean nesterov, deterministic, debug;
  char **breaks;
  gint64 batch, epochs, seed;
} Options;

#define AT(field) G_STRUCT_OFFSET (Options, field)
static const CliOption train_options[] = {
  { "data", 0, G_OPTION_ARG_STRING_ARRAY, AT (data),
    "Samples of an input, a row each, from a .npy or .pb file", "NAME=FILE" },
  { "target", 0, G_OPTION_ARG_FILENAME, AT (target),
    "What the network should answer to each, likewise: labels, or values", "FILE" },
  { "loss", 0, G_OPTION_ARG_STRING, AT (loss),
    "What becomes small: cross-entropy, nll, mse, l1, huber, bce (of logits), or a value of the graph",
    "L|OUTPUT" },
  { "of", 0, G_OPTION_ARG_STRING, AT (of),
    "What the loss compares with the target (default: the only floating-point output)", "V" },
  { "optimizer", 0, G_OPTION_ARG_STRING, AT (optimizer),
    "How parameters follow: sgd, momentum, nesterov, adam, adamw, adagrad", "O" },
  { "rate", 0, G_OPTION_ARG_STRING, AT (rate), "How far: the learning rate", "R" },
  { "momentum", 0, G_OPTION_ARG_STRING, AT (momentum), "Of sgd: what stays of the velocity", "M" },
  { "nesterov", 0, G_OPTION_ARG_NONE, AT (nesterov), "Of sgd: look ahead along it", NULL },
  { "betas", 0, G_OPTION_ARG_STRING, AT (betas),
    "Of adam and adamw: what stays of mean and mean square (default 0.9,0.999)", "A,B" },
  { "epsilon", 0, G_OPTION_ARG_STRING, AT (epsilon),
    "Added to the root that is divided by (default 1e-8; adagrad 1e-10)", "E" },
  { "weight-decay", 0, G_OPTION_ARG_STRING, AT (weight_decay),
    "How much parameters shrink (default 0; adamw 0.01)", "W" },
  { "clip", 0, G_OPTION_ARG_STRING, AT (clip), "Shorten derivatives that are longer, all together",
    "NORM" },
  { "loss-scale", 0, G_OPTION_ARG_STRING, AT (loss_scale),
    "Multiply derivatives by that, so that small ones do not vanish in float16", "S" },
  { "schedule", 0, G_OPTION_ARG_STRING, AT (schedule),
    "The rate over time: constant (default), cosine, step:EPOCHS:FACTOR; before it warm-up:STEPS,",
    "S" },
  { "batch", 'b', G_OPTION_ARG_INT64, AT (batch), "Samples of a step (default 32)", "B" },
  { "epochs", 'e', G_OPTION_ARG_INT64, AT (epochs),
    "How often all samples are gone through (default 1)", "E" },
  { "seed", 0, G_OPTION_ARG_INT64, AT (seed), "Of the order of samples and of Dropout (default 0)",
    "S" },
  { "validate", 0, G_OPTION_ARG_STRING, AT (validate),
    "Hold the last samples out, a share or a number, and say loss and accuracy of these", "20%" },
  { "freeze", 0, G_OPTION_ARG_STRING_ARRAY, AT (freeze),
    "Initializers that stay as they are, by patterns of names", "P" },
  { "stop", 0, G_OPTION_ARG_STRING_ARRAY, AT (stop), "Values that count as constant", "NAME" },
  { "resume", 0, G_OPTION_ARG_FILENAME, AT (resume),
    "Go on where this file, written by -o, stands; the same bits follow as without a break", "F" },
  { "break", 0, G_OPTION_ARG_STRING_ARRAY, AT (breaks),
    "Stop where this holds of a node of a step or of what it gives, as irscope run has it; exit status 1: it was so",
    "COND" },
  { "debug", 0, G_OPTION_ARG_NONE, AT (debug),
    "Step through the nodes of each step by commands from standard input, as irscope run has it",
    NULL },
  { "log", 0, G_OPTION_ARG_FILENAME, AT (log),
    "Write a line for each step there; --json then says how far steps moved each parameter",
    "CSV" },
  { "output", 'o', G_OPTION_ARG_FILENAME, AT (output),
    "The trained network, written after each epoch; --resume goes on from it", "F" },
  CLI_DEVICE_OPTION (AT (model.device)),
  { "threads", 0, G_OPTION_ARG_INT, AT (model.threads),
    "Number of threads (0, the default: all cores)", "N" },
  { "deterministic", 0, G_OPTION_ARG_NONE, AT (deterministic),
    "Give the same bits at any number of threads; costs some speed", NULL },
  CLI_BUDGET_OPTION (AT (model.budget)),
  { "memory-limit", 0, G_OPTION_ARG_STRING, AT (model.memory_limit),
    "Most memory of all values of a step together: bytes, or with K, M or G", "SIZE" },
  { "set", 0, G_OPTION_ARG_STRING_ARRAY, AT (model.set),
    "Set an option of a pass of the pipeline train (optimizer.form=onnx)", "PASS.OPTION=VALUE" },
  { 0 },
};
#undef AT

/* A command under way. */
typedef struct
{
  Cli *cli;
  const Options *options;
  IrModel *model;
  IrTrainingRun *run;
  CliTrainLog *log;
  GPtrArray *parameters; /* (nullable) of IrParameterCourse */
  GArray *times;         /* of double: ms of each step */
  guint64 allocated;     /* bytes, most of a step from the third on */
  guint n_steps_here;
  IrTrainerResult last, check;
  gboolean checked;
  char *diverged;         /* (nullable) */
  CliRunControl *control; /* (nullable) */
} Job;

static void
job_clear (Job *job)
{
  g_clear_pointer (&job->run, ir_training_run_free);
  g_clear_pointer (&job->control, cli_run_control_free);
  g_clear_pointer (&job->times, g_array_unref);
  g_clear_pointer (&job->parameters, g_ptr_array_unref);
  g_free (job->diverged);
  cli_train_log_close (job->log, NULL);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Job, job_clear)

G_GNUC_PRINTF (2, 3)
static gboolean
fail (GError **error, const char *format, ...)
{
  va_list args;

  va_start (args, format);
  g_autofree char *message = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error_literal (error, CLI_ERROR, 0, message);
  return FALSE;
}

/* -- options -- */

static gboolean
check_options (const Options *options, GError **error)
{
  const struct
  {
    const char *name, *value;
  } needed[] = { { "--data NAME=FILE", options->data != NULL ? options->data[0] : NULL },
                 { "--loss L|OUTPUT", options->loss },
                 { "--optimizer O", options->optimizer },
                 { "--rate R", options->rate },
                 { "-o FILE", options->output } };

  for (guint i = 0; i < G_N_ELEMENTS (needed); i++)
    if (needed[i].value == NULL)
      return fail (error, "%s is needed; irscope train --help says what it is", needed[i].name);
  if (options->batch < 1 || options->epochs < 1)
    return fail (error, "--batch and --epochs need 1 or more");
  if (options->clip != NULL && g_ascii_strtod (options->clip, NULL) == 0)
    return fail (error, "--clip %s: needs a length above 0; without it nothing is shortened",
                 options->clip);
  if (options->seed < 0)
    return fail (error, "--seed must not be negative");
  if (!g_str_has_suffix (options->output, ".onnx"))
    return fail (error, "-o %s: a trained network is written as .onnx", options->output);
  g_autofree char *folder = g_path_get_dirname (options->output);
  if (g_access (folder, W_OK) != 0) /* before hours of training */
    return fail (error, "-o %s: its folder cannot be written to (%s)", options->output,
                 g_strerror (errno));
  return TRUE;
}

static void
take_setting (GPtrArray *settings, const char *name, const char *value)
{
  if (value != NULL)
    g_ptr_array_add (settings, g_strconcat ("optimizer.", name, "=", value, NULL));
}

/* As options of the passes, NULL-terminated. */
static GPtrArray *
settings_of (const Options *options)
{
  GPtrArray *settings = g_ptr_array_new_with_free_func (g_free);

  take_setting (settings, "algorithm", options->optimizer);
  take_setting (settings, "momentum", options->momentum);
  take_setting (settings, "nesterov", options->nesterov ? "yes" : NULL);
  take_setting (settings, "betas", options->betas);
  take_setting (settings, "epsilon", options->epsilon);
  take_setting (settings, "weight-decay", options->weight_decay);
  take_setting (settings, "clip", options->clip);
  if (options->stop != NULL)
    {
      g_autofree char *names = g_strjoinv (",", options->stop);
      g_ptr_array_add (settings, g_strconcat ("gradient.stop=", names, NULL));
    }
  for (guint i = 0; options->model.set != NULL && options->model.set[i] != NULL; i++)
    g_ptr_array_add (settings, g_strdup (options->model.set[i]));
  g_ptr_array_add (settings, NULL);
  return settings;
}

/* -- the run -- */

static gboolean
run_options (const Options *options, IrRunOptions *run, GError **error)
{
  IrRunLimits limits;

  *run = (IrRunOptions){ .budget = options->model.budget,
                         .n_threads = (guint) MAX (options->model.threads, 0),
                         .deterministic = options->deterministic,
                         .untimed = TRUE };
  if ((run->backend = cli_backend (&options->model, error)) == NULL ||
      !cli_limits (&options->model, &limits, error))
    return FALSE;
  ir_run_options_limit (run, &limits);
  return TRUE;
}

static void
print_notes (const Job *job)
{
  for (guint i = 0; !job->cli->quiet && !job->cli->json && i < job->run->training->notes->len; i++)
    cli_printerr ("%s\n", (const char *) job->run->training->notes->pdata[i]);
}

static gboolean
make_all (Job *job, GError **error)
{
  const Options *options = job->options;
  g_autoptr (GPtrArray) settings = settings_of (options);
  const IrTrainingOrder order = { .data = options->data,
                                  .target = options->target,
                                  .loss = options->loss,
                                  .of = options->of,
                                  .rate = options->rate,
                                  .schedule = options->schedule,
                                  .validate = options->validate,
                                  .loss_scale = options->loss_scale,
                                  .freeze = options->freeze,
                                  .settings = (char *const *) settings->pdata,
                                  .batch = (guint64) options->batch,
                                  .epochs = (guint64) options->epochs,
                                  .seed = (guint64) options->seed };
  const CliRunControlOptions wanted = { .breaks = options->breaks,
                                        .debug = options->debug,
                                        .program = "irscope train" };
  IrRunOptions run;
  GError *local = NULL;

  job->run = ir_training_run_new (job->model, &order, job->cli->cancellable, error);
  if (job->run == NULL)
    return FALSE;
  print_notes (job);
  if (!run_options (options, &run, error))
    return FALSE;
  job->control = cli_run_control_new (job->cli, &wanted, job->run->training->step, &run, &local);
  if (local != NULL)
    {
      g_propagate_error (error, local);
      return FALSE;
    }
  if (!ir_training_run_begin (job->run, &run, options->log != NULL, options->resume, error))
    return FALSE;
  job->parameters = ir_parameter_courses_new (job->run->trainer);
  return TRUE;
}

/* -- steps -- */

static void
print_epoch (const Job *job)
{
  double loss, accuracy;

  if (job->cli->json || job->cli->quiet)
    return;
  ir_trainer_epoch_means (job->run->trainer, &loss, &accuracy);
  g_autofree char *right = !isnan (accuracy) ? g_strdup_printf ("  accuracy %.4f", accuracy)
                                             : g_strdup ("");
  g_autofree char *check = !job->checked ? g_strdup ("")
                           : !isnan (job->check.accuracy)
                               ? g_strdup_printf ("  held out: loss %.6g  accuracy %.4f",
                                                  job->check.loss, job->check.accuracy)
                               : g_strdup_printf ("  held out: loss %.6g", job->check.loss);
  cli_print ("epoch %" G_GUINT64_FORMAT "  loss %.6g%s%s\n", job->last.epoch, loss, right, check);
}

static gboolean
save (const Job *job, GError **error)
{
  return ir_training_run_save (job->run, job->options->output, error);
}

static gboolean
end_epoch (Job *job, GError **error)
{
  job->checked = ir_trainer_holds_out (job->run->trainer);
  return !job->checked ||
         ir_trainer_check (job->run->trainer, job->cli->cancellable, &job->check, error);
}

/* FALSE with @error, with job->diverged, or where it was told to stop. */
static gboolean
make_step (Job *job, GError **error)
{
  g_autoptr (GError) local = NULL;

  if (!ir_trainer_step (job->run->trainer, job->cli->cancellable, &job->last, &local))
    {
      if (g_error_matches (local, IR_EXEC_ERROR, IR_EXEC_ERROR_STOPPED))
        return FALSE;
      if (ir_trainer_has_diverged (job->run->trainer))
        job->diverged = ir_training_run_diverged_text (job->run, local);
      else
        g_propagate_error (error, g_steal_pointer (&local));
      return FALSE;
    }
  g_array_append_val (job->times, job->last.ms);
  ir_parameter_courses_take (job->parameters, job->run->trainer);
  if (++job->n_steps_here > 2)
    job->allocated = MAX (job->allocated, job->last.allocated_bytes);
  gboolean ends = ir_trainer_ends_epoch (job->run->trainer);
  if (ends && !end_epoch (job, error))
    return FALSE;
  cli_train_log_step (job->log, &job->last, ends && job->checked ? &job->check : NULL,
                      job->parameters);
  if (!ends)
    return TRUE;
  print_epoch (job);
  return save (job, error);
}

static gboolean
run_steps (Job *job, GError **error)
{
  guint64 per_epoch = ir_trainer_steps_per_epoch (job->run->trainer);
  guint64 n = per_epoch * (job->options->epochs > 0 ? (guint64) job->options->epochs : 1);

  while (!ir_trainer_is_done (job->run->trainer) && !cli_run_control_is_over (job->control))
    {
      if (!make_step (job, error))
        {
          cli_progress_end (job->cli);
          if (g_cancellable_is_cancelled (job->cli->cancellable))
            save (job, NULL); /* so that --resume goes on from here */
          return FALSE;
        }
      cli_progress (job->cli, "step", (guint) MIN (job->last.step, G_MAXUINT),
                    (guint) MIN (n, G_MAXUINT));
    }
  cli_progress_end (job->cli);
  return job->n_steps_here > 0 || (end_epoch (job, error) && save (job, error));
}

/* -- the answer -- */

static int
compare_numbers (gconstpointer a, gconstpointer b)
{
  double x = *(const double *) a, y = *(const double *) b;

  return x < y ? -1 : x > y;
}

static double
median (const Job *job)
{
  if (job->times->len == 0)
    return 0;
  g_array_sort (job->times, compare_numbers);
  return g_array_index (job->times, double, job->times->len / 2);
}

static void
add_parameters (const Job *job, cJSON *json)
{
  cJSON *array = cJSON_AddArrayToObject (json, "parameters");

  for (guint i = 0; i < job->parameters->len; i++)
    {
      const IrParameterCourse *course = job->parameters->pdata[i];
      cJSON *object = cJSON_CreateObject ();
      cJSON_AddItemToArray (array, object);
      cJSON_AddStringToObject (object, "name", course->name);
      cli_json_add_double (object, "norm", course->weights);
      cli_json_add_double (object, "update_norm", course->update);
      cli_json_add_uint (object, "stride", course->stride);
      cJSON_AddItemToObject (object, "history",
                             cJSON_CreateDoubleArray ((const double *) course->history->data,
                                                      (int) course->history->len));
    }
}

static void
print_json (const Job *job)
{
  cJSON *json = cJSON_CreateObject (), *notes;
  IrTrainerPlace place = ir_trainer_place (job->run->trainer);
  guint64 planned;
  const IrHeld held = ir_trainer_held (job->run->trainer, &planned);
  double loss, accuracy;

  ir_trainer_epoch_means (job->run->trainer, &loss, &accuracy);
  cli_json_add_uint (json, "steps", place.step);
  cli_json_add_uint (json, "epochs", place.step / ir_trainer_steps_per_epoch (job->run->trainer));
  cli_json_add_double (json, "loss", loss);
  if (isnan (accuracy))
    cJSON_AddNullToObject (json, "training_accuracy");
  else
    cli_json_add_double (json, "training_accuracy", accuracy);
  if (job->checked)
    cli_json_add_double (json, "validation_loss", job->check.loss);
  else
    cJSON_AddNullToObject (json, "validation_loss");
  accuracy = job->checked ? job->check.accuracy : accuracy;
  if (isnan (accuracy))
    cJSON_AddNullToObject (json, "accuracy");
  else
    cli_json_add_double (json, "accuracy", accuracy);
  cli_json_add_double (json, "ms_per_step", median (job));
  cli_json_add_uint (json, "peak_bytes", ir_trainer_peak_bytes (job->run->trainer));
  cli_json_add_uint (json, "allocated_bytes", job->allocated);
  cli_held_add_plan (json, &held, planned);
  add_parameters (job, json);
  cli_run_control_report (job->control, json, &(CliStatus){ CLI_OK });
  if (job->diverged != NULL)
    cJSON_AddStringToObject (json, "diverged", job->diverged);
  else
    cJSON_AddNullToObject (json, "diverged");
  notes = cJSON_AddArrayToObject (json, "notes");
  for (guint i = 0; i < job->run->training->notes->len; i++)
    cJSON_AddItemToArray (notes, cJSON_CreateString (job->run->training->notes->pdata[i]));
  g_autofree char *unmoved = ir_training_run_unmoved_text (job->run);
  if (unmoved != NULL)
    cJSON_AddItemToArray (notes, cJSON_CreateString (unmoved));
  cli_json_print (json);
}

static void
print_text (const Job *job)
{
  g_autofree char *peak = cli_format_bytes (ir_trainer_peak_bytes (job->run->trainer));

  cli_print ("%" G_GUINT64_FORMAT " steps, %.3f ms each, %s at most\n",
             ir_trainer_place (job->run->trainer).step, median (job), peak);
  g_autofree char *unmoved = ir_training_run_unmoved_text (job->run);
  if (unmoved != NULL)
    cli_print ("%s\n", unmoved);
}

static CliStatus
run (Cli *cli)
{
  Options *options = cli->options;
  g_auto (CliModel) opened = { 0 };
  g_auto (Job) job = { .cli = cli, .options = options };
  g_autoptr (GError) error = NULL;
  CliStatus status;

  if (!check_options (options, &error))
    return cli_fail (CLI_BAD, error);
  if (!cli_model_open (cli, &(CliModelOptions){ 0 }, cli->args[0], FALSE, &opened, &status))
    return status;
  cli_print_problems (opened.problems, IR_SEVERITY_ERROR);
  job.model = opened.model;
  job.times = g_array_new (FALSE, FALSE, sizeof (double));
  if (!make_all (&job, &error) ||
      (options->log != NULL && (job.log = cli_train_log_open (options->log, options->resume != NULL,
                                                              job.parameters, &error)) == NULL))
    return cli_fail_run (cli, error);
  run_steps (&job, &error);
  gboolean logged = cli_train_log_close (g_steal_pointer (&job.log), error == NULL ? &error : NULL);
  if (error != NULL || (!logged && error == NULL))
    return cli_fail_run (cli, error);
  (cli->json ? print_json : print_text) (&job);
  if (job.diverged != NULL)
    cli_printerr ("%s\n", job.diverged);
  return job.diverged == NULL && !cli_run_control_was_hit (job.control) ? CLI_OK : CLI_NO;
}

static void
set_defaults (gpointer data)
{
  Options *options = data;

  options->batch = IR_TRAINING_BATCH;
  options->epochs = 1;
}

const CliCommand cli_command_train = {
  .name = "train",
  .arguments = "FILE",
  .takes_model = TRUE,
  .summary = "Train a network on samples in files: a step is one graph, derived and planned once",
  .doc =
      "The network is made ready by the pass to-training, derived and given an optimizer by the pipeline\n"
      "train. Each file has a sample per row; they are shuffled by the seed, anew in each epoch, and the few\n"
      "that fill no batch wait for the next. -o is written after each epoch as a whole: a plain model with\n"
      "the weights of then, which --resume goes on from with the bits of a run without a break. Exit status\n"
      "1: numbers were no longer finite; the node that gave the first of them is named.",
  .min_args = 1,
  .max_args = 1,
  .options = train_options,
  .options_size = sizeof (Options),
  .defaults = set_defaults,
  .run = run,
};
