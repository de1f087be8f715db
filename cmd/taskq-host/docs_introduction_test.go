package main

const cliIntroduction = `# The command line

<!-- Made from the commands' --help; change it there, then run: go test ./cmd/taskq-host -run TestDocs -update -->

One binary does everything. ` + "`taskq-host dev`" + ` needs no flag, file or database; the commands that talk to a server
find it, and the token, in the context file that ` + "`dev`" + ` wrote.

Errors are one line on stderr, ` + "`taskq-host: what: why`" + `. Lists and shows print tables, and JSON with ` + "`--json`" + `. Colours and
progress bars appear on terminals only, and never with ` + "`NO_COLOR`" + `.

| exit code | |
|---|---|
| 0 | done |
| 1 | failed: a job, an attempt, a check, or the command itself |
| 2 | bad input: a flag, a file, a payload, a module, a configuration |
| 3 | not found |
| 4 | no access |
| 5 | the server or the database can't be reached |

`
