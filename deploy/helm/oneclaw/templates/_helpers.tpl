{{- define "oneclaw.name" -}}
{{- if eq .Release.Name .Chart.Name }}{{ .Chart.Name }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}{{ end -}}
{{- end }}

{{- define "oneclaw.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "oneclaw.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- /* The pod of one process: `root` is the chart's scope, `component` its name, `arguments` those of manage.py, and
`of` its values. Probes and ports are of the web process alone. */}}
{{- define "oneclaw.pod" -}}
{{- $values := .root.Values -}}
metadata:
  labels:
    {{- include "oneclaw.selector" . | nindent 4 }}
spec:
  automountServiceAccountToken: false
  {{- with $values.imagePullSecrets }}
  imagePullSecrets: {{ toJson . }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 10001
    runAsGroup: 10001
    fsGroup: 10001
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile: {type: RuntimeDefault}
  {{- with .of.terminationGracePeriodSeconds }}
  terminationGracePeriodSeconds: {{ . }}
  {{- end }}
  {{- if eq .component "migrate" }}
  restartPolicy: Never
  {{- end }}
  containers:
    - name: {{ .component }}
      image: "{{ $values.image.repository }}:{{ $values.image.tag | default .root.Chart.AppVersion }}"
      imagePullPolicy: {{ $values.image.pullPolicy }}
      args: {{ toJson .arguments }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: {drop: [ALL]}
      envFrom:
        - secretRef: {name: {{ required "Set existingSecret to the name of a Secret with DATABASE_URL, REDIS_URL and ONECLAW_SECRET_KEY." $values.existingSecret | quote }}}
      env:
        - {name: ONECLAW_ORIGINS, value: {{ required "Set settings.ONECLAW_ORIGINS to the address that people open." $values.settings.ONECLAW_ORIGINS | quote }}}
        {{- range $name, $value := $values.settings }}
        {{- if ne $name "ONECLAW_ORIGINS" }}
        - {name: {{ $name }}, value: {{ $value | quote }}}
        {{- end }}
        {{- end }}
      {{- if eq .component "web" }}
      ports:
        - {name: http, containerPort: 8000}
      # /healthz: the process answers. /readyz: database, migrations and a worker, too.
      startupProbe:
        httpGet: &healthz {path: /healthz, port: http, httpHeaders: [{name: Host, value: localhost}]}
        periodSeconds: 2
        failureThreshold: 60
      livenessProbe:
        httpGet: *healthz
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      readinessProbe:
        httpGet: {path: /readyz, port: http, httpHeaders: [{name: Host, value: localhost}]}
        periodSeconds: 5
        timeoutSeconds: 5
      {{- end }}
      {{- with .of.resources }}
      resources: {{ toJson . }}
      {{- end }}
      volumeMounts:
        - {name: temporary, mountPath: /tmp}
        {{- if ne .component "migrate" }}
        - {name: data, mountPath: /data}
        {{- else }}
        - {name: temporary, mountPath: /data}
        {{- end }}
  volumes:
    - name: temporary
      emptyDir: {}
    {{- if ne .component "migrate" }}
    - name: data
      persistentVolumeClaim: {claimName: {{ $values.persistence.existingClaim | default (printf "%s-data" (include "oneclaw.name" .root)) | quote }}}
    {{- end }}
{{- end }}
