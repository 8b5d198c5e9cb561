Faults are off, until they are asked for.

  $ runnel check shop -- memory | sed 's/ in .*//'
  pass: no bug
  $ runnel check shop --faults alloc:1 -- memory > found
  [1]
  $ head -1 found
  panic: in schedule [0-9]+ \(seed 1, [0-9]+\.[0-9] s\) (re)
  $ grep -c 'no memory for a queue\|faults injected\|gets no memory' found
  3
  $ tail -1 found > line; sed 's/--token [^ ]*/--token T/' line
  runnel replay ./shop --token T --faults alloc:1 -- memory
  $ sh line > again
  [1]
  $ grep -c 'no memory for a queue\|faults injected\|gets no memory' again
  3
  $ sed 's/ -- / --json -- /' line > as_json; sh as_json > found.json
  [1]
  $ json faults < found.json
  1

A program that is prepared for them is clean, whatever happens.

  $ runnel check shop --faults alloc:5%,trylock:1,late:1,kill:1@10%,spurious:1,late_by:5ms -- patient | sed 's/ in .*//'
  pass: no bug
  $ runnel check shop --faults alloc 2>&1
  runnel: --faults takes a list such as alloc:1,kill:2@5%, not "alloc"; see `runnel help check`
  [2]
  $ runnel check shop --faults memory:1 > /dev/null 2>&1
  [2]

What no schedule has seen is a finding of the search, not of a schedule.

  $ runnel check shop --schedules 50 -- full
  unseen: in schedules 1 to 50 \(seed 1, [0-9]+\.[0-9] s\) (re)
  
  unseen: 1 property was seen in none of 50 schedules
    "the shop is full": expected, and no schedule came to it
  either the program cannot do it, or the search is too small or leads elsewhere
  [1]
  $ runnel check shop --schedules 50 --jobs 3 --json -- full > unseen.json
  [1]
  $ for key in verdict schedules token repeat; do json $key < unseen.json; done
  unseen
  50
  null
  null
