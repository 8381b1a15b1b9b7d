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

typedef enum
{
  IR_PASS_OPTION_TEXT,
  IR_PASS_OPTION_INT,   /* a whole number, 0 or more */
  IR_PASS_OPTION_BYTES, /* likewise, or with K, M or G */
} IrPassOptionKind;

/* What a pass can be told in a pipeline: a row of its descriptor. */
typedef struct
{
  const char *name; /* "opset" */
  IrPassOptionKind kind;
  const char *fallback; /* the default */
  const char *doc;
} IrPassOption;

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
  const IrPassOption *options;    /* (nullable) ends with a NULL name */
  gboolean
      profit; /* what is slower by the table of rates, for its shapes, is not done: rule/profit.h */
  gboolean tokens;                  /* of run passes: it keeps frames and conditions as they are */
  gboolean once;                    /* runs in the first round of a pipeline only */
  struct _IrPassSettings *settings; /* (nullable) no descriptor has them: ir_pass_set() */
};

/* -- options: a pass with some of its options set is a pass (passes/rule/option.c) -- */
IrPass *ir_pass_set (const IrPass *pass, const char *option, const char *value, GError **error);
void ir_pass_set_free (IrPass *pass);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrPass, ir_pass_set_free)
const char *ir_pass_option (const IrPass *pass, const char *option);
guint64 ir_pass_option_number (const IrPass *pass, const char *option);
gboolean ir_pass_option_is_set (const IrPass *pass, const char *option);
const char *ir_pass_settings (const IrPass *pass); /* (nullable) "of=loss,wrt=params" */
const char *ir_pass_option_kind_name (IrPassOptionKind kind);
gboolean ir_pass_refuse (GError **error, const char *who, const char *format, ...)
    G_GNUC_PRINTF (3, 4);

const IrPass *ir_pass_find (const char *name);
const IrPass *const *ir_passes (guint *n);

/* The key that a policy is asked with, of a recorded step: what to give to skip it in a re-run. */
char *ir_step_stable_key (const IrModel *model, guint step);

/* Runs alone where a model is to get a newer opset. */
#define IR_PASS_UPGRADE_OPSET "upgrade-opset"
