/* tools/json.h - writes JSON, one member a line. */
#ifndef JSON_H
#define JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* A writer. Begin with all zero but out. */
struct json {
    FILE *out;
    int depth;
    bool follows; /* something stands before on this level */
};

/* bracket: '{' or '['. key: NULL in an array and for the outermost. */
void json_open(struct json *json, const char *key, char bracket);
void json_close(struct json *json, char bracket);

void json_text(struct json *json, const char *key, const char *text);
void json_bool(struct json *json, const char *key, bool value);
void json_unsigned(struct json *json, const char *key, uint64_t value);
void json_signed(struct json *json, const char *key, int64_t value);
/* With three decimals. */
void json_real(struct json *json, const char *key, double value);
/* Text that is JSON already. */
void json_raw(struct json *json, const char *key, const char *text);

#endif
