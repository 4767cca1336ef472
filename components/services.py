"""What the handlers of the page work with, made once at the start."""

from __future__ import annotations

from dataclasses import dataclass

from components.annotations import Annotations
from components.documents import Documents
from components.inside import Inside
from components.jobs import Jobs
from components.language_models import LanguageModels
from components.live_sessions import LiveSessions
from components.models import Models
from components.settings import Settings
from components.trials import Trials
from components.work_folders import sweep


@dataclass(frozen=True)
class Services:
    """The host's settings, recordings, models of both kinds, the work that is going on, comparisons, live sound, looks
    inside, and documents that are annotated.
    """

    settings: Settings
    documents: Documents
    models: Models
    language_models: LanguageModels
    jobs: Jobs
    trials: Trials
    live: LiveSessions
    inside: Inside
    annotations: Annotations

    @classmethod
    def start(cls, settings: Settings) -> Services:
        """Open the store and set up the rest; nothing is loaded yet."""
        sweep(settings.data)
        documents = Documents(
            settings.data, max_documents=settings.max_documents, retention_hours=settings.retention_hours
        )
        documents.sweep_every(min(600.0, settings.retention_hours * 900))
        models = Models(settings.model)
        jobs = Jobs(documents, models, settings.max_minutes)
        live = LiveSessions(
            settings.data,
            documents,
            models,
            max_sessions=settings.max_live,
            max_minutes=min(settings.max_live_minutes, settings.max_minutes),
        )
        live.sweep_every(30.0)
        language_models, inside = LanguageModels(settings.max_lm_mb), Inside(documents, models)
        annotations = Annotations(settings, documents)
        annotations.sweep_every(3600.0)
        return cls(settings, documents, models, language_models, jobs, Trials(), live, inside, annotations)
