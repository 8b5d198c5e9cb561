// fibers.hpp - what the benchmarks in Boost.Fiber share.
#pragma once

#include "../../bench.h"

#include <boost/fiber/all.hpp>

#include <cstdint>
#include <memory>
#include <utility>

namespace fibers = boost::fibers;

constexpr std::size_t stack_bytes = 64 * 1024;
// Set by main.
extern int workers;

// Start a fiber. The pool of stacks is not made for two threads: with more
// than one each stack comes from malloc.
template <class Fn>
fibers::fiber
spawn(Fn fn)
{
    static fibers::pooled_fixedsize_stack pool(stack_bytes);
    if (workers == 1)
        return fibers::fiber(std::allocator_arg, pool, std::move(fn));
    return fibers::fiber(std::allocator_arg,
                         fibers::fixedsize_stack(stack_bytes), std::move(fn));
}

// crowd.cpp
std::uint64_t wake_all(std::uint64_t n);
std::uint64_t sleepers(std::uint64_t n);
std::uint64_t idle_wakeups(std::uint64_t n);
std::uint64_t skynet(std::uint64_t n);
