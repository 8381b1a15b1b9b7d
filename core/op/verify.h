/* The verifier: reports everything that is wrong with a model, structure first (links both ways,
 * names, order, arity), then types by a fresh inference where known. */
#pragma once
#include "core/ir/problem.h"
void ir_verify_structure (const IrModel *model,
                          GPtrArray *problems); /* links, uses, names, cycles */
void ir_verify_nodes (const IrModel *model,
                      GPtrArray *problems); /* arity, attributes, opsets against the op table */
void ir_verify_model (IrModel *model, GPtrArray *problems); /* these, and types; each once */
