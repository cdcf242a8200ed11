/**
 * The load process: receives orders over IPC, one after another. Reports the start and end of each
 * measured time, and the result.
 */
import { type LoadOrder, type LoadResult, runLoad } from './load-run.js'

export type LoadMessage =
  | { readonly type: 'measuring' }
  | { readonly type: 'measured' }
  | { readonly type: 'result'; readonly result: LoadResult }

process.on('message', async (order: LoadOrder) => {
  const result = await runLoad(order, {
    measuring: () => tell({ type: 'measuring' }),
    measured: () => tell({ type: 'measured' }),
  })
  tell({ type: 'result', result })
})

// The parent process has ended or needs no more loads.
process.once('disconnect', () => process.exit())

function tell(message: LoadMessage): void {
  process.send?.(message)
}
