import { once } from 'node:events'
import { cpuMs } from '@hermod/testkit'
import { startProcess } from '../load/processes.js'

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
