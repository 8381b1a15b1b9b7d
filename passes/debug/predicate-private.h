/* The parts of a predicate, and what it measures; inside of it alone. */
#pragma once

#include "passes/debug/predicate.h"

typedef struct _IrMeasure IrMeasure;

typedef enum
{
  IR_TERM_OR,
  IR_TERM_AND,
  IR_TERM_NOT,
  IR_TERM_TEST
} IrTermKind;

typedef struct _IrTerm IrTerm;
struct _IrTerm
{
  IrTermKind kind;
  IrTerm *a, *b; /* NOT: only a */
  const IrMeasure *measure;
  char *argument; /* (nullable) */
  guint column;   /* of the argument */
  GArray *values; /* (nullable) of IrValueId in the original graph, once bound */
  GArray *picks;  /* (nullable) of IrIterationPick: of the one value, which iterations */
  guint comparison;
  double number;
};

struct _IrPredicate
{
  IrTerm *root;
};

/* One check; runs and plans are made when first needed. */
typedef struct
{
  const IrPredicate *predicate;
  IrTrial *trial;
  guint step;
  GHashTable *values; /* (nullable) value id -> IrTensor: those of the predicate, after the step */
  double value;
  const IrTerm *decided; /* (nullable) the test that gave @value */
} IrMeasuring;

typedef enum
{
  IR_ARGUMENT_NONE,
  IR_ARGUMENT_VALUE,
  IR_ARGUMENT_OPERATOR, /* may be left out */
  IR_ARGUMENT_COMMAND
} IrArgumentKind;

struct _IrMeasure
{
  const char *name;
  IrArgumentKind argument;
  gboolean is_truth; /* no comparison follows */
  gboolean runs_graph;
  gboolean (*measure) (IrMeasuring *work, const IrTerm *term, double *result, GError **error);
  char *(*describe) (const IrTerm *term,
                     double value); /* what was measured, in a sentence's words */
};

const IrMeasure *ir_measure_at (guint index); /* (nullable): behind the last */
/* Adds those that the tests below @term name; @iterations: also those that are named in iterations */
void ir_term_collect (const IrTerm *term, gboolean iterations, GArray *ids);
