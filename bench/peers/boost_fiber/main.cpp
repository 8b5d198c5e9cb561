// main.cpp - the benchmarks in Boost.Fiber: round_robin on one thread,
// work_stealing on more. There is no select and there are no timers.
#include "fibers.hpp"

#include <boost/context/fiber.hpp>

#include <thread>
#include <vector>

int workers;

namespace {

std::uint64_t
bare_switch(std::uint64_t n)
{
    namespace context = boost::context;
    std::uint64_t entered = 0, rounds = bench_share(n, 2);
    context::fiber other([&](context::fiber &&caller) {
        for (;;) {
            entered++;
            caller = std::move(caller).resume();
        }
        return std::move(caller);
    });
    bench_begin();
    for (std::uint64_t i = 0; i < rounds; i++)
        other = std::move(other).resume();
    bench_end();
    bench_check(entered == rounds, "switches");
    return rounds * 2;
}

std::uint64_t
spawn_one(std::uint64_t n)
{
    std::uint64_t count = 0;
    for (std::uint64_t i = 0; i < n; i++)
        spawn([&] { count++; }).join();
    bench_check(count == n, "fibers that ran");
    return n;
}

void
groups(std::uint64_t n, std::size_t size)
{
    std::vector<std::uint64_t> slots(size);
    std::vector<fibers::fiber> group(size);
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < n; i++) {
        for (std::size_t j = 0; j < size; j++)
            group[j] = spawn([slot = &slots[j]] { ++*slot; });
        for (auto &fiber : group)
            fiber.join();
    }
    for (auto slot : slots)
        sum += slot;
    bench_check(sum == n * size, "fibers that ran");
}

std::uint64_t
spawn_batch(std::uint64_t n)
{
    groups(bench_share(n, 1000), 1000);
    return bench_share(n, 1000) * 1000;
}

template <std::size_t size>
std::uint64_t
group(std::uint64_t n)
{
    groups(n, size);
    return n;
}

template <std::size_t size>
std::uint64_t
yields(std::uint64_t n)
{
    std::vector<std::uint64_t> done(size);
    std::vector<fibers::fiber> all;
    std::uint64_t rounds = bench_share(n, size), sum = 0;
    for (auto &count : done)
        all.push_back(spawn([&count, rounds] {
            std::uint64_t i = 0;
            for (; i < rounds; i++)
                boost::this_fiber::yield();
            count = i;
        }));
    for (auto &fiber : all)
        fiber.join();
    for (auto count : done)
        sum += count;
    return sum;
}

std::uint64_t
pingpong(std::uint64_t n)
{
    fibers::unbuffered_channel<std::int64_t> ping, pong;
    auto other = spawn([&] {
        for (std::int64_t v : ping)
            pong.push(v + 1);
    });
    std::int64_t v = 0;
    for (std::uint64_t i = 0; i < n; i++) {
        ping.push(v);
        v = pong.value_pop();
    }
    ping.close();
    other.join();
    bench_check(v == static_cast<std::int64_t>(n), "round trips");
    return n;
}

template <std::size_t pairs>
std::uint64_t
buffered(std::uint64_t n)
{
    fibers::buffered_channel<std::int64_t> channel(128);
    std::uint64_t each = bench_share(n, pairs), items = 0, sum = 0;
    std::vector<std::uint64_t> counts(pairs), sums(pairs);
    std::vector<fibers::fiber> producers, consumers;
    for (std::size_t i = 0; i < pairs; i++) {
        consumers.push_back(spawn([&, i] {
            std::uint64_t count = 0, total = 0;
            for (std::int64_t v : channel) {
                count++;
                total += static_cast<std::uint64_t>(v);
            }
            counts[i] = count;
            sums[i] = total;
        }));
        producers.push_back(spawn([&, each] {
            for (std::uint64_t k = 0; k < each; k++)
                channel.push(static_cast<std::int64_t>(k));
        }));
    }
    for (auto &fiber : producers)
        fiber.join();
    channel.close();
    for (auto &fiber : consumers)
        fiber.join();
    for (std::size_t i = 0; i < pairs; i++) {
        items += counts[i];
        sum += sums[i];
    }
    bench_check(sum == pairs * (each * (each - 1) / 2), "sum of the items");
    return items;
}

std::uint64_t
mutex(std::uint64_t n)
{
    fibers::mutex lock;
    volatile std::uint64_t count = 0;
    for (std::uint64_t i = 0; i < n; i++) {
        lock.lock();
        count = count + 1;
        lock.unlock();
    }
    return count;
}

// The holder yields, so that the others pile up behind it.
std::uint64_t
mutex_yield(std::uint64_t n)
{
    fibers::mutex lock;
    std::uint64_t count = 0, rounds = bench_share(n, 4);
    std::vector<fibers::fiber> all;
    for (int i = 0; i < 4; i++)
        all.push_back(spawn([&] {
            for (std::uint64_t k = 0; k < rounds; k++) {
                std::unique_lock<fibers::mutex> held(lock);
                std::uint64_t seen = count;
                boost::this_fiber::yield();
                count = seen + 1;
            }
        }));
    for (auto &fiber : all)
        fiber.join();
    return count;
}

const struct bench table[] = {
    {"switch", bare_switch, 0, 0},
    {"spawn_one", spawn_one, 0, 0},
    {"spawn_batch", spawn_batch, 0, 0},
    {"group10", group<10>, 0, 0},
    {"group100", group<100>, 0, 0},
    {"yield2", yields<2>, 0, 0},
    {"yield1000", yields<1000>, 0, 0},
    {"pingpong", pingpong, 0, 0},
    {"buffered_1p1c", buffered<1>, 0, 0},
    {"buffered_4p4c", buffered<4>, 0, 0},
    {"mutex", mutex, 0, 0},
    {"mutex_yield", mutex_yield, 0, 0},
    // All of its fibers are there at once, with a page fault or two each.
    {"skynet", skynet, 100000, 1},
    {"sleepers10k", sleepers, 10000, 1},
    {"sleepers100k", sleepers, 100000, 1},
    // A guard takes two memory maps, of which there are 65,000.
    {"wake_all", wake_all, 10000, 0},
    // Milliseconds to watch for.
    {"idle_wakeups", idle_wakeups, 2000, 0},
};

// The other threads steal fibers until all is done.
struct crew {
    fibers::mutex lock;
    fibers::condition_variable over;
    bool done = false;
    std::vector<std::thread> threads;

    void
    start(std::uint32_t count)
    {
        for (std::uint32_t i = 1; i < count; i++)
            threads.emplace_back([this, count] {
                fibers::use_scheduling_algorithm<fibers::algo::work_stealing>(
                    count, true);
                std::unique_lock<fibers::mutex> held(lock);
                over.wait(held, [this] { return done; });
            });
        fibers::use_scheduling_algorithm<fibers::algo::work_stealing>(count,
                                                                      true);
    }

    void
    stop()
    {
        {
            std::unique_lock<fibers::mutex> held(lock);
            done = true;
        }
        over.notify_all();
        for (auto &thread : threads)
            thread.join();
    }
};

} // namespace

int
main(int argc, char **argv)
{
    struct bench_args args;
    crew others;
    bench_parse(&args, argc, argv, table, sizeof table / sizeof *table);
    workers = args.workers;
    if (workers > 1)
        others.start(static_cast<std::uint32_t>(workers));
    bench_measure(&args);
    others.stop();
    return 0;
}
