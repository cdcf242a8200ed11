/** The process of all devices: runs one order after another, which it gets over IPC. */
import { Swarm } from './swarm.js'

/** The devices of the service, or those of the bare server. */
export type SwarmName = 'service' | 'bare'

/** Call of a method of a swarm, in the process of the clients. */
export interface SwarmOrder {
  readonly swarm: SwarmName
  readonly method: string
  readonly args: readonly unknown[]
}

/** Result of a {@link SwarmOrder}. */
export type SwarmAnswer = { readonly result: unknown } | { readonly error: string }

const swarms: Readonly<Record<SwarmName, Swarm>> = { service: new Swarm(), bare: new Swarm() }

process.on('message', async ({ swarm, method, args }: SwarmOrder) => {
  try {
    const devices = swarms[swarm]
    const run = devices[method as 'open'] as (...args: unknown[]) => unknown
    answer({ result: await run.apply(devices, [...args]) })
  } catch (error) {
    answer({ error: (error as Error).stack ?? String(error) })
  }
})

// The parent process has ended or needs no more devices.
process.once('disconnect', () => process.exit())

function answer(message: SwarmAnswer): void {
  process.send?.(message)
}
