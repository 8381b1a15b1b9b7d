/* What conditions of users have in common, those of steps, of runs and of values: a comparison with an
 * amount. */
#pragma once

#include <glib.h>

typedef enum
{
  IR_RELATION_GREATER,
  IR_RELATION_GREATER_EQUAL,
  IR_RELATION_LESS,
  IR_RELATION_LESS_EQUAL,
  IR_N_RELATIONS
} IrRelation;

const char *ir_relation_read (const char *text, IrRelation *relation);
const char *ir_relation_text (IrRelation relation);
gboolean ir_relation_holds (IrRelation relation, double x, double limit);
gboolean ir_amount_read (const char *text, double kilo, gboolean share, double *amount);
