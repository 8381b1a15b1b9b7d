/* Decoding on a thread of its own. Nobody knows how long a library takes over a piece of a file: a
 * TIFF is decoded in one call, a few bytes of a progressive JPEG can be many passes over a large
 * picture. Whoever waits for the thread may stop waiting; it then ends when it next looks, and
 * gives back what it has. */
#include "config.h"

#include "core/exec/image/image.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#define LOOK_NS    5000000
#define COPY_BYTES ((gsize) 4 << 20) /* between two looks */

typedef struct
{
  int ref_count; /* atomic */
  IrImageDecoder decode;
  guint8 *data; /* a copy: what the caller has may not live as long */
  gsize length, max_bytes;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  gboolean done; /* guarded by lock, as are the next two */
  IrImageStatus status;
  IrImage image;
  gint left; /* atomic: nobody waits any more */
} Decoding;

static void
decoding_unref (Decoding *decoding)
{
  if (__atomic_sub_fetch (&decoding->ref_count, 1, __ATOMIC_ACQ_REL) > 0)
    return;
  pthread_mutex_destroy (&decoding->lock);
  pthread_cond_destroy (&decoding->changed);
  g_free (decoding->image.rgb);
  g_free (decoding->data);
  g_free (decoding);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Decoding, decoding_unref)

/* Waiting must not depend on somebody setting the clock. */
static void
init_lock (Decoding *decoding)
{
  pthread_condattr_t attributes;

  pthread_mutex_init (&decoding->lock, NULL);
  pthread_condattr_init (&attributes);
  pthread_condattr_setclock (&attributes, CLOCK_MONOTONIC);
  pthread_cond_init (&decoding->changed, &attributes);
  pthread_condattr_destroy (&attributes);
}

/* (nullable): stopped, or no memory */
static Decoding *
decoding_new (IrImageDecoder decode,
              const guint8 *data,
              gsize length,
              const IrImageLimits *limits,
              IrImageStatus *status)
{
  g_autoptr (Decoding) decoding = g_new0 (Decoding, 1);

  decoding->ref_count = 1;
  init_lock (decoding);
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
  return __atomic_load_n (&((Decoding *) decoding)->left, __ATOMIC_RELAXED) != 0;
}

static gpointer
decode (gpointer user)
{
  g_autoptr (Decoding) decoding = user;
  IrImageLimits limits = { decoding->max_bytes, is_left, decoding };
  IrImage image = { 0 };
  IrImageStatus status = decoding->decode (decoding->data, decoding->length, &limits, &image);

  pthread_mutex_lock (&decoding->lock);
  decoding->status = status;
  decoding->image = image;
  decoding->done = TRUE;
  pthread_cond_signal (&decoding->changed);
  pthread_mutex_unlock (&decoding->lock);
  return NULL;
}

/* FALSE: nothing has happened. */
static gboolean
wait_a_little (Decoding *decoding)
{
  struct timespec until;

  clock_gettime (CLOCK_MONOTONIC, &until);
  until.tv_nsec += LOOK_NS;
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  return pthread_cond_timedwait (&decoding->changed, &decoding->lock, &until) == 0;
}

/* Until it is done or to be stopped. */
static IrImageStatus
await (Decoding *decoding, const IrImageLimits *limits, IrImage *image)
{
  IrImageStatus status = IR_IMAGE_STOPPED;
  gboolean stopped = FALSE;

  pthread_mutex_lock (&decoding->lock);
  while (!decoding->done && !stopped)
    if (!wait_a_little (decoding))
      stopped = limits->stopped (limits->user);
  if (decoding->done)
    {
      status = decoding->status;
      *image = decoding->image;
      decoding->image = (IrImage){ 0 };
    }
  pthread_mutex_unlock (&decoding->lock);
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
  __atomic_add_fetch (&decoding->ref_count, 1, __ATOMIC_RELAXED);
  GThread *thread = g_thread_try_new ("irscope-decode", decode, decoding, NULL);
  if (thread == NULL)
    {
      __atomic_sub_fetch (&decoding->ref_count, 1, __ATOMIC_RELAXED);
      return decoder (data, length, limits, image);
    }
  g_thread_unref (thread);
  status = await (decoding, limits, image);
  __atomic_store_n (&decoding->left, 1, __ATOMIC_RELAXED);
  return status;
}
