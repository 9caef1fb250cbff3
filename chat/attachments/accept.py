"""The kinds of files that file fields offer: what a browser lists first, and whereto a phone converts its pictures."""

from collections.abc import Iterable

# HEIC is not among them, so that phones send a JPEG instead.
IMAGES = "image/png,image/jpeg,image/webp,image/gif"
# Text and code; systems know the types of few of them.
TEXTS = (
    "text/*,application/json,.txt,.md,.markdown,.csv,.tsv,.json,.jsonl,.yaml,.yml,.toml,.ini,.cfg,.conf,.env,.log,.xml,"
    ".html,.htm,.css,.scss,.js,.mjs,.ts,.tsx,.jsx,.vue,.svelte,.py,.ipynb,.rb,.go,.rs,.java,.kt,.scala,.c,.h,.cc,.cpp,"
    ".hpp,.cs,.php,.swift,.lua,.r,.jl,.pl,.sh,.bash,.ps1,.bat,.sql,.tex,.bib,.rst,.org,.adoc,.srt,.vtt,.ics,.vcf,.eml,"
    ".diff,.patch,.proto,.graphql,.tf,.dockerfile,.svg"
)
BY_KIND = {
    "image": IMAGES,
    "pdf": "application/pdf,.pdf",
    "docx": ".docx,.docm,.dotx,.odt,.ott",
    "sheet": ".xlsx,.xlsm,.xltx,.xlsb,.xls,.ods,.ots",
    "slides": ".pptx,.pptm,.ppsx,.odp,.otp",
    "text": TEXTS,
}


def accepted(kinds: Iterable[str]) -> str:
    """Return the `accept` attribute of a file field for these kinds. Pure."""
    return ",".join(BY_KIND[kind] for kind in kinds)
