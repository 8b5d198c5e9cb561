/* crawler.c - walk a tree of directories by a bounded number of tasks. What
 * blocks, reading a directory, runs on threads of its own. Takes a path. */
#include <dirent.h>
#include <runnel/runnel.h>
#include <stdio.h>
#include <stdlib.h>

enum { LIMIT = 8, PATH = 4096 };
struct dir {
    struct dir *next;
    char path[PATH];
};

static rn_workgroup group;
static _Atomic int active, files, found, visited;

static void /* put a directory in front of a list */
push(struct dir **list, const char *parent, const char *name)
{
    struct dir *d = malloc(sizeof *d);
    if (d && snprintf(d->path, PATH, "%s/%s", parent, name) < PATH) {
        d->next = *list;
        *list = d;
        found++;
    } else
        free(d); /* and do not go there */
}

static int /* replace the first of a list by the directories in it */
read_dir(void *list)
{
    struct dir **first = list, *d = *first;
    DIR *stream = opendir(d->path);
    *first = d->next;
    for (struct dirent *entry; stream && (entry = readdir(stream)) != NULL;) {
        files += entry->d_type == DT_REG;
        if (entry->d_type == DT_DIR && *entry->d_name != '.')
            push(first, d->path, entry->d_name);
    }
    free(d);
    return ++visited > 0 && stream ? closedir(stream) : 0;
}

static int /* visit a list; another task may take all but the first of it */
visit(void *list)
{
    int e = 0;
    rn_sim_assert(++active <= LIMIT, "no more than there are places");
    for (struct dir *d = list; d && e == 0;) {
        struct dir *rest = d->next;
        d->next = NULL;
        if (rest && rn_workgroup_go(&group, visit, rest, RN_NOW) < 0)
            d->next = rest; /* all are busy: later, then */
        e = rn_blocking(read_dir, &d, RN_NEVER, NULL);
    }
    active--;
    return e;
}

static int
app(void *path)
{
    struct dir *root = NULL;
    int e = rn_workgroup_open(&group, LIMIT, NULL);
    if (e < 0)
        return e;
    push(&root, path, ".");
    e = rn_workgroup_go(&group, visit, root, RN_NEVER);
    e = rn_workgroup_wait(&group, e);
    printf("%d files in %d directories\n", files, visited);
    rn_sim_assert(found == visited, "each directory once");
    return e;
}

int
main(int argc, char **argv)
{
    return rn_run(NULL, app, argc > 1 ? argv[1] : ".") < 0;
}
