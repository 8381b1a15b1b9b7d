/* What a window has open is written down as it goes, so that a crash loses no more than a second; its
 * model's file is watched. */
#pragma once

#include "app/gui/window.h"

/* From now on, until the window is closed. */
void ir_keeper_attach (IrWindow *window);
/* The sessions of windows that are open are not offered again: the program ends as it should. */
void ir_keepers_end (void);
/* Of a window that was not closed. (transfer full) (nullable): its file, which is locked by this process
 * until ir_keeper_drop() or ir_keeper_leave(). */
char *ir_keeper_find_lost (void);
void ir_keeper_drop (const char *path);
void ir_keeper_leave (const char *path);
