A history of a right object, in both notations.

  $ ./history cas-register log 1 200 > good.log; head -1 good.log | tr '\t' ' '
  INFO  jepsen.util - [0-4] :invoke :(read|write|cas) (nil|[0-4]|\[[0-4] [0-4]\]) (re)
  $ runnel lin good.log --model cas-register
  linearizable: [0-9]+ operations, 1 part, [0-9]+ steps \([0-9.]+ s\) (re)
  $ for m in register cas-register kv queue; do ./history $m map 2 500 > good.edn; runnel lin good.edn --model $m | cut -d: -f1; done
  linearizable
  linearizable
  linearizable
  linearizable
  $ runnel lin - --model queue < good.edn | cut -d: -f1
  linearizable

Faults that were planted are found.

  $ for f in stale lost phantom; do for m in register cas-register kv; do ./history $m map 3 300 $f > bad; runnel lin bad --model $m | head -1; done; done | sort | uniq -c | sed 's/^ *//'
  9 not linearizable: no order of the operations explains their results
  $ for f in lost doubled reordered phantom; do ./history queue log 4 300 $f > bad; runnel lin bad --model queue | head -1; done | sort | uniq -c | sed 's/^ *//'
  4 not linearizable: no order of the operations explains their results

The story of one.

  $ cat > bad.log <<END
  > INFO  jepsen.util - 0	:invoke	:write	1
  > INFO  jepsen.util - 0	:ok	:write	1
  > INFO  jepsen.util - 1	:invoke	:write	2
  > INFO  jepsen.util - 2	:invoke	:cas	[1 3]
  > INFO  jepsen.util - 1	:ok	:write	2
  > INFO  jepsen.util - 2	:info	:cas	:timed-out
  > INFO  jepsen.util - 0	:invoke	:read	nil
  > INFO  jepsen.util - 0	:ok	:read	1
  > END
  $ runnel lin bad.log --model cas-register
  not linearizable: no order of the operations explains their results
  The first to return that cannot be placed:
    #0  read -> 1  (lines 7-8)
  When it returned the state could be: 2
  The longest order found has 3 of 4 operations:
    #0  write 1  (lines 1-2)
    #2  cas 1 to 3 -> ?  (lines 4-6)
    #1  write 2  (lines 3-5)
  The smallest window that no order explains, whatever it began with:
    #1   write 2                   |--------|            lines 3-5
    #2   cas 1 to 3 -> ?               |--------------?  lines 4-6
    #0   read -> 1                               |----|  lines 7-8 <
  [1]
  $ runnel lin bad.log --model cas-register --json > bad.json
  [1]
  $ json verdict < bad.json; json operations < bad.json; json placed < bad.json; json file < bad.json
  not linearizable
  4
  3
  bad.log
  $ runnel lin bad.log --model cas-register > text; json text < bad.json | sed '$d' | cmp - text

A limit is a verdict.

  $ (for i in $(seq 40); do echo $i :invoke :enqueue $i; done; echo 50 :invoke :enqueue 0; echo 50 :ok :enqueue 0; for i in 41 1; do echo 50 :invoke :dequeue nil; echo 50 :ok :dequeue $i; done) > hard
  $ runnel lin hard --model queue --memory 1 | sed 's/[0-9][0-9]*/N/g'
  unknown: the limit of memory was reached after N steps and N MiB, with N of N operations placed
  $ runnel lin hard --model queue --memory 1 --json > hard.json
  [2]
  $ json verdict < hard.json
  unknown
  $ runnel lin hard --model queue --seconds 0.000001 | sed 's/[0-9][0-9]*/N/g'
  unknown: the limit of seconds was reached after N steps and N MiB, with N of N operations placed

What is no history is refused, with the place.

  $ runnel lin missing --model queue
  runnel: missing: No such file or directory
  [2]
  $ echo hello > prose; runnel lin prose --model queue
  runnel: prose:1: neither an operation nor a line of a log
  [2]
  $ (cat bad.log; echo '{:process 0, :type :ok, :f :read, :value 1}') > twice; runnel lin twice --model cas-register
  runnel: twice:9: process 0 ends what it has not called
  [2]
  $ runnel lin bad.log --model queue --json
  {
    "error": "bad.log:1: a queue has no operation :write"
  }
  [2]
  $ runnel lin bad.log
  runnel: lin needs --model; see `runnel help lin`
  [2]
  $ runnel lin bad.log --model cas-registr
  runnel: there is no model cas-registr; did you mean cas-register?
  [2]
