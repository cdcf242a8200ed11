/**
 * Names the threads of the process that loads it by `--import`, which its workers do too: each one
 * writes a file `PID-TID` with its name.
 */
import { existsSync, readlinkSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { isMainThread, workerData } from 'node:worker_threads'

/** Setting with the folder of the files. */
const folder = process.env.BENCH_THREADS

if (folder && existsSync('/proc/thread-self')) {
  const [pid, , tid] = readlinkSync('/proc/thread-self').split('/')
  writeFileSync(join(folder, `${pid}-${tid}`), isMainThread ? 'main' : workerName())
}

/** The threads of the embedded database run one script. */
function workerName(): string {
  const script = basename(process.argv[1] ?? '')
  const { pragmas, procedures } = (workerData ?? {}) as {
    readonly pragmas?: readonly string[]
    readonly procedures?: readonly unknown[]
  }
  if (!pragmas || !procedures) return script
  if (procedures.length > 0) return 'writer'
  return pragmas.includes('pragma query_only = on') ? script : 'checkpointer'
}
