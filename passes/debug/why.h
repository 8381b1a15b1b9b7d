/* Why not: for a rule and a node, the step at which it fired, or the best partial match: what
 * fitted, the first condition that failed, what was found there and what was needed. */
#pragma once

#include "core/layout/scene.h"
#include "passes/rule/rule.h"

/* In the order in which an answer explains more. */
typedef enum
{
  IR_WHY_FIRED,
  IR_WHY_REFUSED,        /* part of the pattern, or a condition, does not hold */
  IR_WHY_MATCHES,        /* it would match: left out, or another rule was first */
  IR_WHY_CLASS,          /* the class of passes that was asked for excludes the rule */
  IR_WHY_NOT_RUN,        /* its pass did not run */
  IR_WHY_CODE,           /* its pass is a function, not rows: no pattern to compare with */
  IR_WHY_OTHER_OPERATOR, /* the pattern's root is another operator */
  IR_N_WHY_ANSWERS
} IrWhyAnswer;

/* One node of the pattern. */
typedef struct
{
  char *needed;  /* (owned) "Conv", "Conv or ConvTranspose" */
  IrNodeId node; /* 0: not found */
  gint user;     /* part that takes its output; -1: the root */
  guint slot;    /* as which input */
  gboolean fits; /* the node, and all that it takes as far as it was looked at */
} IrWhyPart;

typedef struct
{
  IrWhyAnswer answer;
  const char *pass, *rule;
  IrNodeId node;    /* the one asked about, or what became of it and has the right operator */
  guint at_step;    /* where the pattern was compared */
  guint removed_by; /* the step that took the node; 0: it is still there */
  gboolean holds;   /* the pattern and its conditions hold there */
  GArray *steps;    /* (owned) of guint: where it fired */
  char *operators;  /* (owned) (nullable) what the root may be */
  GArray *roots;    /* (owned) OTHER_OPERATOR: of IrNodeId, such nodes below it */
  char *reason;     /* (owned) (nullable) the condition that failed, in a sentence */
  char *found;      /* (owned) (nullable) what stands where the pattern ends to fit */
  char *needed;     /* (owned) (nullable) what the pattern needs there */
  guint n_matched, n_parts; /* nodes, inputs and numbers of the pattern; a condition that failed */
  GPtrArray *parts;         /* (owned) of IrWhyPart, users first */
  char *missing;            /* (owned) (nullable) what is not there, in a word: "Conv", "?scale" */
  char *missing_detail;     /* (owned) (nullable) more about it */
  gint missing_user;        /* part that would take it */
  guint missing_slot;       /* as which input */
  IrValueId misfit;         /* what stands there instead, or 0 */
  IrNodeId misfit_node;     /* that makes it, or 0 */
  IrNodeId intruder;        /* a node outside that uses what the rule would remove, or 0 */
} IrWhy;

gboolean ir_why (
    IrModel *model, const char *rule, IrNodeId node, IrClass max_class, IrWhy *why, GError **error);
/* All rules whose pattern starts at the operator of @node, nearest to a match first; of IrWhy. */
GPtrArray *ir_why_rules (IrModel *model, IrNodeId node, IrClass max_class);
void ir_why_try (IrModel *model, IrWhy *why, IrClass max_class, GCancellable *cancellable);
void ir_why_note_refusal (IrWhy *why, const char *reason);
IrSceneMarks *ir_why_marks (const IrWhy *why);
void ir_why_clear (IrWhy *why);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (IrWhy, ir_why_clear)
const char *ir_why_answer_name (IrWhyAnswer answer);
