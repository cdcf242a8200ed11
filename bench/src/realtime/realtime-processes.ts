import { once } from 'node:events'
import { get } from 'node:http'
import { startProcess } from '../load/processes.js'
import type { SwarmAnswer, SwarmName } from './clients.js'
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
    const answer = this.#turn.then(async () => {
      this.#child.send({ swarm, method, args })
      const [message] = (await Promise.race([
        once(this.#child, 'message'),
        once(this.#child, 'exit').then(() => [{ error: 'the devices have ended' }]),
      ])) as [SwarmAnswer]
      if ('error' in message) throw new Error(message.error)
      return message.result
    })
    this.#turn = answer.catch(() => {})
    return answer
  }
}

/** @param body of each frame */
export async function startBareGateway(
  body: string,
): Promise<Disposable & { readonly port: number }> {
  const child = startProcess('../realtime/bare-gateway')
  child.send({ body })
  const [{ port }] = (await once(child, 'message')) as [{ readonly port: number }]
  return { port, [Symbol.dispose]: () => void child.kill() }
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
