/* Memory of the device: blocks between guard pages that are open only while a call of the driver works
 * on them, full of NaN when they are new and gone when they are freed; and who has touched what of them,
 * and of the host's memory. Two accesses of one byte, one of them writing, have to be ordered by a stream,
 * an event or a wait of the host. */
#define _GNU_SOURCE
#include "tests/gpu/stand-in/stand-in.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MOST_ACCESSES 512
#define MOST_POISON   (4 << 20) /* of a block; behind it nothing is written before it is used */

typedef struct
{
  gsize low, high; /* addresses */
  gboolean writes;
  guint agent;
  guint32 epoch;
  const char *name; /* interned */
} Access;

struct _Block
{
  guint8 *pages, *data;
  gsize page_bytes, bytes; /* of the pages between the guards */
  guint number;
  gboolean is_open;
};

static GPtrArray *blocks; /* of Block */
static GArray *accesses;  /* of Access */
static guint n_blocks;
static char *words;

unsigned int
problem (unsigned int result, const char *format, ...)
{
  va_list list;

  va_start (list, format);
  g_free (words);
  words = g_strdup_vprintf (format, list);
  va_end (list);
  return result;
}

const char *
last_problem (void)
{
  return words;
}

/* -- blocks -- */

void
block_open (Block *block)
{
  if (!block->is_open)
    mprotect (block->pages, block->page_bytes, PROT_READ | PROT_WRITE);
  block->is_open = TRUE;
}

void
blocks_close (void)
{
  for (guint i = 0; blocks != NULL && i < blocks->len; i++)
    {
      Block *block = blocks->pdata[i];
      if (block->is_open)
        mprotect (block->pages, block->page_bytes, PROT_NONE);
      block->is_open = FALSE;
    }
}

guint64
block_new (gsize bytes)
{
  gsize page = (gsize) sysconf (_SC_PAGESIZE), inner = (bytes + page - 1) / page * page;
  guint64 limit, used = 0;
  Block *block;
  guint8 *all;

  stand_in_option ("memory", G_GUINT64_CONSTANT (4) << 30, &limit);
  for (guint i = 0; blocks != NULL && i < blocks->len; i++)
    used += ((const Block *) blocks->pdata[i])->bytes;
  if (bytes > limit - MIN (used, limit))
    return 0;
  all = mmap (NULL, inner + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
              0);
  if (all == MAP_FAILED || mprotect (all + page, inner, PROT_READ | PROT_WRITE) != 0)
    return 0;
  block = g_new0 (Block, 1);
  /* As a driver's, it begins at a multiple of 256; so near to the guard behind it as that allows. */
  *block = (Block){ all + page, all + page + (inner - bytes) / 256 * 256, inner, bytes,
                    ++n_blocks };
  block->is_open = TRUE;
  memset (block->data, 0xff, MIN (bytes, MOST_POISON));
  if (blocks == NULL)
    blocks = g_ptr_array_new ();
  g_ptr_array_add (blocks, block);
  return (guint64) (gsize) block->data;
}

Block *
block_find (gconstpointer at, gsize bytes)
{
  const guint8 *p = at;

  for (guint i = 0; blocks != NULL && i < blocks->len; i++)
    {
      Block *block = blocks->pdata[i];
      if (p >= block->data && p < block->data + block->bytes &&
          bytes <= (gsize) (block->data + block->bytes - p))
        return block;
    }
  return NULL;
}

gsize
block_left (const Block *block, gconstpointer at)
{
  return (gsize) (block->data + block->bytes - (const guint8 *) at);
}

guint
block_number (const Block *block)
{
  return block->number;
}

static void
unmap (Block *block)
{
  gsize page = (gsize) sysconf (_SC_PAGESIZE);

  munmap (block->pages - page, block->page_bytes + 2 * page);
  g_free (block);
}

unsigned int
block_free (guint64 at, const Clock *host)
{
  Block *block = block_find ((gconstpointer) (gsize) at, 0);
  const Toucher by = { 0, 0, host, "cuMemFree_v2" };
  unsigned int result;

  if (block == NULL || (guint64) (gsize) block->data != at)
    return problem (INVALID_VALUE, "cuMemFree_v2 of what is no block of memory, or was freed");
  result = touch (block->data, block->bytes, TRUE, &by);
  for (guint i = accesses != NULL ? accesses->len : 0; i > 0; i--)
    {
      const Access *access = &g_array_index (accesses, Access, i - 1);
      if (access->low < (gsize) block->data + block->bytes && access->high > (gsize) block->data)
        g_array_remove_index_fast (accesses, i - 1);
    }
  g_ptr_array_remove_fast (blocks, block);
  unmap (block);
  return result;
}

guint
blocks_clear (void)
{
  guint n = blocks != NULL ? blocks->len : 0;

  for (guint i = 0; i < n; i++)
    unmap (blocks->pdata[i]);
  g_clear_pointer (&blocks, g_ptr_array_unref);
  g_clear_pointer (&accesses, g_array_unref);
  return n;
}

/* -- accesses -- */

static unsigned int
note (const Access *now, const Toucher *by, const char *where, gsize from)
{
  if (accesses == NULL)
    accesses = g_array_new (FALSE, FALSE, sizeof (Access));
  for (guint i = 0; i < accesses->len; i++)
    {
      const Access *other = &g_array_index (accesses, Access, i);
      if (other->low < now->high && now->low < other->high && (other->writes || now->writes) &&
          by->clock->at[other->agent] < other->epoch)
        return problem (
            LAUNCH_FAILED,
            "nothing orders %s (%s %u), which %s bytes %zu to %zu of %s, and %s (%s %u), "
            "which %s bytes %zu to %zu",
            other->name, other->agent == 0 ? "host" : "stream", other->agent,
            other->writes ? "writes" : "reads", (size_t) (other->low - from),
            (size_t) (other->high - from), where, now->name, now->agent == 0 ? "host" : "stream",
            now->agent, now->writes ? "writes" : "reads", (size_t) (now->low - from),
            (size_t) (now->high - from));
    }
  g_array_append_vals (accesses, now, 1);
  return OK;
}

static Access
access_of (gconstpointer at, gsize bytes, gboolean writes, const Toucher *by)
{
  return (Access){ (gsize) at, (gsize) at + bytes, writes,
                   by->agent,  by->epoch,          g_intern_string (by->name) };
}

unsigned int
touch (gconstpointer at, gsize bytes, gboolean writes, const Toucher *by)
{
  Block *block = block_find (at, bytes);
  Access now = access_of (at, bytes, writes, by);
  g_autofree char *where = NULL;

  if (block == NULL)
    return problem (ILLEGAL_ADDRESS,
                    "%s %s %zu bytes at %p that are in no block of memory, or in one "
                    "that was freed",
                    by->name, writes ? "writes" : "reads", (size_t) bytes, at);
  block_open (block);
  where = g_strdup_printf ("block %u", block->number);
  return note (&now, by, where, (gsize) block->data);
}

unsigned int
touch_host (gconstpointer at, gsize bytes, gboolean writes, const Toucher *by)
{
  Access now = access_of (at, bytes, writes, by);

  return note (&now, by, "the host's memory", (gsize) at);
}

void
blocks_forget (const Clock *host)
{
  if (accesses == NULL || accesses->len < MOST_ACCESSES)
    return;
  for (guint i = accesses->len; i > 0; i--)
    {
      const Access *access = &g_array_index (accesses, Access, i - 1);
      if (host->at[access->agent] >= access->epoch)
        g_array_remove_index_fast (accesses, i - 1);
    }
}
