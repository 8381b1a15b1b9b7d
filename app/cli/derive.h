/* What grad and gradcheck do before they derive a model. */
#pragma once

#include "app/cli/model.h"

/* Brings the model to an opset that rules of derivation give nodes of, in steps. */
gboolean cli_upgrade_to_derive (
    Cli *cli, const CliModelOptions *options, IrModel *model, GError **error);
/* Brings the model to an opset that rules of derivation give nodes of, and folds constants but
 * parameters where that may tell sizes that are not known; both in steps. @wrt: (inout): what it is
 * derived by, as an option of the pass; names where something was folded. */
gboolean cli_prepare_to_derive (
    Cli *cli, const CliModelOptions *options, IrModel *model, char **wrt, GError **error);
