/* How the program ends when it is interrupted: by itself, or without waiting any longer. */
#pragma once

#include "app/cli/command.h"
#include "core/io/staging.h"

void cli_leave_init (GCancellable *cancellable);
gboolean cli_leave_claim (void);
void cli_leave_limited (void);
void cli_leave_end (CliStatus status);
void cli_leave_stage (const IrStaging *stage);
