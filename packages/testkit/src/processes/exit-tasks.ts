/**
 * Tasks before this process ends: ending started processes, removing temporary folders. Signals by
 * which a test runner ends its workers do not run `exit` listeners, so they have listeners here.
 */
const tasks = new Set<() => void>()
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
let listening = false

/**
 * Runs a synchronous task when this process ends in any way but SIGKILL.
 * @returns a function that cancels the task
 */
export function atExit(task: () => void): () => void {
  if (!listening) listen()
  tasks.add(task)
  return () => tasks.delete(task)
}

function listen(): void {
  listening = true
  process.once('exit', runTasks)
  // Before the other listeners, which may remove themselves.
  for (const signal of signals) process.prependOnceListener(signal, () => endBy(signal))
}

function endBy(signal: NodeJS.Signals): void {
  runTasks()
  // Without our listener the signal has its usual effect, unless another listener decides.
  if (process.listenerCount(signal) === 0) process.kill(process.pid, signal)
}

/** Runs the newest task first: a process ends before its folder is removed. */
function runTasks(): void {
  for (const task of [...tasks].reverse()) {
    tasks.delete(task)
    try {
      task()
    } catch {
      // The other tasks must run as well.
    }
  }
}
