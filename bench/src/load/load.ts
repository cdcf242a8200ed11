/**
 * The load process: receives orders over IPC, one after another. Reports the start and end of each
 * measured time, and the result.
 */
import { type FileLoadOrder, runFileLoad } from '../files/file-load-run.js'
import { type LoadFigures, type LoadOrder, runLoad } from './load-run.js'

/** Message of the load process. */
export type LoadMessage =
  | { readonly type: 'measuring' }
  | { readonly type: 'measured' }
  | { readonly type: 'result'; readonly result: LoadFigures }

const events = {
  measuring: () => post({ type: 'measuring' }),
  measured: () => post({ type: 'measured' }),
}

process.on('message', async (order: LoadOrder | FileLoadOrder) => {
  const result = 'plan' in order ? await runLoad(order, events) : await runFileLoad(order, events)
  post({ type: 'result', result })
})

// The parent process has ended or needs no more loads.
process.once('disconnect', () => process.exit())

function post(message: LoadMessage): void {
  process.send?.(message)
}
