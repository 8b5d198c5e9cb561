Without a command: what there is.

  $ runnel
  usage: runnel COMMAND [OPTION...] [PROG|FILE] [-- ARG...]
  
    run      run a program for real and print its statistics
    check    search a program's schedules for bugs
    merge    put the shards of a search together
    replay   repeat one schedule of a program
    shrink   make a failing schedule of a program simpler
    trace    print a trace file
    lin      judge a history of operations: is it linearizable?
    doctor   show what this machine offers and lacks
    help     explain a command: runnel help COMMAND
  
  PROG is a program that calls rn_run; its own arguments follow --.
  --json, with any command, prints one JSON object in place of text.
  --version prints the version.
  Exit status: 0 fine, 1 a bug was found, 2 wrong usage, or it cannot
  be done.
  [2]
  $ runnel 2> usage; runnel help > help; runnel --help > dash; cmp usage help && cmp help dash
  $ runnel --version
  runnel [0-9]+\.[0-9]+\.[0-9]+ (re)

Each command explains itself.

  $ for c in run check merge replay shrink trace lin doctor; do runnel help $c | sed -n 2p; done
    runnel run - run a program for real and print its statistics
    runnel check - search a program's schedules for bugs
    runnel merge - put the shards of a search together
    runnel replay - repeat one schedule of a program
    runnel shrink - make a failing schedule of a program simpler
    runnel trace - print a trace file
    runnel lin - is a recorded history linearizable?
    runnel doctor - show what this machine offers and lacks
  $ for c in run check merge replay shrink trace lin doctor; do runnel help $c > a; runnel $c --help > b; cmp a b; awk 'length > 80' a; done
  $ runnel help check
  NAME
    runnel check - search a program's schedules for bugs
  
  SYNOPSIS
    runnel check PROG [OPTION...] [-- ARG...]
    runnel check --list-strategies
  
  DESCRIPTION
    Runs PROG again and again in the simulator, a process a schedule, until
    a schedule fails or enough of them have passed. PROG is any program that
    calls rn_run; it need not be compiled anew. Found are deadlocks, leaked
    tasks, misuse of channels and locks, failed assertions, crashes, an exit
    status other than 0, runs without an end, and properties that no
    schedule has seen (runnel/property.h). Prints the verdict, what
    happened, and the command line that repeats it.
  
    A name without a slash is a file of this folder, else one of PATH.
  
  OPTIONS
    --schedules N  run N schedules at most (1000; with --seconds: no limit)
    --seconds S    stop after S seconds (no limit)
    --strategy S   which schedules: a name, or NAME:NUMBER (portfolio)
                   as --list-strategies says
    --seed X       seed of the search (1): the same seed, the same search
    --jobs J       processes at once (as many as there are cores)
    --steps N      steps of one schedule before it counts as endless
                   (100000)
    --all          go on after a failure and count them; after a failed
                   assertion its schedule, too, goes on to its end
    --no-shrink    report the failing schedule as it was found; else
                   (--shrink) a simpler one with the same failure is looked
                   for, for 2 s at most
    --leaks-ok     tasks that are left waiting at the end are no bug
    --verify       run each schedule twice and compare: finds what differs
                   from run to run though the schedule is the same
    --faults LIST  let that go wrong: kinds with the most in a schedule, a
                   chance, or both, as alloc:1,kill:2@5%,late:10%
                     alloc      a call that allocates has no memory
                     spurious   a condition's waiter wakes for nothing
                     trylock    a free lock cannot be had by a try
                     late       timers expire late, up to late_by:1ms
                     kill       a task other than main is cancelled
    --shard I/N    run part I of N (1/N to N/N) of the schedules only, of a
                   random strategy; see runnel help merge
    --out FILE     write what was run and found, for runnel merge
    --checkpoint FILE
                   write it now and then and at the end, also after Ctrl-C
    --resume FILE  go on where that search was (and keep its file up to
                   date, without --checkpoint)
    --save FILE    write the trace of the finding to FILE, for runnel trace
    --json         print one JSON object: program, verdict, schedules,
                   distinct, blocked, complete, failing, preemptions (null:
                   not known), within, bound (null: none),
                   estimated (0: no idea), strategy, steps, waiting, faults
                   (injected), deviations (null: not shrunk), fewest,
                   shrinking (schedules run for it), contrast, seed (of the
                   reported schedule), digest, time_ns, seconds, token,
                   repeat, text
  
  EXIT STATUS
    0 no bug was found, 1 a bug was found, 2 PROG cannot be checked
  
  EXAMPLE
    runnel check ./server --seconds 60 -- --port 0

What is not there.

  $ runnel chek
  runnel: there is no command chek; did you mean check?
  [2]
  $ runnel help replya
  runnel: there is no command replya; did you mean replay?
  [2]
  $ runnel frobnicate
  runnel: there is no command frobnicate; see `runnel help`
  [2]
  $ runnel --frob
  runnel: there is no option --frob; see `runnel help`
  [2]
  $ runnel check locks --schedule 5
  runnel: check has no option --schedule; did you mean --schedules?
  [2]
  $ runnel check locks --schdules=5
  runnel: check has no option --schdules=5; did you mean --schedules?
  [2]
  $ runnel trace x --frob
  runnel: trace has no option --frob; see `runnel help trace`
  [2]

What is missing or too much.

  $ runnel check
  runnel: check needs a PROG; see `runnel help check`
  [2]
  $ runnel trace
  runnel: trace needs a FILE; see `runnel help trace`
  [2]
  $ runnel check locks same
  runnel: check takes one PROG, and "same" is one more; arguments of a program go after --
  [2]
  $ runnel doctor locks
  runnel: doctor takes no argument: "locks"
  [2]
  $ runnel replay locks
  runnel: replay needs --token T or --seed X
  [2]
  $ runnel replay locks --token 1 --seed 1
  runnel: replay needs --token T or --seed X, and not both
  [2]

Values.

  $ runnel check locks --schedules
  runnel: --schedules needs a value
  [2]
  $ runnel check locks --schedules 0
  runnel: --schedules takes a number from 1 to 18446744073709551615, not "0"
  [2]
  $ runnel check locks --seed=18446744073709551616
  runnel: --seed takes a number from 0 to 18446744073709551615, not "18446744073709551616"
  [2]
  $ runnel check locks --seed -1
  runnel: --seed takes a number from 0 to 18446744073709551615, not "-1"
  [2]
  $ runnel check locks --seconds nan
  runnel: --seconds takes a number of seconds, not "nan"
  [2]
  $ runnel check locks --verify=yes
  runnel: --verify takes no value
  [2]
  $ runnel check locks --save=
  runnel: --save takes a word that is not empty
  [2]
  $ runnel run locks --workers many
  runnel: --workers takes a number from 1 to 1024, not "many"
  [2]

The same as JSON: one object on standard output, nothing else.

  $ runnel chek --json
  {
    "error": "there is no command chek; did you mean check?"
  }
  [2]
  $ runnel --json
  {
    "error": "no command given; see `runnel help`"
  }
  [2]
  $ runnel --json check 2>&1 | json error
  check needs a PROG; see `runnel help check`
  $ runnel --json --version | json version
  [0-9]+\.[0-9]+\.[0-9]+ (re)
  $ runnel help check --json | json help > a; runnel help check > b; echo >> b; cmp a b
