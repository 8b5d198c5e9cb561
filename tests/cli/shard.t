Parts of a search, run apart and merged, say what one search says.

  $ runnel check locks --json > one.json
  [1]
  $ for i in 1 2 3; do
  >     runnel check locks --shard $i/3 --out $i.part > /dev/null
  > done
  [1]
  $ runnel merge 3.part 1.part 2.part --json > merged.json
  [1]
  $ for key in verdict schedules distinct token seed digest text; do
  >     json $key < one.json > a; json $key < merged.json > b; cmp a b
  > done
  $ runnel merge 1.part 2.part 3.part | tail -1 > line; sh line > again
  [1]

Also if all is counted.

  $ runnel check locks --all --schedules 1500 --json > one.json
  [1]
  $ for i in 1 2; do
  >     runnel check locks --all --schedules 1500 --shard $i/2 --out all$i > x
  > done
  [1]
  $ runnel merge all1 all2 --json > merged.json
  [1]
  $ for key in verdict schedules distinct failing token; do
  >     json $key < one.json > a; json $key < merged.json > b; cmp a b
  > done

What does not belong together is refused.

  $ runnel merge 1.part 3.part
  runnel: missing: shard 2/3
  [2]
  $ runnel merge 1.part 1.part
  runnel: 1.part and 1.part are both shard 1/3
  [2]
  $ runnel check locks --seed 2 --shard 2/3 --out other > /dev/null
  [1]
  $ runnel merge 1.part other 3.part
  runnel: other is of another search: there "seed 2", here "seed 1"
  [2]
  $ head -c 500 1.part > cut; runnel merge cut
  runnel: cannot use cut: it is cut off or damaged
  [2]
  $ sed 's/^seed 1/seed 3/' 1.part > cut; runnel merge cut
  runnel: cannot use cut: it is cut off or damaged
  [2]
  $ runnel check locks --strategy dpor --shard 1/2
  runnel: strategy "dpor" cannot be sharded: what it runs next depends on all it has run before
  [2]
  $ runnel check locks --shard 3/2
  runnel: --shard takes 1/N to N/N, not "3/2"
  [2]

A search that is stopped and resumed ends as one that never was.

  $ runnel check locks --all --schedules 3000 --json > one.json
  [1]
  $ runnel check locks --all --schedules 3000 --seconds 0.2 --checkpoint c > x; test -f c
  $ runnel check locks --all --schedules 3000 --resume c --json > two.json
  [1]
  $ for key in verdict schedules distinct failing token; do
  >     json $key < one.json > a; json $key < two.json > b; cmp a b
  > done
  $ runnel check locks --all --schedules 3000 --seed 9 --resume c
  runnel: c is of another search: there "seed 1", here "seed 9"
  [2]
