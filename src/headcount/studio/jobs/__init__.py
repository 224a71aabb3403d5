"""Jobs and quick tasks: worker processes that open logs, and the server thread that starts them.

The server itself opens none. :mod:`~headcount.studio.jobs.runner` takes jobs from the queue,
:mod:`~headcount.studio.jobs.worker` is the process, :mod:`~headcount.studio.jobs.tasks` is what it does, and
:mod:`~headcount.studio.jobs.plan_pool` keeps processes warm for what is quick and charges nothing.
"""
