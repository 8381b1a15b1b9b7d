/* Opens and closes a device. What is found to be wrong with it closes it; the next call opens it again, empty, and
 * blocks of memory tell by their generation that they are gone. */
#include "config.h"

#include "core/exec/gpu/modules.h"
#include "core/exec/gpu/state.h"
#include "core/exec/gpu/stats.h"

#include <string.h>

GpuState gpu_state = { .n_streams = IR_GPU_MAX_STREAMS, .generation = 1 };
__thread guint gpu_stream;

gboolean
gpu_look (IrGpuFunction function, IrGpuResult result, GError **error)
{
  /* 712 and 713 are of memory of the host that is pinned already, or not. */
  if (result >= 700 && result < 800 && result != 712 && result != 713)
    gpu_state.lost = TRUE;
  return ir_gpu_check (gpu_state.gpu, function, result, error);
}

static void
unpin_all (void)
{
  GHashTableIter iter;
  gpointer data;

  g_hash_table_iter_init (&iter, gpu_state.pinned);
  while (g_hash_table_iter_next (&iter, &data, NULL))
    gpu_state.gpu->functions.cuMemHostUnregister (data);
  g_clear_pointer (&gpu_state.pinned, g_hash_table_unref);
}

static void
close_runtime (void)
{
  if (gpu_state.gpu == NULL)
    return;
  gpu_modules_close ();
  gpu_stats_close ();
  g_clear_pointer (&gpu_state.blas, gpu_blas_free);
  g_clear_pointer (&gpu_state.no_blas, g_free);
  if (gpu_state.fault != 0)
    gpu_state.gpu->functions.cuMemFree_v2 (gpu_state.fault);
  if (gpu_state.staging != NULL)
    gpu_state.gpu->functions.cuMemFreeHost (gpu_state.staging);
  for (guint i = 0; i < GPU_N_STREAMS; i++)
    {
      if (gpu_state.joins[i] != NULL)
        gpu_state.gpu->functions.cuEventDestroy_v2 (gpu_state.joins[i]);
      if (gpu_state.streams[i] != NULL)
        gpu_state.gpu->functions.cuStreamDestroy_v2 (gpu_state.streams[i]);
    }
  unpin_all ();
  if (gpu_state.context != NULL)
    gpu_state.gpu->functions.cuDevicePrimaryCtxRelease_v2 (gpu_state.device);
  g_clear_pointer (&gpu_state.gpu, ir_gpu_free);
  gpu_state.context = NULL;
  memset (gpu_state.streams, 0, sizeof gpu_state.streams);
  memset (gpu_state.joins, 0, sizeof gpu_state.joins);
  gpu_state.staging = NULL;
  gpu_state.fault = 0;
  gpu_state.lost = FALSE;
  gpu_state.capturing = NULL;
  g_cond_broadcast (&gpu_state.captured);
  gpu_state.generation++;
}

/* What is not there says where it was looked for: that is what somebody can mend. */
static void
add_places (GError *error)
{
  g_autoptr (GString) text = g_string_new (error->message);

  g_string_append (text, "; looked for in");
  for (guint i = 0; i < gpu_state.gpu->places->len; i++)
    {
      const IrGpuPlace *place = gpu_state.gpu->places->pdata[i];
      g_string_append_printf (text, "%s %s (%s)", i > 0 ? "," : "",
                              place->folder != NULL ? place->folder : "the loader's folders",
                              place->why);
    }
  g_string_append_printf (text, "%s. All that is known of it says: irscope info --devices",
                          gpu_state.gpu->places->len == 0 ? " nothing" : "");
  g_free (error->message);
  error->message = g_string_free (g_steal_pointer (&text), FALSE);
}

static gboolean
find_device (GError **error)
{
  g_autoptr (GError) local = NULL;
  g_autoptr (GPtrArray) devices = ir_gpu_devices (gpu_state.gpu, &local);

  if (devices != NULL && devices->len == 0)
    g_set_error (&local, IR_EXEC_ERROR, IR_EXEC_ERROR_DEVICE, "the driver sees no GPU");
  else if (devices != NULL && devices->len <= gpu_state.index)
    g_set_error (&local, IR_EXEC_ERROR, IR_EXEC_ERROR_DEVICE,
                 "there is none of this number; the driver sees %u, from gpu:0 on", devices->len);
  else if (devices != NULL)
    {
      const IrGpuDevice *device = devices->pdata[gpu_state.index];
      gpu_state.architecture = device->major * 10 + device->minor;
      if (gpu_modules_open (&local))
        return TRUE;
    }
  add_places (local);
  g_propagate_error (error, g_steal_pointer (&local));
  return FALSE;
}

static gboolean
open_device (GError **error)
{
  void *staging = NULL;

  if (!GPU_CALL (cuDeviceGet, error, &gpu_state.device, (int) gpu_state.index) ||
      !GPU_CALL (cuDevicePrimaryCtxRetain, error, &gpu_state.context, gpu_state.device) ||
      !GPU_CALL (cuCtxSetCurrent, error, gpu_state.context) ||
      !GPU_CALL (cuStreamCreate, error, &gpu_state.streams[0], GPU_STREAM_FLAGS) ||
      !GPU_CALL (cuMemAllocHost_v2, error, &staging, 2 * GPU_STAGING_BYTES))
    return FALSE;
  gpu_state.staging = staging;
  return GPU_CALL (cuMemAlloc_v2, error, &gpu_state.fault, sizeof (guint32));
}

/* The stream that this thread asks is there. */
static gboolean
open_stream (GError **error)
{
  return gpu_state.streams[gpu_stream] != NULL ||
         GPU_CALL (cuStreamCreate, error, &gpu_state.streams[gpu_stream], GPU_STREAM_FLAGS);
}

gboolean
gpu_enter (GError **error)
{
  while (gpu_state.capturing != NULL && gpu_state.capturing != g_thread_self ())
    g_cond_wait (&gpu_state.captured, &gpu_state.lock);
  if (gpu_state.gpu != NULL && gpu_state.lost)
    close_runtime ();
  if (gpu_state.gpu != NULL)
    return GPU_CALL (cuCtxSetCurrent, error, gpu_state.context) && open_stream (error);
  gpu_state.gpu = ir_gpu_open (ir_gpu_places (g_getenv (IR_GPU_PATH)));
  gpu_state.pinned = g_hash_table_new (NULL, NULL);
  if (find_device (error) && open_device (error) && open_stream (error))
    return TRUE;
  if (gpu_state.index == 0)
    g_prefix_error (error, "device gpu: ");
  else
    g_prefix_error (error, "device gpu:%u: ", gpu_state.index);
  close_runtime ();
  return FALSE;
}

/**
 * ir_gpu_runtime_take:
 * @index: number of a device, as in gpu:N
 *
 * Kernels run there from now on; of another device that is open, everything is let go of.
 */
void
ir_gpu_runtime_take (guint index)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&gpu_state.lock);

  if (gpu_state.gpu != NULL && gpu_state.index != index)
    {
      gpu_state.gpu->functions.cuCtxSetCurrent (gpu_state.context);
      close_runtime ();
    }
  gpu_state.index = index;
}

/**
 * ir_gpu_runtime_open:
 * @error: return location for an error
 *
 * Opens the device, unless that was done. Fails with %IR_EXEC_ERROR_DEVICE, saying what is missing and where
 * it was looked for.
 *
 * Returns: %TRUE if kernels can run
 */
gboolean
ir_gpu_runtime_open (GError **error)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&gpu_state.lock);

  return gpu_enter (error);
}

/**
 * ir_gpu_runtime_close:
 *
 * Gives the device back. What lies on it is gone; the next call opens it again.
 */
void
ir_gpu_runtime_close (void)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&gpu_state.lock);

  if (gpu_state.gpu != NULL)
    gpu_state.gpu->functions.cuCtxSetCurrent (gpu_state.context);
  close_runtime ();
}

/**
 * ir_gpu_runtime_is_stand_in:
 *
 * Returns: whether the device that is open is one that imitates a GPU on the processor
 */
gboolean
ir_gpu_runtime_is_stand_in (void)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&gpu_state.lock);

  return gpu_state.gpu != NULL && gpu_state.gpu->stand_in;
}

/**
 * ir_gpu_runtime_beside:
 * @n_streams: how many streams plans that are made from now on may use, from 1 to %IR_GPU_MAX_STREAMS
 */
void
ir_gpu_runtime_beside (guint n_streams)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&gpu_state.lock);

  gpu_state.n_streams = CLAMP (n_streams, 1, IR_GPU_MAX_STREAMS);
}

/**
 * ir_gpu_runtime_round:
 * @precision: of all products of float32 from now on; it is strict before
 */
void
ir_gpu_runtime_round (IrGpuPrecision precision)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&gpu_state.lock);

  gpu_state.precision = precision;
}
