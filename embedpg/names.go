package embedpg

// Role is the superuser that every DSN names.
const Role = "taskq"

// Names of the files in a server's folder.
const (
	dataName      = "data"           // the cluster
	newDataName   = "data.new"       // where initdb works; never complete
	socketName    = "sock"           // the socket's folder, when its path is short enough
	startLock     = "start.lock"     // exclusive, while one process starts or joins
	superLock     = "super.lock"     // exclusive, as long as a supervisor lives
	usersLock     = "users.lock"     // shared by users, waited for by the supervisor
	recordName    = "server.json"    // what runs now, by the supervisor
	portName      = "port"           // the TCP port, kept over restarts
	passwordName  = "password"       // of Role, for TCP
	throwawayName = "throwaway"      // marks a throwaway folder; holds the boot it belongs to
	logName       = "postgres.log"   // rotated at start
	superLogName  = "supervisor.log" // rotated at start
)
