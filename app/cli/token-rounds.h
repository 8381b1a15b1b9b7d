/* One iteration of each frame of tokens, for irscope schedule and memory. */
#pragma once

#include "core/ir/model.h"

#include <cJSON.h>

void cli_token_rounds_print (const IrModel *model);
void cli_token_rounds_json (cJSON *json, const IrModel *model); /* nothing if there is none */
