/* base.c - tests of runnel/base.h. */
#include "world.h"

#include <stdlib.h>

TEST(base_version_is_three_numbers)
{
    const char *version = rn_version();
    CHECK(version != NULL);
    char *end;
    CHECK_GE(strtol(version, &end, 10), 0);
    CHECK_EQ(*end, '.');
    CHECK_GE(strtol(end + 1, &end, 10), 0);
    CHECK_EQ(*end, '.');
    CHECK_GE(strtol(end + 1, &end, 10), 0);
    CHECK_EQ(*end, 0);
    CHECK(rn_version() == version);
}

TEST(base_deadlines_are_the_ends_of_time)
{
    CHECK_LT(RN_NOW, 0);
    CHECK_LT(3600 * RN_SEC, RN_NEVER);
    CHECK_EQ(RN_SEC, 1000 * RN_MS);
    CHECK_EQ(RN_MS, 1000 * RN_US);
}

TEST_DIES_WITH(base_panic_outside_a_task_is_reported, "trouble 7", -SIGABRT)
{
    rn_panic("trouble %d", 7);
}

API_PANICS(base_panic_names_the_task, "trouble 8|main")
{
    rn_panic("trouble %d", 8);
}

static int
panic_in_task(void *arg)
{
    rn_panic("trouble of %s", (const char *)arg);
}

API_PANICS(base_panic_names_another_task, "trouble of mine|alice")
{
    go_named("alice", panic_in_task, (void *)"mine");
    settle();
}

/* Longer than any buffer it could be put into. */
TEST_DIES_WITH(base_panic_with_a_long_text_is_cut_or_whole, "trouble xxxx",
               -SIGABRT)
{
    static char text[100000];
    memset(text, 'x', sizeof text - 1);
    rn_panic("trouble %s", text);
}
