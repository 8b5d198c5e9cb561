/* Linked to the library, but never calls rn_run. */
#include <runnel/runnel.h>
#include <stdio.h>

int
main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1000)
        return rn_run(NULL, NULL, NULL);
    puts(rn_version());
    return 0;
}
