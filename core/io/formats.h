/* Readers and writers that the format table names; private to core/io. */
#pragma once

#include "core/io/io.h"

IrModel *ir_onnx_read_file (const char *path,
                            GPtrArray *problems,
                            GCancellable *cancellable,
                            GError **error);
gboolean ir_onnx_write_file (IrModel *model,
                             const char *path,
                             GCancellable *cancellable,
                             GError **error);
IrModel *ir_text_read_file (const char *path,
                            GPtrArray *problems,
                            GCancellable *cancellable,
                            GError **error);
gboolean ir_text_write_file (IrModel *model,
                             const char *path,
                             GCancellable *cancellable,
                             GError **error);
IrModel *ir_json_read_file (const char *path,
                            GPtrArray *problems,
                            GCancellable *cancellable,
                            GError **error);
gboolean ir_json_write_file (IrModel *model,
                             const char *path,
                             GCancellable *cancellable,
                             GError **error);
IrModel *ir_dot_read_file (const char *path,
                           GPtrArray *problems,
                           GCancellable *cancellable,
                           GError **error);
gboolean ir_dot_write_file (IrModel *model,
                            const char *path,
                            GCancellable *cancellable,
                            GError **error);

/* A text file as a whole, with a limit that no text made by people reaches. */
GBytes *ir_file_read_text (const char *path, GError **error);

/* What @write makes of @model as the whole file. */
gboolean ir_file_write_text (IrModel *model,
                             char *(*write) (IrModel *model),
                             const char *path,
                             GCancellable *cancellable,
                             GError **error);

/* Files of a folder that a save does not need any more: @before, @n_between letters or digits,
 * @after; but not @keep. */
typedef struct
{
  const char *before, *after;
  gsize n_between;
  const char *keep; /* (nullable) */
} IrLeftOver;

int ir_file_lock_folder (const char *folder);
void ir_file_sweep (int folder, const char *base, const IrLeftOver *kind);

/* Writes through a temporary file in the same folder, which replaces @path when it is complete. */
typedef gboolean (*IrFileFunc) (GOutputStream *stream, gpointer user_data, GError **error);
gboolean ir_file_stream_atomic (const char *path,
                                IrFileFunc func,
                                gpointer user_data,
                                GError **error);
