/* What the JSON reader and writer share. */
#pragma once

#define IR_JSON_FORMAT "irscope-model-1"

/* Integers up to here are numbers in JSON; beyond, readers in other languages would round them. */
#define IR_JSON_MAX_INTEGER (G_GINT64_CONSTANT (1) << 53)
