/* What was done to the graph, for the folder alone. None of these tells. */
#pragma once

#include "passes/session/session-file.h"
#include "views/session/request.h"
#include "views/session/undo.h"

/* Another file is open: nothing was done to it. */
void ir_session_begin_acts (IrSession *self);
/* What @request brought is in place: its first @base steps were those of the timeline before it. @said:
 * (transfer full): how it is done again */
void ir_session_record_act (
    IrSession *self, const IrRequest *request, const char *title, guint base, IrDone *said);
/* The file that is open now holds the first @n_steps steps. */
void ir_session_acts_written (IrSession *self, guint n_steps);
/* How many of the steps on screen the file holds, or what is behind it takes the place of. */
guint ir_session_get_n_written (IrSession *self);
/* What was done behind what the file holds, with what was undone and the branches, and where. */
void ir_session_list_done (IrSession *self, IrSessionFile *file);
/* In the place of what was done to the file that was opened: of a replay, whose models are taken by
 * @timelines (model -> IrTimeline). */
void ir_session_restore_acts (IrSession *self,
                              const IrSessionReplay *replay,
                              GHashTable *timelines);
/* The last run of a pipeline that ended, with what it skipped; (transfer full) */
IrDone *ir_session_dup_ran (IrSession *self);
void ir_session_set_ran (IrSession *self, IrDone *ran); /* (transfer full), also of a what-if */
guint ir_session_get_edits (IrSession *self); /* the same number: the same edits */
