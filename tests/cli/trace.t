A trace is kept, printed as text and as JSON.

  $ runnel check locks --save found.trace | tail -1
  The trace is in found.trace.
  $ runnel trace found.trace > text; head -1 text
  time +(clock +)?#1 main +#2 left +#3 right +site (re)
  $ tail -1 text
  verdict: deadlock \(seed [0-9]+, digest [0-9a-f]{16}\) (re)
  $ grep -c 'lock mutex#[12] .*take_both locks.c:[0-9]*$' text | sed 's/[2-9]/some/'
  some
  $ grep -c blocked text | sed 's/[2-9]/some/'
  some
  $ for n in 60 72 100 140; do runnel trace found.trace --columns $n | sed '$d' | awk -v n=$n 'length > n'; done
  $ runnel trace found.trace --json > trace.json; json verdict < trace.json
  deadlock
  $ json events 0 name < trace.json; json events 0 time < trace.json
  main
  0
  $ runnel trace - < found.trace | cmp - text

Replay shows it at once.

  $ line=$(runnel check locks | tail -1); $line --trace > story
  [1]
  $ n=$(($(wc -l < text) - 1)); head -$n story > a; head -$n text | cmp - a
  $ $line --trace --json > story.json
  [1]
  $ json trace events 1 kind < story.json > a; json events 1 kind < trace.json | cmp - a
  $ ls tmp

What is no trace is refused, with the place.

  $ runnel trace missing
  runnel: missing: No such file or directory
  [2]
  $ runnel trace .
  runnel: .: Is a directory
  [2]
  $ runnel trace /dev/null
  runnel: /dev/null: byte 0: not a trace of runnel
  [2]
  $ printf 'RNTRACE9........' > new; runnel trace new
  runnel: new: byte 7: a version of the format that is not known here
  [2]
  $ head -c 30 found.trace > short; runnel trace short
  runnel: short: byte 24: a string goes beyond the end of the file
  [2]
  $ (cat found.trace; echo) > long; runnel trace long 2>&1 | sed 's/[0-9][0-9]*/N/'
  runnel: long: byte N: goes on after its end
  $ runnel trace short --json
  {
    "error": "short: byte 24: a string goes beyond the end of the file"
  }
  [2]
  $ runnel trace found.trace --columns 59
  runnel: --columns takes a number from 60 to 100000, not "59"
  [2]
