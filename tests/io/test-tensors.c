/* Tensors as .npy and .pb files. */
#include "config.h"

#include "core/io/onnx/protobuf.h"
#include "tests/io/models.h"

#include <string.h>
#include <sys/mman.h>

static GBytes *
npy (const char *header, gconstpointer data, gsize length, guint version)
{
  g_autoptr (GString) file = g_string_new ("\x93NUMPY");
  gsize n = strlen (header);

  g_string_append_c (file, (char) version);
  g_string_append_c (file, 0);
  g_string_append_c (file, (char) (n & 0xff));
  g_string_append_c (file, (char) (n >> 8));
  if (version > 1)
    g_string_append_len (file, "\0\0", 2);
  g_string_append (file, header);
  g_string_append_len (file, data, (gssize) length);
  return g_bytes_new (file->str, file->len);
}

static void
test_every_dtype (void)
{
  g_autoptr (IrModel) model = test_read_text (test_dtypes_text);
  g_autofree char *folder = test_folder ();
  guint n_npy = 0, n_pb = 0;

  for (guint i = 1; i < model->values->len; i++)
    {
      const IrTensor *tensor = ((IrValue *) model->values->pdata[i])->initializer;
      const char *const names[] = { "t.npy", "t.pb" };

      for (guint k = 0; k < G_N_ELEMENTS (names); k++)
        {
          g_autofree char *path = g_build_filename (folder, names[k], NULL);
          g_autoptr (GError) error = NULL;
          g_autoptr (IrTensor) again = NULL;

          if (k == 0 && ir_dtype_numpy (ir_tensor_dtype (tensor)) == NULL)
            {
              g_assert_false (ir_tensor_save (tensor, path, &error));
              g_assert_error (error, IR_IO_ERROR, IR_IO_ERROR_UNSUPPORTED);
              continue;
            }
          g_assert_true (ir_tensor_save (tensor, path, &error));
          g_assert_no_error (error);
          again = ir_tensor_load (path, &error);
          g_assert_no_error (error);
          g_assert_true (ir_tensor_equal (tensor, again));
          n_npy += k == 0;
          n_pb += k == 1;
        }
    }
  g_assert_cmpuint (n_npy, >=, 14);
  g_assert_cmpuint (n_pb, >=, 26);
  test_remove_folder (folder);
}

static void
test_fortran (void)
{
  /* [[1, 2, 3], [4, 5, 6]], column by column. */
  static const gint32 data[] = { 1, 4, 2, 5, 3, 6 };
  g_autoptr (GBytes) bytes = npy ("{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3), }\n",
                                  data, sizeof data, 1);
  g_autoptr (GError) error = NULL;
  g_autoptr (IrTensor) tensor = ir_npy_read (bytes, &error);

  g_assert_no_error (error);
  for (guint i = 0; i < 6; i++)
    g_assert_cmpint (ir_tensor_get_int64 (tensor, i), ==, i + 1);
}

static void
test_big_endian (void)
{
  static const guint8 data[] = { 0x3f, 0xc0, 0, 0, 0xc0, 0, 0, 0 };
  g_autoptr (GBytes)
      bytes = npy ("{'shape': (2,), 'fortran_order': False, 'descr': '>f4'}", data, sizeof data, 3);
  g_autoptr (GError) error = NULL;
  g_autoptr (IrTensor) tensor = ir_npy_read (bytes, &error);

  g_assert_no_error (error);
  g_assert_cmpfloat (ir_tensor_get_double (tensor, 0), ==, 1.5);
  g_assert_cmpfloat (ir_tensor_get_double (tensor, 1), ==, -2);
}

static void
test_scalar_and_empty (void)
{
  static const gint64 number = 42;
  g_autoptr (GBytes)
      scalar = npy ("{'descr': '<i8', 'fortran_order': False, 'shape': (), }", &number, 8, 2);
  g_autoptr (GBytes)
      empty = npy ("{'descr': '|b1', 'fortran_order': False, 'shape': (0, 3), }", "", 0, 1);
  g_autoptr (IrTensor) a = ir_npy_read (scalar, NULL);
  g_autoptr (IrTensor) b = ir_npy_read (empty, NULL);

  g_assert_cmpuint (ir_tensor_rank (a), ==, 0);
  g_assert_cmpint (ir_tensor_get_int64 (a, 0), ==, 42);
  g_assert_cmpuint (ir_tensor_n_elements (b), ==, 0);
  g_assert_cmpint (ir_tensor_dtype (b), ==, IR_DTYPE_BOOL);
}

static void
test_bad (void)
{
  static const struct
  {
    const char *header;
    IrIoErrorCode code;
  } cases[] = {
    { "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", IR_IO_ERROR_UNSUPPORTED },
    { "{'descr': '<U3', 'fortran_order': False, 'shape': (1,), }", IR_IO_ERROR_UNSUPPORTED },
    { "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", IR_IO_ERROR_UNSUPPORTED },
    { "{'descr': '<f4', 'fortran_order': False, 'shape': (9,), }", IR_IO_ERROR_TRUNCATED },
    { "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 99999999999), }",
      IR_IO_ERROR_FORMAT },
    { "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", IR_IO_ERROR_FORMAT },
    { "{'descr': '<f4', 'shape': (1,), }", IR_IO_ERROR_FORMAT },
    { "", IR_IO_ERROR_FORMAT },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GBytes) bytes = npy (cases[i].header, "\0\0\0\0\0\0\0\0", 8, 1);
      g_autoptr (GError) error = NULL;
      g_autoptr (IrTensor) tensor = ir_npy_read (bytes, &error);

      g_assert_null (tensor);
      g_assert_error (error, IR_IO_ERROR, (int) cases[i].code);
    }
}

static void
test_truncated (void)
{
  g_autoptr (IrTensor) tensor = ir_tensor_new_int64s ((const gint64[]){ 1, 2, 3 }, 3);
  g_autoptr (GBytes) bytes = ir_npy_write (tensor, NULL);
  gsize length = g_bytes_get_size (bytes);

  g_assert_cmpuint ((length - 24) % 64, ==, 0);
  for (gsize cut = 0; cut < length; cut++)
    {
      g_autoptr (GBytes) part = g_bytes_new (g_bytes_get_data (bytes, NULL), cut);
      g_autoptr (GError) error = NULL;
      g_autoptr (IrTensor) none = ir_npy_read (part, &error);

      g_assert_null (none);
      g_assert_nonnull (error);
    }
}

/* More than fields can say, and than a machine needs to have: pages that nobody touches. */
#define HUGE_BYTES ((gsize) 5 << 30)

static void
test_huge (void)
{
  const gint64 n = HUGE_BYTES;
  void *pages = mmap (NULL, HUGE_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                      0);
  g_autofree char *folder = test_folder ();
  g_autofree char *path = g_build_filename (folder, "t.pb", NULL);
  g_autoptr (GBytes) bytes = g_bytes_new_static (pages, HUGE_BYTES);
  g_autoptr (IrTensor) tensor = ir_tensor_new (IR_DTYPE_UINT8, 1, &n, bytes);
  g_autoptr (GError) error = NULL;
  IrWireWriter writer;
  IrWireMark mark;

  g_assert_true (pages != MAP_FAILED);
  g_assert_false (ir_tensor_save (tensor, path, &error));
  g_assert_error (error, IR_IO_ERROR, IR_IO_ERROR_LIMIT);
  g_assert_nonnull (strstr (error->message, ".npy"));
  g_assert_false (g_file_test (path, G_FILE_TEST_EXISTS));
  ir_wire_writer_init (&writer);
  mark = ir_wire_begin (&writer, 1);
  ir_wire_put_bytes (&writer, 2, "short", 5);
  g_assert_true (ir_wire_writer_fits (&writer, "", "", NULL));
  ir_wire_put_bytes (&writer, 2, pages, ((gsize) 1 << 32) + 3);
  ir_wire_put_raw (&writer, bytes);
  ir_wire_put_string (&writer, 3, "behind");
  ir_wire_end (&writer, mark);
  g_assert_cmpuint (ir_wire_writer_size (&writer), >, HUGE_BYTES + ((gsize) 1 << 32));
  g_assert_false (ir_wire_writer_fits (&writer, "", "", NULL));
  ir_wire_writer_clear (&writer);
  munmap (pages, HUGE_BYTES);
  test_remove_folder (folder);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/io/tensors/every element type survives its file", test_every_dtype);
  g_test_add_func ("/io/tensors/Fortran order is turned", test_fortran);
  g_test_add_func ("/io/tensors/big-endian numbers are swapped", test_big_endian);
  g_test_add_func ("/io/tensors/scalars and empty arrays are read", test_scalar_and_empty);
  g_test_add_func ("/io/tensors/other arrays are refused by kind", test_bad);
  g_test_add_func ("/io/tensors/a cut file is an error", test_truncated);
  g_test_add_func ("/io/tensors/what is too long for a message is refused", test_huge);
  return g_test_run ();
}
