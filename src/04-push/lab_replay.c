#include "lab_replay.h"

#include <string.h>

static const struct {
    const char *name;
    uint64_t id;
} trees[REPLAY_TREES] = {
    {"fs", FS_TREE_OBJECTID},
    {"extent", EXTENT_TREE_OBJECTID},
    {"csum", CSUM_TREE_OBJECTID},
    {"log", TREE_LOG_OBJECTID},
};

int replay_open(struct replay *replay, const struct mix *mix, const struct lab_setup *setup,
                uint64_t seed, uint64_t log_rounds)
{
    *replay = (struct replay){
        .seeded = {seed},
        .commit_every = mix->commit_every,
        .log_rounds = log_rounds,
    };
    int result = 0;
    for (int i = 0; i < REPLAY_TREES && result == 0; i++)
        if (mix->trees & 1U << i)
            result = lab_open(&replay->labs[i], trees[i].name, trees[i].id, setup);
    if (result == 0)
        result = mix->setup(replay);
    for (int i = 0; i < REPLAY_TREES && result == 0; i++) {
        if (!replay->labs[i].name)
            continue;
        heap_commit(&replay->labs[i].heap);
        lab_zero(&replay->labs[i]);
    }
    return result;
}

void replay_close(struct replay *replay)
{
    for (int i = 0; i < REPLAY_TREES; i++)
        if (replay->labs[i].name)
            lab_close(&replay->labs[i]);
}

/* Ends the transaction in all trees; the log tree of a transaction ends with it. */
static int commit(struct replay *replay)
{
    for (int i = 0; i < REPLAY_TREES; i++)
        if (replay->labs[i].name)
            heap_commit(&replay->labs[i].heap);
    return replay->labs[REPLAY_LOG].name ? lab_clear(&replay->labs[REPLAY_LOG]) : 0;
}

int replay_run(struct replay *replay, const struct mix *mix, uint64_t requests)
{
    int result = 0;
    while (requests > 0 && result == 0) {
        uint32_t now = requests < REPLAY_ROUND ? (uint32_t)requests : REPLAY_ROUND;
        result = mix->round(replay, now);
        requests -= now;
        replay->requests += now;
        replay->rounds++;
        if (result == 0 && replay->commit_every && replay->requests % replay->commit_every == 0)
            result = commit(replay);
    }
    return result;
}
