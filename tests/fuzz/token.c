/* Tokens: any text is refused or read; a text with the right checksum is read
 * into a list that comes back the same; any list comes back.
 */
#include "sim/sim.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void
require(bool condition)
{
    if (!condition)
        abort();
}

/* What is written of a list is read again, but for zeros at the end. */
static void
check_round_trip(const struct rn__choices *choices)
{
    struct rn__choices again = {0};
    bool seeded;
    uint64_t seed;
    char *why = NULL, *text = rn__token_write(choices);
    size_t count = choices->count;
    while (count > 0 && choices->list[count - 1] == 0)
        count--;
    require(text);
    require(rn__token_read(text, &again, &seeded, &seed, &why) == 0);
    require(!seeded && again.count == count);
    require(count == 0 ||
            !memcmp(again.list, choices->list, count * sizeof *again.list));
    free(again.list);
    free(text);
}

static void
read_text(const char *text)
{
    struct rn__choices choices = {0};
    bool seeded = false;
    uint64_t seed = 0;
    char *why = NULL;
    int error = rn__token_read(text, &choices, &seeded, &seed, &why);
    if (error == 0 && seeded) {
        char *again = rn__token_of_seed(seed), *end;
        require(again && strtoull(again + 2, &end, 16) == seed && !*end);
        free(again);
    } else if (error == 0) {
        check_round_trip(&choices);
    } else {
        require(error == -ENOMEM || (error == -EINVAL && why));
    }
    free(choices.list);
    free(why);
}

/* The token with this inside: the parser behind the checksum. */
static void
read_packed(const uint8_t *bytes, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "abcdefghijklmnopqrstuvwxyz0123456789-_";
    uint32_t sum = 2166136261u, bits = 0;
    char *text = malloc(size * 2 + 16), *at = text;
    require(text);
    memcpy(at, "1-", 2);
    at += 2;
    int have = 0;
    for (size_t i = 0; i < size + 4; i++) {
        uint8_t byte = i < size ? bytes[i] : (uint8_t)(sum >> (8 * (i - size)));
        if (i < size)
            sum = (sum ^ byte) * 16777619u;
        bits = (bits << 8 | byte) & 0xffff;
        for (have += 8; have >= 6; have -= 6)
            *at++ = digits[bits >> (have - 6) & 63];
    }
    if (have)
        *at++ = digits[bits << (6 - have) & 63];
    *at = 0;
    read_text(text);
    free(text);
}

static void
write_list(const uint8_t *bytes, size_t size)
{
    struct rn__choices choices = {0};
    for (size_t i = 0; i + 1 < size; i += 2) {
        uint32_t value = (uint32_t)bytes[i] << (bytes[i + 1] % 25);
        int times = bytes[i] ? 1 : 1 + bytes[i + 1];
        for (int k = 0; k < times; k++)
            require(rn__choices_add(&choices, value));
    }
    check_round_trip(&choices);
    free(choices.list);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size < 1)
        return 0;
    if (bytes[0] == 0) {
        write_list(bytes + 1, size - 1);
    } else if (bytes[0] == 1) {
        read_packed(bytes + 1, size - 1);
    } else if (bytes[0] != '@') { /* no files */
        char *text = strndup((const char *)bytes, size);
        require(text);
        read_text(text);
        free(text);
    }
    return 0;
}
