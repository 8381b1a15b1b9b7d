/* Linked into every program of a build with mutations: reads which one is in effect, and writes down what each case of
 * a test program reaches. It allocates by mmap alone, since some programs make allocations fail. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

typedef void (*Plain) (void);
typedef void (*WithData) (const void *data);
typedef void (*Fixture) (void *fixture, const void *data);

typedef struct
{
  const char *path;
  Plain plain;
  WithData with_data;
  Fixture setup, test, teardown;
  const void *data;
  size_t size;
} Case;

int ir_mutant_now = -1;
static char unread[IR_N_MUTANTS];
char *ir_mutants_reached = unread;
static int out = -1, began;

/* glib's own, and weak since not every program has them */
#define REAL extern __attribute__ ((weak)) void
REAL __real_g_test_add_func (const char *path, Plain func);
REAL __real_g_test_add_data_func (const char *path, const void *data, WithData func);
REAL __real_g_test_add_data_func_full (const char *path, void *data, WithData func, Plain free_data);
REAL __real_g_test_add_vtable (const char *path, size_t size, const void *data, Fixture setup, Fixture test,
                               Fixture teardown);

static void __attribute__ ((constructor (101)))
begin (void)
{
  const char *now = getenv ("IRSCOPE_MUTANT"), *file = getenv ("IRSCOPE_MUTANTS_REACHED"),
             *cases = getenv ("IRSCOPE_MUTANTS_CASES");
  ir_mutant_now = now ? atoi (now) : -1;
  int fd = file ? open (file, O_RDWR | O_CLOEXEC) : -1;
  /* children write to the same pages, so what a crashed one reached counts too */
  void *pages = fd >= 0 ? mmap (NULL, IR_N_MUTANTS, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
  if (pages != MAP_FAILED)
    ir_mutants_reached = pages;
  if (fd >= 0)
    close (fd);
  if (cases != NULL)
    out = open (cases, O_WRONLY | O_APPEND | O_CLOEXEC);
}

static double
seconds (void)
{
  struct rusage self, children;
  getrusage (RUSAGE_SELF, &self);
  getrusage (RUSAGE_CHILDREN, &children);
  return self.ru_utime.tv_sec + self.ru_stime.tv_sec + children.ru_utime.tv_sec + children.ru_stime.tv_sec
         + 1e-6 * (self.ru_utime.tv_usec + self.ru_stime.tv_usec + children.ru_utime.tv_usec + children.ru_stime.tv_usec);
}

/* A line "path seconds number,.." */
static void
tell (const char *path, double spent)
{
  static char text[IR_N_MUTANTS * 6 + 512];
  int n = snprintf (text, 512, "%.400s %.4f ", path, spent);
  for (int i = 0; i < IR_N_MUTANTS; i++)
    if (ir_mutants_reached[i])
      n += snprintf (text + n, 8, "%d,", i);
  text[n++] = '\n';
  if (write (out, text, (size_t) n) != n)
    abort ();
  memset (ir_mutants_reached, 0, IR_N_MUTANTS);
}

static void
run_case (const void *data)
{
  const Case *test = data;
  if (!began)
    tell ("-", seconds ());
  began = 1;
  double start = seconds ();
  if (test->plain != NULL)
    test->plain ();
  else if (test->with_data != NULL)
    test->with_data (test->data);
  else
    {
      void *fixture = mmap (NULL, test->size + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (test->setup != NULL)
        test->setup (fixture, test->data);
      test->test (fixture, test->data);
      if (test->teardown != NULL)
        test->teardown (fixture, test->data);
    }
  tell (test->path, seconds () - start);
}

static void
add (const char *path, Case test)
{
  size_t length = strlen (path) + 1;
  Case *kept = mmap (NULL, sizeof *kept + length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  *kept = test;
  kept->path = memcpy (kept + 1, path, length);
  __real_g_test_add_data_func (path, kept, run_case);
}

void
__wrap_g_test_add_func (const char *path, Plain func)
{
  if (out < 0)
    __real_g_test_add_func (path, func);
  else
    add (path, (Case) { .plain = func });
}

void
__wrap_g_test_add_data_func (const char *path, const void *data, WithData func)
{
  if (out < 0)
    __real_g_test_add_data_func (path, data, func);
  else
    add (path, (Case) { .with_data = func, .data = data });
}

void
__wrap_g_test_add_data_func_full (const char *path, void *data, WithData func, Plain free_data)
{
  if (out < 0)
    __real_g_test_add_data_func_full (path, data, func, free_data);
  else
    add (path, (Case) { .with_data = func, .data = data });
}

void
__wrap_g_test_add_vtable (const char *path, size_t size, const void *data, Fixture setup, Fixture test, Fixture teardown)
{
  if (out < 0)
    __real_g_test_add_vtable (path, size, data, setup, test, teardown);
  else
    add (path, (Case) { .setup = setup, .test = test, .teardown = teardown, .data = data, .size = size });
}
