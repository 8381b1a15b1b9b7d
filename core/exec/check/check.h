/* Execution check: one run by the very plan of a plain run, in which every node is computed once
 * more, on the inputs that it had, by the reference kernels. So each node's own tolerance applies,
 * and rounding does not add up. Results are plain data, in the order of execution. */
#pragma once

#include "core/exec/check/difference.h"
#include "core/exec/eval/eval.h"
#include "core/exec/run/control.h"

typedef enum
{
  IR_CHECKED_RIGHT,
  IR_CHECKED_BEYOND,      /* an output is farther from what it is held against than is allowed */
  IR_CHECKED_OVERWRITTEN, /* a value is no longer what its producer wrote when it is read */
  IR_CHECKED_NOT,
  IR_N_CHECKED
} IrChecked;

/* What was found at one node. */
typedef struct
{
  IrNodeId node;
  IrChecked verdict;
  const char *kernel; /* what ran it */
  const char *layout; /* (nullable) in words: what it did about values in NCHWc */
  const char *judge;  /* (nullable) kernel that it was held against: "ref", or another one */
  char *reason;       /* (nullable) why it was not judged, or what is wrong */
  char *place;        /* (nullable) of a fault: where the value lies */
  IrValueId value;    /* the output that is farthest off, or what was overwritten; 0: none */
  IrNodeId writer;    /* that wrote over it; 0: not known */
  guint rounds;       /* how often it ran: more than once in bodies of loops */
  guint64 flops;      /* of all rounds, by the cost model */
  IrComparison found; /* the largest difference of @value */
  double bound;       /* what it may be */
} IrNodeCheck;

typedef struct
{
  IrModel *model;       /* (nullable) as it ran; NULL: nothing ran */
  IrSchedule *schedule; /* (nullable) by which it ran */
  GArray *nodes; /* of IrNodeCheck, in the order of execution, those of bodies before theirs */
  guint n[IR_N_CHECKED];
  guint first;   /* 1 + index of the first node beyond or overwritten; 0: there is none */
  GError *error; /* (nullable) the run did not come to its end */
} IrExecutionCheck;

/* Work that reference kernels may have, by the cost model, so that it is the same everywhere. */
#define IR_CHECK_NODE_FLOPS  G_GUINT64_CONSTANT (2000000000)
#define IR_CHECK_TOTAL_FLOPS G_GUINT64_CONSTANT (25000000000)

typedef struct
{
  guint64 node_flops;  /* of one node; 0: IR_CHECK_NODE_FLOPS */
  guint64 total_flops; /* of all together; 0: IR_CHECK_TOTAL_FLOPS */
} IrCheckBudget;

IrExecutionCheck *ir_execution_check (IrModel *model,
                                      GHashTable *inputs,
                                      const IrRunOptions *options,
                                      const IrCheckBudget *budget, /* (nullable) */
                                      GCancellable *cancellable,
                                      GError **error);
IrExecutionCheck *ir_executable_check (IrExecutable *executable,
                                       GHashTable *inputs,
                                       const IrCheckBudget *budget, /* (nullable) */
                                       GCancellable *cancellable,
                                       GError **error);
IrExecutionCheck *ir_execution_check_new_failed (GError *error);
void ir_execution_check_free (IrExecutionCheck *check);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrExecutionCheck, ir_execution_check_free)

/* Looks on at a run that is controlled, and says at which node it leaves the reference. */
void ir_run_control_check (IrRunControl *control, const IrCheckBudget *budget); /* (nullable) */
void ir_run_control_uncheck (IrRunControl *control);

/* -- check/text.c -- */
const char *ir_checked_name (IrChecked verdict);
gboolean ir_checked_is_fault (IrChecked verdict);
const IrNodeCheck *ir_execution_check_first (const IrExecutionCheck *check); /* (nullable) */
const IrNodeCheck *ir_execution_check_find (const IrExecutionCheck *check, IrNodeId node);
char *ir_execution_check_summary (const IrExecutionCheck *check);
char *ir_contradiction_to_string (const IrContradiction *row);
char *ir_node_check_to_string (const IrExecutionCheck *check, const IrNodeCheck *item);
