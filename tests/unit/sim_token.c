/* Tokens: there and back, damage, files and seeds. */
#include "sim/sim.h"
#include "base/prng.h"
#include "test.h"

#include <stdlib.h>
#include <unistd.h>

/* What rn__token_read gave. */
struct reading {
    int error;
    struct rn__choices choices;
    bool seeded;
    uint64_t seed;
    char *why;
};

static struct reading
read_token(const char *text)
{
    struct reading r = {0};
    r.error = rn__token_read(text, &r.choices, &r.seeded, &r.seed, &r.why);
    CHECK(r.error == 0 || r.error == -EINVAL);
    CHECK_EQ(r.why != NULL, r.error != 0);
    return r;
}

static void
drop(struct reading *r)
{
    free(r->choices.list);
    free(r->why);
}

static void
check_refused(const char *text, const char *why)
{
    struct reading r = read_token(text);
    if (r.error != -EINVAL)
        FAIL("\"%s\" is accepted", text);
    CHECK_HAS(r.why, why);
    drop(&r);
}

/* ---- lists -------------------------------------------------------------- */

static void
add(struct rn__choices *choices, uint32_t choice, size_t times)
{
    for (size_t i = 0; i < times; i++)
        CHECK(rn__choices_add(choices, choice));
}

/* The same list comes back, without the zeros at its end. */
static void
check_round_trip(const struct rn__choices *choices)
{
    char *text = rn__token_write(choices);
    CHECK(text);
    CHECK_EQ(strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwx"
                          "yz0123456789-_"),
             strlen(text));
    struct reading r = read_token(text);
    size_t count = choices->count;
    while (count > 0 && choices->list[count - 1] == 0)
        count--;
    CHECK_EQ(r.error, 0);
    CHECK(!r.seeded);
    CHECK_EQ(r.choices.count, count);
    if (count)
        CHECK_MEM(r.choices.list, choices->list, count * sizeof(uint32_t));
    drop(&r);
    free(text);
}

static struct rn__choices
random_list(uint64_t *random)
{
    struct rn__choices choices = {0};
    uint32_t parts = rn__prng_below(random, 40);
    for (uint32_t i = 0; i < parts; i++) {
        uint32_t bits = rn__prng_below(random, 33);
        uint32_t value = (uint32_t)(rn__prng_next(random) >> 32);
        if (rn__prng_below(random, 3) == 0)
            add(&choices, 0, rn__prng_below(random, 2000));
        else
            add(&choices, bits == 0 ? 0 : value >> (32 - bits), 1);
    }
    return choices;
}

TEST(token_of_any_list_comes_back)
{
    uint64_t random = 1;
    for (int i = 0; i < 3000; i++) {
        struct rn__choices choices = random_list(&random);
        check_round_trip(&choices);
        free(choices.list);
    }
}

TEST(token_of_an_empty_list_comes_back)
{
    struct rn__choices choices = {0};
    check_round_trip(&choices);
    add(&choices, 0, 100);
    check_round_trip(&choices);
    free(choices.list);
}

TEST(token_of_a_long_run_of_zeros_is_short)
{
    struct rn__choices choices = {0};
    add(&choices, 0, 5000000);
    add(&choices, UINT32_MAX, 1);
    check_round_trip(&choices);
    char *text = rn__token_write(&choices);
    CHECK_LT(strlen(text), 30);
    free(text);
    free(choices.list);
}

TEST(token_may_end_in_white_space)
{
    struct rn__choices choices = {0};
    add(&choices, 3, 2);
    char *text = rn__token_write(&choices), *spaced = rn__format("%s \n", text);
    struct reading r = read_token(spaced);
    CHECK_EQ(r.error, 0);
    CHECK_EQ(r.choices.count, 2);
    drop(&r);
    free(spaced);
    free(text);
    free(choices.list);
}

/* ---- damage ------------------------------------------------------------- */

/* Every other character at every place, "@" at the start excepted (that is a
 * file), one character more and one less. */
static void
check_damage(char *text)
{
    size_t length = strlen(text);
    for (size_t i = 0; i < length; i++) {
        char right = text[i];
        for (int c = 1; c < 256; c++) {
            if ((char)c == right || (i == 0 && c == '@'))
                continue;
            text[i] = (char)c;
            check_refused(text, "token");
        }
        text[i] = right;
        char *less = rn__format("%.*s%s", (int)i, text, text + i + 1);
        if (strcmp(less, text) != 0)
            check_refused(less, "token");
        free(less);
    }
    for (int c = '!'; c < 127; c++) {
        char *more = rn__format("%s%c", text, c);
        check_refused(more, "token");
        free(more);
    }
}

TEST(token_damaged_in_one_character_is_refused)
{
    uint64_t random = 4;
    for (uint32_t size = 0; size < 30; size++) {
        struct rn__choices choices = {0};
        for (uint32_t i = 0; i < size; i++)
            add(&choices, rn__prng_below(&random, 300), 1);
        char *text = rn__token_write(&choices);
        check_damage(text);
        free(text);
        free(choices.list);
    }
}

TEST(token_refusals_say_why)
{
    check_refused("", "does not start with \"1-\"");
    check_refused("2-AAAA", "does not start with \"1-\"");
    check_refused("1-", "damaged");
    check_refused("1-AAAAAAAA", "checksum");
    check_refused("1-A*AA", "none of A-Z");
    check_refused("1-AAAA AAAA", "none of A-Z");
}

/* ---- files -------------------------------------------------------------- */

static void
write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    CHECK(file);
    CHECK(fputs(text, file) >= 0);
    CHECK_EQ(fclose(file), 0);
}

TEST(token_is_read_from_a_file)
{
    char path[] = "/tmp/runnel-token-XXXXXX", at[sizeof path + 1] = "@";
    struct rn__choices choices = {0};
    close(mkstemp(path));
    strcat(at, path);
    add(&choices, 9, 3);
    char *text = rn__token_write(&choices);
    char *lines = rn__format("%s\nmore lines\n", text);
    write_file(path, lines);
    struct reading r = read_token(at);
    CHECK_EQ(r.error, 0);
    CHECK_EQ(r.choices.count, 3);
    drop(&r);
    write_file(path, "s-1f\n");
    r = read_token(at);
    CHECK(r.error == 0 && r.seeded);
    CHECK_EQ(r.seed, 31);
    drop(&r);
    write_file(path, "");
    check_refused(at, "is empty");
    write_file(path, "1-AAAA");
    check_refused(at, "damaged");
    CHECK_EQ(unlink(path), 0);
    check_refused(at, "cannot read the token file");
    free(lines);
    free(text);
    free(choices.list);
}

/* ---- seeds -------------------------------------------------------------- */

TEST(token_of_a_seed_comes_back)
{
    static const uint64_t seeds[] = {0, 1, 0xabcdef, INT64_MAX, UINT64_MAX};
    for (int i = 0; i < 5; i++) {
        char *text = rn__token_of_seed(seeds[i]);
        struct reading r = read_token(text);
        CHECK(r.error == 0 && r.seeded);
        CHECK_EQ(r.seed, seeds[i]);
        CHECK_EQ(r.choices.count, 0);
        drop(&r);
        free(text);
    }
}

TEST(token_of_no_seed_is_refused)
{
    check_refused("s-", "hexadecimal");
    check_refused("s-xyz", "hexadecimal");
    check_refused("s-12 34", "hexadecimal");
    check_refused("s--1", "hexadecimal");
    check_refused("s- 1", "hexadecimal");
    check_refused("s-0x1", "hexadecimal");
    check_refused("s-11112222333344445", "hexadecimal");
}
