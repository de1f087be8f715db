module github.com/taskq-host/taskq-host/plugins/go-command

go 1.24
