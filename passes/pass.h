/* Passes: one file each, ending in its descriptor. A pass is a list of rules or a run function. The
 * runner keeps the log; no pass does. */
#pragma once
#include "core/exec/exec.h"
#include "core/ir/history.h"
#include "core/op/infer.h"

typedef struct _IrPass IrPass;
typedef struct _IrRule IrRule; /* passes/rule/rule.h */
typedef struct _IrPassContext IrPassContext;

/* Functions of the model that stand for groups of elementwise nodes; never inlined. */
#define IR_PASS_FUSED_DOMAIN "irscope.fused"

typedef enum
{
  IR_POLICY_APPLY,
  IR_POLICY_SKIP,
  IR_POLICY_STOP
} IrPolicyAnswer;

/* Asked before each application; how skip, breakpoints and bisection are done. */
typedef struct
{
  IrPolicyAnswer (*ask) (const char *pass,
                         const char *rule,
                         const IrNode *anchor,
                         guint ordinal,
                         const char *stable_key,
                         gpointer data);
  gpointer data;
} IrPolicy;

struct _IrPassContext
{
  IrEdit *edit;
  IrModel *model;
  IrClass max_class;                 /* rules above it do not apply */
  const IrPolicy *policy;            /* (nullable) */
  const char *const *disabled_rules; /* (nullable) NULL-terminated */
  gboolean record_refusals;
  GCancellable *cancellable;
  gsize fold_limit_bytes;      /* constant folding: largest result that outgrows its constants */
  const IrBackend *backend;    /* (nullable) constant folding: whose kernels; NULL: reference */
  gint64 opset;                /* upgrade-opset: version of ai.onnx; 0: the newest */
  gboolean stopped;            /* the policy said stop */
  struct _IrPassPrivate *priv; /* the runner's own */
};

struct _IrPass
{
  const char *name;  /* "fold-conv-bn" */
  const char *title; /* "Fold BatchNormalization into Conv" */
  const char *doc;
  const char *source;       /* paper or project */
  IrClass step_class;       /* the worst of its rules */
  const char *before_after; /* (nullable) ASCII picture */
  const IrRule *rules;      /* (nullable) ends with a NULL name */
  /* (nullable) instead of rules. Returns FALSE with @error only if it could not go on. */
  gboolean (*run) (IrPassContext *context, GError **error);
  const IrRule *documented_rules; /* (nullable) for run passes: the rule names that it logs */
};

const IrPass *ir_pass_find (const char *name);
const IrPass *const *ir_passes (guint *n);

/* The key that a policy is asked with, of a recorded step: what to give to skip it in a re-run. */
char *ir_step_stable_key (const IrModel *model, guint step);

/* Runs alone where a model is to get a newer opset. */
#define IR_PASS_UPGRADE_OPSET "upgrade-opset"
