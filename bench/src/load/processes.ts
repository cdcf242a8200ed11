import { type ChildProcess, fork } from 'node:child_process'
import { resolve } from 'node:path'
import { atExit } from '@hermod/testkit'
import type { LoadMessage } from './load.js'
import type { LoadEvents, LoadOrder, LoadResult } from './load-run.js'

const noEvents: LoadEvents = { measuring: () => {}, measured: () => {} }

/** Runs a load in a process of its own. */
export function load(order: LoadOrder, events: LoadEvents = noEvents): Promise<LoadResult> {
  const child = startProcess('load')
  return new Promise((resolve, reject) => {
    child.on('message', (message: LoadMessage) => {
      if (message.type === 'result') resolve(message.result)
      else events[message.type]()
    })
    child.once('exit', (code, signal) =>
      reject(new Error(`the load process ended with ${code ?? signal} and no result`)),
    )
    child.send(order)
  })
}

/** A running echo server. */
export interface Echo extends Disposable {
  readonly port: number
}

/** @param body what it answers to every request */
export function startEcho(body: string): Promise<Echo> {
  const child = startProcess('echo')
  return new Promise((resolve, reject) => {
    child.once('message', ({ port }: { readonly port: number }) =>
      resolve({ port, [Symbol.dispose]: () => void child.kill() }),
    )
    child.once('exit', (code, signal) =>
      reject(new Error(`the echo process ended with ${code ?? signal}`)),
    )
    child.send({ body })
  })
}

/** @param name of a script, from the folder of this file */
export function startProcess(name: string): ChildProcess {
  // JSON, the default, has no NaN, which a run without any success answers.
  const child = fork(resolve(import.meta.dirname, `${name}.js`), { serialization: 'advanced' })
  const forget = atExit(() => child.kill('SIGKILL'))
  child.once('exit', forget)
  return child
}
