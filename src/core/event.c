/* core/event.c - the words for the kinds of events, from the one table. */
#include "core/event.h"

const char *
rn__kind_text(enum rn__kind kind)
{
    static const char *const texts[] = {
#define RN__KIND_TEXT(name, text, object) text,
        RN__KINDS(RN__KIND_TEXT)
#undef RN__KIND_TEXT
    };
    return (unsigned)kind < RN__KIND_COUNT ? texts[kind] : "?";
}

const char *
rn__kind_object(enum rn__kind kind)
{
    static const char *const objects[] = {
#define RN__KIND_OBJECT(name, text, object) object,
        RN__KINDS(RN__KIND_OBJECT)
#undef RN__KIND_OBJECT
    };
    return (unsigned)kind < RN__KIND_COUNT ? objects[kind] : "";
}
