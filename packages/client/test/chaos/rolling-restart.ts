/** Restarts of one node after the other, while users work and devices stay connected. */
import type { Exit } from '@hermod/testkit'
import { waitFor } from '@hermod/testkit'
import type { CheckedHistory, ChaosNode } from '@hermod/testkit/chaos'
import type { Random } from '../../../server/test/support/random.js'
import { ChaosRun } from './chaos-run.js'
import { LightDevices } from './light-devices.js'

/** The result of a rolling restart. */
interface RollingRestart {
  /** How the processes ended that were told to leave. */
  readonly exits: readonly Exit[]
  readonly returns: number
  /** How often devices lost their connection, by code and reason. */
  readonly endings: Readonly<Record<string, number>>
  readonly returnsBySecond: readonly number[]
  readonly faults: readonly string[]
  readonly checked: CheckedHistory
}

/** Devices that only stay connected, each of its own user. */
async function startDevices(run: ChaosRun, count: number): Promise<LightDevices> {
  const node = run.cluster.nodes[0] as ChaosNode
  const { api, appId } = node.process
  const users = await api.addUsers(Array.from({ length: count }, (_, index) => `device_${index}`))
  const logins = []
  for (const [index, user] of users.entries())
    logins.push({ token: (await api.sessionOf(user)).token, deviceGuid: `device ${index}` })
  return LightDevices.start({ url: run.cluster.url, appId, logins })
}

/**
 * Drains each of three nodes, which the supervisor then starts again.
 * @param command the `hermod` script of another build that it starts
 */
export async function restartOneByOne({
  random,
  devices: count,
  command,
}: {
  readonly random: Random
  readonly devices: number
  readonly command?: string
}): Promise<RollingRestart> {
  const crowd = { connected: 4, absent: 1, everyMs: 200 }
  await using run = await ChaosRun.start({ random, nodes: 3, hasStandby: false, ...crowd })
  await using devices = await startDevices(run, count)
  const exits: Exit[] = []
  for (const node of run.cluster.nodes) {
    node.command = command
    exits.push(await node.drain())
    await run.cluster.waitUntilReady()
    await waitFor(() => devices.connected === count, {
      what: 'all devices are connected again',
      timeoutMs: 60_000,
      everyMs: 100,
    })
  }
  const checked = await run.finish()
  const { returnsBySecond } = devices
  const endings = Object.fromEntries(devices.endings)
  return {
    ...{ exits, endings, returnsBySecond, checked },
    returns: devices.returns.length,
    faults: run.faults,
  }
}
