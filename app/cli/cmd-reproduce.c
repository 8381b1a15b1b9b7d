/* irscope reproduce: a folder that makes a failure happen again, with nothing but irscope. */
#include "config.h"

#include "app/cli/commands.h"
#include "app/cli/output.h"
#include "app/cli/proof.h"
#include "passes/debug/bundle.h"

#include <stdio.h>
#include <string.h>

typedef struct
{
  CliModelOptions model;
  char *fail, *output;
} Options;

static const CliOption reproduce_options[] = {
  { "fail", 'f', G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, fail),
    "What counts as a failure, as irscope bisect takes it", "EXPR" },
  { "output", 'o', G_OPTION_ARG_FILENAME, G_STRUCT_OFFSET (Options, output),
    "The folder to write; it is made, and what is in it stays", "DIR" },
  { 0 },
};

/* -- the command -- */

static void
print_answer (
    const Cli *cli, const char *folder, const IrBundle *bundle, const IrModel *model, guint step)
{
  const IrReproducer *part = &bundle->part;
  const char *rule = ir_history_step (model, step)->rule;
  cJSON *json;

  if (!cli->json)
    {
      cli_print ("step %u: %s, %s\n%u of %u nodes fail, in %s%s\n  %s\n", step,
                 ir_history_pass_of (model, step), rule, part->n_part, part->n_whole, folder,
                 bundle->reproduced ? "" : ", but not when read back", bundle->command);
      return;
    }
  json = cJSON_CreateObject ();
  cJSON_AddStringToObject (json, "answer", ir_bisect_answer_name (IR_BISECT_FOUND));
  cJSON_AddNumberToObject (json, "step", step);
  cJSON_AddStringToObject (json, "pass", ir_history_pass_of (model, step));
  cJSON_AddStringToObject (json, "rule", rule);
  cJSON_AddStringToObject (json, "folder", folder);
  cJSON_AddNumberToObject (json, "nodes", part->n_part);
  cJSON_AddNumberToObject (json, "nodes_whole", part->n_whole);
  cJSON_AddNumberToObject (json, "tries", part->tries);
  cJSON_AddStringToObject (json, "fail", part->predicate);
  cli_json_add_double (json, "value", part->value);
  cJSON_AddStringToObject (json, "command", bundle->command);
  cJSON_AddBoolToObject (json, "reproduced", bundle->reproduced);
  cli_json_print (json);
}

static CliStatus
print_nothing (const Cli *cli, const IrBisection *found)
{
  cJSON *json;

  if (!cli->json)
    {
      cli_print ("%s: there is nothing to reproduce\n", found->answer == IR_BISECT_ORIGINAL_FAILS
                                                            ? "the original graph fails already"
                                                            : "nothing fails");
      return CLI_NO;
    }
  json = cJSON_CreateObject ();
  cJSON_AddStringToObject (json, "answer", ir_bisect_answer_name (found->answer));
  cli_json_print (json);
  return CLI_NO;
}

/* The pass that made a step, as it stands in the pipeline: with its options. */
static const IrPass *
pass_of_step (const IrPipeline *pipeline, const IrModel *model, guint step)
{
  const IrPassRun *run = ir_history_pass_run (model, ir_history_step (model, step)->pass_run);

  for (guint i = 0; i < pipeline->passes->len; i++)
    {
      const IrPass *pass = pipeline->passes->pdata[i];

      if (strcmp (pass->name, run->pass) == 0 &&
          g_strcmp0 (ir_pass_settings (pass), run->settings) == 0)
        return pass;
    }
  return ir_pass_find (run->pass);
}

static CliStatus
reproduce (Cli *cli, IrModel *model, IrTrial *trial, const IrBisection *found, GError **error)
{
  const Options *options = cli->options;
  g_auto (IrBundle) bundle = { 0 };
  g_autoptr (IrPipeline) pipeline = cli_pipeline (&options->model, error);
  if (pipeline == NULL)
    return CLI_FAILED;
  IrReproduceOptions how = {
    .pass = pass_of_step (pipeline, model, found->step),
    .backend = cli_backend (&options->model, error),
    .n_threads = MAX (options->model.threads, 0),
    .cancellable = cli->cancellable,
  };
  const IrBundleOptions where = {
    .folder = options->output,
    .step_class = options->model.step_class,
    .device = options->model.device,
    .threads = options->model.threads,
  };

  if (how.pass == NULL)
    {
      g_set_error (
          error, CLI_ERROR, 0,
          "step %u, after which it fails, was done by hand, and a reproducer runs a pass; the session "
          "is what does that step again",
          found->step);
      return CLI_FAILED;
    }
  if (how.backend == NULL || !cli_class (&options->model, &how.max_class, error) ||
      !ir_bundle_write (trial, found, options->fail, &how, &where, &bundle, error))
    return CLI_FAILED;
  print_answer (cli, options->output, &bundle, model, found->step);
  return bundle.reproduced ? CLI_OK : CLI_NO;
}

static CliStatus
run (Cli *cli)
{
  Options *options = cli->options;
  g_auto (CliModel) opened = { 0 };
  g_auto (IrBisection) found = { 0 };
  g_autoptr (IrPredicate) predicate = NULL;
  g_autoptr (IrTrial) trial = NULL;
  g_autoptr (GError) error = NULL;
  CliStatus status;

  if (options->fail == NULL || options->output == NULL)
    {
      cli_printerr ("irscope reproduce: needs --fail EXPR and -o DIR\n");
      return CLI_BAD;
    }
  predicate = ir_predicate_parse (options->fail, &error);
  if (predicate == NULL)
    {
      g_prefix_error (&error, "--fail: ");
      return cli_fail (CLI_BAD, error);
    }
  if (!cli_model_open (cli, &options->model, cli->args[0], TRUE, &opened, &status))
    return status;
  trial = cli_trial (cli, &options->model, &opened, &error);
  if (trial == NULL || !ir_bisect (trial, predicate, NULL, NULL, &found, &error) ||
      (found.answer == IR_BISECT_FOUND && ir_predicate_runs_graph (predicate) &&
       !ir_bisect_find_divergence (trial, &found, &error)))
    return cli_fail (cli_status_of (error), error);
  if (found.answer != IR_BISECT_FOUND)
    return print_nothing (cli, &found);
  status = reproduce (cli, opened.model, trial, &found, &error);
  return error != NULL ? cli_fail (cli_status_of (error), error) : status;
}

const CliCommand cli_command_reproduce = {
  .name = "reproduce",
  .arguments = "FILE[@N]",
  .takes_model = TRUE,
  .summary = "Write the smallest graph on which a pass still fails, with all that shows it",
  .doc =
      "Bisects as irscope bisect does, cuts the smallest failing part out of the graph before the\n"
      "step found, and writes into DIR: model.onnx, its inputs, pipeline.json with the pass, the\n"
      "expected and the actual outputs, diff.svg, session.json for 'irscope view --session', and\n"
      "README.md with the one command that finds the failure again. EXPR is explained by irscope\n"
      "bisect --help. The part fails if its outputs differ by at least half of what the step changed;\n"
      "conditions on the whole graph (nodes, flops, peak_memory, cmd) keep it whole. Exit status 1:\n"
      "there is nothing to reproduce, or the files, read back, do not fail.",
  .min_args = 1,
  .max_args = 1,
  .options = reproduce_options,
  .model_options = cli_limited_options,
  .options_size = sizeof (Options),
  .run = run,
};
