/* Findings about a model: never stop at the first; each says where, what was found, what was needed
 * and what to do. Readers, verifier and shape inference append to one list; views draw badges. */
#pragma once

#include "core/ir/model.h"

typedef enum
{
  IR_SEVERITY_NOTE,
  IR_SEVERITY_WARNING,
  IR_SEVERITY_ERROR,
  IR_N_SEVERITIES
} IrSeverity;

/* IR_PROBLEM (ID, "stable-code"): the code is what scripts and tests compare. */
#define IR_PROBLEMS(P)                                                                             \
  P (SYNTAX, "syntax")                                                                             \
  P (TRUNCATED, "truncated")                                                                       \
  P (LIMIT, "limit")                                                                               \
  P (UNSUPPORTED, "unsupported")                                                                   \
  P (UNKNOWN_OPERATOR, "unknown-operator")                                                         \
  P (MISSING_OPSET, "missing-opset")                                                               \
  P (DUPLICATE_NAME, "duplicate-name")                                                             \
  P (UNDEFINED_VALUE, "undefined-value")                                                           \
  P (CYCLE, "cycle")                                                                               \
  P (FRAME, "frame")                                                                               \
  P (MERGE_RACE, "merge-race")                                                                     \
  P (BAD_TENSOR, "bad-tensor")                                                                     \
  P (EXTERNAL_DATA, "external-data")                                                               \
  P (NO_CONTENTS, "no-contents")                                                                   \
  P (BAD_ATTRIBUTE, "bad-attribute")                                                               \
  P (INPUT_COUNT, "input-count")                                                                   \
  P (OUTPUT_COUNT, "output-count")                                                                 \
  P (TYPE_MISMATCH, "type-mismatch")                                                               \
  P (SHAPE_MISMATCH, "shape-mismatch")                                                             \
  P (BROKEN_LINK, "broken-link")                                                                   \
  P (FILE_CHANGED, "file-changed")                                                                 \
  P (EXECUTION, "execution")

typedef enum
{
#define P(ID, CODE) IR_PROBLEM_##ID,
  IR_PROBLEMS (P)
#undef P
      IR_N_PROBLEM_CODES
} IrProblemCode;

typedef struct
{
  IrSeverity severity;
  IrProblemCode code;
  IrNodeId node;      /* 0 = not about a node */
  IrValueId value;    /* 0 = not about a value */
  guint line, column; /* text formats; 1-based, 0 = not known */
  char *message;      /* where - what was found, what was needed */
  char *hint;         /* (nullable) what to do */
} IrProblem;

void ir_problem_free (IrProblem *problem);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrProblem, ir_problem_free)
GPtrArray *ir_problems_new (void); /* of IrProblem, freed with it */
IrProblem *ir_problems_add (GPtrArray *problems,
                            IrSeverity severity,
                            IrProblemCode code,
                            const IrNode *node,
                            const IrValue *value,
                            const char *format,
                            ...) G_GNUC_PRINTF (6, 7);
void ir_problems_merge (GPtrArray *problems, GPtrArray *more);
void ir_problem_set_hint (IrProblem *problem, const char *hint);
const char *ir_problem_code_name (IrProblemCode code);
const char *ir_severity_name (IrSeverity severity);
guint ir_problems_count (const GPtrArray *problems, IrSeverity at_least);
