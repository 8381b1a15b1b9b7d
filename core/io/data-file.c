/* The file beside a model that its large tensors lie in. Its name says what it holds, so that a
 * save never touches the file that the old model names: first the new data gets its place, then the
 * new model, by one rename, and only then the old data goes. Whatever happens in between, the name
 * PATH leads to the old model with the old data, or to the new one with the new. */
#include "config.h"

#include "core/io/data-file.h"
#include "core/ir/hash.h"

#include <string.h>
#include <unistd.h>

#define N_DIGITS 16
#define SUFFIX   ".data"
#define N_LANES  4

static void
set_location (IrDataFile *file, guint64 hash)
{
  g_free (file->location);
  file->location = g_strdup_printf ("%s.%016" G_GINT64_MODIFIER "x" SUFFIX, file->base, hash);
}

/**
 * ir_data_file_init:
 * @file: a data file on the caller's stack
 * @path: of the model beside which it is
 *
 * Begins it. Until ir_data_file_name(), its location is a name of the same length.
 */
void
ir_data_file_init (IrDataFile *file, const char *path)
{
  *file = (IrDataFile){ .base = g_path_get_basename (path),
                        .pieces = g_ptr_array_new_with_free_func ((GDestroyNotify) g_bytes_unref) };
  set_location (file, 0);
}

/**
 * ir_data_file_clear:
 * @file: a data file
 *
 * Frees what it holds.
 */
void
ir_data_file_clear (IrDataFile *file)
{
  g_free (file->base);
  g_free (file->location);
  g_ptr_array_unref (file->pieces);
}

/* Lanes that need not wait for each other: as fast as memory. */
static guint64
hash_piece (guint64 seed, GBytes *piece)
{
  gsize length, at = 0;
  const guint8 *data = g_bytes_get_data (piece, &length);
  guint64 lanes[N_LANES] = { seed, 1, 2, 3 }, words[N_LANES] = { 0 };

  for (; length - at >= sizeof words; at += sizeof words)
    {
      memcpy (words, data + at, sizeof words);
      for (guint i = 0; i < N_LANES; i++)
        lanes[i] = ir_mix64 (lanes[i] ^ GUINT64_FROM_LE (words[i]));
    }
  memset (words, 0, sizeof words);
  if (length > at)
    memcpy (words, data + at, length - at);
  for (guint i = 0; i < N_LANES; i++)
    seed = ir_mix64 (seed ^ ir_mix64 (lanes[i] ^ GUINT64_FROM_LE (words[i])));
  return ir_mix64 (seed ^ length);
}

/**
 * ir_data_file_name:
 * @file: a data file that a model was written with
 *
 * Gives it the name of what it holds, and empties it, so that the model can be written again, with
 * that name.
 */
void
ir_data_file_name (IrDataFile *file)
{
  guint64 hash = file->size;

  for (guint i = 0; i < file->pieces->len; i++)
    hash = hash_piece (hash, file->pieces->pdata[i]);
  set_location (file, hash);
  g_ptr_array_set_size (file->pieces, 0);
  file->size = 0;
}

static gboolean
stream_pieces (GOutputStream *stream, gpointer user_data, GError **error)
{
  const IrDataFile *file = user_data;

  for (guint i = 0; i < file->pieces->len; i++)
    {
      gsize length;
      gconstpointer data = g_bytes_get_data (file->pieces->pdata[i], &length);

      if (length > 0 && !g_output_stream_write_all (stream, data, length, NULL, NULL, error))
        return FALSE;
    }
  return TRUE;
}

/**
 * ir_data_file_save:
 * @file: a data file, with its name and its pieces
 * @path: of the model, as for ir_data_file_init()
 * @func: (scope call): writes the model
 * @user_data: for @func
 * @error: return location for an error
 *
 * Saves both as one: @path names the old data or the new at every moment. Data of earlier saves of
 * @path goes at the end, also what a kill has left. Without pieces there is no data file.
 *
 * Returns: %TRUE if both are in their places
 */
gboolean
ir_data_file_save (
    IrDataFile *file, const char *path, IrFileFunc func, gpointer user_data, GError **error)
{
  g_autofree char *folder = g_path_get_dirname (path);
  g_autofree char *data_path = g_build_filename (folder, file->location, NULL);
  g_autofree char *before = g_strconcat (file->base, ".", NULL);
  gboolean has_data = file->pieces->len > 0;
  const IrLeftOver kind = { before, SUFFIX, N_DIGITS, has_data ? file->location : NULL };
  gboolean was_there = g_file_test (data_path, G_FILE_TEST_EXISTS);
  int lock = ir_file_lock_folder (folder);
  gboolean ok = !has_data || ir_file_stream_atomic (data_path, stream_pieces, file, error);

  if (ok && !ir_file_stream_atomic (path, func, user_data, error))
    {
      ok = FALSE;
      if (has_data && !was_there)
        unlink (data_path);
    }
  ir_file_sweep (lock, ok ? file->base : NULL, &kind);
  return ok;
}
