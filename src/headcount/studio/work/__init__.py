"""Work of the studio: processes of their own open logs, and a thread of the server starts them.

The server itself opens none. :mod:`~headcount.studio.work.runner` takes jobs from the queue,
:mod:`~headcount.studio.work.worker` is the process, :mod:`~headcount.studio.work.tasks` is what it does, and
:mod:`~headcount.studio.work.looking` keeps processes warm for what is quick and charges nothing.
"""
