/* What the tests of passes share: small models from text, random contents, running, comparing. */
#pragma once

#include "core/io/io.h"
#include "passes/pipeline/pipeline.h"
#include "passes/rule/rule.h"

/* Reads ONNX text; a head without version gets one. Aborts the test if it cannot be read. */
IrModel *test_model (const char *text);
/* Inputs with upper-case names become random constants (V...: in [0.5, 2]); dimension n is bound to
 * a small random number; types are inferred. Before any recorded step. */
void test_model_randomize (IrModel *model, GRand *rand);
/* Contents for all inputs without default; @adversarial: NaN, infinities, -0, denormals too. */
GHashTable *test_inputs (IrModel *model, GRand *rand, gboolean adversarial);
IrRun *test_run (IrModel *model, GHashTable *inputs, const char *backend);
/* Outputs of two runs, by place; @rtol 0 means bit for bit (any NaN is as good as another).
 * Returns a description of the first difference, or NULL. */
char *test_compare (IrModel *a, IrRun *run_a, IrModel *b, IrRun *run_b, double rtol);
char *test_compare_tensors (const char *name, const IrTensor *a, const IrTensor *b, double rtol);
IrPipeline *test_pipeline (const IrPass *pass);
void test_verify (IrModel *model);

/* Runs @passes, names with spaces between, over @text with random constants: @n_nodes are left, and
 * a refusal has @reason (nullable) in it. (transfer full): the model; @original: what it was. */
IrModel *test_rewrite (
    const char *text, const char *passes, guint n_nodes, const char *reason, IrModel **original);

/* Where a rule applies: (nullable) its own example, or one for rules of passes that have a function of their own. */
const char *test_rule_example (const IrRule *rule);
