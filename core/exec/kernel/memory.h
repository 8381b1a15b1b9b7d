/* A memory beside the host's, in which the kernels of a back end read and write. Its addresses mean
 * nothing to the host. */
#pragma once

#include <glib.h>

typedef struct
{
  gpointer data; /* an address of that memory; %NULL: none */
  gsize bytes;
  guint generation; /* of the device: after an error it may be opened anew, and empty */
} IrMemoryBlock;

typedef struct
{
  const char *name; /* "device" */
  guint align_bytes;
  /* Fails with %IR_EXEC_ERROR_MEMORY where there is too little. */
  gboolean (*alloc) (gsize bytes, IrMemoryBlock *block, GError **error);
  void (*free) (IrMemoryBlock *block);
  /* FALSE: it was lost with the device, and need not be freed. */
  gboolean (*is_there) (const IrMemoryBlock *block);
  /* Between the host's memory and this one, in the order of the kernels. @from may be written again, and
   * @to be read, when they return. */
  gboolean (*copy_in) (gpointer to, gconstpointer from, gsize bytes, GError **error);
  gboolean (*copy_out) (gpointer to, gconstpointer from, gsize bytes, GError **error);
} IrMemory;
