/* The memory of the device, and the streams in which it is copied and kernels run. */
#include "config.h"

#include "core/exec/gpu/graphs.h"
#include "core/exec/gpu/state.h"

#include <string.h>

#define ALIGN_BYTES   256
#define WITH_TIMES    0
#define WITHOUT_TIMES 2

static gboolean
memory_alloc (gsize bytes, IrMemoryBlock *block, GError **error)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&gpu_state.lock);
  unsigned long long at = 0;

  *block = (IrMemoryBlock){ NULL };
  if (!gpu_enter (error) || !GPU_CALL (cuMemAlloc_v2, error, &at, MAX (bytes, 1)))
    {
      g_autofree char *size = g_format_size (bytes);
      g_prefix_error (error, "%s of the device's memory: ", size);
      return FALSE;
    }
  *block = (IrMemoryBlock){ (gpointer) (gsize) at, bytes, gpu_state.generation };
  return TRUE;
}

static gboolean
is_there (const IrMemoryBlock *block)
{
  return block->data != NULL && gpu_state.gpu != NULL && !gpu_state.lost &&
         block->generation == gpu_state.generation;
}

static gboolean
memory_is_there (const IrMemoryBlock *block)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&gpu_state.lock);

  return is_there (block);
}

static void
memory_free (IrMemoryBlock *block)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&gpu_state.lock);

  if (is_there (block) && gpu_enter (NULL))
    GPU_CALL (cuMemFree_v2, NULL, (unsigned long long) (gsize) block->data);
  *block = (IrMemoryBlock){ NULL };
}

static guint8 *
staging_half (gsize at)
{
  return (guint8 *) gpu_state.staging + at / GPU_STAGING_BYTES % 2 * GPU_STAGING_BYTES;
}

/* By pinned memory: a copy from any other may read it late. While one half of it is on its way the other is
 * filled. */
static gboolean
memory_copy_in (gpointer to, gconstpointer from, gsize bytes, GError **error)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&gpu_state.lock);

  if (!gpu_enter (error))
    return FALSE;
  for (gsize at = 0; at < bytes; at += GPU_STAGING_BYTES)
    {
      gsize n = MIN (bytes - at, GPU_STAGING_BYTES);
      memcpy (staging_half (at), (const guint8 *) from + at, n);
      if ((at > 0 && !GPU_CALL (cuStreamSynchronize, error, gpu_state.streams[gpu_stream])) ||
          !GPU_CALL (cuMemcpyHtoDAsync_v2, error, (unsigned long long) (gsize) to + at,
                     staging_half (at), n, gpu_state.streams[gpu_stream]))
        return FALSE;
    }
  return bytes == 0 || GPU_CALL (cuStreamSynchronize, error, gpu_state.streams[gpu_stream]);
}

/* Asks for what lies at @at, to the half of the staging memory that it is for. */
static gboolean
ask_out (gconstpointer from, gsize at, gsize bytes, GError **error)
{
  return at >= bytes ||
         GPU_CALL (cuMemcpyDtoHAsync_v2, error, staging_half (at),
                   (unsigned long long) (gsize) from + at, MIN (bytes - at, GPU_STAGING_BYTES),
                   gpu_state.streams[gpu_stream]);
}

gboolean
gpu_copy_out (gpointer to, gconstpointer from, gsize bytes, GError **error)
{
  if (!ask_out (from, 0, bytes, error))
    return FALSE;
  for (gsize at = 0; at < bytes; at += GPU_STAGING_BYTES)
    {
      if (!GPU_CALL (cuStreamSynchronize, error, gpu_state.streams[gpu_stream]) ||
          !ask_out (from, at + GPU_STAGING_BYTES, bytes, error))
        return FALSE;
      memcpy ((guint8 *) to + at, staging_half (at), MIN (bytes - at, GPU_STAGING_BYTES));
    }
  return TRUE;
}

static gboolean
memory_copy_out (gpointer to, gconstpointer from, gsize bytes, GError **error)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&gpu_state.lock);

  return gpu_enter (error) && gpu_copy_out (to, from, bytes, error);
}

static gboolean
memory_pin (gpointer data, gsize bytes, gboolean *pinned, GError **error)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&gpu_state.lock);
  g_autoptr (GError) refused = NULL;

  *pinned = FALSE;
  if (!gpu_enter (error))
    return FALSE;
  *pinned = GPU_CALL (cuMemHostRegister_v2, &refused, data, bytes, 0) &&
            g_hash_table_add (gpu_state.pinned, data);
  if (gpu_state.lost)
    g_propagate_error (error, g_steal_pointer (&refused));
  return !gpu_state.lost;
}

/* What was closed meanwhile has let go of it already. */
static void
memory_unpin (gpointer data)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&gpu_state.lock);

  if (gpu_state.gpu != NULL && gpu_enter (NULL) && g_hash_table_remove (gpu_state.pinned, data))
    GPU_CALL (cuMemHostUnregister, NULL, data);
}

static gboolean
memory_copy (gpointer to, gconstpointer from, gsize bytes, GError **error)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&gpu_state.lock);

  return bytes == 0 ||
         (gpu_enter (error) &&
          GPU_CALL (cuMemcpyDtoDAsync_v2, error, (unsigned long long) (gsize) to,
                    (unsigned long long) (gsize) from, bytes, gpu_state.streams[gpu_stream]));
}

static gboolean
memory_copy_out_late (gpointer to, gconstpointer from, gsize bytes, GError **error)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&gpu_state.lock);

  return bytes == 0 || (gpu_enter (error) && GPU_CALL (cuMemcpyDtoHAsync_v2, error, to,
                                                       (unsigned long long) (gsize) from, bytes,
                                                       gpu_state.streams[gpu_stream]));
}

/* -- streams and events -- */

static guint
memory_n_streams (void)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&gpu_state.lock);

  return gpu_state.n_streams;
}

static void
memory_take_stream (guint stream)
{
  gpu_stream = MIN (stream, GPU_LATE_STREAM);
}

static gboolean
is_event_there (const IrMemoryEvent *event)
{
  return event->event != NULL && gpu_state.gpu != NULL && !gpu_state.lost &&
         event->generation == gpu_state.generation;
}

static gboolean
record (IrMemoryEvent *event, unsigned int flags, GError **error)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&gpu_state.lock);
  struct CUevent_st *made = NULL;

  if (!gpu_enter (error))
    return FALSE;
  if (!is_event_there (event))
    {
      if (!GPU_CALL (cuEventCreate, error, &made, flags))
        return FALSE;
      *event = (IrMemoryEvent){ made, gpu_state.generation };
    }
  return GPU_CALL (cuEventRecord, error, event->event, gpu_state.streams[gpu_stream]);
}

static gboolean
memory_record (IrMemoryEvent *event, GError **error)
{
  return record (event, WITHOUT_TIMES, error);
}

static gboolean
memory_stamp (IrMemoryEvent *event, GError **error)
{
  return record (event, WITH_TIMES, error);
}

static gboolean
memory_between (const IrMemoryEvent *from, const IrMemoryEvent *to, gint64 *ns, GError **error)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&gpu_state.lock);
  float ms = 0;

  if (!gpu_enter (error) || (is_event_there (from) && is_event_there (to) &&
                             !GPU_CALL (cuEventElapsedTime, error, &ms, from->event, to->event)))
    return FALSE;
  *ns = (gint64) ((double) ms * 1e6 + 0.5);
  return TRUE;
}

static gboolean
memory_wait (const IrMemoryEvent *event, GError **error)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&gpu_state.lock);

  return gpu_enter (error) &&
         (!is_event_there (event) ||
          GPU_CALL (cuStreamWaitEvent, error, gpu_state.streams[gpu_stream], event->event, 0));
}

static void
memory_free_event (IrMemoryEvent *event)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&gpu_state.lock);

  if (is_event_there (event) && gpu_enter (NULL))
    GPU_CALL (cuEventDestroy_v2, NULL, event->event);
  *event = (IrMemoryEvent){ NULL };
}

static gboolean
memory_finish (GError **error)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&gpu_state.lock);

  if (gpu_state.gpu == NULL || gpu_state.lost)
    return TRUE;
  if (!gpu_enter (error))
    return FALSE;
  for (guint i = 0; i < GPU_N_STREAMS; i++)
    if (gpu_state.streams[i] != NULL &&
        !GPU_CALL (cuStreamSynchronize, error, gpu_state.streams[i]))
      return FALSE;
  return TRUE;
}

const IrMemory ir_gpu_memory = {
  .name = "device",
  .align_bytes = ALIGN_BYTES,
  .alloc = memory_alloc,
  .free = memory_free,
  .is_there = memory_is_there,
  .copy_in = memory_copy_in,
  .copy_out = memory_copy_out,
  .pin = memory_pin,
  .unpin = memory_unpin,
  .copy = memory_copy,
  .copy_out_late = memory_copy_out_late,
  .late_stream = GPU_LATE_STREAM,
  .n_streams = memory_n_streams,
  .take_stream = memory_take_stream,
  .record = memory_record,
  .wait = memory_wait,
  .stamp = memory_stamp,
  .between = memory_between,
  .free_event = memory_free_event,
  .graph_begin = gpu_graph_begin,
  .graph_end = gpu_graph_end,
  .graph_launch = gpu_graph_launch,
  .graph_free = gpu_graph_free,
  .finish = memory_finish,
};
