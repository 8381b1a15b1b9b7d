/* Run at build time: prints files as texts of C, a row { "name", "text" } each; the name is that of the
 * file without its ending. */
#include <stdio.h>
#include <string.h>

static void
print_character (int c)
{
  if (c == '\n')
    printf ("\\n\"\n  \"");
  else if (c == '"' || c == '\\')
    printf ("\\%c", c);
  else
    putchar (c);
}

int
main (int argc, char **argv)
{
  for (int i = 1; i < argc; i++)
    {
      const char *name = strrchr (argv[i], '/') != NULL ? strrchr (argv[i], '/') + 1 : argv[i];
      FILE *file = fopen (argv[i], "rb");

      if (file == NULL)
        {
          perror (argv[i]);
          return 1;
        }
      printf ("  { \"%.*s\",\n  \"", (int) strcspn (name, "."), name);
      for (int c; (c = getc (file)) != EOF;)
        print_character (c);
      printf ("\" },\n");
      fclose (file);
    }
  return 0;
}
