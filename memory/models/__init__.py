"""Define the tables of memory: documents, their revisions, the search index, files of libraries, flushes, decisions,
suggestions, proposals, what programs read and saved, reviews, approvals of skills, feedback, forgettings and the walk
of a demo."""

from memory.models.choices import AgentSpace, SwitchChoice
from memory.models.decisions import Comparison, Decision
from memory.models.documents import MemoryDocument, MemoryDocumentQuerySet, MemoryRevision, Upload, content_hash
from memory.models.feedback import LineFeedback
from memory.models.flushes import DocumentJob, Flush
from memory.models.forgetting import Forgetting, ForgottenLine
from memory.models.index import DocumentIndex, EmbeddingModel, MemoryChunk, TextVector, TranscriptChunk, TranscriptIndex
from memory.models.lab import GoldenQuestion, LabRun
from memory.models.library import FileChunk, FileIndex, FilePage, FileVector, FileVersion, LibraryFile
from memory.models.overview import DocumentOverview, Topic
from memory.models.programs import ProgramRead, ProgramSave
from memory.models.proposals import Proposal
from memory.models.reviews import Review
from memory.models.skills import SkillApproval
from memory.models.suggestions import Suggestion
from memory.models.walk import DemoWalk
