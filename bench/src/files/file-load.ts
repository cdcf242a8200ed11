/**
 * The load process: receives one order over IPC, reports the start and end of its measured time,
 * returns the result and ends.
 */
import { type FileLoadOrder, type FileLoadResult, runFileLoad } from './file-load-run.js'

export type FileLoadMessage =
  | { readonly type: 'measuring' }
  | { readonly type: 'measured' }
  | { readonly type: 'result'; readonly result: FileLoadResult }

process.once('message', async (order: FileLoadOrder) => {
  const result = await runFileLoad(order, {
    measuring: () => report({ type: 'measuring' }),
    measured: () => report({ type: 'measured' }),
  })
  report({ type: 'result', result }, () => process.disconnect())
})

// The parent process has ended.
process.once('disconnect', () => process.exit())

function report(message: FileLoadMessage, sent = () => {}): void {
  process.send?.(message, sent)
}
