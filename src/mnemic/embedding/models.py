"""Which model embeds for this actor?

A user's own, once all of their vectors are of it; else the deployment's, which is also every project's.
The answer is kept in memory, bounded and for a minute, and checked where it matters: a reading transaction
knows the model in use from its beginning, a writing one asks again under the lock that a change of models
takes as well. A model that cannot be reached is a Model all the same: its vectors can be compared, and only
embedding with it fails.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NoReturn

from mnemic.embedding.calibration import Curve
from mnemic.embedding.own import Choice, kept_of_model
from mnemic.embedding.protocol import Embedder
from mnemic.embedding.registry import Model
from mnemic.errors import ConfigurationError, Conflict, MnemicError
from mnemic.keys import KeyRing
from mnemic.model import Actor
from mnemic.storage.pool import Database, Transaction
from mnemic.storage.statements import statements

_SQL = statements("embedding")
_MODELS = statements("models")
_GREET = statements("retrieval")["greet"]
TTL = 60.0
"""Seconds until a change of a user's key is seen by other processes."""
_LAST_ANSWER = 300.0
"""Seconds until an endpoint that nobody asks any more is closed."""
Connect = Callable[[Choice], Embedder]


@dataclass(frozen=True, slots=True)
class Unusable:
    """Stands for an embedder that this process cannot use; asking it gives the reason."""

    name: str
    dims: int
    reason: MnemicError
    max_chars: int = 8_000

    async def embed(self, texts: Sequence[str]) -> NoReturn:
        """Raise the reason."""
        raise self.reason


@dataclass(frozen=True, slots=True)
class _Opened:
    model: Model
    choice: Choice
    until: float


class Models:
    """The models of a deployment and its users. It belongs to the event loop of its database."""

    def __init__(
        self,
        database: Database,
        keys: KeyRing,
        deployments: Model,
        connect: Connect,
        *,
        ask_first: bool = False,
        one_trip: bool = True,
        capacity: int = 256,
        remembered: int = 10_000,
    ) -> None:
        """``ask_first``: no text is embedded before a transaction has seen to its user's consent; with a
        user's own endpoint that is always so. ``one_trip`` is False where the database must be told who asks
        by statements of their own."""
        self._database = database
        self._keys = keys
        self.deployments = deployments
        self.connect = connect
        self._ask_first = ask_first
        self._one_trip = one_trip
        self._capacity = capacity
        self._remembered = remembered
        self._of_user: OrderedDict[str, int] = OrderedDict()
        self._opened: OrderedDict[int, _Opened] = OrderedDict()
        self._retired: list[tuple[float, Embedder]] = []

    async def for_actor(self, actor: Actor) -> Model:
        """Return the model of the actor's own scopes (user and session)."""
        model_id = self._of_user.get(actor.user_scope)
        if model_id is not None:
            self._of_user.move_to_end(actor.user_scope)
            known = self._known(model_id)
            if known is self.deployments and not self._ask_first:
                return known
        likely = self._one_trip and model_id in (None, self.deployments.model_id)
        if likely and await self.meet(actor):
            return self.deployments
        async with self._database.transaction(actor) as tx:
            return await self.within(tx, actor)

    async def meet(self, actor: Actor) -> bool:
        """Learn in one round trip a user's model and key; tell whether it is the deployment's model.

        Raises what ``Database.ask`` raises, ConsentRequired among it.
        """
        told = (await self._database.ask(actor, _GREET, {})).head
        self.told(actor, told["user_model"])
        await self._keys.accept(actor, told)
        return bool(told["user_model"] == self.deployments.model_id)

    def remembers(self, actor: Actor) -> bool:
        """Tell whether ``for_actor`` knows whose model it is without asking."""
        return actor.user_scope in self._of_user

    def told(self, actor: Actor, model_id: int | None) -> None:
        """Remember which model is the actor's, as a statement about the user just told."""
        if model_id is not None and self._known(model_id) is not None:
            self._remember(actor, model_id)

    async def for_scope(self, actor: Actor, scope: str) -> Model:
        """Return the model of one of the actor's scopes: user, session or project."""
        if scope == "project" and not self._ask_first:
            return self.deployments
        model = await self.for_actor(actor)
        return self.deployments if scope == "project" else model

    async def within(self, tx: Transaction, actor: Actor) -> Model:
        """Return the model that was in use when the transaction began."""
        return await self._load(tx, actor, tx.model_id)

    async def in_use(self, tx: Transaction, actor: Actor, scope_key: str) -> Model:
        """Return the model in use now; under a scope's lock it stays so until the transaction ends."""
        row = await tx.one(_SQL["in_use"], {"user_scope": actor.user_scope})
        of_project = scope_key.startswith("project:")
        own = row["own"] if row and not of_project else None
        return await self._load(tx, actor, own or (row["deployments"] if row else None))

    async def hold(self, tx: Transaction, actor: Actor, scope_key: str, model: Model) -> None:
        """See to it that vectors of ``model`` may be written to a scope until the transaction ends.

        For writers that lock no scope; call it before any row is locked. Raises as ``require``.
        """
        await tx.one(_SQL["hold_model"], {"user_scope": actor.user_scope})
        await self.require(tx, actor, scope_key, model)

    async def require(self, tx: Transaction, actor: Actor, scope_key: str, model: Model) -> None:
        """See to it that vectors of ``model`` may be written here; call it under the scope's lock.

        Raises Conflict (``embedding_model_switched``) when another model came into use meanwhile.
        """
        if (await self.in_use(tx, actor, scope_key)).model_id != model.model_id:
            raise switched()

    def is_current(self, tx: Transaction, actor: Actor, model: Model) -> bool:
        """Tell whether ``model`` was in use when the transaction began; what was remembered is mended."""
        if tx.model_id is None or tx.model_id == model.model_id:
            return True
        self.forget(actor)
        return False

    def is_written(self, tx: Transaction, scope_key: str, model: Model) -> bool:
        """Tell whether ``model`` is in use in a scope that ``tx`` was opened to write to."""
        of_project = scope_key.startswith("project:")
        in_use = tx.deployment_model_id if of_project else tx.model_id
        return in_use in (None, model.model_id)

    def forget(self, actor: Actor) -> None:
        """Drop what is remembered of a user's model, at a change of it."""
        model_id = self._of_user.pop(actor.user_scope, None)
        if model_id is not None:
            self._retire(self._opened.pop(model_id, None))

    async def aclose(self) -> None:
        """Close the endpoints of users' models."""
        for entry in self._opened.values():
            self._retire(entry)
        self._opened.clear()
        retired, self._retired = self._retired, []
        for _, embedder in retired:
            await close_embedder(embedder)

    def _known(self, model_id: int) -> Model | None:
        if model_id == self.deployments.model_id:
            return self.deployments
        entry = self._opened.get(model_id)
        if entry is None or entry.until < time.monotonic():
            return None
        self._opened.move_to_end(model_id)
        return entry.model

    async def _load(self, tx: Transaction, actor: Actor, model_id: int | None) -> Model:
        if model_id is None:
            return self.deployments
        model = self._known(model_id) or await self._open(tx, actor, model_id)
        self._remember(actor, model_id)
        return model

    def _remember(self, actor: Actor, model_id: int) -> None:
        self._of_user[actor.user_scope] = model_id
        self._of_user.move_to_end(actor.user_scope)
        while len(self._of_user) > self._remembered:
            self._of_user.popitem(last=False)

    async def _open(self, tx: Transaction, actor: Actor, model_id: int) -> Model:
        key = await self._keys.find(tx, actor)
        found = await kept_of_model(tx, key, actor, model_id) if key is not None else None
        if found is None or found.choice is None or found.curve is None:
            return await self._foreign(tx, model_id)
        entry = self._opened.pop(model_id, None)
        if entry is None or entry.choice != found.choice:
            self._retire(entry)
            model = Model(self.reach(found.choice), model_id, found.curve)
        else:
            model = entry.model
        self._opened[model_id] = _Opened(model, found.choice, time.monotonic() + TTL)
        while len(self._opened) > self._capacity:
            self._retire(self._opened.popitem(last=False)[1])
        await self._close_retired()
        return model

    def _retire(self, entry: _Opened | None) -> None:
        """Put an endpoint aside; another task may still be waiting for its answer."""
        if entry is not None:
            self._retired.append((time.monotonic() + _LAST_ANSWER, entry.model.embedder))

    async def _close_retired(self) -> None:
        now = time.monotonic()
        due = [embedder for until, embedder in self._retired if until < now]
        self._retired = [(until, embedder) for until, embedder in self._retired if until >= now]
        for embedder in due:
            await close_embedder(embedder)

    def reach(self, choice: Choice) -> Embedder:
        """Return the embedder of a choice, or one that says why it cannot be used any more."""
        try:
            return self.connect(choice)
        except ConfigurationError as reason:
            return Unusable(choice.model, choice.dims, reason)

    async def _foreign(self, tx: Transaction, model_id: int) -> Model:
        """Return the model that the deployment changed to while this process ran with the one before."""
        row = await tx.one(_MODELS["model_of"], {"model_id": model_id})
        assert row is not None
        reason = ConfigurationError(
            "embedding_model_changed",
            f"The deployment's model is now {row['name']} ({row['dims']} dimensions): configure it and"
            " start this process again.",
        )
        curve = Curve.from_json(row["calibration"])
        return Model(Unusable(row["name"], row["dims"], reason), model_id, curve)


def switched() -> Conflict:
    """Return the refusal of vectors that were made while the model changed."""
    return Conflict(
        "embedding_model_switched",
        "The embedding model was changed at this moment: nothing was written, try again.",
    )


async def close_embedder(embedder: Embedder) -> None:
    """Close the connections of an embedder that has any."""
    close = getattr(embedder, "aclose", None)
    if close is not None:
        await close()
