/* What the files of the exact search share: exact.c searches, floors.c knows what
 * follows from what is placed, form.c brings instances to one form. */
#pragma once

#include <time.h>

#include "core/exec/memory/place/place.h"

#define IR_EXACT_HIGH G_MAXINT64

/* What the search looks at most comes first. */
typedef struct
{
  gint64 floor; /* it cannot lie below this */
  gint64 top;   /* of the highest placed block below it: where it would lie now */
  guint8 placed, queued;
  guint lo, hi; /* sections, both inclusive */
  guint rank;   /* in the static order */
  gint64 size;
  const guint *neighbours; /* blocks that live with it in some section */
  guint n_neighbours;
  guint block; /* index in the caller's array */
  gint64 life;
  gint64 crowd; /* the most that lives at once while this does */
} IrExactItem;

typedef struct
{
  guint n_items;
  guint *items;   /* those that wait last, by the floors that they had when last looked at */
  gint64 waiting; /* bytes of the blocks that are not placed */
  gint64 low;     /* lowest floor of these */
  gint64 end;     /* these cannot be stacked lower */
  guint crossing; /* blocks not placed that live here and in the section before */
  guint64 failures;
  gboolean queued;
} IrExactSection;

typedef enum
{
  IR_EXACT_CHANGE_FLOOR,
  IR_EXACT_CHANGE_TOP,
  IR_EXACT_CHANGE_LOW,
  IR_EXACT_CHANGE_END,
  IR_EXACT_CHANGE_PLACED
} IrExactChangeKind;

typedef struct
{
  IrExactChangeKind kind;
  guint index;
  gint64 old;
} IrExactChange;

typedef enum
{
  IR_EXACT_FOCUS_LOWEST, /* the lowest floor of all */
  IR_EXACT_FOCUS_MIXED   /* the section with the least room for its failures */
} IrExactFocus;

typedef struct
{
  guint n_items, n_sections;
  IrExactItem *items;
  IrExactSection *sections;
  guint *neighbours, *members; /* what items and sections point into */
  gboolean crowded;            /* too many pairs live together for a search */
  gint64 capacity;
  guint *first_item; /* by section: the first item that begins there or later */
  guint64 *refuted;  /* keys of states that cannot be completed, by their first bits */
  GArray *changes;   /* of IrExactChange: what to undo, oldest first */
  GArray *hanging;   /* of guint: blocks whose support has to be looked at */
  GArray *dirty;     /* of guint: sections whose bound has to be looked at */
  GRand *random;
  IrExactFocus focus;
  guint64 n_steps, limit; /* of this try */
  guint64 n_total;
  clock_t deadline; /* 0: none */
  const IrMemOptions *options;
  gboolean stopped, out_of_time; /* this try; all of it, or it was cancelled */
} IrExactSearch;

/* -- floors.c -- */
void ir_exact_record (IrExactSearch *search, IrExactChangeKind kind, guint index, gint64 old);
void ir_exact_undo (IrExactSearch *search, guint mark);
void ir_exact_queue_section (IrExactSearch *search, guint index);
void ir_exact_queue_hanging (IrExactSearch *search, guint index);
void ir_exact_raise_floor (IrExactSearch *search, guint index, gint64 floor);
void ir_exact_clear_queues (IrExactSearch *search);
gint64 ir_exact_lowest_support (const IrExactSearch *search, const IrExactItem *item);
gboolean ir_exact_propagate (IrExactSearch *search);

/* -- form.c -- */
gint64 ir_exact_search_init (IrExactSearch *search,
                             const IrMemBlock *blocks,
                             guint n,
                             const IrMemOptions *options);
void ir_exact_search_clear (IrExactSearch *search);
