/** The load process: takes orders over IPC, one after another; tells when the measured time of each begins and ends, and its result. */
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

// The process that ordered the loads is gone, or needs no more of them.
process.once('disconnect', () => process.exit())

function tell(message: LoadMessage): void {
  process.send?.(message)
}
