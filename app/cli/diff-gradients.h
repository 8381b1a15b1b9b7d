/* What two models are derived to from the same inputs, derivative by derivative. */
#pragma once

#include "app/cli/model.h"
#include "core/diff/diff.h"

typedef struct
{
  gboolean on;
  char *of, *wrt; /* (nullable) as the options of the pass gradient */
} CliDiffGradients;

/* Derives copies of both sides of @diff on the same inputs, compares derivatives by values of the same name, and
 * prints that, or, with --json, adds it to @json. @equal: made FALSE where some do not agree bit for bit. */
gboolean cli_diff_gradients (Cli *cli,
                             const CliModelOptions *options,
                             const CliDiffGradients *wanted,
                             const IrDiff *diff,
                             cJSON *json,
                             gboolean *equal,
                             GError **error);
