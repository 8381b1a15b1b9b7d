/* Choosing by the first runs which nodes run concurrently. */
#pragma once

#include "core/exec/run/state.h"

IrTuner *ir_tuner_new (const IrBackend *backend, guint n_threads);
void ir_tuner_free (IrTuner *tuner);
void ir_tuner_note (IrPrepared *prepared, const IrTrace *trace);
gboolean ir_tuner_next (IrPrepared *prepared, GError **error);
