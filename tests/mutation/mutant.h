/* Included before everything else in files with mutations: which one is in effect, and which were reached. */
#pragma once

extern int ir_mutant_now;
extern char *ir_mutants_reached;

static inline int __attribute__ ((unused, no_sanitize ("thread")))
ir_mutated (int mutant)
{
  ir_mutants_reached[mutant] = 1;
  return mutant == ir_mutant_now;
}
