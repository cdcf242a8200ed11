import { once } from 'node:events'
import { cpuMs } from '@hermod/testkit'
import { startProcess } from '../load/processes.js'
import type { ReceivedFigures, ReceiverOrder } from './receiver.js'

/** The receiver in a separate process. */
export interface RunningReceiver extends Disposable {
  url(path: string): string
  /** Waits for events of a path, and returns the figures since the last call. */
  received(order: ReceiverOrder): Promise<ReceivedFigures>
  cpuMs(): number
}

/** Starts a receiver in a process of its own. */
export async function startReceiver(): Promise<RunningReceiver> {
  const child = startProcess('../webhooks/receiver')
  const ended = once(child, 'exit').then(() => {
    throw new Error('the receiver ended')
  })
  ended.catch(() => {})
  const next = async <T>(): Promise<T> => {
    const [message] = await Promise.race([once(child, 'message'), ended])
    return message as T
  }
  const { port } = await next<{ readonly port: number }>()
  return {
    url: (path) => `http://127.0.0.1:${port}${path}`,
    received(order) {
      child.send(order)
      return next<ReceivedFigures>()
    },
    cpuMs: () => cpuMs(child.pid ?? 0),
    [Symbol.dispose]: () => void child.kill(),
  }
}
