// main.cpp - the C interface from C++.
#include <cstdio>
#include <runnel/runnel.h>

static int
app(void *)
{
    rn_mutex mutex = RN_MUTEX_INIT;
    int e = rn_mutex_lock(&mutex, RN_NEVER);
    if (e < 0)
        return e;
    rn_mutex_unlock(&mutex);
    return 6;
}

int
main()
{
    int sum = rn_run(nullptr, app, nullptr);
    std::printf("runnel %s: %d\n", rn_version(), sum);
    return sum != 6;
}
