/* The two ways in which edit-model.c writes; edit.c has them. */
#pragma once

#include "core/ir/log-private.h"
#include "core/ir/model-private.h"

void ir_edit_write (IrEdit *edit, IrRecordKind kind, guint32 subject, guint64 after);
void ir_edit_write_pointer (IrEdit *edit, IrRecordKind kind, guint32 subject, gconstpointer after);
