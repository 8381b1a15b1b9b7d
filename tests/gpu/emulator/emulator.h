/* Runs the text of kernels on the processor: the C compiler of the machine makes a shared object of it,
 * and each thread of a block is a fiber. What a GPU would do in an order of its own is done here in
 * orders that are chosen, and what no order may do is named: an access outside of a buffer, two
 * accesses of one place that nothing orders, a barrier that not all reach. */
#pragma once

#include "core/exec/gpu/program.h"

typedef enum
{
  EMU_FORWARD, /* blocks and threads by their number, each up to the next barrier or shuffle */
  EMU_SEEDED,  /* in an order that is drawn anew for each round */
  EMU_AHEAD,   /* each warp as far as it gets before the next one, first to last */
  EMU_BEHIND   /* the same, last to first */
} EmuOrder;

typedef struct _EmuProgram EmuProgram;

/* Compiles the kernels of many programs at once. */
EmuProgram *emu_compile (const char *text, GError **error);
/* One that was compiled before: a shared object. */
EmuProgram *emu_load (const char *path, GError **error);
void emu_free (EmuProgram *program);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (EmuProgram, emu_free)

/* Memory that ends at a page that nobody may touch, and begins behind one. */
typedef struct
{
  guint8 *data;
  gsize bytes;
  guint element_bytes; /* what is told apart in it */
  gboolean writable;
  const char *name;
} EmuBuffer;

EmuBuffer emu_buffer_new (const char *name, gsize bytes, guint element_bytes, gboolean writable);
void emu_buffer_clear (EmuBuffer *buffer);

/* FALSE with what went wrong, with the lines of the text. */
gboolean emu_run (EmuProgram *program,
                  const IrGpuLaunch *launch,
                  const EmuBuffer *const *args,
                  EmuOrder order,
                  guint32 seed,
                  char **problem);
/* Bytes of argument @i that the launch before has read or written; FALSE: none. */
gboolean emu_touched (guint i, gsize *low, gsize *high, gboolean *written);
