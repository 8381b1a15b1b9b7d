/* A file without a name that takes the contents of values that memory is not meant for: written
 * while a model runs, mapped when somebody looks. */
#pragma once

#include "core/op/call.h"

typedef struct _IrSpill IrSpill;

IrSpill *ir_spill_new (guint64 limit);
IrSpill *ir_spill_ref (IrSpill *spill);
void ir_spill_unref (IrSpill *spill);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrSpill, ir_spill_unref)
gboolean ir_spill_write (IrSpill *spill, guint32 key, const IrTensor *tensor);
gboolean ir_spill_alias (IrSpill *spill, guint32 key, guint32 base, const IrTensor *tensor);
void ir_spill_remove (IrSpill *spill, guint32 key);
gboolean ir_spill_has (const IrSpill *spill, guint32 key);
IrTensor *ir_spill_read (IrSpill *spill, guint32 key, GError **error); /* (transfer full) */
guint ir_spill_n (const IrSpill *spill);
guint64 ir_spill_bytes (const IrSpill *spill);
guint ir_spill_n_lost (const IrSpill *spill);
const char *ir_spill_problem (const IrSpill *spill); /* (nullable) why writing has failed */
