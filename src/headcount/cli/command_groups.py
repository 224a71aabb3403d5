"""Click group for commands that have subcommands, such as ``headcount ledger show``."""

from __future__ import annotations

import click

from headcount.errors import UnknownNameError


class Actions(click.Group):
    """Says in its own words what is not a subcommand."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Refuse what is no subcommand, and name the nearest."""
        if args[0] not in self.commands and not args[0].startswith("-") and not ctx.resilient_parsing:
            raise UnknownNameError.among(
                "command", args[0], self.list_commands(ctx), where=f"headcount {self.name}"
            )
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the subcommands in the order in which they are written."""
        return list(self.commands)
