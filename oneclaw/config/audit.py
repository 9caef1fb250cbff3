"""Settings of the audit log, and of how admins may look at the memory of others."""

from oneclaw.config import environment

# The address of a collector that is sent each event, and the secret of its signatures (whsec_ and Base64).
AUDIT_WEBHOOK = environment.address("ONECLAW_AUDIT_WEBHOOK", ["https", "http"])
AUDIT_WEBHOOK_SECRET = environment.text("ONECLAW_AUDIT_WEBHOOK_SECRET")
# How admins may open the memory of another person: each look is recorded; recorded, with a reason that they give; or
# not at all.
CURATION = environment.choice("ONECLAW_CURATION", ["recorded", "reason", "closed"], "recorded")
