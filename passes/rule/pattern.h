/* Compiled patterns and matches, shared by the files rule*.c. */
#pragma once

#include "passes/rule/rule.h"

#define IR_MATCH_MAX_NODES 12
#define IR_MATCH_MAX_VARS  16

typedef struct _IrPat IrPat;

typedef struct
{
  const char *name, *doc;
  gboolean (*holds) (const IrValue *value);
} IrVarCondition;

typedef enum
{
  IR_PAT_VAR,    /* ?x: any value */
  IR_PAT_REST,   /* ?*xs: all inputs that are left */
  IR_PAT_NUMBER, /* 1: a constant whose elements all are that number */
  IR_PAT_ABSENT, /* _: an input left out */
  IR_PAT_REF,    /* @conv: the output of a node that stands before in the pattern */
  IR_PAT_NODE,   /* (Op ...): the first output of a node */
} IrPatKind;

typedef struct
{
  char *name;
  char *variable; /* (nullable) binds or reads it */
  gint64 number;  /* else: this integer */
} IrPatAttr;

struct _IrPat
{
  IrPatKind kind;
  guint var;             /* VAR, REST */
  gboolean optional;     /* VAR: the input may be left out */
  GPtrArray *conditions; /* VAR: of const IrVarCondition */
  double number;
  gboolean signed_zero; /* NUMBER: the sign of zero matters */
  GStrv ops;            /* NODE: alternatives, without domain */
  const char **names;   /* NODE: the same, interned in the context of the rule; then NULL */
  const char *in;       /* NODE: the domain, interned there */
  char *domain;         /* NODE: "" or "irscope" */
  char *same_as;        /* NODE of a replacement: operator of this label */
  guint index;          /* NODE: place in the match; the root is 0 */
  int commute_bit;      /* NODE: which bit of the mask swaps its two inputs, or -1 */
  gboolean shared;      /* NODE: others may use it too, it is not removed */
  char *label;          /* NODE: (nullable) "conv" of @conv */
  GPtrArray *args;      /* NODE: of IrPat */
  GArray *attrs;        /* NODE: of IrPatAttr */
  char *copy_attrs;     /* NODE of a replacement: (nullable) label */
};

typedef struct
{
  const IrRule *rule;
  IrPat *pattern;
  GPtrArray *results; /* of IrPat: one per output of the root */
  GPtrArray *vars;    /* of char *: names; index = place in the match */
  GPtrArray *labels;  /* of char *, nullable entries; index = place in the match */
  guint n_nodes, n_commute, depth;
  IrContext *context; /* (unowned) (nullable) whose strings the patterns hold */
  IrRuleStats stats;
} IrCompiledRule;

/* What the attempt that got furthest had matched; kept for whoever asks why not (why.c). */
typedef struct
{
  const IrPat *part; /* (nullable) what did not fit; NULL: all fitted, a condition did not hold */
  const IrValue *value;              /* (nullable) what stood there */
  IrNode *nodes[IR_MATCH_MAX_NODES]; /* as in the match; NULL: not reached */
} IrMatchTrail;

struct _IrMatch
{
  IrPassContext *context;
  IrCompiledRule *rule;
  IrNode *nodes[IR_MATCH_MAX_NODES]; /* [0] is the root */
  gboolean shared[IR_MATCH_MAX_NODES];
  struct
  {
    gboolean bound;
    IrValue *value;     /* VAR */
    const IrAttr *attr; /* attribute variables */
    IrValue **rest;     /* REST */
    guint n_rest;
  } vars[IR_MATCH_MAX_VARS];
  guint mask;      /* which commutative nodes are read swapped */
  guint consulted; /* bits of the mask that this attempt has read */
  gboolean wants_why;
  guint progress;    /* parts of the pattern that fitted */
  char *why;         /* (nullable) the first condition that failed */
  const IrPat *part; /* being matched now, with what stands there */
  const IrValue *part_value;
  IrMatchTrail *trail; /* (nullable) */
  GString *notes;      /* (nullable) what prepare() adds to the reason */
};

IrCompiledRule *ir_rule_compile (const IrRule *rule, GError **error);
void ir_compiled_rule_free (IrCompiledRule *rule);
int ir_compiled_rule_var (const IrCompiledRule *rule, const char *name);
int ir_compiled_rule_label (const IrCompiledRule *rule, const char *name);

/* Interns the operators of the pattern, so that they compare by pointer with those of nodes. */
void ir_rule_intern (IrCompiledRule *rule, IrContext *context);
/* Whether the operands of @root may be what the pattern asks for: false is certain. */
gboolean ir_rule_may_match (const IrCompiledRule *rule, const IrNode *root);
/* Reads only. On failure @match holds the best partial match and why it went no further. */
gboolean ir_rule_match (IrCompiledRule *rule, IrPassContext *context, IrNode *root, IrMatch *match);
gboolean ir_rule_match_traced (IrCompiledRule *rule,
                               IrPassContext *context,
                               IrNode *root,
                               IrMatch *match,
                               IrMatchTrail *trail);
void ir_match_clear (IrMatch *match);
char *ir_match_bindings (const IrMatch *match); /* "x = data, w = conv1_w" */

/* Builds the replacement of output @slot inside the open step; NULL with match->why set. New nodes
 * are appended to @made. */
IrValue *ir_rule_build (IrMatch *match, guint slot, GPtrArray *made);

/* Of graphs that tokens move through: places.c. */
gboolean ir_match_is_one_place (IrMatch *match);
gboolean ir_match_keeps_place (IrMatch *match, GPtrArray *fresh, IrNodeId first_new);

extern const IrVarCondition ir_var_conditions[]; /* ends with a NULL name */
