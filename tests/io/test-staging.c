/* Several files saved as one act: all are there behind it, and none of them before. */
#include "config.h"

#include "core/io/staging.h"

#include <glib/gstdio.h>
#include <string.h>

typedef struct
{
  char *folder;
} Fixture;

static void
set_up (Fixture *fixture, gconstpointer data)
{
  fixture->folder = g_dir_make_tmp ("irscope-test-XXXXXX", NULL);
  g_assert_nonnull (fixture->folder);
}

static void
put (const char *folder, const char *name, const char *text)
{
  g_autofree char *path = g_build_filename (folder, name, NULL);

  g_assert_true (g_file_set_contents (path, text, -1, NULL));
}

static int
compare (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

/* Names and texts of what is in @folder, by name; folders have no text. */
static char *
contents (const char *folder)
{
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  GString *all = g_string_new (NULL);
  const char *name;

  while ((name = g_dir_read_name (dir)) != NULL)
    g_ptr_array_add (names, g_strdup (name));
  g_ptr_array_sort (names, compare);
  for (guint i = 0; i < names->len; i++)
    {
      g_autofree char *path = g_build_filename (folder, names->pdata[i], NULL), *text = NULL;
      if (!g_file_get_contents (path, &text, NULL, NULL))
        text = g_strdup ("folder");
      g_string_append_printf (all, "%s=%s ", (char *) names->pdata[i], text);
    }
  return g_string_free (all, FALSE);
}

static void
assert_contents (const char *folder, const char *wanted)
{
  g_autofree char *found = contents (folder);

  g_assert_cmpstr (found, ==, wanted);
}

static void
tear_down (Fixture *fixture, gconstpointer data)
{
  g_autoptr (GDir) dir = g_dir_open (fixture->folder, 0, NULL);
  const char *name;

  while ((name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *path = g_build_filename (fixture->folder, name, NULL);
      g_remove (path);
    }
  g_rmdir (fixture->folder);
  g_free (fixture->folder);
}

static IrStaging *
begin (const char *folder)
{
  g_autoptr (GError) error = NULL;
  IrStaging *stage = ir_staging_new (folder, &error);

  g_assert_no_error (error);
  put (ir_staging_folder (stage), "a", "new");
  put (ir_staging_folder (stage), "list", "a");
  return stage;
}

static void
test_dropped (Fixture *fixture, gconstpointer data)
{
  put (fixture->folder, "a", "old");
  IrStaging *stage = begin (fixture->folder);
  ir_staging_free (stage);
  assert_contents (fixture->folder, "a=old ");
}

static void
test_committed (Fixture *fixture, gconstpointer data)
{
  g_autoptr (GError) error = NULL;

  put (fixture->folder, "a", "old");
  put (fixture->folder, "list", "a b");
  put (fixture->folder, "mine", "stays");
  IrStaging *stage = begin (fixture->folder);
  g_assert_true (ir_staging_commit (stage, "list", &error));
  g_assert_no_error (error);
  ir_staging_free (stage);
  assert_contents (fixture->folder, "a=new list=a mine=stays ");
}

/* What cannot be put in its place: a list that is no whole is not there. */
static void
test_in_the_way (Fixture *fixture, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *path = g_build_filename (fixture->folder, "a", NULL);

  put (fixture->folder, "list", "a b");
  g_assert_cmpint (g_mkdir (path, 0777), ==, 0);
  IrStaging *stage = begin (fixture->folder);
  g_assert_false (ir_staging_commit (stage, "list", &error));
  g_assert_error (error, IR_IO_ERROR, IR_IO_ERROR_OPEN);
  g_assert_nonnull (strstr (error->message, "/a: cannot be replaced"));
  ir_staging_free (stage);
  assert_contents (fixture->folder, "a=folder ");
}

/* The list may be new, or none is needed. */
static void
test_first (Fixture *fixture, gconstpointer data)
{
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < 2; i++)
    {
      IrStaging *stage = begin (fixture->folder);
      if (i == 1)
        put (ir_staging_folder (stage), "a", "newer");
      g_assert_true (ir_staging_commit (stage, i == 0 ? "list" : NULL, &error));
      g_assert_no_error (error);
      ir_staging_free (stage);
      assert_contents (fixture->folder, i == 0 ? "a=new list=a " : "a=newer list=a ");
    }
}

/* A list that cannot be taken away: nothing is replaced below it. */
static void
test_list_in_the_way (Fixture *fixture, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *path = g_build_filename (fixture->folder, "list", NULL);

  put (fixture->folder, "a", "old");
  g_assert_cmpint (g_mkdir (path, 0777), ==, 0);
  IrStaging *stage = begin (fixture->folder);
  g_assert_false (ir_staging_commit (stage, "list", &error));
  g_assert_error (error, IR_IO_ERROR, IR_IO_ERROR_OPEN);
  g_assert_nonnull (strstr (error->message, "/list: cannot be replaced"));
  ir_staging_free (stage);
  assert_contents (fixture->folder, "a=old list=folder ");
}

/* What a kill has left goes; what another fills stays. */
static void
test_left_over (Fixture *fixture, gconstpointer data)
{
  g_autofree char *left = g_build_filename (fixture->folder, ".irscope-stage-killed", NULL);

  g_assert_cmpint (g_mkdir (left, 0700), ==, 0);
  put (left, "a", "half");
  IrStaging *one = begin (fixture->folder), *other = begin (fixture->folder);
  g_assert_false (g_file_test (left, G_FILE_TEST_EXISTS));
  assert_contents (ir_staging_folder (one), "a=new list=a ");
  ir_staging_free (one);
  ir_staging_free (other);
  assert_contents (fixture->folder, "");
}

static void
test_nowhere (void)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (ir_staging_new ("/dev/null/folder", &error));
  g_assert_error (error, IR_IO_ERROR, IR_IO_ERROR_OPEN);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
#define TEST(name, function)                                                                       \
  g_test_add ("/staging/" name, Fixture, NULL, set_up, function, tear_down)
  TEST ("nothing changes when a stage is dropped", test_dropped);
  TEST ("all files come at once, the list last", test_committed);
  TEST ("a file that cannot be replaced leaves no list", test_in_the_way);
  TEST ("the list may be new, or none", test_first);
  TEST ("a list that cannot be replaced keeps all as it was", test_list_in_the_way);
  TEST ("what a kill has left goes when the next begins", test_left_over);
  g_test_add_func ("/staging/a folder that cannot be made is an error", test_nowhere);
  return g_test_run ();
}
