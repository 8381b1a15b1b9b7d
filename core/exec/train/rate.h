/* The learning rate over the steps of a training run. */
#pragma once

#include <glib.h>

typedef enum
{
  IR_RATE_CONSTANT,
  IR_RATE_STEP,  /* times @factor every @every epochs */
  IR_RATE_COSINE /* down to 0 at the end, along half a cosine */
} IrRateKind;

typedef struct
{
  IrRateKind kind;
  double base;     /* the rate itself */
  guint64 warm_up; /* steps over which it rises from 0 */
  guint64 every;   /* epochs */
  double factor;
} IrRate;

/* "constant", "cosine", "step:30:0.1", and before it "warm-up:100," */
gboolean ir_rate_parse (const char *text, IrRate *rate, GError **error);
/* Of step @step, from 0 on, of @n_steps with @per_epoch in an epoch */
double ir_rate_at (const IrRate *rate, guint64 step, guint64 n_steps, guint64 per_epoch);
