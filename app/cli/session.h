/* --session F in the place of FILE: what it says of inputs, sizes and passes are options before those of the
 * command line, and what was done to the graph is done again where the model is opened. */
#pragma once

#include "app/cli/command.h"
#include "app/cli/model.h"
#include "passes/session/session-file.h"

/* The arguments of a command with those of the session before them; those themselves where there is none.
 * (transfer full) (nullable): with @error */
GStrv cli_session_arguments (Cli *cli, int argc, char **argv, GError **error);
/* The class of the last run of a pipeline, else that of the session. (transfer none) (nullable) */
const char *cli_session_class (const IrSessionFile *session);
/* Passes of the session where the command line names none; the model is the first argument. */
void cli_session_apply (Cli *cli);
void cli_session_clear (Cli *cli);
gboolean cli_session_open (Cli *cli,
                           const CliModelOptions *options,
                           gboolean with_passes,
                           CliModel *model,
                           GError **error);
