A program whose two tasks lock in opposite orders.

  $ runnel check locks > found
  [1]
  $ head -1 found
  deadlock: in schedule [0-9]+ \(seed 1, [0-9]+\.[0-9] s\) (re)
  $ tail -2 found
  To repeat it:
  runnel replay \./locks --token [^ ]+ (re)
  $ grep -c 'left\|right' found | sed 's/[1-9][0-9]*/some/'
  some

The line repeats it: the same verdict, the same story, every time.

  $ tail -1 found > line; sh line > again
  [1]
  $ head -1 again
  deadlock: [0-9]+ steps \(seed [0-9]+, digest [0-9a-f]{16}\) (re)
  $ sh line > once_more; cmp again once_more
  $ runnel check locks --json > found.json
  [1]
  $ json verdict < found.json
  deadlock
  $ json waiting < found.json
  3
  $ json program < found.json
  ./locks
  $ json repeat < found.json | cmp - line
  $ sh -c "$(cat line) --json" > again.json
  [1]
  $ for key in verdict digest steps waiting token text; do
  >     json $key < found.json > a; json $key < again.json > b; cmp a b
  > done

So does the schedule's seed, if it is of a random walk.

  $ runnel check locks --json --strategy random --no-shrink > walk.json
  [1]
  $ runnel replay locks --seed $(json seed < walk.json) --json > seeded.json
  [1]
  $ for key in verdict digest steps seed; do
  >     json $key < walk.json > a; json $key < seeded.json > b; cmp a b
  > done

A token may come from a file.

  $ json token < found.json > it.token; runnel replay locks --token @it.token > c
  [1]
  $ cmp again c
  $ runnel replay locks --token @not.there 2>&1 | grep -c not.there
  1
  $ runnel replay locks --token @not.there > /dev/null 2>&1
  [2]
  $ runnel replay locks --token '!?' > /dev/null 2>&1
  [2]

There are several strategies.

  $ runnel check --list-strategies | sed 's/ .*//'
  portfolio
  random
  pct
  pos
  surw
  dfs
  delay
  preemption
  default
  dpor
  $ runnel check locks --strategy best
  runnel: strategy "best" is unknown; there are portfolio, random, pct, pos, surw, dfs, delay, preemption, default, dpor
  [2]
  $ runnel check locks --strategy preemption --json > found.json
  [1]
  $ for key in verdict strategy bound complete; do json $key < found.json; done
  deadlock
  preemption
  0
  False
  $ runnel check locks --strategy dfs --schedules 100000 --jobs 2 -- 'same way' > all
  $ tail -1 all
  These are all schedules there are.
  $ runnel check locks --strategy pct:2 --json --jobs 1 > one.json
  [1]
  $ runnel check locks --strategy pct:2 --json --jobs 3 > three.json
  [1]
  $ for key in verdict schedules seed digest token; do
  >     json $key < one.json > a; json $key < three.json > b; cmp a b
  > done

The search is the same whatever runs beside it, and another with another seed.

  $ runnel check locks --json --jobs 1 > one.json
  [1]
  $ runnel check locks --json --jobs 3 > three.json
  [1]
  $ for key in verdict schedules seed digest token; do
  >     json $key < one.json > a; json $key < three.json > b; cmp a b
  > done
  $ runnel check locks --json --seed 2 | json seed > a; json seed < one.json | cmp -s - a
  [1]

The twin is clean. Its argument has a space in it.

  $ runnel check locks --schedules 300 -- 'same way'
  pass: no bug in 300 schedules, [0-9]+ of them distinct \(seed 1, [0-9]+\.[0-9] s\) (re)
  $ runnel check --schedules=300 --verify --json -- locks 'same way' > clean.json
  $ for key in verdict schedules token repeat; do json $key < clean.json; done
  pass
  300
  null
  null
  $ runnel replay locks --seed 1 -- 'same way'
  pass: [0-9]+ steps \(seed 1, digest [0-9a-f]{16}\) (re)

What decides the verdict is in the line that repeats it, quoted for the shell.

  $ runnel check locks --leaks-ok --verify --steps 5000 -- "it's" '' '$HOME' | tail -1 > line
  $ sed 's/--token [^ ]*/--token T/' line
  runnel replay ./locks --token T --leaks-ok --verify --steps 5000 -- 'it'\''s' '' '$HOME'
  $ sh line > /dev/null
  [1]

Nothing is left behind.

  $ ls tmp
