/* The emulator: fibers, the vocabulary behind prelude.h, and who has touched what. There is one launch at
 * a time in a process. */
#define _GNU_SOURCE
#include "config.h"

#include "tests/gpu/emulator/count.h"
#include "tests/gpu/emulator/emulator.h"

#include <dlfcn.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#ifndef __x86_64__
#include <ucontext.h>
#endif
#define MAX_THREADS       1024
#define WARP              32
#define STACK             (64 << 10)
#define SHARED            (48 << 10)
#define MAX_SHARED_ARRAYS 16

/* As in prelude.h. */
typedef struct
{
  unsigned int block, thread;
  void *(*shared) (unsigned long bytes, int line);
  void *(*access) (void *p, unsigned long bytes, int is_shared, int writes, int line);
  void (*barrier) (int line);
  void (*warp_sync) (int line);
  unsigned long long (*shuffle_xor) (unsigned long long bits, int mask, int line);
  void (*atomic_max) (unsigned int *p, unsigned int value, int line);
  void (*mma) (float *c, const unsigned int *a, const unsigned int *b, int is_bfloat, int line);
} EmuThread;

struct _EmuProgram
{
  char *folder;
  void *handle;
};

typedef enum
{
  READY,
  AT_BARRIER,
  AT_WARP_SYNC,
  AT_SHUFFLE,
  AT_MMA,
  DONE
} Wait;

static const char *const wait_names[] = { "runs",
                                          "is at the barrier",
                                          "is at the sync of its warp",
                                          "is at the shuffle",
                                          "is at the product",
                                          "has ended" };

typedef struct
{
#ifdef __x86_64__
  void *sp;
#else
  ucontext_t context;
#endif
  Wait wait;
  int line, mask;
  guint64 bits;
  float *c; /* of a product: what it holds of the matrices; mask: whether they are of bfloat16 */
  const unsigned int *a, *b;
} Fiber;

/* One access, by whom and when: intervals are between barriers, epochs between syncs of the warp. */
typedef struct
{
  guint32 block, thread, interval, epoch;
  gint32 line; /* 0: none */
} Access;

typedef struct
{
  Access write, reads[2];
} Cell;

static struct
{
  EmuThread thread;
  Fiber fibers[MAX_THREADS], scheduler;
  guint8 *stacks;
  guint n_threads, current;
  guint32 interval, epochs[MAX_THREADS / WARP];
  void (*kernel) (void *,
                  void *,
                  void *,
                  void *,
                  void *,
                  void *,
                  void *,
                  void *,
                  void *,
                  void *,
                  void *,
                  void *,
                  void *,
                  void *,
                  void *,
                  void *);
  void *args[IR_GPU_MAX_ARGS];
  const EmuBuffer *const *buffers;
  guint n_buffers;
  Cell *cells[IR_GPU_MAX_ARGS]; /* one for each element */
  struct
  {
    gsize low, high;
    gboolean written;
  } touched[IR_GPU_MAX_ARGS];
  guint8 shared[SHARED] __attribute__ ((aligned (16)));
  Cell shared_cells[SHARED / 4];
  struct
  {
    int line;
    gsize offset, bytes;
  } arrays[MAX_SHARED_ARRAYS];
  guint n_arrays;
  gsize shared_used;
  char *problem;
} e;

/* -- fibers -- */

#ifdef __x86_64__
void emu_switch (void **from, void *to);
__asm__(".text\n.globl emu_switch\n.type emu_switch,@function\nemu_switch:\n"
        "  push %rbp\n  push %rbx\n  push %r12\n  push %r13\n  push %r14\n  push %r15\n"
        "  mov %rsp, (%rdi)\n  mov %rsi, %rsp\n"
        "  pop %r15\n  pop %r14\n  pop %r13\n  pop %r12\n  pop %rbx\n  pop %rbp\n  ret\n");
#define SWITCH(from, to) emu_switch (&(from)->sp, (to)->sp)
#else
#define SWITCH(from, to) swapcontext (&(from)->context, &(to)->context)
#endif

static void
to_scheduler (Wait wait, int line)
{
  Fiber *fiber = &e.fibers[e.current];

  fiber->wait = wait;
  fiber->line = line;
  SWITCH (fiber, &e.scheduler);
}

static void
fiber_main (void)
{
  void **a = e.args;

  e.kernel (a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13],
            a[14], a[15]);
  to_scheduler (DONE, 0);
  g_assert_not_reached ();
}

static void
fiber_begin (guint thread)
{
  Fiber *fiber = &e.fibers[thread];
  guint8 *stack = e.stacks + (gsize) thread * STACK;

  fiber->wait = READY;
#ifdef __x86_64__
  void **top = (void **) (gpointer) (stack + STACK - 16);
  *top = (void *) (gsize) fiber_main;
  fiber->sp = top - 6; /* six registers, of which none counts */
#else
  getcontext (&fiber->context);
  fiber->context.uc_stack.ss_sp = stack;
  fiber->context.uc_stack.ss_size = STACK;
  fiber->context.uc_link = NULL;
  makecontext (&fiber->context, fiber_main, 0);
#endif
}

static void
fiber_run (guint thread)
{
  e.current = thread;
  e.thread.thread = thread;
  SWITCH (&e.scheduler, &e.fibers[thread]);
}

/* Called in a fiber, which does not go on. */
static void G_GNUC_PRINTF (1, 2) fail (const char *format, ...)
{
  va_list list;

  va_start (list, format);
  if (e.problem == NULL)
    e.problem = g_strdup_vprintf (format, list);
  va_end (list);
  to_scheduler (DONE, 0);
}

/* -- who has touched what -- */

/* Whether nothing orders the two, by different threads. */
static gboolean
concurrent (const Access *a, const Access *b)
{
  if (a->line == 0 || b->line == 0)
    return FALSE;
  if (a->block != b->block)
    return TRUE;
  if (a->thread == b->thread || a->interval != b->interval)
    return FALSE;
  return a->thread / WARP != b->thread / WARP || a->epoch == b->epoch;
}

static guint
distance (const Access *a, const Access *b)
{
  return a->block != b->block ? 3 : a->thread / WARP != b->thread / WARP ? 2 : 1;
}

/* Keeps two reads, which no write could follow that conflicts with another one alone. */
static void
note_read (Cell *cell, const Access *now)
{
  Access *first = &cell->reads[0], *second = &cell->reads[1];

  if (!concurrent (first, now))
    *first = *now;
  else if (!concurrent (second, now) || distance (first, now) > distance (first, second))
    *second = *now;
}

static char *
who (const Access *a)
{
  return g_strdup_printf ("line %d (block %u, thread %u)", a->line, a->block, a->thread);
}

/* What is said of two accesses; in a function of its own, as whoever fails does not return. */
static char *
tell_race (const Access *other,
           gboolean other_writes,
           const Access *now,
           gboolean writes,
           const char *where,
           gsize index)
{
  g_autofree char *a = who (other);
  g_autofree char *b = who (now);

  return g_strdup_printf ("race: %s %s element %zu of %s, and %s %s it, with nothing between", a,
                          other_writes ? "writes" : "reads", (size_t) index, where, b,
                          writes ? "writes" : "reads");
}

static void
note (Cell *cell, const Access *now, gboolean writes, const char *where, gsize index)
{
  gboolean other_writes = concurrent (&cell->write, now);
  const Access *other = other_writes ? &cell->write : NULL;

  for (guint i = 0; writes && other == NULL && i < 2; i++)
    if (concurrent (&cell->reads[i], now))
      other = &cell->reads[i];
  if (other != NULL)
    {
      if (e.problem == NULL)
        e.problem = tell_race (other, other_writes, now, writes, where, index);
      to_scheduler (DONE, 0);
    }
  if (writes)
    cell->write = *now;
  else
    note_read (cell, now);
}

static Access
access_now (int line)
{
  return (Access){ e.thread.block, e.current, e.interval, e.epochs[e.current / WARP], line };
}

/* -- the vocabulary -- */

/* All threads of a block have the same array for a line, which begins as NaN. */
static void *
do_shared (unsigned long bytes, int line)
{
  gsize offset = e.shared_used;

  for (guint i = 0; i < e.n_arrays; i++)
    if (e.arrays[i].line == line)
      return e.shared + e.arrays[i].offset;
  if (e.n_arrays == MAX_SHARED_ARRAYS || e.shared_used + bytes > SHARED)
    fail ("line %d: more than %d bytes of shared memory", line, SHARED);
  e.arrays[e.n_arrays].line = line;
  e.arrays[e.n_arrays].offset = offset;
  e.arrays[e.n_arrays++].bytes = bytes;
  e.shared_used += (bytes + 15) / 16 * 16;
  memset (e.shared + offset, 0xff, e.shared_used - offset);
  memset (e.shared_cells + offset / 4, 0, (e.shared_used - offset) / 4 * sizeof (Cell));
  return e.shared + offset;
}

static void *
access_shared (guint8 *p, gsize bytes, gboolean writes, int line)
{
  Access now = access_now (line);
  gsize offset = (gsize) (p - e.shared);

  for (guint i = 0; i < e.n_arrays; i++)
    if (p >= e.shared + e.arrays[i].offset &&
        offset + bytes <= e.arrays[i].offset + e.arrays[i].bytes)
      {
        for (gsize k = offset / 4; k < (offset + bytes + 3) / 4; k++)
          note (&e.shared_cells[k], &now, writes, "shared memory", k - e.arrays[i].offset / 4);
        if (emu_counts ())
          emu_count_access (G_MAXUINT, offset, (guint) bytes, e.current, line);
        return p;
      }
  fail ("line %d: thread %u is outside of shared memory", line, e.current);
  return p;
}

static void
touch (guint which, const guint8 *p, gsize bytes, gboolean writes)
{
  gsize at = (gsize) (p - e.buffers[which]->data);

  e.touched[which].low = MIN (e.touched[which].low, at);
  e.touched[which].high = MAX (e.touched[which].high, at + bytes);
  e.touched[which].written |= writes;
}

/* The parameter that @p points into, or the number of them. */
static guint
buffer_of (const guint8 *p, gsize bytes)
{
  guint i = 0;

  while (i < e.n_buffers &&
         !(p >= e.buffers[i]->data && p + bytes <= e.buffers[i]->data + e.buffers[i]->bytes))
    i++;
  return i;
}

static void *
do_access (void *pointer, unsigned long bytes, int is_shared, int writes, int line)
{
  guint8 *p = pointer;

  if (is_shared)
    return access_shared (p, bytes, writes, line);
  guint which = buffer_of (p, bytes);
  if (which == e.n_buffers)
    fail ("line %d: block %u, thread %u %s %lu bytes that are in no buffer", line, e.thread.block,
          e.current, writes ? "writes" : "reads", bytes);
  const EmuBuffer *buffer = e.buffers[which];
  if ((gsize) p % bytes != 0)
    fail ("line %d: %lu bytes of %s at an odd address", line, bytes, buffer->name);
  if (writes && !buffer->writable)
    fail ("line %d: block %u, thread %u writes %s", line, e.thread.block, e.current, buffer->name);
  touch (which, p, bytes, writes != 0);
  Access now = access_now (line);
  if (emu_counts ())
    emu_count_access (which, (guint64) (p - buffer->data), (guint) bytes, e.current, line);
  gsize first = (gsize) (p - buffer->data) / buffer->element_bytes;
  for (gsize i = 0; i < MAX (bytes / buffer->element_bytes, 1); i++)
    note (&e.cells[which][first + i], &now, writes, buffer->name, first + i);
  return p;
}

static void
do_barrier (int line)
{
  to_scheduler (AT_BARRIER, line);
}

static void
do_warp_sync (int line)
{
  to_scheduler (AT_WARP_SYNC, line);
}

static unsigned long long
do_shuffle_xor (unsigned long long bits, int mask, int line)
{
  e.fibers[e.current].bits = bits;
  e.fibers[e.current].mask = mask;
  to_scheduler (AT_SHUFFLE, line);
  return e.fibers[e.current].bits;
}

static void
do_mma (float *c, const unsigned int *a, const unsigned int *b, int is_bfloat, int line)
{
  Fiber *fiber = &e.fibers[e.current];

  fiber->c = c;
  fiber->a = a;
  fiber->b = b;
  fiber->mask = is_bfloat;
  to_scheduler (AT_MMA, line);
}

static void
do_atomic_max (unsigned int *p, unsigned int value, int line)
{
  guint which = buffer_of ((const guint8 *) p, sizeof *p);

  if (which == e.n_buffers || !e.buffers[which]->writable)
    fail ("line %d: an atomic on no buffer that may be written", line);
  touch (which, (const guint8 *) p, sizeof *p, TRUE);
  *p = MAX (*p, value);
}

/* -- scheduling -- */

__extension__ typedef _Float16 Half;

/* Element @half of two in a word. */
static double
element_of (unsigned int word, guint half, gboolean is_bfloat)
{
  guint16 bits = (guint16) (word >> half * 16);
  guint32 wide = (guint32) bits << 16;
  Half narrow;
  float value;

  memcpy (&narrow, &bits, sizeof narrow);
  memcpy (&value, &wide, sizeof value);
  return is_bfloat ? (double) value : (double) narrow;
}

/* c + a b of the matrices that the lanes of a warp hold together, as "Matrix Fragments for mma.m16n8k16 with
 * floating point type" of the PTX ISA has them: of a, register r of a lane has row lane / 4, or 8 below for
 * odd r, and columns from lane % 4 * 2 on, 8 further from r = 2 on; of b the same with rows and columns
 * changed; of c, element i has row lane / 4, 8 below from i = 2 on, and column lane % 4 * 2 + i % 2. */
static void
multiply_fragments (Fiber *lanes)
{
  gboolean is_bfloat = lanes[0].mask != 0;
  double a[16][16], b[16][8];

  for (guint lane = 0; lane < WARP; lane++)
    for (guint half = 0; half < 2; half++)
      {
        guint line = lane / 4, k = lane % 4 * 2 + half;
        for (guint r = 0; r < 4; r++)
          a[line + r % 2 * 8][k + r / 2 * 8] = element_of (lanes[lane].a[r], half, is_bfloat);
        for (guint r = 0; r < 2; r++)
          b[k + r * 8][line] = element_of (lanes[lane].b[r], half, is_bfloat);
      }
  for (guint lane = 0; lane < WARP; lane++)
    for (guint i = 0; i < 4; i++)
      {
        double sum = lanes[lane].c[i];
        for (guint k = 0; k < 16; k++)
          sum += a[lane / 4 + i / 2 * 8][k] * b[k][lane % 4 * 2 + i % 2];
        lanes[lane].c[i] = (float) sum;
      }
}

/* Lets a warp go on whose threads have all come to the same shuffle, product or sync. */
static gboolean
release_warp (guint warp)
{
  Fiber *lanes = &e.fibers[warp * WARP];
  Wait wait = lanes[0].wait;
  guint64 bits[WARP];

  if (wait != AT_SHUFFLE && wait != AT_WARP_SYNC && wait != AT_MMA)
    return FALSE;
  for (guint i = 1; i < WARP; i++)
    if (lanes[i].wait != lanes[0].wait || lanes[i].line != lanes[0].line ||
        lanes[i].mask != lanes[0].mask)
      return FALSE;
  if (wait == AT_MMA)
    multiply_fragments (lanes);
  for (guint i = 0; i < WARP; i++)
    bits[i] = lanes[i].bits;
  for (guint i = 0; i < WARP; i++)
    {
      if (lanes[i].wait == AT_SHUFFLE)
        lanes[i].bits = bits[(i ^ (guint) lanes[i].mask) % WARP];
      lanes[i].wait = READY;
      lanes[i].mask = 0;
    }
  /* A shuffle orders no memory. */
  e.epochs[warp] += wait == AT_WARP_SYNC;
  return TRUE;
}

static gboolean
release_barrier (void)
{
  for (guint i = 0; i < e.n_threads; i++)
    if (e.fibers[i].wait != AT_BARRIER || e.fibers[i].line != e.fibers[0].line)
      return FALSE;
  for (guint i = 0; i < e.n_threads; i++)
    e.fibers[i].wait = READY;
  e.interval++;
  return TRUE;
}

static void
shuffle (guint *order, guint n, GRand *rand)
{
  for (guint i = n; i > 1; i--)
    {
      guint k = (guint) g_rand_int_range (rand, 0, (gint32) i), kept = order[i - 1];
      order[i - 1] = order[k];
      order[k] = kept;
    }
}

/* Every ready thread once; then the warps that all have come. */
static gboolean
one_round (EmuOrder order, guint *threads, GRand *rand)
{
  gboolean any = FALSE;

  if (order == EMU_SEEDED)
    shuffle (threads, e.n_threads, rand);
  for (guint i = 0; i < e.n_threads && e.problem == NULL; i++)
    if (e.fibers[threads[i]].wait == READY)
      {
        fiber_run (threads[i]);
        any = TRUE;
      }
  for (guint warp = 0; warp < e.n_threads / WARP; warp++)
    any |= release_warp (warp);
  return any;
}

/* Each warp as far as it gets. */
static gboolean
warps_ahead (EmuOrder order)
{
  guint n = e.n_threads / WARP;
  gboolean any = FALSE;

  for (guint w = 0; w < n; w++)
    {
      guint warp = order == EMU_AHEAD ? w : n - 1 - w;
      do
        for (guint i = 0; i < WARP && e.problem == NULL; i++)
          if (e.fibers[warp * WARP + i].wait == READY)
            {
              fiber_run (warp * WARP + i);
              any = TRUE;
            }
      while (e.problem == NULL && release_warp (warp));
    }
  return any;
}

/* Nobody can go on: says who waits for what. */
static void
tell_deadlock (void)
{
  guint other = 1;

  while (other < e.n_threads && e.fibers[other].wait == e.fibers[0].wait &&
         e.fibers[other].line == e.fibers[0].line)
    other++;
  if (other == e.n_threads)
    other = 0;
  e.problem = g_strdup_printf (
      "deadlock in block %u: thread 0 %s (line %d), thread %u %s (line %d)", e.thread.block,
      wait_names[e.fibers[0].wait], e.fibers[0].line, other, wait_names[e.fibers[other].wait],
      e.fibers[other].line);
}

static gboolean
all_done (void)
{
  for (guint i = 0; i < e.n_threads; i++)
    if (e.fibers[i].wait != DONE)
      return FALSE;
  return TRUE;
}

static void
run_block (guint block, EmuOrder order, GRand *rand)
{
  g_autofree guint *threads = g_new (guint, e.n_threads);

  e.thread.block = block;
  e.interval = 0;
  e.n_arrays = 0;
  e.shared_used = 0;
  memset (e.epochs, 0, sizeof e.epochs);
  for (guint i = 0; i < e.n_threads; i++)
    {
      threads[i] = i;
      fiber_begin (i);
    }
  while (e.problem == NULL && !all_done ())
    if (!(order <= EMU_SEEDED ? one_round (order, threads, rand) : warps_ahead (order)) &&
        !release_barrier () && e.problem == NULL)
      tell_deadlock ();
  if (emu_counts ())
    emu_count_block_end ();
}

static void
run_blocks (guint n_blocks, EmuOrder order, guint32 seed)
{
  g_autofree guint *blocks = g_new (guint, n_blocks);
  GRand *rand = g_rand_new_with_seed (seed);

  for (guint i = 0; i < n_blocks; i++)
    blocks[i] = order == EMU_BEHIND ? n_blocks - 1 - i : i;
  if (order == EMU_SEEDED)
    shuffle (blocks, n_blocks, rand);
  for (guint i = 0; i < n_blocks && e.problem == NULL; i++)
    run_block (blocks[i], order, rand);
  g_rand_free (rand);
}

gboolean
emu_run (EmuProgram *program,
         const IrGpuLaunch *launch,
         const EmuBuffer *const *args,
         EmuOrder order,
         guint32 seed,
         char **problem)
{
  EmuThread **thread = dlsym (program->handle, "emu");

  *(void **) (gpointer) &e.kernel = dlsym (program->handle, launch->name);
  if (thread == NULL || e.kernel == NULL)
    {
      *problem = g_strdup_printf ("there is no kernel %s", launch->name);
      return FALSE;
    }
  e.thread = (EmuThread){
    0, 0, do_shared, do_access, do_barrier, do_warp_sync, do_shuffle_xor, do_atomic_max, do_mma
  };
  *thread = &e.thread;
  g_assert_cmpuint (launch->threads, <=, MAX_THREADS);
  g_assert_cmpuint (launch->threads % WARP, ==, 0);
  e.n_threads = launch->threads;
  e.buffers = args;
  e.n_buffers = launch->n_args;
  if (e.stacks == NULL)
    e.stacks = mmap (NULL, (gsize) MAX_THREADS * STACK, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  g_assert_true (e.stacks != MAP_FAILED);
  memset (e.args, 0, sizeof e.args);
  for (guint i = 0; i < launch->n_args; i++)
    {
      e.args[i] = args[i]->data;
      e.touched[i].low = G_MAXSIZE;
      e.touched[i].high = 0;
      e.touched[i].written = FALSE;
      e.cells[i] = g_new0 (Cell, args[i]->bytes / args[i]->element_bytes + 1);
    }
  if (emu_counts ())
    emu_count_launch (launch->threads);
  for (guint i = 0; emu_counts () && i < launch->n_args; i++)
    emu_count_buffer (i, args[i]->bytes);
  run_blocks (launch->blocks, order, seed);
  if (emu_counts ())
    emu_count_launch_end ();
  for (guint i = 0; i < launch->n_args; i++)
    g_clear_pointer (&e.cells[i], g_free);
  *problem = g_steal_pointer (&e.problem);
  return *problem == NULL;
}

gboolean
emu_touched (guint i, gsize *low, gsize *high, gboolean *written)
{
  *low = e.touched[i].low;
  *high = e.touched[i].high;
  *written = e.touched[i].written;
  return *high > 0;
}

/* -- memory -- */

static gsize
page_bytes (void)
{
  return (gsize) sysconf (_SC_PAGESIZE);
}

/* Those of the buffer, in whole pages. */
static gsize
inner_bytes (gsize bytes)
{
  return (bytes + page_bytes () - 1) / page_bytes () * page_bytes ();
}

EmuBuffer
emu_buffer_new (const char *name, gsize bytes, guint element_bytes, gboolean writable)
{
  gsize page = page_bytes (), inner = inner_bytes (bytes);
  guint8 *all = mmap (NULL, inner + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  g_assert_true (all != MAP_FAILED);
  if (inner > 0)
    g_assert_cmpint (mprotect (all + page, inner, PROT_READ | PROT_WRITE), ==, 0);
  /* It ends at the guard as far as accesses of 16 bytes at its start allow. */
  return (EmuBuffer){ all + page + (inner - bytes) / 16 * 16, bytes, element_bytes, writable,
                      name };
}

void
emu_buffer_clear (EmuBuffer *buffer)
{
  gsize page = page_bytes ();
  guint8 *all;

  if (buffer->data == NULL)
    return;
  all = buffer->data - (inner_bytes (buffer->bytes) - buffer->bytes) / 16 * 16 - page;
  munmap (all, inner_bytes (buffer->bytes) + 2 * page);
  buffer->data = NULL;
}

/* -- compiling -- */

static gboolean
run_compiler (const char *source, const char *object, GError **error)
{
  const char *argv[] = { "cc",
                         "-x",
                         "c",
                         "-std=gnu17",
                         "-O0", /* compiling takes longer than running */
                         "-w",
                         "-shared",
                         "-fPIC",
                         "-ffp-contract=off",
                         "-fno-strict-aliasing",
                         "-o",
                         object,
                         source,
                         "-lm",
                         NULL };
  g_autofree char *messages = NULL;
  int status;

  if (!g_spawn_sync (NULL, (char **) argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, &messages,
                     &status, error))
    return FALSE;
  if (g_spawn_check_wait_status (status, NULL))
    return TRUE;
  g_set_error (error, G_SPAWN_ERROR, G_SPAWN_ERROR_FAILED, "cc: %.2000s", messages);
  return FALSE;
}

EmuProgram *
emu_compile (const char *text, GError **error)
{
  g_autofree char *prelude_path = g_test_build_filename (G_TEST_DIST, "emulator", "prelude.h",
                                                         NULL);
  g_autofree char *prelude = NULL, *source = NULL, *object = NULL, *whole = NULL;
  g_autoptr (EmuProgram) program = g_new0 (EmuProgram, 1);

  if (!g_file_get_contents (prelude_path, &prelude, NULL, error))
    return NULL;
  program->folder = g_dir_make_tmp ("irscope-emulator-XXXXXX", error);
  if (program->folder == NULL)
    return NULL;
  source = g_build_filename (program->folder, "kernels.c", NULL);
  object = g_build_filename (program->folder, "kernels.so", NULL);
  whole = g_strconcat (prelude, text, NULL);
  if (!g_file_set_contents (source, whole, -1, error) || !run_compiler (source, object, error))
    return NULL;
  program->handle = dlopen (object, RTLD_NOW | RTLD_LOCAL);
  if (program->handle == NULL)
    {
      g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_FAILED, "%s", dlerror ());
      return NULL;
    }
  return g_steal_pointer (&program);
}

EmuProgram *
emu_load (const char *path, GError **error)
{
  g_autoptr (EmuProgram) program = g_new0 (EmuProgram, 1);

  program->handle = dlopen (path, RTLD_NOW | RTLD_LOCAL);
  if (program->handle != NULL)
    return g_steal_pointer (&program);
  g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_FAILED, "%s", dlerror ());
  return NULL;
}

void
emu_free (EmuProgram *program)
{
  static const char *const files[] = { "kernels.c", "kernels.so" };

  if (program == NULL)
    return;
  if (program->handle != NULL)
    dlclose (program->handle);
  for (guint i = 0; program->folder != NULL && i < G_N_ELEMENTS (files); i++)
    {
      g_autofree char *path = g_build_filename (program->folder, files[i], NULL);
      g_remove (path);
    }
  if (program->folder != NULL)
    g_rmdir (program->folder);
  g_free (program->folder);
  g_free (program);
}
