/* Opening leaves weights in the file: of a mapped model only the pages between its tensors are
 * read, and those of a tensor when somebody looks at it. */
#include "config.h"

#include "tests/io/models.h"

#include <glib/gstdio.h>
#include <string.h>

#define N_TENSORS    8
#define TENSOR_BYTES ((gsize) 8 << 20)

/* Bytes of the pages of @path that this process has touched; -1: the system does not tell. */
static gint64
touched_bytes (const char *path)
{
  g_autofree char *text = NULL;
  gint64 bytes = 0;
  gboolean here = FALSE, some = FALSE;

  if (!g_file_get_contents ("/proc/self/smaps", &text, NULL, NULL))
    return -1;
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  for (guint i = 0; lines[i] != NULL; i++)
    {
      const char *space = strchr (lines[i], ' '), *colon = strchr (lines[i], ':');
      if (space != NULL && (colon == NULL || space < colon)) /* a range of addresses */
        here = g_str_has_suffix (lines[i], path);
      else if (here && g_str_has_prefix (lines[i], "Rss:"))
        {
          bytes += g_ascii_strtoll (lines[i] + strlen ("Rss:"), NULL, 10) * 1024;
          some = TRUE;
        }
    }
  return some ? bytes : -1;
}

static void
test_weights_stay (void)
{
  g_autofree char *folder = test_folder ();
  g_autofree char *path = g_build_filename (folder, "big.onnx", NULL);
  g_autoptr (GError) error = NULL;
  const guint64 all = N_TENSORS * TENSOR_BYTES;
  guint n_typed = 0;

  test_write_weights (path, N_TENSORS, TENSOR_BYTES);
  g_autoptr (IrModel) model = ir_model_load (path, NULL, NULL, &error);
  g_assert_no_error (error);
  gint64 opened = touched_bytes (path);
  if (opened < 0)
    {
      g_test_skip ("the system does not tell which pages are there");
      test_remove_folder (folder);
      return;
    }
  for (IrValueId id = 1; id < model->values->len; id++)
    {
      const IrValue *value = ir_model_live_value (model, id);
      n_typed += value != NULL && value->type != NULL && ir_type_is_static (value->type);
    }
  g_assert_cmpuint (n_typed, ==, 1 + 2 * N_TENSORS);
  g_assert_cmpint (opened, <, all / 16);
  for (IrValueId id = 1; id < model->values->len; id++)
    {
      const IrValue *value = ir_model_live_value (model, id);
      if (value != NULL && value->initializer != NULL)
        ir_tensor_hash (value->initializer);
    }
  g_assert_cmpint (touched_bytes (path), >, all - all / 16);
  g_clear_pointer (&model, ir_model_unref);
  test_remove_folder (folder);
}

/* Cancelled work gives nothing, and leaves files as they were. */
static void
test_cancelled (gconstpointer extension)
{
  g_autofree char *folder = test_folder ();
  g_autofree char *path = g_strconcat (folder, "/model.", extension, NULL);
  g_autoptr (IrModel) model = ir_text_read ("<ir_version: 10, opset_import: [\"\" : 21]>\n"
                                            "g (float[2] x) => (float[2] y) { y = Neg (x) }",
                                            -1, NULL, NULL);
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (GError) error = NULL;

  g_assert_true (ir_model_save (model, path, NULL, cancellable, &error));
  g_cancellable_cancel (cancellable);
  g_assert_null (ir_model_load (path, problems, cancellable, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_assert_cmpuint (problems->len, ==, 0);
  g_clear_error (&error);
  g_unlink (path);
  g_assert_false (ir_model_save (model, path, NULL, cancellable, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_assert_false (g_file_test (path, G_FILE_TEST_EXISTS));
  test_remove_folder (folder);
}

/* What cannot be read, in every format: a folder, nothing at all, and something else than it is called. */
static void
test_unreadable (void)
{
  static const char *const formats[] = { "onnx", "onnxtxt", "json", "dot", "npy", "" };
  g_autofree char *folder = test_folder ();

  for (guint i = 0; i < G_N_ELEMENTS (formats); i++)
    for (guint k = 0; k < 4; k++)
      {
        g_autofree char *name = g_strdup_printf ("x%u.%s", k, formats[i]);
        g_autofree char *path = g_build_filename (folder, name, NULL);
        g_autoptr (GPtrArray) problems = ir_problems_new ();
        g_autoptr (GError) error = NULL;

        if (k == 1)
          g_assert_cmpint (g_mkdir (path, 0777), ==, 0);
        else if (k > 1)
          g_assert_true (g_file_set_contents (path, "\x01}{", k == 2 ? 0 : 3, NULL));
        g_autoptr (IrModel) model = ir_model_load (path, problems, NULL, &error);
        g_assert_true ((model == NULL) == (error != NULL));
        if (k < 2)
          {
            g_assert_null (model);
            g_assert_nonnull (strstr (error->message, name));
          }
        else
          g_assert_true (model == NULL || problems->len > 0);
      }
  test_remove_folder (folder);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/io/opening/weights are read when they are looked at", test_weights_stay);
  g_test_add_func ("/io/opening/what cannot be read is an error", test_unreadable);
  g_test_add_data_func ("/io/opening/what is cancelled is left: onnx", "onnx", test_cancelled);
  g_test_add_data_func ("/io/opening/what is cancelled is left: onnxtxt", "onnxtxt",
                        test_cancelled);
  g_test_add_data_func ("/io/opening/what is cancelled is left: json", "json", test_cancelled);
  g_test_add_data_func ("/io/opening/what is cancelled is left: dot", "dot", test_cancelled);
  return g_test_run ();
}
