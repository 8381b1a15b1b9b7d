/* Inside this folder: what works on whole rows, a block of threads for each. */
#pragma once

#include "core/exec/gpu/writer.h"

typedef struct
{
  const GpuElement *element;
  GpuShape shape;
  guint64 n, n_rows, inner; /* elements of a row, how many rows, and how far elements are apart */
} GpuRows;

/* The rows of input @slot along the axes [@axis, @end); the element type is left as it is. FALSE, with a reason in @w,
 * where its shape is not known. */
gboolean gpu_rows_of_input (GpuWriter *w, guint slot, GpuRows *rows, gint64 axis, gint64 end);
/* Puts parameter @name, input @slot; $WORD finds its place, o0, for element k of a row, which is the axes of @shape
 * from @axis on. */
void gpu_put_vector (GpuWriter *w,
                     const char *name,
                     const char *word,
                     guint slot,
                     const GpuShape *shape,
                     gint64 axis);
