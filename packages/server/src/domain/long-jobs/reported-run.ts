import type { Int64 } from '@hermod/protocol'
import type { LongJobEnd, LongJobRun, Progress } from './long-job-model.js'

/** The time between two reports of a run, in which a cancellation reaches it. */
const reportMs = 500
const progressMs = 1_000

interface ReportedRunOptions {
  readonly jobId: Int64
  /** The handler with its parameters. */
  run(run: LongJobRun): Promise<object>
  /** Aborted when this process leaves the job to another run. */
  readonly leaving: AbortSignal
  /**
   * Called twice a second; at most once a second with progress that has changed since, else with
   * null.
   * @returns false when the job is cancelled
   */
  report(progress: Required<Progress> | null): Promise<boolean>
  failed(error: unknown): void
}

/**
 * Runs a handler, and reports its progress meanwhile.
 * @throws the error of the handler when this process leaves the job
 */
export async function reportedRun({
  jobId,
  run,
  leaving,
  report,
  failed,
}: ReportedRunOptions): Promise<{
  readonly end: LongJobEnd
  readonly progress: Required<Progress>
}> {
  leaving.throwIfAborted()
  const cancelling = new AbortController()
  let progress: Required<Progress> = { done: 0, total: 0, text: '' }
  let hasChanged = false
  let progressAt = 0
  let reporting: Promise<void> | null = null
  const tick = async () => {
    const now = performance.now()
    const isDue = hasChanged && now - progressAt >= progressMs
    const changed = isDue ? progress : null
    if (isDue) [hasChanged, progressAt] = [false, now]
    try {
      if (!(await report(changed))) cancelling.abort(new Error('the job is cancelled'))
    } catch (error) {
      // The next report may succeed.
      failed(error)
    }
  }
  const timer = setInterval(() => {
    reporting ??= tick().finally(() => {
      reporting = null
    })
  }, reportMs)
  const endOf = async (): Promise<LongJobEnd> => {
    try {
      const result = await run({
        jobId,
        signal: AbortSignal.any([leaving, cancelling.signal]),
        progress(changes) {
          progress = { ...progress, ...changes }
          hasChanged = true
        },
      })
      return { state: 'done', result }
    } catch (error) {
      if (cancelling.signal.aborted) return { state: 'cancelled' }
      if (leaving.aborted) throw error
      failed(error)
      return { state: 'failed', error: error instanceof Error ? error.message : String(error) }
    }
  }
  try {
    return { end: await endOf(), progress }
  } finally {
    clearInterval(timer)
    await reporting
  }
}
