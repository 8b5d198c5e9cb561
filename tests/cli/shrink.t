What is found is shrunk: one task has to be interrupted between its two locks.

  $ runnel check locks --json > shrunk.json
  [1]
  $ for key in verdict preemptions fewest faults; do json $key < shrunk.json; done
  deadlock
  1
  True
  0
  $ runnel check locks | grep 'preemption'
  It takes 1 preemption, no fewer will do (1 choice off the default).

The text says how it would pass, and what happened.

  $ json contrast < shrunk.json | sed 's/  *take_both locks.c:.*//'
  it passes if
    task 2   "left"       lock mutex#3
  comes before
    task 3   "right"      lock mutex#3
  (here it comes after that)
  
  $ json text < shrunk.json | sed -n '/^what happened/,/^wait-for/s/  *take_both locks.c:.*//p'
    task 2   "left"       lock mutex#2
    task 3   "right"      lock mutex#3
    task 3   "right"      lock mutex#2, waits
    task 2   "left"       lock mutex#3, late, waits

As it was found, and shrunk later.

  $ runnel check locks --no-shrink --json --strategy random > found.json
  [1]
  $ for key in preemptions deviations shrinking contrast; do json $key < found.json; done
  null
  null
  0
  null
  $ runnel shrink locks --token $(json token < found.json) --json > later.json
  [1]
  $ for key in verdict preemptions fewest; do json $key < later.json; done
  deadlock
  1
  True
  $ sh -c "$(json repeat < later.json)" | sed 's/:.*//; q'
  deadlock
  $ json token < found.json > it.token
  $ runnel shrink locks --token @it.token | tail -2
  To repeat it:
  runnel replay \./locks --token 1-[^ ]+ (re)

What is wrong is said.

  $ runnel shrink locks
  runnel: shrink needs --token T
  [2]
  $ runnel check locks --shrink --no-shrink
  runnel: --shrink and --no-shrink contradict each other
  [2]
  $ runnel shrink locks --token 1-xZ0cgQ > out; head -1 out | sed 's/:.*//'
  pass
