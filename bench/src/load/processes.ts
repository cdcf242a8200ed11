import { type ChildProcess, fork } from 'node:child_process'
import { resolve } from 'node:path'
import { atExit } from '@hermod/testkit'
import type { FileLoadOrder } from '../files/file-load-run.js'
import type { LoadMessage } from './load.js'
import type { LoadEvents, LoadFigures, LoadOrder, LoadResult } from './load-run.js'

/** The result of an order. */
type ResultOf<Order> = Order extends LoadOrder ? LoadResult : LoadFigures

const noEvents: LoadEvents = { measuring: () => {}, measured: () => {} }

/** Runs a load in a separate process. */
export async function load<Order extends LoadOrder | FileLoadOrder>(
  order: Order,
  events?: LoadEvents,
): Promise<ResultOf<Order>> {
  using process = new LoadProcess()
  return await process.run(order, events)
}

/** Runs loads one after another in one process, so that short loads run compiled code. */
export class LoadProcess implements Disposable {
  readonly #child = startProcess('load')

  run<Order extends LoadOrder | FileLoadOrder>(
    order: Order,
    events: LoadEvents = noEvents,
  ): Promise<ResultOf<Order>> {
    const child = this.#child
    return new Promise((resolve, reject) => {
      const ended = (code: number | null, signal: NodeJS.Signals | null) =>
        reject(new Error(`the load process ended with ${code ?? signal} and no result`))
      const take = (message: LoadMessage) => {
        if (message.type !== 'result') {
          events[message.type]()
          return
        }
        child.off('exit', ended).off('message', take)
        resolve(message.result as ResultOf<Order>)
      }
      child.on('message', take).once('exit', ended)
      child.send(order)
    })
  }

  [Symbol.dispose](): void {
    if (this.#child.connected) this.#child.disconnect()
  }
}

/** A running echo server. */
export interface Echo extends Disposable {
  readonly port: number
  readonly pid: number
}

/** @param body of every answer */
export function startEcho(body: string): Promise<Echo> {
  const child = startProcess('echo')
  return new Promise((resolve, reject) => {
    child.once('message', ({ port }: { readonly port: number }) =>
      resolve({ port, pid: child.pid ?? -1, [Symbol.dispose]: () => void child.kill() }),
    )
    child.once('exit', (code, signal) =>
      reject(new Error(`the echo process ended with ${code ?? signal}`)),
    )
    child.send({ body })
  })
}

/** @param name of a script, relative to the folder of this file */
export function startProcess(name: string): ChildProcess {
  // JSON, the default, has no NaN, which a run without any success returns.
  const child = fork(resolve(import.meta.dirname, `${name}.js`), { serialization: 'advanced' })
  const forget = atExit(() => child.kill('SIGKILL'))
  child.once('exit', forget)
  return child
}
