"""Sessions under faults: each row of the fault table is a trial, repeated over seeds, checked as a whole.

    make chaos SEEDS=200 ROW=F03        two hundred seeds of one row
    make chaos ROW=F03 SEED=17          the one that failed; a failure prints this line
    make chaos TARGET=cluster           the same rows on PostgreSQL, Redis, web processes and actor hosts
    make chaos TARGET=whole             the same, as `make run-distributed` starts them, behind nginx

A row is a test whose name has its number, in a file by subject:

    @row("F03", seeds=2)                          # seeds that `make test` runs; keep their sum short
    def test_f03_killed_in_mid_tool(rig: Rig) -> None:
        user = rig.session()                      # client.Client: sends again until accepted
        reader = rig.reader(user)                 # reader.Reader: comes back after every cut
        plan = rig.plan(Step(words=5, calls=(wait_for_file(rig.gate()),)), Step(words=2))
        user.ask(plan)
        rig.ledger.wait(plan.call_nonce(0, 0))    # a fact that says when: the call has begun
        rig.target.kill9()                        # the fault
        rig.target.start()
        user.ask(rig.plan())
        rig.check()                               # settles, then holds all that happened against the promises

- Chance comes from `rig.rng` alone. A moment is a fact (so many events of the model, a line of the
  ledger, a row in the database, something that a reader saw), never a time; a wait for a fact has a
  deadline of its own.
- `rig` is on the embedded server, or on the target that TARGET names; `cluster_rig` is for what takes
  more than one process. Targets are shared by the rows of a worker: leave yours as it may be, the next
  rig starts what is dead. A row that needs other settings makes its own `Embedded(folder, **environment)`
  or `Distributed(...)` and a `Rig(target, seed, tmp_path)` on it.
- `plan.Plan` says what the model answers, and stands in the input's text. `rig.model.hold(plan, step,
  after)` stops an answer at an event; `rig.model.fault` takes requests before the plan does (a provider's
  failures).
- `rig.target.database.hold()` lets nobody commit; `.rows()` reads what the API does not tell.
- `tests.support.cut_proxy` stands before anything that speaks TCP: it cuts, stalls, delays, loses a
  direction.
- `checker.check` has the eight rules; `rig.check` adds that no answer is joined from two attempts, that
  every message's cursor is right, and that the log tells of no defect of ours. Assert beside it what is
  the row's own.
- Who deletes a session adds it to `rig.deleted`.
"""
