import { CommandFailure } from './call.js'
import type { CommandContext, CommandWork } from './command.js'
import type { GivenOptions } from './fields.js'
import { openProgress } from './progress.js'

/** The time between two lines of progress. */
const lineMs = 1_000

/** Shows the progress on a terminal, or as lines of JSON; ends the work when it is interrupted. */
export async function withProgress<T>(
  context: CommandContext,
  options: GivenOptions,
  work: (options: CommandWork) => Promise<T>,
): Promise<T> {
  const { stderr, interrupted } = context.dependencies
  const ending = new AbortController()
  const ended = new AbortController()
  void interrupted(ended.signal).then(() => ending.abort(interruption()))
  const bar = await openProgress(stderr, 0)
  const printer = context.printer(options)
  let shown = { done: 0, total: 0, text: '' }
  let printedAt = Number.NEGATIVE_INFINITY
  try {
    return await work({
      signal: ending.signal,
      progress(changes) {
        shown = { ...shown, ...changes }
        bar.show(shown.done, shown.text, shown.total)
        if (!options.json || performance.now() - printedAt < lineMs) return
        printedAt = performance.now()
        printer.print(shown, () => '')
      },
    })
  } finally {
    ended.abort()
    bar.close()
  }
}

function interruption(): CommandFailure {
  return new CommandFailure('the work was interrupted; run the command again')
}
