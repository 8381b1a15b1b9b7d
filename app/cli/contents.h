/* A value that a command is about, and its contents: of a constant, or of a run that keeps what it needs. */
#pragma once

#include "app/cli/model.h"
#include "core/exec/replay/replay.h"
#include "core/exec/run/iteration-name.h"

typedef struct
{
  IrModel *original; /* (nullable) the graph before the pipeline, where @value is of that */
  IrModel *expanded; /* (nullable) the graph with bodies for calls, where @value is in one */
  const IrValue *value;
  IrIterationName iteration; /* of @value, where one was asked for */
  IrTensor *tensor;
  IrRun *run; /* (nullable) a constant needs none */
  IrFound found;
} CliContents;

void cli_contents_clear (CliContents *contents);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (CliContents, cli_contents_clear)
/* @name: also CALL/NAME, LOOP@3/NAME, and of the original graph what the pipeline took away */
gboolean cli_find_contents (Cli *cli,
                            const CliModelOptions *options,
                            IrModel *model,
                            const char *name,
                            CliContents *contents,
                            GError **error);
