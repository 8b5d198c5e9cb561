// crowd.cpp - benchmarks of very many fibers.
#include "fibers.hpp"

#include <chrono>
#include <vector>

namespace {

constexpr std::size_t idle_fibers = 100;

// Fibers that wait for a condition.
struct crowd {
    fibers::mutex lock;
    fibers::condition_variable all_here, go_on;
    std::uint64_t here = 0, woken = 0;
    bool open = false;
    std::vector<fibers::fiber> all;

    explicit crowd(std::uint64_t n)
    {
        for (std::uint64_t i = 0; i < n; i++)
            all.emplace_back(std::allocator_arg,
                             fibers::protected_fixedsize_stack(stack_bytes),
                             [this, n] { wait(n); });
        std::unique_lock<fibers::mutex> held(lock);
        all_here.wait(held, [this, n] { return here == n; });
    }

    void
    wait(std::uint64_t n)
    {
        std::unique_lock<fibers::mutex> held(lock);
        if (++here == n)
            all_here.notify_one();
        go_on.wait(held, [this] { return open; });
        woken++;
    }

    void
    disperse()
    {
        {
            std::unique_lock<fibers::mutex> held(lock);
            open = true;
        }
        go_on.notify_all();
        for (auto &fiber : all)
            fiber.join();
    }
};

using channel = fibers::unbuffered_channel<std::int64_t>;

// Stacks are small, or a million of them would be too much.
void
skynet_node(channel &parent, std::int64_t first, std::int64_t leaves)
{
    if (leaves == 1) {
        parent.push(first);
        return;
    }
    channel mine;
    std::int64_t part = leaves / 10, sum = 0;
    std::vector<fibers::fiber> children;
    for (int i = 0; i < 10; i++)
        children.emplace_back(fibers::launch::dispatch, std::allocator_arg,
                              fibers::fixedsize_stack(8 * 1024),
                              [&mine, first, part, i] {
                                  skynet_node(mine, first + i * part, part);
                              });
    for (int i = 0; i < 10; i++)
        sum += mine.value_pop();
    for (auto &child : children)
        child.join();
    parent.push(sum);
}

void
sleep_all(std::vector<std::int64_t> &late)
{
    using clock = std::chrono::steady_clock;
    std::vector<fibers::fiber> all;
    for (std::size_t i = 0; i < late.size(); i++)
        all.push_back(spawn([&late, i] {
            auto when = clock::now() + std::chrono::microseconds(bench_span_us(
                                           static_cast<std::uint32_t>(i)));
            boost::this_fiber::sleep_until(when);
            late[i] = std::chrono::nanoseconds(clock::now() - when).count();
        }));
    for (auto &fiber : all)
        fiber.join();
}

} // namespace

std::uint64_t
wake_all(std::uint64_t n)
{
    double rss = bench_rss(), tables = bench_page_tables();
    std::uint64_t begin = bench_now();
    crowd c(n);
    bench_figure("spawn_ns", static_cast<double>(bench_now() - begin) /
                                 static_cast<double>(n));
    bench_memory(rss, tables, n);
    bench_begin();
    c.disperse();
    bench_end();
    c.all.clear();
    boost::this_fiber::sleep_for(std::chrono::seconds(1));
    bench_figure("left_bytes", (bench_rss() - rss) / static_cast<double>(n));
    return c.woken;
}

std::uint64_t
skynet(std::uint64_t n)
{
    std::int64_t leaves = 1, tasks = 1;
    while (static_cast<std::uint64_t>(leaves) < n) {
        leaves *= 10;
        tasks += leaves;
    }
    channel top;
    auto root = spawn([&] { skynet_node(top, 0, leaves); });
    bench_check(top.value_pop() == leaves * (leaves - 1) / 2,
                "sum of the leaves");
    root.join();
    return static_cast<std::uint64_t>(tasks);
}

// Twice: the first time pays for memory that the second has already.
std::uint64_t
sleepers(std::uint64_t n)
{
    std::vector<std::int64_t> late(n, -1);
    sleep_all(late);
    bench_begin();
    double cpu = bench_cpu_ms();
    sleep_all(late);
    bench_end();
    bench_lateness(cpu, late.data(), n);
    return n;
}

std::uint64_t
idle_wakeups(std::uint64_t n)
{
    crowd c(idle_fibers);
    bench_idle_begin(n);
    boost::this_fiber::sleep_for(std::chrono::milliseconds(n * 2));
    bench_idle_end();
    c.disperse();
    bench_check(c.woken == idle_fibers, "fibers that waited");
    return n;
}
