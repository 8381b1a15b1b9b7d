/* Which values share bytes, on plain numbers: what needs bytes when is a list of live ranges, added
 * in the order in which they begin. Who adds one asks first whether it may be written over another
 * one (ir_sharing_may_overwrite()), or lie within one (ir_sharing_may_cut()); what is joined moves
 * into its whole (ir_sharing_join()). The memory plan (share.c) and the plans under a budget
 * (core/exec/recompute/live-ranges.c) differ only in what they ask. */
#pragma once

#include "core/exec/memory/peak-tree.h"

#define IR_SHARING_NONE G_MAXUINT

/* Why a value does not share bytes with another one. */
typedef enum
{
  IR_REFUSAL_NONE,
  IR_REFUSAL_EXTERNAL,
  IR_REFUSAL_SIZE,
  IR_REFUSAL_LAYOUT,
  IR_REFUSAL_READ_LATER,
  IR_REFUSAL_CONCURRENT,
  IR_REFUSAL_READ_TWICE,
  IR_REFUSAL_ALIGN,
  IR_REFUSAL_PART,
  IR_REFUSAL_PEAK,
  IR_N_REFUSALS
} IrSharingRefusal;

typedef struct
{
  guint64 size;
  guint first, last; /* steps: that makes it, and that reads it last */
  guint from, to;    /* steps in which it takes bytes: more where steps run concurrently */
} IrLiveRange;

typedef struct
{
  guint64 align_bytes;
  const IrMemOptions *options; /* (nullable) what stops it */
  GArray *rows;                /* one per live range */
  GArray *blocks;
  IrMemLive live; /* bytes at each step without cuts and joins, changed with each of them */
} IrSharing;

/* The step that asks. */
typedef struct
{
  guint now, from;    /* itself, and the first of those that run concurrently with it */
  const guint *reads; /* (nullable) live ranges that it reads beside the one that is asked for */
  guint n_reads;
  /* (nullable) whether another worker may read a live range meanwhile */
  gboolean (*is_concurrent) (guint range, gpointer data);
  gpointer data;
} IrSharingStep;

/* What is joined: @refusal may be set before, and says afterwards why it lies elsewhere. */
typedef struct
{
  guint range; /* IR_SHARING_NONE: outside */
  guint slot;
  guint64 at; /* bytes from the start of the whole */
  IrSharingRefusal refusal;
  guint block, first;
} IrSharingPart;

void ir_sharing_init (IrSharing *sharing, guint64 align_bytes, const IrMemOptions *options);
void ir_sharing_clear (IrSharing *sharing);
void ir_sharing_add_external (IrSharing *sharing);
void ir_sharing_add_alone (IrSharing *sharing, const IrLiveRange *range);
void ir_sharing_add_within (IrSharing *sharing, const IrLiveRange *range, guint of, guint64 at);
guint ir_sharing_block_of (const IrSharing *sharing, guint range, guint64 *at);
IrSharingRefusal ir_sharing_may_overwrite (const IrSharing *sharing,
                                           guint range,
                                           const IrSharingStep *step);
IrSharingRefusal ir_sharing_may_cut (IrSharing *sharing,
                                     const IrLiveRange *part,
                                     guint of,
                                     guint64 at);
void ir_sharing_join (
    IrSharing *sharing, guint whole, IrSharingPart *parts, guint n, const IrSharingStep *step);
guint ir_sharing_owner (const IrSharing *sharing, guint block);
GArray *ir_sharing_blocks (const IrSharing *sharing, GArray *numbers);
