import { once } from 'node:events'
import { cpuMs } from '@hermod/testkit'
import { startProcess } from '../load/processes.js'
import type { FileLoadMessage } from './file-load.js'
import type { FileLoadEvents, FileLoadOrder, FileLoadResult } from './file-load-run.js'

/** Runs a load in a separate process. */
export function loadFiles(order: FileLoadOrder, events: FileLoadEvents): Promise<FileLoadResult> {
  const child = startProcess('../files/file-load')
  return new Promise((resolve, reject) => {
    child.on('message', (message: FileLoadMessage) => {
      if (message.type === 'result') resolve(message.result)
      else events[message.type]()
    })
    child.once('exit', (code, signal) =>
      reject(new Error(`the load process ended with ${code ?? signal} and no result`)),
    )
    child.send(order)
  })
}

/** The bare server, in a separate process. */
export interface BareFiles extends Disposable {
  readonly port: number
  cpuMs(): number
}

/** @param folder of its files */
export async function startBareFiles(folder: string): Promise<BareFiles> {
  const child = startProcess('../files/bare-files')
  child.send({ folder })
  const ended = once(child, 'exit').then(() => {
    throw new Error('the bare server ended')
  })
  ended.catch(() => {})
  const [{ port }] = (await Promise.race([once(child, 'message'), ended])) as [{ port: number }]
  return {
    port,
    cpuMs: () => cpuMs(child.pid ?? 0),
    [Symbol.dispose]: () => void child.kill(),
  }
}
