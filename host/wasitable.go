package host

import (
	"github.com/tetratelabs/wazero/api"

	"github.com/taskq-host/taskq-host/abi"
)

// Errors of WASI preview 1 that the shim answers.
const (
	errnoSuccess = 0
	errnoBadF    = 8
	errnoInval   = 28
	errnoNoSys   = 52
	errnoNotSup  = 58
	errnoSPipe   = 70
)

// wasiImports are the functions of preview 1 that do something. There are no
// files and no sockets: descriptors 0 to 2 are all there is.
var wasiImports = []hostImport{
	{abi.WASIModule, "args_get", "ii", "i", anyStage, 0, argsGet},
	{abi.WASIModule, "args_sizes_get", "ii", "i", anyStage, 0, argsSizesGet},
	{abi.WASIModule, "environ_get", "ii", "i", anyStage, 0, environGet},
	{abi.WASIModule, "environ_sizes_get", "ii", "i", anyStage, 0, environSizesGet},
	{abi.WASIModule, "clock_res_get", "ii", "i", anyStage, 0, clockResGet},
	{abi.WASIModule, "clock_time_get", "iIi", "i", anyStage, 0, clockTimeGet},
	{abi.WASIModule, "random_get", "ii", "i", anyStage, 0, randomGet},
	{abi.WASIModule, "fd_close", "i", "i", anyStage, 0, fdClose},
	{abi.WASIModule, "fd_fdstat_get", "ii", "i", anyStage, 0, fdFdstatGet},
	{abi.WASIModule, "fd_fdstat_set_flags", "ii", "i", anyStage, 0, fdFdstatSetFlags},
	{abi.WASIModule, "fd_filestat_get", "ii", "i", anyStage, 0, fdFilestatGet},
	{abi.WASIModule, "fd_read", "iiii", "i", anyStage, 0, fdRead},
	{abi.WASIModule, "fd_write", "iiii", "i", anyStage, 0, fdWrite},
	{abi.WASIModule, "fd_seek", "iIii", "i", anyStage, 0, noSeek},
	{abi.WASIModule, "fd_tell", "ii", "i", anyStage, 0, noSeek},
	{abi.WASIModule, "poll_oneoff", "iiii", "i", anyStage, 0, pollOneoff},
	{abi.WASIModule, "sched_yield", "", "i", anyStage, 0, schedYield},
	{abi.WASIModule, "proc_exit", "i", "", anyStage, 0, procExit},
}

// wasiAbsent are the rest of preview 1: linked, because libraries import them
// without ever calling them, and answering that there is no such descriptor
// or no such function.
func wasiAbsent() []hostImport {
	noFile := map[string]string{
		"fd_advise": "iIIi", "fd_allocate": "iII", "fd_datasync": "i", "fd_fdstat_set_rights": "iII",
		"fd_filestat_set_size": "iI", "fd_filestat_set_times": "iIIi", "fd_pread": "iiiIi", "fd_prestat_get": "ii",
		"fd_prestat_dir_name": "iii", "fd_pwrite": "iiiIi", "fd_readdir": "iiiIi", "fd_sync": "i",
		"path_create_directory": "iii", "path_filestat_get": "iiiii", "path_filestat_set_times": "iiiiIIi",
		"path_link": "iiiiiii", "path_open": "iiiiiIIii", "path_readlink": "iiiiii", "path_remove_directory": "iii",
		"path_rename": "iiiiii", "path_symlink": "iiiii", "path_unlink_file": "iii",
		"sock_accept": "iii", "sock_recv": "iiiiii", "sock_send": "iiiii", "sock_shutdown": "ii",
	}
	noFunction := map[string]string{"fd_renumber": "ii", "proc_raise": "i"}
	var list []hostImport
	for name, params := range noFile {
		list = append(list, hostImport{abi.WASIModule, name, params, "i", anyStage, 0, answerErrno(errnoBadF)})
	}
	for name, params := range noFunction {
		list = append(list, hostImport{abi.WASIModule, name, params, "i", anyStage, 0, answerErrno(errnoNoSys)})
	}
	return list
}

func answerErrno(errno uint64) func(*execution, api.Memory, []uint64) {
	return func(_ *execution, _ api.Memory, stack []uint64) { stack[0] = errno }
}
