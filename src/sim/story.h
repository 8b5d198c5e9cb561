/* sim/story.h - what has led to a finding, in a few lines. */
#ifndef RN_STORY_H
#define RN_STORY_H

#include <stdbool.h>
#include <stdio.h>

struct rn__world;
struct rn__event;

/* Tell the last operations on the objects that the finding is about, in the
 * order in which they were done; false: there are too few for a story. */
bool rn__story_tell(struct rn__world *world, FILE *out);
/* An operation on a line, with what is to be said of it (may be ""). */
void rn__story_line(struct rn__world *world, const struct rn__event *event,
                    const char *remark, FILE *out);

#endif
