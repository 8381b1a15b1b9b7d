/* Included before everything in a build with mutations: which one is in effect, and which were reached. */
#pragma once
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* it comes before what a file itself asks for */
#endif
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef IR_N_MUTANTS
#define IR_N_MUTANTS 4096
#endif

__attribute__ ((weak)) int ir_mutant_now = -1;
__attribute__ ((weak)) char ir_mutants_unread[IR_N_MUTANTS];
__attribute__ ((weak)) volatile char *ir_mutants_reached = ir_mutants_unread;

/* Children write to the same pages, so what a crashed one reached counts too. */
static void __attribute__ ((constructor (101), unused))
ir_mutants_open (void)
{
  const char *now = getenv ("IRSCOPE_MUTANT"), *file = getenv ("IRSCOPE_MUTANTS_REACHED");
  if (ir_mutants_reached != ir_mutants_unread)
    return;
  ir_mutant_now = now ? atoi (now) : -1;
  int fd = file ? open (file, O_RDWR) : -1;
  void *pages = fd >= 0 ? mmap (NULL, IR_N_MUTANTS, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
  if (pages != MAP_FAILED)
    ir_mutants_reached = pages;
  if (fd >= 0)
    close (fd);
}

static inline int __attribute__ ((unused, no_sanitize ("thread")))
ir_mutated (int mutant)
{
  ir_mutants_reached[mutant] = 1;
  return mutant == ir_mutant_now;
}
