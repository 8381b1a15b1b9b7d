/* What is proved by itself. */
#pragma once

#include "core/ir/history.h"

/* Whether proving all of its steps takes longer than somebody would wait for who did not ask. */
gboolean ir_history_is_large (const IrModel *model);
