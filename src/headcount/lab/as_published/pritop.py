"""PriTop exactly as in the thesis: a topic model, and each user's tags replaced within topics.

It exists so that published results can be reproduced and refuted. It runs only where the caller says research, and
everything it writes says that the claim is not established.

1. Topics are found by Gibbs sampling, and noise of scale 2/ε is added to the counts behind Pr(z | t, r), afresh
   for every pair of a resource and a tag (algorithm 4, equation 4.3.5). Each of a person's assignments belongs to
   its most probable topic.
2. How many tags a person has in each of the K topics, those without any included, gets noise of scale 4/ε: the
   Laplace(4/ε)^K of algorithm 3 and equation 4.3.6. The most probable tags of a topic are added, or a person's
   least probable ones deleted.
3. Every tag is replaced by one of its topic, drawn with probability proportional to exp(ε q / 8), where q is 1
   less the Jensen-Shannon divergence of the two tags' topics; none is drawn twice (algorithm 5).

The noise of step 1 is in all that comes after it, as section 4.4.2 says: Pr(z | t), by which step 3 knows the tags
of a topic and how far two tags are apart, is the mean of the noisy Pr(z | t, r) over the tag's assignments.

Why it is not private
    There is a row for each person, and it lists the resources that they tagged: whether somebody is there can be
    read off. Each of a person's tags costs ε/4 anew, which is not added up. Noise that is redrawn for every pair
    averages out. And one assignment can change the topics that sampling ends with altogether, so the sensitivity
    of 1 that the noise is for does not hold.

How the thesis is read where it is silent, or says two things
    Counts that noise takes below zero are zero; priors are added afterwards. Pr(t | z), by which tags are added
    and deleted, is that of the counts without noise: the thesis prints it without a hat. A tag is a candidate in
    its most probable topic. What is added goes to a random one of a person's resources, and moves no tag, so that
    the semantic loss does not count it. Section 4.4.1 has noise of scale 4/(|T(u)| ε); everything else in the
    chapter has 4/ε.

Reference
    T. Zhu. Differential Privacy and Its Application. PhD thesis, Deakin University, 2014, chapter 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from headcount.bounds import check_limit
from headcount.events.tag_log import Tagging
from headcount.lab.as_published.pritop_operations import replaced
from headcount.lab.as_published.suppression import PublishedTags
from headcount.lab.tags.topics import fit_topics
from headcount.noise import NoiseSource


@dataclass(frozen=True, kw_only=True)
class PriTopPublished(PublishedTags):
    """PriTop: every person's tags, replaced by others of the same topics.

    >>> from headcount.accounting.budget import Grant
    >>> PriTopPublished().guarantee(Grant("1")).short()
    'ε = 1 claimed, not established'
    """

    name: ClassVar[str] = "pritop-published"
    title: ClassVar[str] = "PriTop"
    reason: ClassVar[str | None] = (
        "every person gets a row with the resources they tagged, the cost of replacing each tag is not added up, "
        "and noise that is redrawn for every pair averages out"
    )

    topics: int = 100

    def __post_init__(self) -> None:
        check_limit(self.topics, "topics")

    def published(self, exact: Tagging, epsilon: float, noise: NoiseSource) -> Tagging:
        """Replace each user's tags."""
        draws = np.random.Generator(np.random.PCG64(int.from_bytes(noise.key(), "little")))
        model = fit_topics(exact, self.topics, int(draws.integers(0, 1 << 62)))
        return replaced(exact, model, epsilon, draws).published(draws)

    @property
    def step(self) -> str:
        """The replacement, and what it leaves as it is."""
        return (
            f"Tags were sorted into {self.topics:,} topics, and everybody's tags replaced by others of the same "
            "topics, drawn at random; the resources that each person tagged stayed what they are."
        )
