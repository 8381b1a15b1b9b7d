/* Work that takes long looks, at least every few milliseconds, whether it is still wanted. */
#include "config.h"

#include "core/ir/stop.h"

/**
 * ir_stopped:
 * @stop: (nullable): what may stop the work under way
 *
 * Returns: whether nobody wants it any more
 */
gboolean
ir_stopped (const IrStop *stop)
{
  if (stop == NULL)
    return FALSE;
  if (stop->looked != NULL)
    stop->looked (stop->looked_data);
  return g_cancellable_is_cancelled (stop->cancellable);
}
