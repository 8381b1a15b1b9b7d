/* Which accesses go together, and what they cost: count.h. */
#include "config.h"

#include "tests/gpu/emulator/count.h"

#include <string.h>

#define WARP    32
#define SECTOR  32
#define BANKS   32
#define N_LINES 2048

/* The same time of a line in a warp. */
typedef struct
{
  guint buffer, bytes;
  guint n;
  guint64 places[WARP];
} Request;

/* What of a buffer was touched, a byte of a map for each of its bytes: 1 in the launch, 2 in the block. */
typedef struct
{
  guint8 *map;
  guint64 bytes;
} Touched;

static struct
{
  EmuCounts *into;
  Touched touched[EMU_MAX_COUNTED];
  GHashTable *requests; /* of the block: by warp, line and time */
  guint n_threads;
  guint32 *times; /* thread, line: how often so far in the block */
} c;

void
emu_count_into (EmuCounts *counts)
{
  c.into = counts;
  if (counts != NULL)
    memset (counts, 0, sizeof *counts);
}

gboolean
emu_counts (void)
{
  return c.into != NULL;
}

void
emu_count_launch (guint n_threads)
{
  c.n_threads = n_threads;
  c.times = g_new0 (guint32, (gsize) n_threads * N_LINES);
  c.requests = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, g_free);
}

void
emu_count_buffer (guint buffer, guint64 bytes)
{
  c.touched[buffer] = (Touched){ g_malloc0 (bytes + 1), bytes };
}

void
emu_count_access (guint buffer, guint64 place, guint bytes, guint thread, int line)
{
  guint32 *time = &c.times[(gsize) thread * N_LINES + (guint) line % N_LINES];
  gint64 key = ((gint64) (thread / WARP) << 56) | ((gint64) line << 32) | (*time)++;
  Request *request = g_hash_table_lookup (c.requests, &key);

  if (request == NULL)
    {
      request = g_new0 (Request, 1);
      request->buffer = buffer;
      request->bytes = bytes;
      g_hash_table_insert (c.requests, g_memdup2 (&key, sizeof key), request);
    }
  /* Lanes may be at different operands of one line; what is another one counts for itself. */
  if (request->n < WARP)
    request->places[request->n++] = place;
  if (buffer == G_MAXUINT)
    return;
  c.into->buffers[buffer].bytes += bytes;
  for (guint i = 0; i < bytes; i++)
    c.touched[buffer].map[place + i] |= 3;
}

static guint
distinct (const guint64 *values, guint n)
{
  guint found = 0;

  for (guint i = 0; i < n; i++)
    {
      guint k = 0;
      while (k < i && values[k] != values[i])
        k++;
      found += k == i;
    }
  return found;
}

/* Lanes whose accesses are wide go in two or four parts; in each, words of one bank wait for each other. */
static guint64
conflicts_of (const Request *request)
{
  guint words = MAX (request->bytes / 4, 1), part = WARP / words;
  guint64 conflicts = 0;

  for (guint first = 0; first < request->n; first += part)
    {
      guint64 seen[BANKS][WARP];
      guint n[BANKS] = { 0 }, most = 1;
      for (guint i = first; i < MIN (first + part, request->n); i++)
        for (guint k = 0; k < words; k++)
          {
            guint64 word = request->places[i] / 4 + k;
            guint bank = (guint) (word % BANKS), at = 0;
            while (at < n[bank] && seen[bank][at] != word)
              at++;
            if (at == n[bank])
              seen[bank][n[bank]++] = word;
            most = MAX (most, n[bank]);
          }
      conflicts += most - 1;
    }
  return conflicts;
}

void
emu_count_block_end (void)
{
  GHashTableIter iter;
  gpointer value;

  g_hash_table_iter_init (&iter, c.requests);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      Request *request = value;
      if (request->buffer == G_MAXUINT)
        {
          c.into->bank_conflicts += conflicts_of (request);
          continue;
        }
      for (guint i = 0; i < request->n; i++)
        request->places[i] /= SECTOR;
      c.into->buffers[request->buffer].sectors += distinct (request->places, request->n);
    }
  g_hash_table_remove_all (c.requests);
  memset (c.times, 0, (gsize) c.n_threads * N_LINES * sizeof *c.times);
  for (guint k = 0; k < EMU_MAX_COUNTED; k++)
    for (guint64 i = 0; i < c.touched[k].bytes; i++)
      {
        c.into->buffers[k].block_bytes += (c.touched[k].map[i] & 2) != 0;
        c.touched[k].map[i] &= 1;
      }
}

void
emu_count_launch_end (void)
{
  for (guint k = 0; k < EMU_MAX_COUNTED; k++)
    {
      EmuTraffic *traffic = &c.into->buffers[k];
      guint64 last = G_MAXUINT64;
      for (guint64 i = 0; i < c.touched[k].bytes; i++)
        if (c.touched[k].map[i] != 0)
          {
            traffic->touched_bytes++;
            traffic->touched_sectors += i / SECTOR != last;
            last = i / SECTOR;
          }
      g_clear_pointer (&c.touched[k].map, g_free);
      c.touched[k].bytes = 0;
    }
  g_clear_pointer (&c.requests, g_hash_table_unref);
  g_clear_pointer (&c.times, g_free);
}
