// Prints how Kubernetes writes its objects in protobuf: for every type, the number, name and type of each field.
//
// The facts come from the Go types themselves, because the .proto files do not say which fields are left out when they
// are empty. `cargo xtask wire` runs it and keeps the result in the tree.
package main

import (
	"fmt"
	"os"
	"reflect"
	"sort"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What a request to an API server may carry in its body.
var roots = []any{
	corev1.Binding{}, corev1.ConfigMap{}, corev1.Event{}, corev1.Namespace{}, corev1.Node{}, corev1.Pod{},
	corev1.Secret{}, corev1.Service{}, corev1.ServiceAccount{},
	admissionregistrationv1.MutatingWebhookConfiguration{}, admissionregistrationv1.ValidatingWebhookConfiguration{},
	authenticationv1.SelfSubjectReview{}, authenticationv1.TokenRequest{}, authenticationv1.TokenReview{},
	authorizationv1.LocalSubjectAccessReview{}, authorizationv1.SelfSubjectAccessReview{},
	authorizationv1.SelfSubjectRulesReview{}, authorizationv1.SubjectAccessReview{},
	coordinationv1.Lease{}, eventsv1.Event{}, policyv1.Eviction{}, metav1.DeleteOptions{},
}

// Types that are written in JSON in a way of their own.
var special = map[string]bool{
	"meta.v1.Time": true, "meta.v1.MicroTime": true, "meta.v1.FieldsV1": true,
	"resource.Quantity": true, "intstr.IntOrString": true, "runtime.RawExtension": true,
}

func main() {
	lines := map[string]string{}
	for _, root := range roots {
		visit(reflect.TypeOf(root), lines)
	}
	names := make([]string, 0, len(lines))
	for name := range lines {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		fmt.Printf("%s\n%s", name, lines[name])
	}
}

func visit(t reflect.Type, lines map[string]string) {
	name := nameOf(t)
	if _, seen := lines[name]; seen || special[name] {
		return
	}
	lines[name] = ""
	var text strings.Builder
	for i := range t.NumField() {
		field := t.Field(i)
		tag := strings.Split(field.Tag.Get("protobuf"), ",")
		if len(tag) < 3 {
			continue // TypeMeta: it travels beside the object.
		}
		json := strings.Split(field.Tag.Get("json"), ",")
		inline := json[0] == ""
		omitted := field.Type.Kind() != reflect.Pointer && len(json) > 1 && json[1] == "omitempty"
		kind, inner := kindOf(field.Type)
		switch {
		case inline:
			kind = "=" + kind
		case omitted && !strings.HasPrefix(kind, "*") && !strings.HasPrefix(kind, "%"):
			kind = "?" + kind
		}
		key := json[0]
		if inline {
			key = "-"
		}
		fmt.Fprintf(&text, " %s %s %s\n", tag[1], key, kind)
		if inner != nil {
			visit(inner, lines)
		}
	}
	lines[name] = text.String()
}

// The kind of a field, and the struct that is to be looked at as well.
func kindOf(t reflect.Type) (string, reflect.Type) {
	switch t.Kind() {
	case reflect.Pointer:
		return kindOf(t.Elem())
	case reflect.String:
		return "string", nil
	case reflect.Bool:
		return "bool", nil
	case reflect.Int32, reflect.Int64, reflect.Uint8, reflect.Int:
		return "int", nil
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "bytes", nil
		}
		// A named list of texts is a message of its own with one repeated field.
		if t.Name() != "" && t.Elem().Kind() == reflect.String {
			return "texts", nil
		}
		kind, inner := kindOf(t.Elem())
		return "*" + kind, inner
	case reflect.Map:
		kind, inner := kindOf(t.Elem())
		return "%" + kind, inner
	case reflect.Struct:
		if special[nameOf(t)] {
			return nameOf(t), nil
		}
		return nameOf(t), t
	}
	fmt.Fprintf(os.Stderr, "a field of type %v is not understood\n", t)
	os.Exit(1)
	return "", nil
}

// `core.v1.Pod`: the last two parts of the package and the type.
func nameOf(t reflect.Type) string {
	parts := strings.Split(t.PkgPath(), "/")
	last := parts[len(parts)-1]
	if strings.HasPrefix(last, "v1") && len(parts) > 1 {
		last = parts[len(parts)-2] + "." + last
	}
	return last + "." + t.Name()
}
