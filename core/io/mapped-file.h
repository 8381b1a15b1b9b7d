/* Files under a model: mapped read-only, guarded against being cut or rewritten by others while
 * tensors point into them. */
#pragma once

#include <gio/gio.h>

typedef struct _IrMappedFile IrMappedFile;

IrMappedFile *ir_mapped_file_open (const char *path, GError **error);
IrMappedFile *ir_mapped_file_open_fd (int fd, const char *path, GError **error);
IrMappedFile *ir_mapped_file_ref (IrMappedFile *file);
void ir_mapped_file_unref (IrMappedFile *file);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrMappedFile, ir_mapped_file_unref)

const char *ir_mapped_file_path (const IrMappedFile *file);
GBytes *ir_mapped_file_bytes (IrMappedFile *file);
gboolean ir_mapped_file_check (const IrMappedFile *file, GError **error);
gboolean ir_mapped_file_is_mapped (const IrMappedFile *file);
void ir_mapped_file_give_back (gconstpointer data, gsize length);
void ir_mapped_file_set_scattered (IrMappedFile *file, gboolean scattered);
