/* Pages of growing size in a list; an allocation bigger than a page gets one of its own. */
#include "config.h"

#include "core/ir/arena.h"

#include <string.h>

#define FIRST_PAGE_BYTES 4096
#define LAST_PAGE_BYTES  (1 << 20)
#define ALIGN_BYTES      16

typedef struct _Page Page;
struct _Page
{
  Page *next;
  gsize size, used;
  gsize pad; /* keeps the data aligned */
};

G_STATIC_ASSERT (sizeof (Page) % ALIGN_BYTES == 0);

struct _IrArena
{
  Page *pages; /* the first one is being filled */
  gsize next_page_bytes, bytes;
};

/**
 * ir_arena_new:
 *
 * Returns: (transfer full): an empty arena
 */
IrArena *
ir_arena_new (void)
{
  IrArena *arena = g_new0 (IrArena, 1);
  arena->next_page_bytes = FIRST_PAGE_BYTES;
  return arena;
}

/**
 * ir_arena_free:
 * @arena: (transfer full): with everything allocated from it
 */
void
ir_arena_free (IrArena *arena)
{
  for (Page *page = arena->pages, *next; page != NULL; page = next)
    {
      next = page->next;
      g_free (page);
    }
  g_free (arena);
}

static Page *
add_page (IrArena *arena, gsize size)
{
  gsize bytes = MAX (size, arena->next_page_bytes);
  Page *page = g_malloc0 (sizeof (Page) + bytes);

  page->size = bytes;
  page->next = arena->pages;
  arena->pages = page;
  arena->bytes += sizeof (Page) + bytes;
  arena->next_page_bytes = MIN (arena->next_page_bytes * 2, LAST_PAGE_BYTES);
  return page;
}

/**
 * ir_arena_alloc:
 * @arena: the arena
 * @size: bytes; 0 gives a valid pointer too
 *
 * Returns: (transfer none): zeroed memory, aligned for any type, until the arena is freed
 */
gpointer
ir_arena_alloc (IrArena *arena, gsize size)
{
  gsize rounded = (MAX (size, 1) + ALIGN_BYTES - 1) & ~(gsize) (ALIGN_BYTES - 1);
  Page *page = arena->pages;

  if (page == NULL || page->size - page->used < rounded)
    page = add_page (arena, rounded);
  page->used += rounded;
  return (char *) (page + 1) + page->used - rounded;
}

/**
 * ir_arena_dup:
 * @arena: the arena
 * @data: (nullable): @size bytes to copy
 * @size: bytes
 *
 * Returns: (transfer none): a copy in the arena
 */
gpointer
ir_arena_dup (IrArena *arena, gconstpointer data, gsize size)
{
  gpointer copy = ir_arena_alloc (arena, size);
  if (size > 0)
    memcpy (copy, data, size);
  return copy;
}

/**
 * ir_arena_bytes:
 * @arena: the arena
 *
 * Returns: bytes held from the system
 */
gsize
ir_arena_bytes (const IrArena *arena)
{
  return arena->bytes;
}
