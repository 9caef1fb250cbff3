"""Tell technical first messages (code, commands, stack traces, questions about tools) from those that memory can help
with. Pure.

A technical message has nothing to do with what is remembered, unless it speaks of the person or a project. Words that
are everyday words as well (code, string, class, python) count only in a technical context: "the alarm code of the
cottage" and "string quartets" are looked up.
"""

import re

# Words that are technical by themselves.
WORDS = (
    r"api|apis|apt-get|async|awk|aws|bash|chmod|chown|cmake|cors|csv|css|ctrl-?c|curl|debian|debug(?:ger|ging)?|devops|django|docker"
    r"|docker-compose|dockerfile|dotenv|ffmpeg|flexbox|frontend|gcc|git|github|gitlab|golang|graphql|grep|gradle|heroku|homebrew"
    r"|html|https?|javac|javascript|json|jsx|k8s|kubectl|kubernetes|laravel|linux|localhost|macos|makefile|maven|mongodb"
    r"|mypy|mysql|neovim|nginx|node\.?js|npm|npx|nullpointer|numpy|oauth|openssl|pandas|phpmyadmin|pnpm|postgres"
    r"|postgresql|powershell|pytest|pytorch|react\.js|redis|regex(?:es|p)?|rustc|sqlite|sql|ssh|stack ?overflow"
    r"|stack ?traces?|stderr|stdin|stdout|sudo|svg|systemd|tailwind|terraform|tmux|traceback|tsconfig|tsx|typescript"
    r"|tcp|udp|ubuntu|venv|vim|vite|vs ?code|webpack|websockets?|xml|yaml|zsh|zshrc|bashrc"
)
LANGUAGES = r"python3?|java|rust|go|ruby|perl|php|swift|kotlin|scala|haskell|lua|dart|c\+\+|c#|matlab|bash|shell"
# Everyday words that are technical together with another of these words, or after a verb of programming.
THINGS = (
    r"algorithms?|arrays?|bugs?|class(?:es)?|code|codebase|commands?|compiler|compile[sd]?|console|containers?|databases?"
    r"|dict(?:ionary)?|errors?|exceptions?|functions?|integers?|interface|librar(?:y|ies)|lists?|loops?|methods?|modules?"
    r"|null|objects?|packages?|parameters?|pointers?|programs?|quer(?:y|ies)|scripts?|server|strings?|syntax|terminal"
    r"|threads?|types?|variables?"
)
VERBS = (
    r"compile|concatenate|debug|declare|define|execute|implement|import|install|iterate(?: over)?|loop over|parse"
    r"|refactor|reverse|sort|split|optimi[sz]e|write|fix|convert"
)
IN_CONTEXT = (
    rf"(?:in|with|using|for) (?:{LANGUAGES})(?=\s*(?:[?.,;:!)]|$|\d))"
    rf"|(?:{LANGUAGES}) (?:{THINGS})"
    rf"|(?:{VERBS})(?: (?:a|an|the|this|some|my|all|two|three|following)){{0,2}} (?:{LANGUAGES} )?(?:{THINGS})"
    r"|source code|code (?:snippet|block|review|below|above)|(?:this|following|piece of|line of|lines of) code"
    r"|string (?:literal|format|formatting|concatenation|interpolation|to (?:int|integer|number|date))"
    r"|(?:abstract|base|parent|child|sub) ?class|class (?:method|definition|variable|name)"
    r"|(?:lambda|recursive|anonymous|callback|hash|arrow|async) functions?"
    r"|function (?:call|definition|returns?|pointer)"
    r"|(?:syntax|runtime|type|compile|compiler|compilation|segmentation|import|build) (?:error|fault)s?"
    r"|(?:for|while|infinite|nested) loops?|unit tests?|command[- ]line|shell scripts?|null pointer"
    r"|undefined (?:is|variable)"
    r"|(?:merge|rebase|commit|pull request|branch) (?:conflict|hash|message)s?|exit (?:code|status) \d+"
    r"|regular expressions?|environment variables?|primary key|foreign key|left join|inner join|binary (?:tree|search)"
    r"|linked lists?|big[- ]o|(?:apt|brew|cargo|gem|pip3?|yarn) (?:add|build|install|run)"
)
TECHNICAL = re.compile(rf"(?<![\w-])(?=\w)(?:{WORDS}|{IN_CONTEXT})(?![\w-])", re.IGNORECASE)
# Stack traces, names of exceptions, and codes of errors.
FAILURES = re.compile(
    r"\b[A-Z]\w*(?:Error|Exception)\b|\bat [\w$.<>]+\([\w.$]*:?\d*\)|\bFile \"[^\"]+\", line \d+"
    r"|\bE(?:NOENT|ACCES|CONN\w+)\b|\bpanic: |\bcore dumped\b|\bSIG(?:SEGV|KILL|TERM)\b|\b0x[0-9a-fA-F]{4,}\b"
)
# Code: operators, calls with a receiver, tags, statements.
CODE = re.compile(
    r"=>|===?|!==?|&&|\|\||::|\+\+;|</\w+>|<\w+/>|\w\(\)|\w\.\w++\(|[;{]\s*$|\};?\s|^#include\b|^#!/"
    r"|^(?:def|class) \w+.*:(?:\s|$)|^(?:import \w+(?:\.\w+)*$|from [\w.]+ import )|^(?:const|let|var) \w+ ="
    r"|^(?>.*?\bSELECT\b).+\bFROM\b|\bINSERT INTO\b|\bCREATE TABLE\b",
    re.MULTILINE,
)
# Commands of a shell, which begin a line: with a prompt, or with options or paths where they are words as well.
COMMANDS = re.compile(
    r"^[^\S\n]*(?:\$ \w|(?:[a-z][a-z0-9_.-]*)(?: [\w./:=-]+){0,3} --?[a-z][\w-]*(?:[ =]|$)"
    r"|(?:cd|ls|cat|cp|mv|rm|mkdir|touch|chmod|chown|tail|head|find|make|go|cargo|yarn|brew|node|python3?)"
    r" [\w*-]*[./~]\S)",
    re.MULTILINE,
)
PERSONAL = re.compile(
    r"\b(?:my|mine|myself|our|ours|we|we're|we've|you said|you told|remember(?:ed)?|remind|recall|forgot"
    r"|(?:did|had|have|was|were|am|should|will) i|i(?:'m| am| was| said| told| decided| prefer\w*| like| love| use[ds]?"
    r"| usually| always| wrote| chose| picked| agreed| promised| mentioned| built| deployed|'ve been| set up)"
    r"|earlier|previously|as before|last (?:time|week|month|year|night)|yesterday|ago|projects?|products?|repo"
    r"|repositor(?:y|ies)|deployments?|codebase|roadmap|milestones?|sprint|backlog|staging|production|releases?|teams?"
    r"|clients?|customers?|colleagues?|coworkers?|boss|meetings?|decided|agreed|promised|discussed|mein\w*|wir|unser\w*"
    r"|projekt\w*|produkt\w*|erinner\w*|mon|ma|mes|nous|notre|nos|projet\w*|produits?|mi|mis|nosotros|nuestr\w*"
    r"|proyecto\w*|productos?)\b|私|僕|俺|我的|我们|我們|咱|プロジェクト|项目|項目",
    re.IGNORECASE,
)


# How much of each end of a long message is looked at.
END_CHARS = 8_000


def is_technical(text: str) -> bool:
    """Return whether the message `text`, with its line breaks, is about code, commands or tools."""
    ends = _ends(text)
    return any(pattern.search(ends) for pattern in (TECHNICAL, FAILURES, CODE, COMMANDS))


def is_personal(text: str) -> bool:
    """Return whether the message `text` speaks of the person, of earlier conversations, or of a project."""
    return PERSONAL.search(_ends(text)) is not None


def _ends(text: str) -> str:
    return text if len(text) <= 2 * END_CHARS else f"{text[:END_CHARS]}\n{text[-END_CHARS:]}"
