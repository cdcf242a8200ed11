import { once } from 'node:events'
import { get } from 'node:http'
import { startProcess } from '../load/processes.js'
import type { SwarmAnswer, SwarmName, SwarmOrder } from './clients.js'
import type { LagFigures } from './lag-probe.js'
import type { Swarm } from './swarm.js'

type Method = {
  [Name in keyof Swarm]: Swarm[Name] extends (...args: never[]) => unknown ? Name : never
}[keyof Swarm]

/** The devices, in a separate process. */
export class RunningSwarms implements Disposable {
  readonly #child = startProcess('../realtime/clients')
  #turn: Promise<unknown> = Promise.resolve()

  run<Name extends Method>(
    swarm: SwarmName,
    method: Name,
    ...args: Parameters<Swarm[Name]>
  ): Promise<Awaited<ReturnType<Swarm[Name]>>> {
    return this.#ask(swarm, method, args) as Promise<Awaited<ReturnType<Swarm[Name]>>>
  }

  [Symbol.dispose](): void {
    if (this.#child.connected) this.#child.disconnect()
  }

  /** Orders run one after another. */
  #ask(swarm: SwarmName, method: string, args: readonly unknown[]): Promise<unknown> {
    const answer = this.#turn.then(() => this.#send({ swarm, method, args }))
    this.#turn = answer.catch(() => {})
    return answer
  }

  #send(order: SwarmOrder): Promise<unknown> {
    const child = this.#child
    return new Promise((resolve, reject) => {
      const ended = () => reject(new Error('the process of the devices has ended'))
      child.once('exit', ended)
      child.once('message', (message: SwarmAnswer) => {
        child.off('exit', ended)
        if ('error' in message) reject(new Error(message.error))
        else resolve(message.result)
      })
      child.send(order)
    })
  }
}

/** @param body of each frame */
export async function startBareGateway(
  body: string,
): Promise<Disposable & { readonly port: number; readonly pid: number }> {
  const child = startProcess('../realtime/bare-gateway')
  child.send({ body })
  const [{ port }] = (await once(child, 'message')) as [{ readonly port: number }]
  return { port, pid: child.pid ?? -1, [Symbol.dispose]: () => void child.kill() }
}

/** Reads the lag of a server's event loop since the last call. */
export function readLag(port: number): Promise<LagFigures> {
  return new Promise((resolve, reject) => {
    get({ port, host: '127.0.0.1', agent: false }, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk) => {
        text += chunk
      })
      response.on('end', () => resolve(JSON.parse(text) as LagFigures))
    }).on('error', reject)
  })
}
