/* Bisection: the step of a recorded history after which a predicate fails and before which it does
 * not, in about log2(steps) checks. */
#pragma once

#include "core/exec/check/first-iteration.h"
#include "passes/debug/predicate.h"

typedef enum
{
  IR_BISECT_FOUND,
  IR_BISECT_ORIGINAL_FAILS,
  IR_BISECT_NOTHING_FAILS,
  IR_N_BISECT_ANSWERS
} IrBisectAnswer;

typedef struct
{
  IrBisectAnswer answer;
  guint step;          /* FOUND: 1-based; else 0 */
  guint last;          /* the last step that could be checked: later ones lack a named value */
  guint checks;        /* predicates checked, both ends included */
  double value;        /* measured after the step found, or at the end that gave the answer */
  char *finding;       /* (owned) (nullable) the same in words: "y holds a NaN" */
  char *problem;       /* (owned) (nullable) why the graph does not run after the step */
  GArray *broken;      /* (owned) of guint: steps that a proof found broken, if one was made */
  IrValueId diverges;  /* first value after the step whose contents the step changed; 0: none */
  IrValueId stood;     /* the value before the step that it stands for */
  IrValueId original;  /* the original graph's value that it stands for; 0: none */
  IrDifference change; /* of @diverges to @stood */
  IrDifference from_original; /* of @diverges to @original */
  IrFirstIteration iteration; /* where values of loops differ: the first */
} IrBisection;

gboolean ir_bisect (IrTrial *trial,
                    IrPredicate *predicate,
                    void (*progress) (guint checks, guint expected, gpointer data),
                    gpointer data,
                    IrBisection *result,
                    GError **error);
/* Fills the fields from diverges on; a run before and one after the step. */
gboolean ir_bisect_find_divergence (IrTrial *trial, IrBisection *result, GError **error);
void ir_bisection_note_broken (IrBisection *result, const IrModel *model);
void ir_bisection_clear (IrBisection *result);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (IrBisection, ir_bisection_clear)
const char *ir_bisect_answer_name (IrBisectAnswer answer);
