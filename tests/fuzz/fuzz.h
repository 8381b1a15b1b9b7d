/* What a fuzz target gives: libFuzzer's entry, and inputs to begin with. */
#pragma once

#include <glib.h>

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);
GPtrArray *fuzz_seeds (void); /* (transfer full), of GBytes */
