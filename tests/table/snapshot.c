#include "config.h"

#include "tests/table/snapshot.h"

#include <stdio.h>
#include <string.h>

typedef struct
{
  char *name, *wanted; /* @wanted: (nullable) what follows the name in the file */
  SnapshotSay say;
  gconstpointer data;
} Row;

static GPtrArray *rows;

static char *
line_of (const Row *row)
{
  guint n_tried, n_taken;
  g_autofree char *said = row->say (row->data, &n_tried, &n_taken);
  g_autofree char *sum = g_compute_checksum_for_string (G_CHECKSUM_SHA1, said, -1);

  return g_strdup_printf ("%u tried, %u taken, %.8s", n_tried, n_taken, sum);
}

static void
test_row (gconstpointer data)
{
  const Row *row = data;
  g_autofree char *line = line_of (row);

  if (row->wanted != NULL && strcmp (line, row->wanted) != 0)
    {
      g_test_message ("%s: %s, and the file has %s; --show says more", row->name, line,
                      row->wanted);
      g_test_fail ();
    }
}

void
snapshot_add (const char *name, SnapshotSay say, gconstpointer data)
{
  Row *row = g_new0 (Row, 1);

  *row = (Row){ .name = g_strdup (name), .say = say, .data = data };
  if (rows == NULL)
    rows = g_ptr_array_new ();
  g_ptr_array_add (rows, row);
}

static void
read_lines (const char *path)
{
  g_autofree char *text = NULL;

  if (!g_file_get_contents (path, &text, NULL, NULL))
    return;
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  for (guint i = 0; i < rows->len; i++)
    {
      Row *row = rows->pdata[i];
      g_autofree char *start = g_strconcat (row->name, ": ", NULL);
      for (guint k = 0; lines[k] != NULL && row->wanted == NULL; k++)
        if (g_str_has_prefix (lines[k], start))
          row->wanted = g_strdup (lines[k] + strlen (start));
    }
}

static void
bless (const char *path)
{
  g_autoptr (GString) all = g_string_new (NULL);

  for (guint i = 0; i < rows->len; i++)
    {
      g_autofree char *line = line_of (rows->pdata[i]);
      g_string_append_printf (all, "%s: %s\n", ((const Row *) rows->pdata[i])->name, line);
    }
  g_assert_true (g_file_set_contents (path, all->str, -1, NULL));
}

int
snapshot_run (int argc, char **argv, const char *file)
{
  const char *name = argc > 2 ? argv[2] : "";
  gboolean blesses = argc > 1 && strcmp (argv[1], "--bless") == 0,
           shows = argc > 2 && strcmp (argv[1], "--show") == 0;

  g_test_init (&argc, &argv, NULL);
  g_autofree char *path = g_test_build_filename (G_TEST_DIST, file, NULL);
  read_lines (path);
  for (guint i = 0; i < rows->len; i++)
    {
      const Row *row = rows->pdata[i];
      g_autofree char *test = g_strdup_printf ("/variants/%s", row->name);

      g_test_add_data_func (test, row, test_row);
      if (shows && strcmp (row->name, name) == 0)
        {
          guint n_tried, n_taken;
          g_autofree char *said = row->say (row->data, &n_tried, &n_taken);
          fputs (said, stdout);
        }
    }
  if (blesses)
    bless (path);
  return blesses || shows ? 0 : g_test_run ();
}
