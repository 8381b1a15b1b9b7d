/* Decoding on a thread of its own. Nobody knows how long a library takes over a piece of a file: a
 * TIFF is decoded in one call, a few bytes of a progressive JPEG can be many passes over a large
 * picture. Whoever waits for the thread may stop waiting; it then ends when it next looks, and
 * gives back what it has. */
#include "config.h"

#include "core/exec/image/image.h"

#include <string.h>

#define LOOK_US    5000
#define COPY_BYTES ((gsize) 4 << 20) /* between two looks */

typedef struct
{
  gatomicrefcount ref_count;
  IrImageDecoder decode;
  guint8 *data; /* a copy: what the caller has may not live as long */
  gsize length, max_bytes;
  GMutex lock;
  GCond changed;
  gboolean done; /* guarded by lock, as are the next two */
  IrImageStatus status;
  IrImage image;
  gint left; /* atomic: nobody waits any more */
} Decoding;

static void
decoding_unref (Decoding *decoding)
{
  if (!g_atomic_ref_count_dec (&decoding->ref_count))
    return;
  g_mutex_clear (&decoding->lock);
  g_cond_clear (&decoding->changed);
  g_free (decoding->image.rgb);
  g_free (decoding->data);
  g_free (decoding);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Decoding, decoding_unref)

/* (nullable): stopped, or no memory */
static Decoding *
decoding_new (IrImageDecoder decode,
              const guint8 *data,
              gsize length,
              const IrImageLimits *limits,
              IrImageStatus *status)
{
  g_autoptr (Decoding) decoding = g_new0 (Decoding, 1);

  g_atomic_ref_count_init (&decoding->ref_count);
  g_mutex_init (&decoding->lock);
  g_cond_init (&decoding->changed);
  decoding->decode = decode;
  decoding->length = length;
  decoding->max_bytes = limits->max_bytes;
  decoding->data = g_try_malloc (MAX (length, 1));
  *status = IR_IMAGE_LARGE;
  if (decoding->data == NULL)
    return NULL;
  *status = IR_IMAGE_STOPPED;
  for (gsize at = 0; at < length; at += COPY_BYTES)
    if (at > 0 && limits->stopped (limits->user))
      return NULL;
    else
      memcpy (decoding->data + at, data + at, MIN (COPY_BYTES, length - at));
  return g_steal_pointer (&decoding);
}

static gboolean
is_left (gpointer decoding)
{
  return g_atomic_int_get (&((Decoding *) decoding)->left) != 0;
}

static gpointer
decode (gpointer user)
{
  g_autoptr (Decoding) decoding = user;
  IrImageLimits limits = { decoding->max_bytes, is_left, decoding };
  IrImage image = { 0 };
  IrImageStatus status = decoding->decode (decoding->data, decoding->length, &limits, &image);

  g_mutex_lock (&decoding->lock);
  decoding->status = status;
  decoding->image = image;
  decoding->done = TRUE;
  g_cond_signal (&decoding->changed);
  g_mutex_unlock (&decoding->lock);
  return NULL;
}

/* Until it is done or to be stopped. */
static IrImageStatus
await (Decoding *decoding, const IrImageLimits *limits, IrImage *image)
{
  IrImageStatus status = IR_IMAGE_STOPPED;
  gboolean stopped = FALSE;

  g_mutex_lock (&decoding->lock);
  while (!decoding->done && !stopped)
    if (!g_cond_wait_until (&decoding->changed, &decoding->lock, g_get_monotonic_time () + LOOK_US))
      stopped = limits->stopped (limits->user);
  if (decoding->done)
    {
      status = decoding->status;
      *image = decoding->image;
      decoding->image = (IrImage){ 0 };
    }
  g_mutex_unlock (&decoding->lock);
  return status;
}

/**
 * ir_image_decode_aside:
 * @decoder: reads one kind of file; its limits' stopped() is %TRUE when nobody waits any more
 * @data: a file
 * @length: its bytes
 * @limits: of the decoded picture, and what stops the waiting
 * @image: (out caller-allocates): the picture, if it could be decoded; zeroed before
 *
 * Returns: whether there is a picture, and if not, why
 */
IrImageStatus
ir_image_decode_aside (IrImageDecoder decoder,
                       const guint8 *data,
                       gsize length,
                       const IrImageLimits *limits,
                       IrImage *image)
{
  IrImageStatus status;
  g_autoptr (Decoding) decoding = decoding_new (decoder, data, length, limits, &status);

  if (decoding == NULL)
    return status;
  g_atomic_ref_count_inc (&decoding->ref_count);
  GThread *thread = g_thread_try_new ("irscope-decode", decode, decoding, NULL);
  if (thread == NULL)
    {
      g_atomic_ref_count_dec (&decoding->ref_count);
      return decoder (data, length, limits, image);
    }
  g_thread_unref (thread);
  status = await (decoding, limits, image);
  g_atomic_int_set (&decoding->left, 1);
  return status;
}
