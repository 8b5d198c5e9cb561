Programs that cannot be checked: each is told apart, in one line.

  $ runnel check missing
  runnel: ./missing: there is no such program; is it built?
  [2]
  $ runnel replay ./missing --seed 1
  runnel: ./missing: there is no such program; is it built?
  [2]
  $ runnel run not/there
  runnel: not/there: there is no such program; is it built?
  [2]
  $ mkdir folder; runnel check folder
  runnel: ./folder: is a directory; name the program in it
  [2]
  $ runnel check ./folder/
  runnel: ./folder/: is a directory; name the program in it
  [2]
  $ runnel check /dev/null
  runnel: /dev/null: is not a file; name a program
  [2]
  $ echo 'int main;' > source.c; runnel check source.c
  runnel: ./source.c: is not executable; name the built program, or chmod +x it
  [2]
  $ runnel check not_linked
  runnel: ./not_linked: is not linked to runnel: it ended without loading it; link it with -lrunnel and call rn_run
  [2]
  $ runnel check never_runs
  runnel: ./never_runs: ended without calling rn_run; if it needs arguments, give them after --
  [2]
  $ runnel check never_runs --json | json error
  ./never_runs: ended without calling rn_run; if it needs arguments, give them after --
  $ runnel replay not_linked --seed 7
  runnel: ./not_linked: is not linked to runnel: it ended without loading it; link it with -lrunnel and call rn_run
  [2]
  $ runnel run not_linked
  runnel: ./not_linked: is not linked to runnel, or never calls rn_run; link it with -lrunnel, or start it without `runnel run`
  [2]
  $ runnel run not_linked --json
  {
    "error": "./not_linked: is not linked to runnel, or never calls rn_run; link it with -lrunnel, or start it without `runnel run`"
  }
  [2]

What has the right to run but is no program.

  $ cp source.c text; chmod +x text; runnel run text
  runnel: ./text: is not a program for this machine
  [2]
  $ printf '#!/not/there\n' > script; chmod +x script; runnel run script
  runnel: ./script: the interpreter it asks for is not there
  [2]
  $ printf '\177ELF' > stub; chmod +x stub; runnel run stub
  runnel: ./stub: is not linked to runnel, or never calls rn_run; link it with -lrunnel, or start it without `runnel run`
  [2]

A trace that cannot be written is said before the search.

  $ runnel check locks --save folder/not/there
  runnel: cannot write folder/not/there: No such file or directory
  [2]
