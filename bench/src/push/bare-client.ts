/** The bare client as a process: receives one order over IPC, returns the result and ends. */
import { type BareOrder, type BareResult, runBare } from './bare-run.js'

process.once('message', async (order: BareOrder) => {
  const result: BareResult = await runBare(order)
  process.send?.(result, () => process.disconnect())
})

// The parent process has ended.
process.once('disconnect', () => process.exit())
