import { once } from 'node:events'
import type { SimulatedChannel } from '@hermod/push-simulator'
import { cpuMs } from '@hermod/testkit'
import { startProcess } from '../load/processes.js'
import type { BareOrder, BareResult } from './bare-run.js'
import type { RecordedSends, SimulatorStarted } from './simulator.js'

/** The simulated gateways, in a separate process. */
export interface RunningSimulator extends Disposable {
  readonly certificates: SimulatorStarted['certificates']
  /** Returns the requests to a gateway since the last call. */
  sends(channel: SimulatedChannel): Promise<RecordedSends>
  cpuMs(): number
}

/** Starts the simulated gateways in a process of their own. */
export async function startSimulator(): Promise<RunningSimulator> {
  const child = startProcess('../push/simulator')
  const ended = once(child, 'exit').then(() => {
    throw new Error('the simulator ended')
  })
  ended.catch(() => {})
  const ask = async <T>(): Promise<T> => {
    const [message] = await Promise.race([once(child, 'message'), ended])
    return message as T
  }
  const { certificates } = await ask<SimulatorStarted>()
  return {
    certificates,
    async sends(channel) {
      child.send(channel)
      return ask<RecordedSends>()
    },
    cpuMs: () => cpuMs(child.pid ?? 0),
    [Symbol.dispose]: () => void child.kill(),
  }
}

/** Runs the bare client in a separate process. */
export function loadBare(order: BareOrder): Promise<BareResult> {
  const child = startProcess('../push/bare-client')
  return new Promise((resolve, reject) => {
    child.once('message', (result: BareResult) => resolve(result))
    child.once('exit', (code, signal) =>
      reject(new Error(`the bare client ended with ${code ?? signal} and no result`)),
    )
    child.send(order)
  })
}
