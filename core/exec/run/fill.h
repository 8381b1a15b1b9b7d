/* Random numbers, and how an input is filled with them where its user says so. */
#pragma once

#include <gio/gio.h>

typedef enum
{
  IR_FILL_SUITABLE, /* as uses of the input ask for */
  IR_FILL_NORMAL,   /* @a: mean, @b: standard deviation */
  IR_FILL_UNIFORM,  /* from @a to @b; integers: both included */
  IR_FILL_CONSTANT  /* @a */
} IrFillKind;

typedef struct
{
  IrFillKind kind;
  double a, b;
  guint64 seed;
  gboolean has_seed; /* else that of the run */
} IrFill;

/* "normal", "normal,mean=0,std=1", "uniform,low=0,high=1", "constant,value=3", "zeros", "ones",
 * "suitable"; each with ",seed=7" */
gboolean ir_fill_parse (const char *text, IrFill *fill, GError **error);

/* @state: changes with each number */
double ir_fill_draw (const IrFill *fill, gboolean integer, guint64 *state);

guint64 ir_random_bits (guint64 *state);
double ir_random_uniform (guint64 *state); /* between 0 and 1, without both */
double ir_random_normal (guint64 *state);
gint64 ir_random_in_range (guint64 *state, gint64 low, gint64 high); /* both included */
