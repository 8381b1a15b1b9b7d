/* What "why" and "render --why" ask. */
#pragma once

#include "passes/debug/why.h"

gboolean cli_why (IrModel *model,
                  const char *rule,
                  const char *name,
                  IrClass max_class,
                  IrWhy *best,
                  GError **error);
