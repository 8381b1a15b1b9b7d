/* Models that others have made: the nine light networks and the cases of ONNX itself. */
#include "config.h"

#include "tests/io/models.h"

#include <string.h>

#define TESTDATA "/usr/share/libonnx-testdata/data"

static void
collect (const char *folder, GPtrArray *paths)
{
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  const char *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *path = g_build_filename (folder, name, NULL);

      if (g_file_test (path, G_FILE_TEST_IS_DIR))
        collect (path, paths);
      else if (g_str_has_suffix (name, ".onnx"))
        g_ptr_array_add (paths, g_steal_pointer (&path));
    }
}

static void
check_model (const char *path)
{
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (IrModel) model = ir_format_find ("onnx")->read (path, problems, NULL, &error);
  g_autoptr (IrModel) onnx = NULL;
  g_autoptr (IrModel) text = NULL;
  g_autoptr (IrModel) text_onnx = NULL;
  g_autoptr (IrModel) json = NULL;
  g_autoptr (IrModel) json_onnx = NULL;

  g_test_message ("%s", path);
  g_assert_no_error (error);
  test_assert_no_errors (problems);
  onnx = test_through_onnx (model);
  test_assert_same (model, onnx);
  text = test_through_text (model);
  text_onnx = test_through_onnx (text);
  test_assert_same (model, text_onnx);
  json = test_through_json (model);
  json_onnx = test_through_onnx (json);
  test_assert_same (model, json_onnx);
}

static void
check_folder (const char *folder, guint at_least)
{
  g_autoptr (GPtrArray) paths = g_ptr_array_new_with_free_func (g_free);

  collect (folder, paths);
  if (paths->len == 0)
    {
      g_autofree char *reason = g_strdup_printf ("%s has no models", folder);

      g_test_skip (reason);
      return;
    }
  g_assert_cmpuint (paths->len, >=, at_least);
  for (guint i = 0; i < paths->len; i++)
    check_model (paths->pdata[i]);
}

static void
test_light (void)
{
  g_autofree char *folder = g_build_filename (g_getenv ("IRSCOPE_SHARED"), "data", "light", NULL);

  check_folder (folder, 9);
}

static void
test_cases (void)
{
  check_folder (TESTDATA, 1000);
}

static void
test_infers (void)
{
  g_autoptr (GPtrArray) paths = g_ptr_array_new_with_free_func (g_free);

  collect (TESTDATA, paths);
  if (paths->len == 0)
    g_test_skip ("libonnx-testdata is not installed");
  for (guint i = 0; i < paths->len; i++)
    {
      g_autoptr (GPtrArray) problems = ir_problems_new ();
      g_autoptr (GError) error = NULL;
      g_autoptr (IrModel) model = ir_model_load (paths->pdata[i], problems, NULL, &error);

      g_assert_no_error (error);
      for (guint k = 0; k < problems->len; k++)
        {
          const IrProblem *problem = problems->pdata[k];

          /* Scan of opset 8 has an optional first input, which the rows from 9 on do not know. */
          if (problem->severity != IR_SEVERITY_ERROR ||
              problem->code == IR_PROBLEM_UNKNOWN_OPERATOR ||
              strstr (paths->pdata[i], "/test_scan_sum/") != NULL)
            continue;
          g_test_message ("%s: %s: %s", (char *) paths->pdata[i],
                          ir_problem_code_name (problem->code), problem->message);
          g_test_fail ();
        }
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/io/corpus/the light networks survive every format", test_light);
  g_test_add_func ("/io/corpus/the cases of ONNX survive every format", test_cases);
  g_test_add_func ("/io/corpus/the cases of ONNX open without errors", test_infers);
  return g_test_run ();
}
