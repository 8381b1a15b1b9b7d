/* Counts what accesses move. Those of the lanes of a warp that one line makes for the same time go to memory
 * together, in sectors of 32 bytes; in shared memory in words of 32 banks. */
#pragma once

#include <glib.h>

#define EMU_MAX_COUNTED 16

typedef struct
{
  guint64 bytes;           /* that threads ask for */
  guint64 sectors;         /* that warps ask for */
  guint64 touched_bytes;   /* each counts once */
  guint64 touched_sectors; /* the fewest: those in which a touched byte is */
  guint64 block_bytes;     /* each counts once for each block, which may keep it near */
} EmuTraffic;

typedef struct
{
  EmuTraffic buffers[EMU_MAX_COUNTED]; /* of the parameters */
  guint64 bank_conflicts;              /* times that lanes of a warp wait for others of it */
} EmuCounts;

/* From the next launch on; NULL: nothing is counted. */
void emu_count_into (EmuCounts *counts);

/* -- for the emulator -- */
gboolean emu_counts (void);
void emu_count_launch (guint n_threads);
void emu_count_buffer (guint buffer, guint64 bytes);
/* @place: within the buffer, or within shared memory, which is buffer %G_MAXUINT. */
void emu_count_access (guint buffer, guint64 place, guint bytes, guint thread, int line);
void emu_count_block_end (void);
void emu_count_launch_end (void);
