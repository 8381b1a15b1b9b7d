/* Pipelines: ordered lists of passes, from JSON files (data/pipelines) or from a list of names. */
#pragma once
#include "passes/pass.h"

typedef struct
{
  char *name, *title, *doc;
  GPtrArray *passes;    /* of const IrPass */
  guint max_iterations; /* the list is repeated until nothing changes */
  GPtrArray *aliases;   /* (nullable) of char *: other names of one that comes with irscope */
  GPtrArray *own;       /* (nullable) of IrPass: those of the passes that have options set */
} IrPipeline;

IrPipeline *ir_pipeline_load (const char *name_or_path,
                              GError **error);          /* "default", "basic", a file */
char *ir_pipeline_to_json (const IrPipeline *pipeline); /* as in a file */
IrPipeline *ir_pipeline_new_from_names (const char *const *pass_names, GError **error);
/* "fold-constants.limit=1M", of each such pass */
gboolean ir_pipeline_set (IrPipeline *pipeline, const char *assignment, GError **error);
void ir_pipeline_free (IrPipeline *pipeline);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrPipeline, ir_pipeline_free)
GStrv ir_pipeline_names (void); /* those shipped */
/* An #IrPolicy: leaves out what @names, a #GStrv, says: passes, rules, numbers of applications, stable keys. */
IrPolicyAnswer ir_policy_skip_named (const char *pass,
                                     const char *rule,
                                     const IrNode *anchor,
                                     guint ordinal,
                                     const char *stable_key,
                                     gpointer names);

typedef struct
{
  IrClass max_class; /* default IR_CLASS_ROUNDING */
  const IrPolicy *policy;
  const char *const *disabled_rules;
  gboolean record_refusals;
  gsize fold_limit_bytes; /* 0: 64 MiB */
  /* (nullable): what will run the graph: its kernels fold floating-point constants, so that not a
   * bit of a run changes; %NULL: reference kernels. */
  const IrBackend *backend;
  gboolean verify; /* check structure after each pass; debug */
  void (*progress) (const char *pass, guint n_steps, gpointer data);
  gpointer progress_data;
  GArray *rule_totals; /* (nullable) of IrRuleTotal (rule.h): gets counts and times per rule */
} IrPipelineOptions;

typedef struct
{
  guint n_steps, iterations;
  double ms, cpu_ms; /* by the clock; of the processor, all threads */
  gboolean stopped, reached_limit;
} IrPipelineResult;

/* Runs on @model in place, recording steps with costs. */
gboolean ir_pipeline_run (IrModel *model,
                          const IrPipeline *pipeline,
                          const IrPipelineOptions *options,
                          IrPipelineResult *result,
                          GCancellable *cancellable,
                          GError **error);

/* -- proof (passes/proof/proof.c): verdicts for recorded steps, by running changed cones on the captured
 * values of one run of the original model -- */
typedef struct _IrProver IrProver;
IrProver *ir_prover_new (IrModel *model,
                         GHashTable *inputs,
                         const IrBackend *backend,
                         GCancellable *cancellable,
                         GError **error);
typedef struct
{
  guint n_threads;    /* of a run and of a kernel; 0: number of cores */
  IrRunLimits limits; /* of the captured run, and of what each step runs */
} IrProverOptions;
IrProver *ir_prover_new_with (IrModel *model,
                              GHashTable *inputs,
                              const IrBackend *backend,
                              const IrProverOptions *options,
                              GCancellable *cancellable,
                              GError **error);
void ir_prover_free (IrProver *prover);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrProver, ir_prover_free)
/* Where the time of a proof goes, in nanoseconds of CPU time of the process. */
typedef struct
{
  gint64 captured_ns; /* the one captured run, its preparation included */
  gint64 new_ns;      /* kernels of what the steps made, packing of weights included */
  gint64 old_ns;      /* kernels of old sides that no run and no earlier step had computed */
  gint64 wide_ns;     /* float64, where the tolerance alone did not decide */
  gint64 compare_ns;  /* comparing contents */
  guint n_old, n_new; /* kernels run for the two sides */
  gint64 steps_ns;    /* all of proving steps: the four above and what is around them */
} IrProofCost;
const IrProofCost *ir_prover_cost (const IrProver *prover);
gboolean ir_prover_prove_step (IrProver *prover,
                               guint step,
                               IrProof *proof,
                               GError **error); /* also stores it in the history */
typedef struct
{
  guint n[IR_N_VERDICTS];
} IrProofSummary;
gboolean ir_prover_prove_all (IrProver *prover,
                              IrProofSummary *summary,
                              void (*progress) (guint done, guint total, gpointer data),
                              gpointer data,
                              GCancellable *cancellable,
                              GError **error);
