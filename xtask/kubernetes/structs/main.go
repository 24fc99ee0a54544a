// Prints the structs of Kubernetes' built-in kinds: a line for each, with its fields as `name:type`. After the name, `?`
// says that a field is left out of JSON when it is empty, and `!` when it is zero.
//
// `cargo xtask wire` runs it and keeps the result in the tree, where the embedded API reads and writes objects by it.
package main

import (
	"fmt"
	"reflect"
	"sort"
	"strings"

	admission "k8s.io/api/admissionregistration/v1"
	coordination "k8s.io/api/coordination/v1"
	core "k8s.io/api/core/v1"
	events "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// The lines, and which package each name is from: two structs of one name would be a mistake.
var (
	out  = map[string]string{}
	pkgs = map[string]string{}
)

func name(t reflect.Type) string {
	n := t.Name()
	if strings.HasSuffix(t.PkgPath(), "api/events/v1") {
		n = "New" + n
	}
	if p, ok := pkgs[n]; ok && p != t.PkgPath() {
		panic(n + " " + p + " " + t.PkgPath())
	}
	pkgs[n] = t.PkgPath()
	return n
}

// The type of a field in the words of the table. Structs on the way are printed as well.
func show(t reflect.Type) string {
	switch t {
	case reflect.TypeOf(metav1.Time{}):
		return "time"
	case reflect.TypeOf(metav1.MicroTime{}):
		return "microtime"
	case reflect.TypeOf(resource.Quantity{}):
		return "amount"
	case reflect.TypeOf(intstr.IntOrString{}):
		return "port"
	case reflect.TypeOf(metav1.FieldsV1{}):
		return "any"
	}
	switch t.Kind() {
	case reflect.String:
		return "text"
	case reflect.Int32:
		return "int32"
	case reflect.Int64, reflect.Int:
		return "int64"
	case reflect.Uint32:
		return "uint32"
	case reflect.Bool:
		return "bool"
	case reflect.Pointer:
		return "*" + show(t.Elem())
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "bytes"
		}
		return "[]" + show(t.Elem())
	case reflect.Map:
		return "{}" + show(t.Elem())
	case reflect.Struct:
		walk(t)
		return name(t)
	}
	panic(t.String())
}

// The fields of a struct, with those of structs that are embedded in it.
func fields(t reflect.Type) []string {
	var all []string
	for i := 0; i < t.NumField(); i++ {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		parts := strings.Split(tag, ",")
		inline := f.Anonymous && parts[0] == ""
		if inline {
			all = append(all, fields(f.Type)...)
			continue
		}
		if tag == "" || parts[0] == "-" {
			if f.IsExported() && parts[0] != "-" {
				panic(t.String() + "." + f.Name)
			}
			continue
		}
		flag := ""
		for _, p := range parts[1:] {
			switch p {
			case "omitempty":
				flag += "?"
			case "omitzero":
				flag += "!"
			}
		}
		all = append(all, parts[0]+flag+":"+show(f.Type))
	}
	return all
}

func walk(t reflect.Type) {
	n := name(t)
	if _, ok := out[n]; ok {
		return
	}
	out[n] = ""
	out[n] = n + " " + strings.Join(fields(t), " ")
}

func main() {
	for _, o := range []any{core.Pod{}, core.Node{}, core.ConfigMap{}, core.Secret{}, core.ServiceAccount{}, core.Service{}, core.Namespace{}, core.Event{}, core.Binding{},
		coordination.Lease{}, admission.ValidatingWebhookConfiguration{}, admission.MutatingWebhookConfiguration{}, events.Event{}} {
		walk(reflect.TypeOf(o))
	}
	var names []string
	for n := range out {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		fmt.Println(out[n])
	}
}
