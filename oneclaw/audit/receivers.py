"""Record what Django and allauth tell by signals (sign-ins, passwords, second factors, admin pages), and the rows of
spaces, of the roles in them, and of budgets."""

from typing import Any

from allauth.account.signals import authentication_step_completed, password_changed, password_reset, password_set
from allauth.mfa.models import Authenticator
from allauth.mfa.signals import authentication_failed, authenticator_added, authenticator_removed
from django.contrib.admin.models import ADDITION, CHANGE, LogEntry
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.db.models.signals import post_save, pre_delete
from django.dispatch import receiver

from oneclaw.audit.record import record
from oneclaw.models import AuditKind, Budget, Space, SpaceGroup, SpaceMember, User

ACTIONS = {ADDITION: "added", CHANGE: "changed"}


@receiver(user_logged_in)
def on_sign_in(sender: object, user: User, **kwargs: Any) -> None:
    record(AuditKind.SIGNED_IN, actor=user)


@receiver(user_logged_out)
def on_sign_out(sender: object, user: User | None, **kwargs: Any) -> None:
    if user is not None:
        record(AuditKind.SIGNED_OUT, actor=user)


@receiver(user_login_failed)
def on_failed_sign_in(sender: object, credentials: dict[str, Any], **kwargs: Any) -> None:
    """Record whose account was tried, if there is one; what was typed is not kept."""
    typed = credentials.get("email") or credentials.get("username") or ""
    record(AuditKind.SIGN_IN_FAILED, person=User.objects.filter(email__iexact=typed).first() if typed else None)


@receiver(authentication_step_completed)
def on_confirmation(sender: object, user: User, method: str, reauthenticated: bool = False, **kwargs: Any) -> None:
    """Record that a signed-in person has proved again who they are; steps of a sign-in are part of that."""
    if reauthenticated:
        record(AuditKind.CONFIRMED, actor=user, by=method)


@receiver(authentication_failed)
def on_failed_second_factor(sender: object, user: User, authenticator: Authenticator, **kwargs: Any) -> None:
    record(AuditKind.SIGN_IN_FAILED, person=user, factor=authenticator.type)


@receiver([password_changed, password_set, password_reset])
def on_password(sender: object, user: User, **kwargs: Any) -> None:
    record(AuditKind.PASSWORD_CHANGED, actor=user)


@receiver(authenticator_added)
def on_second_factor(sender: object, user: User, authenticator: Authenticator, **kwargs: Any) -> None:
    record(AuditKind.SECOND_FACTOR_ADDED, actor=user, factor=authenticator.type)


@receiver(authenticator_removed)
def on_second_factor_removed(sender: object, user: User, authenticator: Authenticator, **kwargs: Any) -> None:
    record(AuditKind.SECOND_FACTOR_REMOVED, actor=user, factor=authenticator.type)


@receiver(post_save, sender=LogEntry)
def on_admin_page(sender: object, instance: LogEntry, created: bool, **kwargs: Any) -> None:
    """Record a change in Django's admin: which row, and not its words."""
    if created:
        kind = instance.content_type.model if instance.content_type else ""
        action = ACTIONS.get(instance.action_flag, "deleted")
        record(AuditKind.ROW_CHANGED, actor=instance.user, table=kind, row=instance.object_id or "", action=action)


@receiver(post_save, sender=Space)
def on_space(sender: object, instance: Space, created: bool, **kwargs: Any) -> None:
    if not instance.is_private:
        record(AuditKind.SPACE_MADE if created else AuditKind.SPACE_CHANGED, space=instance)


@receiver(pre_delete, sender=Space)
def on_removed_space(sender: object, instance: Space, **kwargs: Any) -> None:
    if not instance.is_private:
        record(AuditKind.SPACE_REMOVED, space=instance)


@receiver(post_save, sender=SpaceMember)
def on_member(sender: object, instance: SpaceMember, **kwargs: Any) -> None:
    if not instance.space.is_private:
        record(AuditKind.MEMBERS_CHANGED, person=instance.user_id, space=instance.space_id, role=instance.role)


@receiver(pre_delete, sender=SpaceMember)
def on_former_member(sender: object, instance: SpaceMember, **kwargs: Any) -> None:
    if not instance.space.is_private:
        record(AuditKind.MEMBERS_CHANGED, person=instance.user_id, space=instance.space_id, role="")


@receiver(post_save, sender=SpaceGroup)
def on_group_of_space(sender: object, instance: SpaceGroup, **kwargs: Any) -> None:
    record(AuditKind.MEMBERS_CHANGED, space=instance.space_id, group=instance.group_id, role=instance.role)


@receiver(pre_delete, sender=SpaceGroup)
def on_former_group_of_space(sender: object, instance: SpaceGroup, **kwargs: Any) -> None:
    record(AuditKind.MEMBERS_CHANGED, space=instance.space_id, group=instance.group_id, role="")


@receiver(pre_delete, sender=Budget)
def on_removed_budget(sender: object, instance: Budget, **kwargs: Any) -> None:
    """Record that a budget is deleted, also when it goes with its group or person."""
    record(AuditKind.SETTING_CHANGED, person=instance.user_id, deleted=True, **instance.details)
