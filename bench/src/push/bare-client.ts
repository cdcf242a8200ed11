/** The bare client as a process: takes one order over IPC, answers with the result, and ends. */
import { type BareOrder, type BareResult, runBare } from './bare-run.js'

process.once('message', async (order: BareOrder) => {
  const result: BareResult = await runBare(order)
  process.send?.(result, () => process.disconnect())
})

// The process that ordered it is gone.
process.once('disconnect', () => process.exit())
