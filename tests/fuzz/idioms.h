/* A small graph for every rule, in ONNX text: the rule's own example, or for the rules of passes
 * that run code, one from the table in idioms.c. The fuzzer of passes plants them, the property
 * tests run them. Inputs with upper-case names stand for random constants (V...: positive ones). */
#pragma once

#include "passes/rule/rule.h"

typedef struct
{
  const IrPass *pass;
  const IrRule *rule;
  const char *text; /* (nullable) */
} Idiom;

GPtrArray *idioms_new (void);      /* of Idiom: every text, some rules have several */
GPtrArray *idiom_traps_new (void);  /* of Idiom: graphs where a careless rule would go wrong */
GPtrArray *idiom_rules_new (void); /* of Idiom: every rule once, in the order of the documents */
IrModel *idiom_read (const char *text, GError **error);

/* Rules whose rewrite is part of another one's step: changes of form that are not valid under the
 * old import, nor the old ones under the new. */
gboolean idiom_rule_has_no_steps (const char *rule);
/* Those whose left side no kernel runs: the training mode of old versions. */
gboolean idiom_rule_does_not_run (const char *rule);
