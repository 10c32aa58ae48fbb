{{- define "inkgate.fullname" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "inkgate.selector" -}}
app.kubernetes.io/name: inkgate
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "inkgate.labels" -}}
{{ include "inkgate.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{- define "inkgate.image" -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag }}{{ end }}
{{- end }}

{{- define "inkgate.serviceAccount" -}}
{{ if .Values.serviceAccount.create }}{{ .Values.serviceAccount.name | default (include "inkgate.fullname" .) }}{{ else }}{{ .Values.serviceAccount.name | default "default" }}{{ end }}
{{- end }}

{{- define "inkgate.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
fsGroupChangePolicy: OnRootMismatch
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "inkgate.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{/* The settings that the chart decides, under those of the values. */}}
{{- define "inkgate.settings" -}}
{{- $computed := dict "server" (dict "host" "0.0.0.0" "drain_s" .Values.drain.drainSeconds "trusted_proxies" .Values.trustedProxies) "metrics" (dict "host" "0.0.0.0") "log" (dict "format" "json") -}}
{{- if .Values.auth.allowOpen }}{{ $_ := set $computed "auth" (dict "allow_open" true) }}{{ end -}}
{{/* Without a database that all pods share, a job would be known to one pod only, until that stops. */ -}}
{{- $jobs := or .Values.workers.enabled (hasKey (.Values.settings.jobs | default dict) "database") -}}
{{- $_ := set $computed "jobs" (dict "enabled" $jobs "work" (not .Values.workers.enabled)) -}}
{{- if ne .Values.mode "embedded" -}}
{{- $url := "http://127.0.0.1:8000/v1" -}}
{{- if eq .Values.mode "engine" }}{{ $url = printf "dns+http://%s-engine.%s.svc:8000/v1" (include "inkgate.fullname" .) .Release.Namespace }}{{ end -}}
{{- $_ := set $computed "engine" (dict "name" .Values.engine.name "vllm" (dict "urls" (list $url) "start_s" .Values.engine.startupSeconds)) -}}
{{- end -}}
{{- mustMergeOverwrite $computed (deepCopy .Values.settings) | toToml }}
{{- end }}

{{/* A container of inkgate. command: serve or work. */}}
{{- define "inkgate.container" -}}
- name: {{ .name }}
  image: {{ include "inkgate.image" (dict "repository" .root.Values.image.repository "digest" .root.Values.image.digest "tag" (.root.Values.image.tag | default .root.Chart.AppVersion)) | quote }}
  imagePullPolicy: {{ .root.Values.image.pullPolicy }}
  args: [{{ .command }}, --config, /etc/inkgate/inkgate.toml]
  env:
    - {name: XDG_CACHE_HOME, value: /var/cache/inkgate}
    - {name: INKGATE_JOBS__FOLDER, value: /var/lib/inkgate/jobs}
    {{- if .root.Values.auth.existingSecret }}
    - {name: INKGATE_AUTH__KEY_HASHES_FILE, value: /run/secrets/inkgate/{{ .root.Values.auth.key }}}
    {{- end }}
    {{- with .root.Values.extraEnv }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  ports:
    {{- if eq .command "serve" }}
    - {name: http, containerPort: 7860}
    {{- end }}
    - {name: metrics, containerPort: 8001}
  securityContext:
    {{- include "inkgate.containerSecurity" .root | nindent 4 }}
  resources:
    {{- toYaml .resources | nindent 4 }}
  volumeMounts:
    - {name: config, mountPath: /etc/inkgate, readOnly: true}
    - {name: tmp, mountPath: /tmp}
    - {name: cache, mountPath: /var/cache/inkgate}
    - {name: state, mountPath: /var/lib/inkgate}
    {{- if .root.Values.auth.existingSecret }}
    - {name: keys, mountPath: /run/secrets/inkgate, readOnly: true}
    {{- end }}
{{- end }}

{{- define "inkgate.volumes" -}}
- {name: config, configMap: {name: {{ include "inkgate.fullname" . }}}}
- {name: tmp, emptyDir: {sizeLimit: {{ .Values.tmpSizeLimit }}}}
- {name: cache, emptyDir: {}}
- {name: state, emptyDir: {}}
{{- if .Values.auth.existingSecret }}
- {name: keys, secret: {secretName: {{ .Values.auth.existingSecret }}}}
{{- end }}
{{- end }}

{{/* vLLM. The health check of vLLM answers while it hangs, so liveness looks for tokens. */}}
{{- define "inkgate.engineContainer" -}}
{{- $engine := .Values.engine -}}
- name: engine
  image: {{ include "inkgate.image" $engine.image | quote }}
  imagePullPolicy: {{ $engine.image.pullPolicy }}
  args:
    - {{ $engine.model | quote }}
    - --port=8000
    {{- with $engine.revision }}
    - --revision={{ . }}
    {{- end }}
    {{- with $engine.dtype }}
    - --dtype={{ . }}
    {{- end }}
    {{- with $engine.quantization }}
    - --quantization={{ . }}
    {{- end }}
    {{- with $engine.maxModelLen }}
    - --max-model-len={{ . | int }}
    {{- end }}
    - --gpu-memory-utilization={{ $engine.gpuMemoryUtilization }}
    - --tensor-parallel-size={{ $engine.tensorParallelSize | int }}
    - --shutdown-timeout={{ $engine.drain.drainSeconds | int }}
    {{- range concat $engine.args $engine.extraArgs }}
    - {{ . | quote }}
    {{- end }}
  env:
    - {name: HOME, value: /models}
    # torch before 2.13 fails at import for a user without an entry in /etc/passwd.
    - {name: USER, value: inkgate}
    - {name: HF_HOME, value: /models}
    - {name: VLLM_CACHE_ROOT, value: /models/vllm}
    {{- if $engine.offline }}
    - {name: HF_HUB_OFFLINE, value: "1"}
    {{- end }}
    {{- with $engine.env }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  ports:
    - {name: engine, containerPort: 8000}
  startupProbe:
    httpGet: {path: /health, port: engine}
    periodSeconds: 10
    timeoutSeconds: 5
    failureThreshold: {{ div (int $engine.startupSeconds) 10 }}
  readinessProbe:
    httpGet: {path: /health, port: engine}
    periodSeconds: 10
    timeoutSeconds: 10
    failureThreshold: 6
  livenessProbe:
    exec: {command: [python3, /etc/inkgate-engine/engine_alive.py]}
    periodSeconds: 30
    timeoutSeconds: 20
    failureThreshold: 2
  lifecycle:
    preStop: {sleep: {seconds: {{ $engine.drain.preStopSeconds }}}}
  securityContext:
    {{- include "inkgate.containerSecurity" . | nindent 4 }}
  resources:
    requests:
      {{- toYaml $engine.resources.requests | nindent 6 }}
      {{ $engine.gpu.resource }}: {{ $engine.gpu.count | default $engine.tensorParallelSize | int }}
    limits:
      {{- toYaml $engine.resources.limits | nindent 6 }}
      {{ $engine.gpu.resource }}: {{ $engine.gpu.count | default $engine.tensorParallelSize | int }}
  volumeMounts:
    - {name: models, mountPath: /models}
    - {name: engine-tmp, mountPath: /tmp}
    - {name: shm, mountPath: /dev/shm}
    - {name: engine-alive, mountPath: /etc/inkgate-engine, readOnly: true}
{{- end }}

{{- define "inkgate.engineVolumes" -}}
- {name: engine-tmp, emptyDir: {}}
- {name: shm, emptyDir: {medium: Memory, sizeLimit: {{ .Values.engine.shmSize }}}}
- {name: engine-alive, configMap: {name: {{ include "inkgate.fullname" . }}-engine}}
{{- $cache := .Values.engine.cache }}
{{- if eq $cache.type "existingClaim" }}
- {name: models, persistentVolumeClaim: {claimName: {{ required "engine.cache.existingClaim names the claim" $cache.existingClaim }}}}
{{- else if eq $cache.type "hostPath" }}
- {name: models, hostPath: {path: {{ required "engine.cache.hostPath names a folder of the nodes" $cache.hostPath }}, type: DirectoryOrCreate}}
{{- else if or (eq $cache.type "emptyDir") (ne .Values.mode "engine") }}
- name: models
  {{- if eq $cache.type "pvc" }}
  ephemeral:
    volumeClaimTemplate:
      spec:
        {{- include "inkgate.claim" . | nindent 8 }}
  {{- else }}
  emptyDir: {sizeLimit: {{ $cache.size }}}
  {{- end }}
{{- end }}
{{- end }}

{{- define "inkgate.claim" -}}
accessModes: [ReadWriteOnce]
{{- with .Values.engine.cache.storageClassName }}
storageClassName: {{ . }}
{{- end }}
resources: {requests: {storage: {{ .Values.engine.cache.size }}}}
{{- end }}

{{/* A series begins with the first page or refusal of its kind, which `increase` does not count. */}}
{{- define "inkgate.anyWork" -}}
{{- $counted := list -}}
{{- range list "inkgate_pages_total" "inkgate_refusals_total" -}}
{{- $series := printf "%s{namespace=\"%s\"}" . $.Release.Namespace -}}
{{- $counted = append $counted (printf "(sum(increase(%s[5m])) or vector(0)) + (count(%s unless %s offset 5m) or vector(0))" $series $series $series) -}}
{{- end -}}
clamp_max(ceil({{ join " + " $counted }}), 1)
{{- end }}

{{- define "inkgate.spread" -}}
{{- range $key := list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
- maxSkew: 1
  topologyKey: {{ $key }}
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels:
      {{- include "inkgate.selector" $ | nindent 6 }}
{{- end }}
{{- end }}
