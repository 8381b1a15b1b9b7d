/* Pages of growing size in a list; an allocation bigger than a page gets one of its own. Large
 * arenas ask the system for its large pages: clearing 50,000 nodes' memory in small ones took half
 * of the time of opening them. */
#include "config.h"

#include "core/ir/arena.h"

#include <string.h>
#include <sys/mman.h>

#define FIRST_PAGE_BYTES 4096
#define LAST_PAGE_BYTES  (1 << 20)
#define HUGE_PAGE_BYTES  (2 << 20) /* of x86-64 and arm64; where others hold, nothing is gained */
#define ALIGN_BYTES      16

/* A leak checker looks for pointers in what came from malloc() only. */
#if defined(__SANITIZE_ADDRESS__)
#define MAY_MAP FALSE
#else
#define MAY_MAP TRUE
#endif

typedef struct _Page Page;
struct _Page
{
  Page *next;
  gsize size, used;
  gsize mapped_bytes; /* 0: from malloc() */
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
      if (page->mapped_bytes > 0)
        munmap (page, page->mapped_bytes);
      else
        g_free (page);
    }
  g_free (arena);
}

/* One of the system's large pages, or NULL: two are mapped, and what does not begin at a multiple
 * of its size goes back. */
static Page *
map_page (void)
{
  guint8 *map = mmap (NULL, 2 * HUGE_PAGE_BYTES, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  gsize before = -(guintptr) map % HUGE_PAGE_BYTES;
  Page *page = (Page *) (map + before);

  if (map == MAP_FAILED)
    return NULL;
  if (before > 0)
    munmap (map, before);
  munmap (map + before + HUGE_PAGE_BYTES, HUGE_PAGE_BYTES - before);
  madvise (page, HUGE_PAGE_BYTES, MADV_HUGEPAGE);
  page->mapped_bytes = HUGE_PAGE_BYTES;
  return page;
}

static Page *
add_page (IrArena *arena, gsize size)
{
  gsize bytes = MAX (size, arena->next_page_bytes), room = HUGE_PAGE_BYTES - sizeof (Page);
  Page *page = MAY_MAP && arena->bytes >= HUGE_PAGE_BYTES && size <= room ? map_page () : NULL;

  if (page != NULL)
    bytes = room;
  else
    page = g_malloc0 (sizeof (Page) + bytes);
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
