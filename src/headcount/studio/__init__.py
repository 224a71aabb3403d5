"""The studio: Headcount in the browser, for curators who publish and analysts who explore; ``headcount serve``.

One process serves pages and an API; whatever opens a log runs in another one (:mod:`headcount.studio.jobs`). Pages
and API call the same services, and services call the same curator, requests and ledger as the command line does.
"""
