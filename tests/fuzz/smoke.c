/* Runs a fuzz target without libFuzzer: its seeds, then mutations of them from a fixed random seed
 * for some seconds. "--corpus DIR" writes the seeds for libFuzzer instead; files as arguments are
 * run one by one, to repeat a finding. */
#include "config.h"

#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static void
run (const guint8 *data, gsize size)
{
  /* Exactly as long as it says, so that a sanitizer sees a byte too far. */
  g_autofree guint8 *copy = size > 0 ? g_memdup2 (data, size) : g_malloc (1);

  LLVMFuzzerTestOneInput (copy, size);
}

static guint8 *
mutate (GRand *random, const GPtrArray *seeds, gsize *size)
{
  GBytes *seed = seeds->pdata[g_rand_int_range (random, 0, (gint32) seeds->len)];
  GBytes *other = seeds->pdata[g_rand_int_range (random, 0, (gint32) seeds->len)];
  gsize length, other_length;
  const guint8 *data = g_bytes_get_data (seed, &length);
  const guint8 *other_data = g_bytes_get_data (other, &other_length);
  guint8 *result = g_malloc (2 * length + other_length + 1);

  memcpy (result, data, length);
  for (int i = g_rand_int_range (random, 1, 5); i > 0 && length > 1; i--)
    {
      gsize at = (gsize) g_rand_int_range (random, 0, (gint32) length);
      gsize wanted = (gsize) g_rand_int_range (random, 1, 32), n = MIN (wanted, length - at);

      switch (g_rand_int_range (random, 0, 5))
        {
        case 0:
          result[at] ^= (guint8) (1 << g_rand_int_range (random, 0, 8));
          break;
        case 1:
          result[at] = (guint8) g_rand_int_range (random, 0, 256);
          break;
        case 2: /* leave out */
          memmove (result + at, result + at + n, length - at - n);
          length -= n;
          break;
        case 3: /* repeat, or take from another */
          if (length + n > 2 * g_bytes_get_size (seed))
            break;
          memmove (result + at + n, result + at, length - at);
          if (other_length > n && g_rand_boolean (random))
            memcpy (result + at,
                    other_data + g_rand_int_range (random, 0, (gint32) (other_length - n)), n);
          length += n;
          break;
        default:
          if (g_rand_int_range (random, 0, 20) == 0)
            length = at;
        }
    }
  *size = length;
  return result;
}

static int
write_corpus (const GPtrArray *seeds, const char *folder)
{
  for (guint i = 0; i < seeds->len; i++)
    {
      g_autofree char *path = g_strdup_printf ("%s/seed-%u", folder, i);
      gsize length;
      const char *data = g_bytes_get_data (seeds->pdata[i], &length);

      if (!g_file_set_contents (path, data, (gssize) length, NULL))
        return 1;
    }
  return 0;
}

static int
run_files (int n, char **paths)
{
  for (int i = 0; i < n; i++)
    {
      g_autofree char *data = NULL;
      gsize length;

      if (!g_file_get_contents (paths[i], &data, &length, NULL))
        return 1;
      run ((const guint8 *) data, length);
    }
  return 0;
}

int
main (int argc, char **argv)
{
  const char *seconds = g_getenv ("FUZZ_SECONDS");
  gint64 end = g_get_monotonic_time () +
               (seconds != NULL ? atoi (seconds) : 4) * G_TIME_SPAN_SECOND;
  GRand *random = g_rand_new_with_seed (20240229);
  const char *keep = g_getenv ("FUZZ_KEEP"); /* where the input that is being run is written */
  guint n_runs = 0;

  if (argc > 2 && strcmp (argv[1], "--corpus") == 0)
    {
      g_autoptr (GPtrArray) corpus = fuzz_seeds ();

      g_rand_free (random);
      return write_corpus (corpus, argv[2]);
    }
  if (argc > 1)
    {
      g_rand_free (random);
      return run_files (argc - 1, argv + 1);
    }
  g_autoptr (GPtrArray) seeds = fuzz_seeds ();
  for (guint i = 0; i < seeds->len; i++)
    run (g_bytes_get_data (seeds->pdata[i], NULL), g_bytes_get_size (seeds->pdata[i]));
  run (NULL, 0);
  for (; g_get_monotonic_time () < end; n_runs++)
    {
      gsize size;
      g_autofree guint8 *data = mutate (random, seeds, &size);

      if (keep != NULL)
        g_file_set_contents (keep, (const char *) data, (gssize) size, NULL);
      run (data, size);
    }
  g_rand_free (random);
  g_print ("1..1\nok 1 %u mutations of %u seeds do no harm\n", n_runs, seeds->len);
  return 0;
}
