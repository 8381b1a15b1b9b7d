/* The file that is open. */
#pragma once

#include "views/session/session.h"

const char *ir_session_get_path (IrSession *self);  /* (nullable): never saved */
const char *ir_session_get_title (IrSession *self); /* for the header bar */
/* The same number: the file that is open was neither opened nor written since. */
guint ir_session_get_file_serial (IrSession *self);
gboolean ir_session_get_modified (IrSession *self);

/* -- verbs: each returns at once; the outcome comes by signals -- */
void ir_session_open (IrSession *self, const char *path);
void ir_session_open_pair (IrSession *self, const char *before, const char *after);
void ir_session_compare_with (IrSession *self, const char *path); /* IR_COMPARE_FILE */
void ir_session_swap_files (IrSession *self); /* what was compared with is opened */
void ir_session_new_model (IrSession *self);  /* an empty graph */
/* Writes the graph at the cursor; by extension: a model format of ir_formats(), or a picture (svg,
 * pdf, png) of what the graph view shows. */
void ir_session_export (IrSession *self, const char *path);
/* Writes the graph at the cursor as a model; the file is the one that is open from then on. */
void ir_session_save (IrSession *self, const char *path);
