/** The load process: takes one order over IPC, tells when its measured time begins and ends, answers with the result, and ends. */
import { type LoadOrder, type LoadResult, runLoad } from './load-run.js'

export type LoadMessage =
  | { readonly type: 'measuring' }
  | { readonly type: 'measured' }
  | { readonly type: 'result'; readonly result: LoadResult }

process.once('message', async (order: LoadOrder) => {
  const result = await runLoad(order, {
    measuring: () => tell({ type: 'measuring' }),
    measured: () => tell({ type: 'measured' }),
  })
  tell({ type: 'result', result }, () => process.disconnect())
})

// The process that ordered the load is gone.
process.once('disconnect', () => process.exit())

function tell(message: LoadMessage, sent = () => {}): void {
  process.send?.(message, sent)
}
