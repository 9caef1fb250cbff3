"""The Helm chart renders with several sets of values, and what it renders is what the product needs.

Helm itself is in no registry that CI reaches. The templates are rendered by Go's own engine, which Helm uses, with the
functions of Helm written down again (render.go), and the values are checked by the chart's own JSON Schema. Manifests
are compared with a schema of the fields that the chart uses; no cluster has seen them.
"""

import copy
import json
import os
import re
import shutil
import subprocess
from typing import Any

import jsonschema
import pytest
import yaml
from django.core.management import get_commands

from oneclaw.config import release
from oneclaw.management.commands.serve import ROLES
from tests.stage import ROOT

pytestmark = [pytest.mark.soak, pytest.mark.timeout(300)]
FOLDER = ROOT / "deploy" / "helm" / "oneclaw"
CHART = yaml.safe_load((FOLDER / "Chart.yaml").read_text())
DEFAULTS = yaml.safe_load((FOLDER / "values.yaml").read_text())
SCHEMA = json.loads((FOLDER / "values.schema.json").read_text())
LEAST: dict[str, Any] = {"settings": {"ONECLAW_ORIGINS": "https://chat.example.org"}, "existingSecret": "oneclaw"}
SMALL = LEAST | {
    "web": {"replicas": 1, "disruptionBudget": {"enabled": False}},
    "persistence": {"existingClaim": "mine"},
}
LARGE = LEAST | {
    "settings": LEAST["settings"]
    | {"ONECLAW_LOG_FORMAT": "json", "ONECLAW_WORKER_THREADS": "12", "X_QUOTED": 'a "b" \\ c'},
    "image": {"repository": "images.example.org/oneclaw", "tag": "0.2.1"},
    "imagePullSecrets": [{"name": "puller"}],
    "web": {"autoscaling": {"enabled": True, "maxReplicas": 20}},
    "worker": {"replicas": 4},
    "ingress": {"enabled": True, "className": "nginx", "tlsSecretName": "tls"},
    "persistence": {"storageClassName": "shared", "size": "500Gi"},
}
NAME = {"type": "string", "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "maxLength": 63}
# The fields of each kind that the chart uses, as the API of Kubernetes has them: another one is a mistake.
KINDS = {
    "Deployment": ("apps/v1", {"replicas", "strategy", "selector", "template"}),
    "Job": ("batch/v1", {"backoffLimit", "activeDeadlineSeconds", "template"}),
    "Service": ("v1", {"type", "ports", "selector"}),
    "HorizontalPodAutoscaler": (
        "autoscaling/v2",
        {"scaleTargetRef", "minReplicas", "maxReplicas", "metrics", "behavior"},
    ),
    "PodDisruptionBudget": ("policy/v1", {"minAvailable", "selector"}),
    "Ingress": ("networking.k8s.io/v1", {"ingressClassName", "tls", "rules"}),
    "PersistentVolumeClaim": ("v1", {"accessModes", "storageClassName", "resources"}),
}
POD = {
    *("automountServiceAccountToken", "imagePullSecrets", "securityContext", "terminationGracePeriodSeconds"),
    *("restartPolicy", "containers", "volumes"),
}
CONTAINER = {
    *("name", "image", "imagePullPolicy", "args", "securityContext", "envFrom", "env", "ports", "startupProbe"),
    *("livenessProbe", "readinessProbe", "resources", "volumeMounts"),
}


def merged(defaults: Any, values: Any) -> Any:
    """As Helm lays values over the defaults: maps are merged, everything else is replaced."""
    if not isinstance(defaults, dict) or not isinstance(values, dict):
        return copy.deepcopy(values)
    return defaults | {name: merged(defaults.get(name), value) for name, value in values.items()}


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> str:
    """The renderer, compiled once."""
    go = shutil.which("go")
    assert go, "The chart is rendered by Go: .ci/run installs it (requirements/chart.txt)."
    folder = tmp_path_factory.mktemp("go")
    built = folder / "render"
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "GOCACHE": str(folder / "cache"),
        "GOPROXY": "off",
        "GOTOOLCHAIN": "local",
        "GO111MODULE": "off",
        "CGO_ENABLED": "0",
    }
    source = str(ROOT / "tests" / "oneclaw" / "ops" / "chart" / "render.go")
    subprocess.run([go, "build", "-o", str(built), source], check=True, env=environment, cwd=folder, timeout=250)
    return str(built)


def render(program: str, values: dict[str, Any], name: str = "oneclaw") -> subprocess.CompletedProcess[str]:
    all_of = merged(DEFAULTS, values)
    scope = {
        "Values": all_of,
        "Chart": {"Name": CHART["name"], "Version": CHART["version"], "AppVersion": CHART["appVersion"]},
        "Release": {"Name": name, "Namespace": "chat", "Service": "Helm"},
    }
    files = {path.name: path.read_text() for path in (FOLDER / "templates").iterdir()}
    return subprocess.run([program], input=json.dumps({"files": files, "scope": scope}), capture_output=True, text=True)


def manifests(program: str, values: dict[str, Any], name: str = "oneclaw") -> dict[tuple[str, str], dict[str, Any]]:
    """The rendered manifests by kind and name, each checked."""
    jsonschema.validate(merged(DEFAULTS, values), SCHEMA)
    done = render(program, values, name)
    assert done.returncode == 0, done.stderr
    found = {}
    for file, text in json.loads(done.stdout).items():
        if not file.endswith(".yaml"):
            continue
        assert "<no value>" not in text
        for manifest in yaml.safe_load_all(text):
            if manifest:
                check(manifest)
                found[manifest["kind"], manifest["metadata"]["name"]] = manifest
    return found


def check(manifest: dict[str, Any]) -> None:
    version, fields = KINDS[manifest["kind"]]
    assert manifest["apiVersion"] == version
    assert set(manifest) == {"apiVersion", "kind", "metadata", "spec"}
    assert set(manifest["spec"]) <= fields
    jsonschema.validate(manifest["metadata"]["name"], NAME)
    labels = manifest["metadata"]["labels"]
    assert labels["app.kubernetes.io/version"] == release.version()
    assert all(isinstance(value, str) for value in labels.values())
    if "template" in manifest["spec"]:
        pod = manifest["spec"]["template"]
        assert set(pod) == {"metadata", "spec"}
        assert set(pod["spec"]) <= POD
        (container,) = pod["spec"]["containers"]
        assert set(container) <= CONTAINER
        assert all(set(each) == {"name", "value"} and isinstance(each["value"], str) for each in container["env"])
        assert {each["name"] for each in container["volumeMounts"]} == {each["name"] for each in pod["spec"]["volumes"]}
        if "selector" in manifest["spec"]:
            assert manifest["spec"]["selector"]["matchLabels"] == pod["metadata"]["labels"]


def container_of(found: dict[tuple[str, str], dict[str, Any]], kind: str, name: str) -> dict[str, Any]:
    (container,) = found[kind, name]["spec"]["template"]["spec"]["containers"]
    return container


def test_the_chart_is_of_this_release():
    assert CHART["version"] == CHART["appVersion"] == release.version()


@pytest.mark.parametrize("values", [LEAST, SMALL, LARGE], ids=["least", "small", "large"])
def test_each_process_runs_a_command_that_exists(program, values):
    found = manifests(program, values)
    processes = {name.removeprefix("oneclaw-"): kind for kind, name in found if kind in ("Deployment", "Job")}
    # A new role of `serve` needs a deployment here.
    assert processes == {**dict.fromkeys(ROLES, "Deployment"), "migrate": "Job"}
    for name, kind in processes.items():
        container = container_of(found, kind, f"oneclaw-{name}")
        command, *arguments = container["args"]
        assert command in get_commands()
        assert arguments == ([name] if kind == "Deployment" else ["--no-input"])
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        pod = found[kind, f"oneclaw-{name}"]["spec"]["template"]["spec"]
        assert pod["securityContext"]["runAsNonRoot"] is True
        # The account of the Dockerfile.
        assert f"\nUSER {pod['securityContext']['runAsUser']}\n" in (ROOT / "Dockerfile").read_text()
    assert found["Deployment", "oneclaw-beat"]["spec"]["replicas"] == 1
    assert found["Deployment", "oneclaw-beat"]["spec"]["strategy"] == {"type": "Recreate"}


def test_web_is_asked_by_addresses_that_exist(program):
    container = container_of(manifests(program, LEAST), "Deployment", "oneclaw-web")
    probes = {name: container[name]["httpGet"]["path"] for name in ("startupProbe", "livenessProbe", "readinessProbe")}
    assert probes == {"startupProbe": "/healthz", "livenessProbe": "/healthz", "readinessProbe": "/readyz"}
    assert container["ports"] == [{"name": "http", "containerPort": 8000}]
    urls = (ROOT / "oneclaw" / "urls.py").read_text()
    assert '"healthz"' in urls
    assert '"readyz"' in urls


def test_the_database_is_migrated_before_an_upgrade(program):
    job = manifests(program, LEAST)["Job", "oneclaw-migrate"]
    assert job["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"
    # Nothing that the chart itself makes exists before: no volume of it, and no account.
    volumes = job["spec"]["template"]["spec"]["volumes"]
    assert volumes == [{"name": "temporary", "emptyDir": {}}]


def test_settings_and_secrets_reach_every_process(program):
    found = manifests(program, LARGE)
    for kind, name in found:
        if kind in ("Deployment", "Job"):
            container = container_of(found, kind, name)
            assert {each["name"]: each["value"] for each in container["env"]} == LARGE["settings"]
            assert container["envFrom"] == [{"secretRef": {"name": "oneclaw"}}]
            assert container["image"] == "images.example.org/oneclaw:0.2.1"
    assert (
        container_of(manifests(program, LEAST), "Deployment", "oneclaw-web")["image"] == f"oneclaw:{release.version()}"
    )


def test_sizes_are_those_of_the_values(program):
    least, small, large = (manifests(program, values) for values in (LEAST, SMALL, LARGE))
    assert least["Deployment", "oneclaw-web"]["spec"]["replicas"] == 2
    assert ("PodDisruptionBudget", "oneclaw-web") in least
    assert ("PodDisruptionBudget", "oneclaw-web") not in small
    assert ("PersistentVolumeClaim", "oneclaw-data") not in small
    claim = small["Deployment", "oneclaw-web"]["spec"]["template"]["spec"]["volumes"][1]["persistentVolumeClaim"]
    assert claim == {"claimName": "mine"}
    scaler = large["HorizontalPodAutoscaler", "oneclaw-web"]["spec"]
    assert (scaler["minReplicas"], scaler["maxReplicas"]) == (2, 20)
    # The autoscaler alone says how many there are.
    assert "replicas" not in large["Deployment", "oneclaw-web"]["spec"]
    assert large["PersistentVolumeClaim", "oneclaw-data"]["spec"]["storageClassName"] == "shared"
    ingress = large["Ingress", "oneclaw"]
    assert ingress["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]["name"] == "oneclaw"
    assert ("Service", "oneclaw") in large
    assert ingress["metadata"]["annotations"]["nginx.ingress.kubernetes.io/proxy-read-timeout"] == "3600"


def test_another_name_is_part_of_every_name(program):
    found = manifests(program, LEAST, "team-with-a-name-that-is-as-long-as-helm-allows-it")
    assert all(name.startswith("team-with-a-name") for _, name in found)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"existingSecret": "oneclaw"}, "Set settings.ONECLAW_ORIGINS to the address that people open."),
        ({"settings": LEAST["settings"]}, "Set existingSecret to the name of a Secret"),
    ],
)
def test_what_is_missing_is_said_in_a_sentence(program, values, sentence):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(merged(DEFAULTS, values), SCHEMA)
    done = render(program, values)
    assert done.returncode == 1
    assert sentence in done.stderr


@pytest.mark.parametrize(
    "wrong",
    [
        {"web": {"replica": 3}},
        {"settings": {"ONECLAW_ORIGINS": "https://a.example", "lower": "x"}},
        {"settings": {"ONECLAW_ORIGINS": "https://a.example", "PORT": 8000}},
        {"worker": {"replicas": 0}},
        {"service": {"type": "External"}},
        {"ingres": {}},
    ],
)
def test_values_that_mean_nothing_are_refused(wrong):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(merged(DEFAULTS, LEAST | wrong), SCHEMA)


def test_the_notes_name_a_command_that_exists(program):
    notes = json.loads(render(program, SMALL).stdout)["NOTES.txt"]
    command = re.search(r"python manage\.py (\w+)", notes)
    assert command
    assert command[1] in get_commands()
    assert "exec deploy/oneclaw-web" in notes
    assert "With one web process" in notes
    assert "With one web process" not in json.loads(render(program, LEAST).stdout)["NOTES.txt"]
