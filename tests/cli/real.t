Run for real: the program's own output and status, and the numbers of the run.

  $ runnel run locks --workers 2 -- 'same way' 2> stats
  $ grep -c tasks stats | sed 's/[1-9]/some/'
  some
  $ runnel run locks --workers 2 --json -- 'same way' 2>&1 | json tasks
  3
  $ runnel run locks --workers 2 --json -- 'same way' 2>&1 | json workers
  2
  $ grep -c 'timers 0, late by 0 ns at most, 0 ns in all' stats
  1
  $ runnel run locks --json -- 'same way' 2>&1 | json timers_late_max_ns
  0

The limit for tasks that do not yield is looked at before anything runs.

  $ RUNNEL_WATCHDOG=soon runnel run locks -- 'same way' 2>&1 | head -n 1
  runnel: RUNNEL_WATCHDOG=soon is not a number of milliseconds from 0 (off) to 86400000
  $ RUNNEL_WATCHDOG=0 runnel run locks --json -- 'same way' 2>&1 | json tasks
  3

So are the other variables: digits and nothing else, or one of the words.

  $ for n in 0 1025 many ' 2' +5 2x; do RUNNEL_WORKERS=$n ./locks; done
  runnel: RUNNEL_WORKERS=0 is not a number from 1 to 1024
  runnel: RUNNEL_WORKERS=1025 is not a number from 1 to 1024
  runnel: RUNNEL_WORKERS=many is not a number from 1 to 1024
  runnel: RUNNEL_WORKERS= 2 is not a number from 1 to 1024
  runnel: RUNNEL_WORKERS=+5 is not a number from 1 to 1024
  runnel: RUNNEL_WORKERS=2x is not a number from 1 to 1024
  [1]
  $ for n in none -1; do RUNNEL_BLOCKING_THREADS=$n ./locks; done
  runnel: RUNNEL_BLOCKING_THREADS=none is not a number from 1 to 1024
  runnel: RUNNEL_BLOCKING_THREADS=-1 is not a number from 1 to 1024
  [1]
  $ RUNNEL_WATCHDOG=+5 ./locks
  runnel: RUNNEL_WATCHDOG=+5 is not a number of milliseconds from 0 (off) to 86400000
  [1]
  $ RUNNEL_STATS=yes ./locks
  runnel: RUNNEL_STATS=yes is not one of text, json
  [1]
  $ RUNNEL_STATS= ./locks 'same way'
  $ RUNNEL_BACKEND=fast ./locks
  runnel: RUNNEL_BACKEND=fast is not one of asm, ucontext, thread
  [1]
  $ RUNNEL_GUARD=strong ./locks
  runnel: RUNNEL_GUARD=strong is not one of madvise, mprotect, canary
  [1]

What the machine has.

  $ runnel doctor | grep -v '^ '
  system
  
  features
  
  limits
  
  chosen
  
  tools
  
  missing
  $ runnel doctor --json > doctor.json; json features futex < doctor.json
  True
  $ json system runnel < doctor.json > a; runnel --version | sed 's/runnel //' | cmp - a
  $ json chosen backend < doctor.json
  asm|ucontext|thread (re)
  $ json chosen guard < doctor.json
  madvise|mprotect|canary (re)
  $ json chosen poller < doctor.json
  none: this version has no I/O; workers sleep on futexes

A tool that is missing is named, with where to get it.

  $ real=$(command -v runnel); mkdir empty; PATH=empty $real doctor > poor
  $ grep -A1 "^  [agv][a-z0-9]*  .*[a-z] [a-z]" poor | grep -v "^--"
    addr2line            without it reports name functions, but no files and lines
                         get it: apt-get install binutils
    gdb                  shows the stack of the running task, and core files
                         get it: apt-get install gdb
    valgrind             finds wrong uses of memory
                         get it: apt-get install valgrind
