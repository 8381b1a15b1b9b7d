/* Where commands leave a model. */
#pragma once

#include "app/cli/command.h"
#include "core/ir/model.h"

/* As ir_model_save(), in a form that the format has; says so where that is another one. @format: (nullable) */
gboolean cli_save_model (
    Cli *cli, IrModel *model, const char *path, const char *format, GError **error);
