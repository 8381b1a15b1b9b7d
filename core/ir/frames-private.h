/* Frames while they are found: frames.c, induction.c. */
#pragma once

#include "core/ir/frames.h"

static inline IrFrame *
ir_frames_at (const IrFrames *frames, guint index)
{
  return &g_array_index (frames->frames, IrFrame, index);
}

IrValueId ir_frames_root (const IrFrames *frames, const IrValue *value);
void ir_frames_note_variable (IrFrames *frames, const IrNode *merge);
void ir_frames_find_trips (const IrFrames *frames, IrFrame *frame);
