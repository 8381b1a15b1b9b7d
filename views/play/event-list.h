/* The list of events of a run's control flow, those of one frame or iteration if asked for. */
#pragma once

#include "core/exec/run/flow-log.h"

#include <gio/gio.h>

#define IR_TYPE_EVENT_ROW (ir_event_row_get_type ())
G_DECLARE_FINAL_TYPE (IrEventRow, ir_event_row, IR, EVENT_ROW, GObject)
#define IR_TYPE_EVENT_LIST (ir_event_list_get_type ())
G_DECLARE_FINAL_TYPE (IrEventList, ir_event_list, IR, EVENT_LIST, GObject)

IrEventList *ir_event_list_new (void);
/* @log: (nullable); @frame: (nullable) its name; @iteration: -1: all */
void ir_event_list_set (IrEventList *self, IrFlowLog *log, const char *frame, gint64 iteration);
const IrFlowEvent *ir_event_row_get_event (IrEventRow *self);
const IrFlowLog *ir_event_row_get_log (IrEventRow *self); /* that it is of */
