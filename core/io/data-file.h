#pragma once

#include "core/io/formats.h"

/* Large tensors that go into a file beside the model, since a protobuf message
 * ends at 2 GiB, and since nobody reads them in a text. */
typedef struct
{
  char *base;        /* name of the model's file */
  char *location;    /* its name, relative to the model */
  GPtrArray *pieces; /* of GBytes */
  guint64 size;      /* so far, bytes */
} IrDataFile;

void ir_data_file_init (IrDataFile *file, const char *path);
void ir_data_file_clear (IrDataFile *file);
void ir_data_file_name (IrDataFile *file);
gboolean ir_data_file_save (
    IrDataFile *file, const char *path, IrFileFunc func, gpointer user_data, GError **error);
