{{- /* There is one hub in a cluster: the names of what it keeps are its own, and not the release's. */ -}}
{{- define "safepoint.labels" -}}
app.kubernetes.io/name: safepoint
app.kubernetes.io/component: hub
{{- end }}

{{- define "safepoint.allLabels" -}}
{{ include "safepoint.labels" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}
