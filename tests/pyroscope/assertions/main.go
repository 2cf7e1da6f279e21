// assertions compares what a Pyroscope server answers with the local files that were pushed to it.
//
//	assertions -url URL -service NAME [-label NAME=VALUE]... [flags] FILE...
//
// It speaks nothing but the server's public query API, so it holds against the receiver and against a real
// server alike. The files are those that `stallprof record -o` wrote while it pushed, all of them; NAME is a
// service_name that no other push in the time range has. Prints TAP; exits 1 when an assertion fails.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"
)

// seriesLabels collects the flag -label: labels that every series has beside service_name.
type seriesLabels map[string]string

func (l seriesLabels) String() string { return fmt.Sprint(map[string]string(l)) }

func (l seriesLabels) Set(text string) error {
	name, value, found := strings.Cut(text, "=")
	if !found || name == "" || value == "" {
		return fmt.Errorf("%q is not NAME=VALUE", text)
	}
	l[name] = value
	return nil
}

// report prints TAP and counts.
type report struct {
	prefix        string
	count, failed int
}

const problemsShown = 8

// check prints one line for an assertion: it holds when there are no problems.
func (r *report) check(name string, problems []string) {
	r.count++
	if len(problems) == 0 {
		fmt.Printf("ok %d - %s%s\n", r.count, r.prefix, name)
		return
	}
	r.failed++
	fmt.Printf("not ok %d - %s%s\n", r.count, r.prefix, name)
	for i, problem := range problems {
		if i == problemsShown {
			fmt.Printf("# … and %d more\n", len(problems)-i)
			break
		}
		fmt.Println("#", strings.ReplaceAll(problem, "\n", " "))
	}
}

// skip prints a line for an assertion that there is nothing to make of.
func (r *report) skip(name, why string) {
	r.count++
	fmt.Printf("ok %d - %s%s # SKIP allowed: %s\n", r.count, r.prefix, name, why)
}

func main() {
	labels := seriesLabels{}
	at := access{}
	flag.StringVar(&at.url, "url", "", "the server's `URL`")
	flag.StringVar(&at.tenant, "tenant", "", "tenant, sent as X-Scope-OrgID")
	flag.StringVar(&at.user, "user", "", "user for basic authentication")
	flag.StringVar(&at.passwordFile, "password-file", "", "`FILE` with that user's password")
	service := flag.String("service", "", "the service_name that was pushed")
	wait := flag.Duration("wait", 30*time.Second, "how long what was pushed may take to become visible")
	prefix := flag.String("prefix", "", "what each assertion's name begins with")
	require := flag.String("require", "", "comma-separated `LABELS` that the files must have, so that an empty profile can't pass")
	flag.Var(labels, "label", "a series label `NAME=VALUE`, beside service_name; may be repeated")
	flag.Parse()
	if at.url == "" || *service == "" || flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	labels["service_name"] = *service
	want, err := readFiles(flag.Args(), labels)
	if err != nil {
		fmt.Fprintln(os.Stderr, "assertions:", err)
		os.Exit(2)
	}
	from, err := at.open(*service, want.begin.Add(-time.Minute))
	if err != nil {
		fmt.Fprintln(os.Stderr, "assertions:", err)
		os.Exit(2)
	}
	r := &report{prefix: *prefix}
	ctx, cancel := context.WithTimeout(context.Background(), *wait+5*time.Minute)
	defer cancel()
	r.check("the local files hold what is to be compared", want.missing(*require))
	r.check("the server is ready", from.ready(ctx))
	r.check("what was pushed becomes visible", awaitTotals(ctx, from, want, *wait))
	runAll(ctx, r, from, want)
	fmt.Printf("1..%d\n", r.count)
	if r.failed > 0 {
		os.Exit(1)
	}
}
