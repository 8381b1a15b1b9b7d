/* A part of a large tensor that stands for all of it until that is read: runs of elements, evenly spaced. */
#include "config.h"

#include "core/exec/kernel/stats.h"

#include <string.h>

#define RUN 64 /* elements that lie beside each other: a few lines of the cache */

/**
 * ir_tensor_sample:
 * @tensor: any tensor
 * @most: elements, at least 64
 *
 * Returns: (transfer full) (nullable): at most @most of its elements, of the same type, with one axis; %NULL
 *   if it has no more than that, if its elements are not whole bytes in memory, or memory is short
 */
IrTensor *
ir_tensor_sample (const IrTensor *tensor, guint64 most)
{
  const guint64 n = ir_tensor_n_elements (tensor), n_runs = most / RUN;
  const guint8 *data = ir_tensor_data (tensor);
  const gsize size = n > 0 ? ir_tensor_n_bytes (tensor) / n : 0;
  const gint64 dims[] = { (gint64) (n_runs * RUN) };

  if (n <= most || data == NULL || size * n != ir_tensor_n_bytes (tensor))
    return NULL;
  IrTensor *sample = ir_tensor_new_alloc (ir_tensor_dtype (tensor), 1, dims, NULL);
  guint8 *to = sample != NULL ? ir_tensor_data_writable (sample) : NULL;
  for (guint64 i = 0; i < n_runs && to != NULL; i++)
    {
      const guint64 from = n_runs > 1 ? (n - RUN) / (n_runs - 1) * i : 0;

      memcpy (to + i * RUN * size, data + from * size, RUN * size);
    }
  return sample;
}
