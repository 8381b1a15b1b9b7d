/* ImageDecoder on a picture written by hand: a PNM of two pixels, (1, 2, 3) and (200, 100, 50). */
#include "config.h"

#include "core/image/image.h"
#include "tests/exec/bodies.h"
#include "tests/exec/graphs.h"

#include <pthread.h>
#include <string.h>

#define HEADER "80, 54, 10, 50, 32, 49, 10, 50, 53, 53, 10"
#define PNM    "x = Constant <value = uint8[17] {" HEADER ", 1, 2, 3, 200, 100, 50}> ()\n"

static void
assert_decodes (const char *type, const char *elements, const char *body)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrTensor) y = run_body (20, "uint8[]", body, &error);

  if (error != NULL && strstr (error->message, "no library") != NULL)
    {
      g_test_skip ("irscope was built without gdk-pixbuf");
      return;
    }
  g_assert_no_error (error);
  assert_tensor (y, type, elements, 0);
}

static void
test_formats (void)
{
  assert_decodes ("uint8[1,2,3]", "1 2 3 200 100 50", PNM "y = ImageDecoder (x)");
  assert_decodes ("uint8[1,2,3]", "3 2 1 50 100 200",
                  PNM "y = ImageDecoder <pixel_format = \"BGR\"> (x)");
  /* 0.299 r + 0.587 g + 0.114 b is 1.815 and 124.2 */
  assert_decodes ("uint8[1,2,1]", "2 124",
                  PNM "y = ImageDecoder <pixel_format = \"Grayscale\"> (x)");
}

static void
test_damage (void)
{
  assert_decodes ("uint8[0,0,3]", "0",
                  "x = Constant <value = uint8[3] {1, 2, 3}> ()\n"
                  "y = ImageDecoder (x)");
  assert_decodes ("uint8[0,0,1]", "0",
                  "x = Constant <value = uint8[5] {255, 216, 255, 0, 1}> ()\n"
                  "y = ImageDecoder <pixel_format = \"Grayscale\"> (x)");
}

static void
test_absent (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrTensor) y = run_body (
      20, "uint8[]", "x = Constant <value = uint8[4] {255, 79, 255, 81}> ()\ny = ImageDecoder (x)",
      &error);

  g_assert_null (y);
  g_assert_nonnull (strstr (error->message, "JPEG 2000"));
}

/* -- stopping -- */

typedef struct
{
  pthread_mutex_t lock;
  pthread_cond_t changed;
  gboolean may_end, ended; /* guarded by lock */
  int n_looks;
} Slow;

static Slow slow = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

/* A library that does not look: it ends when the test says so. */
static IrImageStatus
decode_slowly (const guint8 *data, gsize length, const IrImageLimits *limits, IrImage *image)
{
  pthread_mutex_lock (&slow.lock);
  while (!slow.may_end)
    pthread_cond_wait (&slow.changed, &slow.lock);
  pthread_mutex_unlock (&slow.lock);
  *image = (IrImage){ 1, 1, g_memdup2 (data, 3) };
  gboolean stopped = limits->stopped (limits->user);
  pthread_mutex_lock (&slow.lock);
  slow.ended = stopped;
  pthread_cond_signal (&slow.changed);
  pthread_mutex_unlock (&slow.lock);
  return IR_IMAGE_DECODED;
}

static gboolean
at_third_look (gpointer user)
{
  return ++slow.n_looks >= 3;
}

static void
test_leaves_slow (void)
{
  g_autofree guint8 *file = g_malloc0 (3);
  IrImageLimits limits = { G_MAXSIZE, at_third_look, NULL };
  IrImage image = { 0 };

  g_assert_cmpint (ir_image_decode_aside (decode_slowly, file, 3, &limits, &image), ==,
                   IR_IMAGE_STOPPED);
  g_assert_null (image.rgb);
  g_assert_cmpint (slow.n_looks, ==, 3);
  g_clear_pointer (&file, g_free); /* it has a copy */
  pthread_mutex_lock (&slow.lock);
  slow.may_end = TRUE;
  pthread_cond_broadcast (&slow.changed);
  while (!slow.ended)
    pthread_cond_wait (&slow.changed, &slow.lock);
  pthread_mutex_unlock (&slow.lock);
}

static gboolean
count_look (gpointer user)
{
  ++*(int *) user;
  return FALSE;
}

#define LARGE_HEADER "P6\n1000 1000\n255\n"
#define LARGE_BYTES  (3000000 + strlen (LARGE_HEADER))

static void
test_looks_inside (void)
{
  g_autofree guint8 *file = g_malloc0 (LARGE_BYTES);
  int n_looks = 0;
  IrImageLimits limits = { G_MAXSIZE, count_look, &n_looks };
  IrImage image = { 0 };

  memcpy (file, LARGE_HEADER, strlen (LARGE_HEADER));
  IrImageStatus status = ir_image_decode_pixbuf (file, LARGE_BYTES, &limits, &image);
  g_autofree guint8 *rgb = image.rgb;
  if (status == IR_IMAGE_ABSENT)
    {
      g_test_skip ("irscope was built without gdk-pixbuf");
      return;
    }
  g_assert_cmpint (status, ==, IR_IMAGE_DECODED);
  g_assert_cmpint (n_looks, >=, 3000000 / 4096 + 1000 / 64);
}

/* While the file is decoded, and between pixels of the output. */
static void
test_stops_inside (void)
{
  const gint64 n = (gint64) LARGE_BYTES;
  g_autoptr (GError) error = NULL;
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GHashTable) inputs = inputs_new ();
  g_autofree char *signature = g_strdup_printf ("(uint8[%d] x) => (uint8[] y)", (int) n);
  g_autoptr (IrModel) model = read_graph (20, signature, "y = ImageDecoder (x)");
  IrTensor *file = ir_tensor_new_alloc (IR_DTYPE_UINT8, 1, &n, &error);
  Ear ear = { .cancellable = cancellable };
  IrRunOptions options = { .n_threads = 1, .looked = ear_heard, .looked_data = &ear };

  g_assert_no_error (error);
  memcpy (ir_tensor_data_writable (file), LARGE_HEADER, strlen (LARGE_HEADER));
  inputs_add (inputs, ir_graph_find_value (model->main, "x"), file);
  g_autoptr (IrExecutable) executable = ir_executable_new (model, &options, &error);
  g_assert_no_error (error);
  g_autoptr (IrRun) whole = ir_executable_run (executable, inputs, NULL, NULL, &error);
  if (error != NULL && strstr (error->message, "no library") != NULL)
    {
      g_test_skip ("irscope was built without gdk-pixbuf");
      return;
    }
  g_assert_no_error (error);
  int n_looks = ear.n_looks;
  g_test_message ("%d looks", n_looks);
  g_assert_cmpint (n_looks, >=, 1000000 / 4096);
  for (int part = 1; part <= 7; part += 2)
    {
      ear = (Ear){ .stop_at = MAX (n_looks * part / 8, 1), .cancellable = cancellable };
      g_cancellable_reset (cancellable);
      g_assert_null (ir_executable_run (executable, inputs, cancellable, NULL, &error));
      g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_CANCELLED);
      g_clear_error (&error);
      g_assert_cmpint (ear.n_looks - ear.stop_at, <=, 4);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/pictures/pixels come in the order that is asked for", test_formats);
  g_test_add_func ("/pictures/what is no picture gives an empty one", test_damage);
  g_test_add_func ("/pictures/a library that does not look is left alone", test_leaves_slow);
  g_test_add_func ("/pictures/decoding looks between pieces", test_looks_inside);
  g_test_add_func ("/pictures/decoding stops in the middle", test_stops_inside);
  g_test_add_func ("/pictures/a format without a library is an error", test_absent);
  return g_test_run ();
}
