/**
 * What must happen before this process goes: started processes end, temporary folders leave. Signals by which a test runner ends its workers do
 * not run `exit` listeners by themselves, hence the listeners for them.
 */
const tasks = new Set<() => void>()
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
let listening = false

/**
 * Runs a synchronous task when this process ends in any way but SIGKILL.
 * @returns takes the task back
 */
export function atExit(task: () => void): () => void {
  if (!listening) listen()
  tasks.add(task)
  return () => tasks.delete(task)
}

function listen(): void {
  listening = true
  process.once('exit', runTasks)
  for (const signal of signals) process.once(signal, () => endBy(signal))
}

function endBy(signal: NodeJS.Signals): void {
  runTasks()
  // With our listener gone the signal has its usual effect, unless somebody else listens and decides.
  if (process.listenerCount(signal) === 0) process.kill(process.pid, signal)
}

/** The newest first: a process leaves before its folder. */
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
