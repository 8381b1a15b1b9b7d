/* Several files of one folder that are saved as one act. */
#pragma once

#include "core/io/io.h"

typedef struct _IrStaging IrStaging;

IrStaging *ir_staging_new (const char *folder, GError **error);
const char *ir_staging_folder (const IrStaging *stage);
gboolean ir_staging_commit (IrStaging *stage, const char *last, GError **error);
void ir_staging_free (IrStaging *stage);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrStaging, ir_staging_free)
