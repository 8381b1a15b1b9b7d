/* irscope check: the verifier. */
#include "config.h"

#include "app/cli/commands.h"
#include "app/cli/model.h"
#include "app/cli/output.h"
#include "core/op/verify.h"

#include <stdio.h>
#include <string.h>

typedef struct
{
  CliModelOptions model;
  gboolean strict;
} Options;

static const CliOption check_options[] = {
  { "strict", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (Options, strict),
    "Types that the file declares and that cannot be so are errors, not warnings", NULL },
  { 0 },
};

/* What inference found against the declarations of the file. */
static void
make_strict (GPtrArray *problems)
{
  for (guint i = 0; i < problems->len; i++)
    {
      IrProblem *problem = problems->pdata[i];

      if (problem->severity == IR_SEVERITY_WARNING &&
          (problem->code == IR_PROBLEM_SHAPE_MISMATCH || problem->code == IR_PROBLEM_TYPE_MISMATCH))
        problem->severity = IR_SEVERITY_ERROR;
    }
}

static CliStatus
run (Cli *cli)
{
  Options *options = cli->options;
  g_auto (CliModel) opened = { 0 };
  g_autoptr (GPtrArray) found = ir_problems_new ();
  CliStatus status;
  guint errors, warnings;

  if (!cli_model_open (cli, &options->model, cli->args[0], FALSE, &opened, &status))
    return status;
  ir_verify_structure (opened.model, found);
  ir_verify_nodes (opened.model, found);
  ir_problems_merge (opened.problems, found);
  if (options->strict)
    make_strict (opened.problems);
  errors = ir_problems_count (opened.problems, IR_SEVERITY_ERROR);
  warnings = ir_problems_count (opened.problems, IR_SEVERITY_WARNING) - errors;
  if (cli->json)
    {
      cJSON *json = cJSON_CreateObject ();
      cJSON_AddBoolToObject (json, "ok", errors == 0);
      cJSON_AddNumberToObject (json, "errors", errors);
      cJSON_AddNumberToObject (json, "warnings", warnings);
      cJSON_AddItemToObject (json, "problems", cli_json_problems (opened.problems, opened.model));
      cli_json_print (json);
    }
  else
    {
      for (guint i = 0; i < opened.problems->len; i++)
        {
          const IrProblem *problem = opened.problems->pdata[i];
          cli_print ("%s [%s] %s%s%s%s\n", ir_severity_name (problem->severity),
                     ir_problem_code_name (problem->code), problem->message,
                     problem->hint != NULL ? " (" : "", problem->hint != NULL ? problem->hint : "",
                     problem->hint != NULL ? ")" : "");
        }
      cli_print ("%s: %u errors, %u warnings\n", opened.path, errors, warnings);
    }
  return errors > 0 ? CLI_NO : CLI_OK;
}

const CliCommand cli_command_check = {
  .name = "check",
  .arguments = "FILE",
  .takes_model = TRUE,
  .summary = "Verify a graph: links, names, cycles, operators, types, shapes",
  .doc = "All findings are reported. Exit status 1 if there are errors.",
  .min_args = 1,
  .max_args = 1,
  .options = check_options,
  .model_options = cli_model_options,
  .options_size = sizeof (Options),
  .run = run,
};
