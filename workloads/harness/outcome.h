/* outcome.h -- why a trial ends as it ends: what the words of workload.h have said so far. */
#ifndef STEELYARD_OUTCOME_H
#define STEELYARD_OUTCOME_H

/* The word for what a hook returned: "ok", "failed" or "unsupported". */
const char *outcome_word(int outcome);

/* What was said last; empty if nothing was. */
const char *outcome_why(void);

#endif
