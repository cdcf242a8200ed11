/** The load process: takes one order over IPC, tells when its measured time begins and ends, answers with the result, and ends. */
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

// The process that ordered the load is gone.
process.once('disconnect', () => process.exit())

function report(message: FileLoadMessage, sent = () => {}): void {
  process.send?.(message, sent)
}
