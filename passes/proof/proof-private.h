/* What the files of the proof share: the prover (proof.c), which values of a step are compared
 * (cone.c), how they are judged (proof/judge.c), and what rounding may do (wide.c). */
#pragma once

#include "passes/proof/evaluate.h"
#include "passes/pipeline/pipeline.h"

struct _IrProver
{
  IrModel *model;
  IrModel *before, *after;           /* (nullable) copies that travel to both sides of a step */
  IrModel *flat_before, *flat_after; /* the same without function calls; often the same models */
  guint at;                          /* step that @flat_after is at, if it is expanded */
  guint n_steps;                     /* of the history that they were made of */
  gboolean has_calls;                /* some state has nodes that only run when expanded */
  IrRun *run;                        /* (nullable) the original model's, if it can run at all */
  IrBackend plain;                   /* the back end, without NCHWc */
  IrEvaluator *evaluator;
  GHashTable *captured;   /* value id of the original -> number whose contents the run captured */
  GHashTable *stands_for; /* new value id -> old value id, over all steps */
  IrProofCost cost;
  GCancellable *cancellable; /* (nullable) */
  /* For graphs that are run as a whole: tokens.c. */
  GHashTable *inputs; /* value id -> IrTensor */
  IrProverOptions how;
  IrRun *token_run; /* (nullable) of the state after step @token_step */
  guint token_step;
};

/* What a step changed, and what stands for what. */
typedef struct
{
  GHashTable *changed; /* node ids */
  GArray *pairs;       /* of IrIdPair: values to compare */
  gboolean each_alone; /* every pair is computed from what lies directly before it */
  gboolean in_function;
} IrCone;

void ir_cone_find (IrProver *prover, const IrStep *step, IrCone *cone);
void ir_cone_clear (IrCone *cone);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (IrCone, ir_cone_clear)

gboolean ir_token_judge (IrProver *prover, guint step, const IrCone *cone, IrProof *proof);
void ir_derivative_judge (IrProver *prover, const IrStep *step, IrProof *proof);
guint ir_prover_captured (const IrProver *prover, IrValueId id); /* its number; 0: none */
void ir_cone_judge (IrProver *prover, const IrCone *cone, IrProof *proof);
/* One pair alone, without the prover's model: what each side is computed from says its scope. */
void ir_contents_judge (IrProver *prover,
                        const IrScope *old_scope,
                        const IrScope *new_scope,
                        IrTolerance tolerance,
                        const IrIdPair *pair,
                        const IrTensor *a,
                        const IrTensor *b,
                        IrProof *proof);

/* One side of a cone in float64, from the cone's inputs on. */
typedef struct
{
  IrProver *prover;
  IrScope *scope;
  const IrModel *given; /* (nullable) constants that are not in it were rounded when made */
  GHashTable *values;   /* value id -> IrTensor */
  GHashTable *bounds;   /* value id -> IrTensor, or NULL: no error */
  GError *error;        /* (nullable) the first one, of values that bodies use */
  guint depth;
  IrModel *widened;            /* (nullable) the model of that side, made when a body is run */
  const IrValue *outer;        /* (nullable) what bodies get otherwise for now */
  const IrTensor *outer_moved; /* what they get */
} IrWide;

void ir_wide_init (IrWide *wide, IrProver *prover, IrScope *scope, const IrModel *given);
void ir_wide_clear (IrWide *wide);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (IrWide, ir_wide_clear)
const IrTensor *ir_wide_value (IrWide *wide, const IrValue *value, GError **error);
const IrTensor *ir_wide_bound (IrWide *wide, const IrValue *value);
