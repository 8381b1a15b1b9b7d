/* Rules: rows of a pattern, a replacement and conditions. Because a rule is data it is listed,
 * documented, drawn, counted, switched off, and tested on random inputs; the language and the
 * contract are in the essay at the top of rule.c. */
#pragma once

#include "passes/pass.h"

typedef struct _IrMatch IrMatch;
typedef struct _IrRuleTable IrRuleTable;

struct _IrRule
{
  const char *name;        /* "fold-conv-bn"; unique over all passes */
  const char *pattern;     /* "(Mul ?x 1)"; of a run pass's rules a description in words */
  const char *replacement; /* "?x"; of a run pass's rules a description in words */
  IrClass step_class;
  const char *doc;
  /* A small graph where it applies, in ONNX's textual syntax, as documentation and as property
   * test: inputs with upper-case names become random constants (V...: positive ones), dimension n
   * is random. */
  const char *example;
  /* (nullable) condition beyond the pattern's; never writes; says why not by ir_match_fail() */
  gboolean (*when) (IrMatch *match);
  /* (nullable) binds what only the replacement names: computed constants, attributes. Runs inside
   * the step; FALSE (by ir_match_fail()) takes the step back. */
  gboolean (*prepare) (IrMatch *match);
};

/* -- tables: compiled once per run of a pass, immutable but for the counts -- */
IrRuleTable *ir_rule_table_new (const IrRule *rules, GError **error);
IrRuleTable *ir_rule_table_new_lazy (const IrRule *rules); /* rows are read when needed */
void ir_rule_table_free (IrRuleTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrRuleTable, ir_rule_table_free)
gboolean ir_rule_table_run (IrRuleTable *table, IrPassContext *context, GError **error);

typedef struct
{
  guint looked;  /* nodes whose operator is the pattern's root */
  guint tried;   /* of these, operands come from the operators that the pattern names */
  guint matched; /* patterns and conditions that held */
  guint applied;
  gint64 match_ns, apply_ns;
} IrRuleStats;
const IrRuleStats *ir_rule_table_stats (const IrRuleTable *table, const char *rule);

typedef struct
{
  const char *pass, *rule;
  IrRuleStats stats;
} IrRuleTotal;
void ir_rule_table_add_totals (const IrRuleTable *table, const char *pass, GArray *totals);

/* -- what when() and prepare() see -- */
IrPassContext *ir_match_context (const IrMatch *match);
IrNode *ir_match_root (const IrMatch *match);
IrNode *ir_match_node (const IrMatch *match, const char *label);      /* "conv" for @conv */
IrValue *ir_match_value (const IrMatch *match, const char *variable); /* (nullable) "x" for ?x */
const IrTensor *ir_match_constant (const IrMatch *match, const char *variable); /* (nullable) */
const IrAttr *ir_match_attr (const IrMatch *match, const char *variable);       /* (nullable) */
guint ir_match_rest (const IrMatch *match, const char *variable, IrValue ***values); /* ?*xs */
gboolean ir_match_fail (IrMatch *match, const char *format, ...) G_GNUC_PRINTF (2, 3);

/* -- only in prepare() -- */
void ir_match_bind_value (IrMatch *match, const char *variable, IrValue *value);
void ir_match_bind_tensor (IrMatch *match,
                           const char *variable,
                           const char *base_name,
                           IrTensor *tensor); /* (transfer full): a new initializer */
void ir_match_bind_attr (IrMatch *match, const char *variable, const IrAttr *attr);
void ir_match_note (IrMatch *match, const char *format, ...) G_GNUC_PRINTF (2, 3);

/* -- the conditions of variables and the registry, for documentation and tests -- */
char *ir_rule_conditions_markdown (void);
char *ir_rules_markdown (void);  /* docs/RULES.md */
char *ir_passes_markdown (void); /* docs/PASSES.md */
