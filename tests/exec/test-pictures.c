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

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/pictures/pixels come in the order that is asked for", test_formats);
  g_test_add_func ("/pictures/what is no picture gives an empty one", test_damage);
  g_test_add_func ("/pictures/a format without a library is an error", test_absent);
  return g_test_run ();
}
