"""The models of the platform; other code imports them from here."""

from oneclaw.models.attempts import SignInAttempt
from oneclaw.models.audit import AuditDelivery, AuditEvent, AuditKind, AuditLink
from oneclaw.models.budgets import Budget, BudgetQuerySet, BudgetWarning
from oneclaw.models.facts import ModelFacts
from oneclaw.models.groups import Group, GroupMember
from oneclaw.models.health import Heartbeat, InvariantRun
from oneclaw.models.invitations import Invitation
from oneclaw.models.keys import ApiKey, ApiKeyQuerySet, SpentRefreshToken
from oneclaw.models.leaving import AccountImport, LegalHold, Offboarding, RetentionRule
from oneclaw.models.model_servers import ModelRule, ModelServer
from oneclaw.models.people import User, UserManager, validate_timezone
from oneclaw.models.settings import RuntimeSetting
from oneclaw.models.spaces import (
    Space,
    SpaceGroup,
    SpaceInvitation,
    SpaceMember,
    SpaceQuerySet,
    SpaceRole,
    make_own_space,
)
from oneclaw.models.spend import Spend, SpendQuerySet
