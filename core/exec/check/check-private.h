/* What the files of the execution check share. */
#pragma once

#include "core/exec/check/check.h"
#include "core/exec/run/state.h"

/* Who computes a node again. */
typedef enum
{
  IR_JUDGE_REF,
  IR_JUDGE_OTHER, /* another candidate of the back end, on one thread */
  IR_JUDGE_NONE
} IrJudge;

/* A value, when its producer had written it. */
typedef struct
{
  gboolean known;   /* the hash is there */
  guint64 hash;     /* in plain order */
  const char *data; /* (nullable) where it lay, as it was kept */
  gsize bytes;
  guint step; /* 1 + that which wrote it; 0: there before the run */
} IrWritten;

/* A value that was no longer what its producer wrote; who did it is looked for in the end. */
typedef struct
{
  IrValueId value;
  guint item; /* of those of steps */
  guint step; /* that noticed; the number of steps: the end of the run */
} IrLoss;

/* One node between what it was before and what it is after. */
typedef struct
{
  GHashTable *given;  /* value id -> IrTensor: what is read, in plain order */
  guint round;        /* how often it had run before, if it is random */
  guint64 body_flops; /* of all nodes in bodies before it */
} IrSeen;

/* What is found at a node of a body, and in which step. */
typedef struct
{
  IrNodeCheck item;
  guint step;
} IrBodyCheck;

typedef struct
{
  IrObserver observer; /* first: it is all that the runner knows */
  IrCheckBudget budget;
  guint64 left_flops;
  IrRunState *state;          /* while it runs */
  const IrPrepared *prepared; /* (nullable) until it runs */
  guint n_steps;
  guint step;            /* of the main graph, that runs alone now */
  IrNodeCheck *items;    /* by step */
  guint8 *judges;        /* by step: of IrJudge */
  const IrNode **others; /* by step: the node as it asks for another kernel; else NULL */
  IrSeen **seen;         /* by step: those under way */
  IrModel *asking;       /* (nullable) owns others */
  GPtrArray *inner;      /* of IrSeen: nodes of bodies under way */
  GArray *bodies;        /* of IrBodyCheck, in the order of their first round */
  GHashTable *body_of;   /* node id -> 1 + its index there */
  guint64 body_flops;    /* of all nodes of bodies so far */
  IrWritten *written;    /* by value id */
  GArray *losses;        /* of IrLoss */
  GMutex lock;           /* guards losses: steps of a span run at once */
  IrExecutionCheck *check;
} IrChecker;

/* -- judge.c -- */
/* What is computed again and held against what there is. */
typedef struct
{
  IrChecker *checker;
  IrJudge by;
  const IrNode *other; /* (nullable) the node of another kernel */
  IrSeen *seen;
  IrNodeCheck *item;
} IrJudging;

IrTensor *ir_check_plain (
    IrRunState *state, const IrValue *value, const IrTensor *tensor, gboolean copy, GError **error);
guint64 ir_check_work (const IrNode *node, GHashTable *given, IrTensor *const *outputs);
gboolean ir_check_judge (const IrJudging *judging,
                         const IrNode *node,
                         IrTensor *const *outputs,
                         GError **error);
gboolean ir_check_judge_chain (IrChecker *checker,
                               const IrRunStep *head,
                               IrSeen *seen,
                               IrTensor *const *outputs,
                               GError **error);
void ir_check_leave (IrNodeCheck *item, char *reason);

/* -- check/text.c -- */
char *ir_check_difference (const IrModel *model, const IrNodeCheck *item);
char *ir_check_place (const IrMemPlan *plan, IrValueId value);
