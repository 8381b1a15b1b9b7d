/* What --skip leaves out, beside the result that has everything. */
#pragma once
#include <cjson/cJSON.h>

#include "app/cli/model.h"
#include "passes/debug/what-if.h"

typedef struct
{
  IrModel *with;     /* (owned) the result without any --skip */
  IrWhatIf *numbers; /* (owned) costs and numbers of both */
  guint n_steps[IR_N_RESULTS];
  guint n_same, n_changed, n_added, n_removed; /* nodes: from with to without */
} CliWhatIf;

/* @original: the model as it was opened; @without: the result with --skip, with its history. */
gboolean cli_what_if (Cli *cli,
                      const CliModelOptions *options,
                      IrModel *original,
                      IrModel *without,
                      CliWhatIf *result,
                      GError **error);
void cli_what_if_clear (CliWhatIf *what_if);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (CliWhatIf, cli_what_if_clear)
void cli_what_if_add_json (cJSON *json, const CliWhatIf *what_if);
void cli_what_if_print (const CliWhatIf *what_if);
