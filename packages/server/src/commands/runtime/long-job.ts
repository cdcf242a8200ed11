/** Commands that start a long job and show it until its end. */
import { setTimeout as sleep } from 'node:timers/promises'
import { cancelJob, getJob, type Int64, type Operation, type OperatorJob } from '@hermod/protocol'
import type { Command } from 'commander'
import { CommandFailure } from './call.js'
import { type CommandContext, type CommonOptions, operatingCommand } from './command.js'
import { commandOf, type Fields, type GivenOptions, namesOf, type ValuesOf } from './fields.js'
import type { OptionNames } from './option-names.js'
import { openProgress, type Progress } from './progress.js'

/** The longest time between two looks at a job, and the shortest. */
const [pollMs, leastPollMs] = [500, 20]
/** The time for which a server that does not answer may start again. */
const restartMs = 60_000

interface LongJobCall<P> {
  /** Starts the job. */
  readonly operation: Operation<P, { readonly job_id: Int64 }>
  readonly params: NoInfer<P>
  readonly options: CommonOptions
  /** Names of fields in failures. */
  readonly names?: OptionNames
}

/**
 * Starts a long job, shows it until it has ended, and returns its result. Where no service runs, the
 * job runs in this process. With --json each change of the job is printed as a line, the last of
 * which has the result.
 *
 * @throws CommandFailure when the job failed or was cancelled, and when the command is interrupted
 * before its end
 */
export function runLongJob<P, R>(
  context: CommandContext,
  { operation, params, options, names = {} }: LongJobCall<P>,
): Promise<R> {
  const { stderr, interrupted } = context.dependencies
  return context.session(
    options,
    async (operate, isLocal) => {
      const { job_id } = await operate(operation, params)
      const startedAt = performance.now()
      const ended = new AbortController()
      const stop = interrupted(ended.signal).then((): null => null)
      const look = whileRestarting(() => operate(getJob, { job_id }))
      const progress = await openProgress(stderr, 0)
      try {
        let shown = ''
        for (;;) {
          const job = await Promise.race([look(), stop])
          if (job === null) {
            if (!isLocal) throw continues(job_id)
            await operate(cancelJob, { job_id })
            throw new CommandFailure('the work was interrupted and is cancelled')
          }
          const line = JSON.stringify(job)
          if (line !== shown) show(job, { context, options, progress })
          shown = line
          if (job.ended_at !== 0) return resultOf<R>(job)
          // A short job is seen to end soon, a long one is not asked for often.
          const age = performance.now() - startedAt
          await Promise.race([sleep(Math.min(Math.max(age / 8, leastPollMs), pollMs)), stop])
        }
      } finally {
        ended.abort()
        progress.close()
      }
    },
    names,
  )
}

function show(
  job: OperatorJob,
  {
    context,
    options,
    progress,
  }: {
    readonly context: CommandContext
    readonly options: CommonOptions
    readonly progress: Progress
  },
): void {
  if (options.json) context.printer(options).print(job, () => '')
  else progress.show(Number(job.done), job.text, Number(job.total))
}

function continues(jobId: Int64): CommandFailure {
  return new CommandFailure(
    `the job ${jobId} continues on the server: hermod job show ${jobId} shows it, hermod job cancel ${jobId} ends it`,
  )
}

/** @throws CommandFailure when the job is not done */
function resultOf<R>({ job_id, state, result, error }: OperatorJob): R {
  if (state === 'failed') throw new CommandFailure(error)
  if (state !== 'done') throw new CommandFailure(`the job ${job_id} was cancelled`)
  return result as R
}

/** Repeats a call while the server does not answer, for a while. */
function whileRestarting<T>(call: () => Promise<T>): () => Promise<T> {
  let answeredAt = performance.now()
  return async () => {
    for (;;) {
      try {
        const answer = await call()
        answeredAt = performance.now()
        return answer
      } catch (error) {
        const isRefused = !(error instanceof CommandFailure) || error.code !== undefined
        if (isRefused || performance.now() - answeredAt > restartMs) throw error
        await sleep(pollMs)
      }
    }
  }
}

/** A command that starts a long job and prints its result. */
export interface LongJobCommand<F extends Fields, P, R> {
  readonly name: string
  readonly description: string
  readonly operation: Operation<P, { readonly job_id: Int64 }>
  readonly fields: F
  params(values: ValuesOf<F>): P
  /** The result for people. */
  text(result: R, values: ValuesOf<F>, options: GivenOptions): string
  /** Throws after the output where the result is a failure of the command. */
  requireSuccess?(result: R, values: ValuesOf<F>): void
}

/** Adds a command that starts a long job and prints its result. */
export function longJobCommand<F extends Fields, P, R>(
  parent: Command,
  context: CommandContext,
  { name, description, operation, fields, ...spec }: LongJobCommand<F, P, R>,
): Command {
  const command = operatingCommand(parent, name, description)
  return commandOf(command, context, fields, async (values, options) => {
    const names = namesOf(fields)
    const params = spec.params(values)
    const result = await runLongJob<P, R>(context, { operation, params, options, names })
    if (!options.json)
      context.printer(options).print(result, () => spec.text(result, values, options))
    spec.requireSuccess?.(result, values)
  })
}
