// Command kubernetes is all of the Kubernetes that the tests need, in one file: it is whichever program its own
// name says, or failing that its first argument.
//
// One file because the programs share nearly all of their code: together they take a third of the disk that they
// would take apart. Nothing here is changed from upstream; each program is upstream's own command.
package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	_ "time/tzdata" // A CronJob names its time zone, and the machine may not know any.

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	_ "k8s.io/client-go/plugin/pkg/client/auth"
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// leash names the variable that ties a program's life to its standard input: whoever started it holds the other
// end, and however that process ends, the system closes it.
const leash = "SAFEPOINT_STDIN_LEASH"

var programs = map[string]func(){
	"etcd":                    func() { etcdmain.Main(os.Args) },
	"kube-apiserver":          func() { serve(apiserver.NewAPIServerCommand()) },
	"kube-controller-manager": func() { serve(controllers.NewControllerManagerCommand()) },
	"kube-scheduler":          func() { serve(scheduler.NewSchedulerCommand()) },
	"kubelet":                 func() { serve(kubelet.NewKubeletCommand(context.Background())) },
	"kubectl":                 runKubectl,
}

func main() {
	program, known := programs[filepath.Base(os.Args[0])]
	if !known && len(os.Args) > 1 {
		os.Args = os.Args[1:]
		program, known = programs[os.Args[0]]
	}
	if !known {
		names := slices.Sorted(maps.Keys(programs))
		fmt.Fprintf(os.Stderr, "usage: kubernetes PROGRAM [ARGUMENT...], where PROGRAM is one of %s\n", strings.Join(names, ", "))
		os.Exit(2)
	}
	if os.Getenv(leash) == "1" {
		// What this program starts in turn is its own affair.
		os.Unsetenv(leash)
		go func() {
			io.Copy(io.Discard, os.Stdin)
			os.Exit(1)
		}()
	}
	program()
}

func serve(command *cobra.Command) {
	os.Exit(cli.Run(command))
}

func runKubectl() {
	// Building the command already logs, before its flags are read.
	logs.GlogSetter(kubectl.GetLogVerbosity(os.Args))
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		util.CheckErr(err)
	}
}
