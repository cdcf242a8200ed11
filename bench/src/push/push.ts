/** Pushes: the rate of each channel, and the cost of a push to all users. */
import { type Builds, Servers, type Storage, type StoredServer } from '../measure/build.js'
import type { Effort } from '../measure/measure.js'
import { measureChannels, type PushChannelRow } from './push-channels.js'
import { measureCrowd, type PushCrowdRow } from './push-crowd.js'
import { startSimulator } from './push-processes.js'

/** Size of the set `push`. */
export interface PushOptions {
  /** Devices per channel; 0 skips the channels. */
  readonly devices: number
  /** Size of the audience of all users; 0 skips it. */
  readonly crowdSize: number
}

/** Figures of channels and of pushes to all users. */
export interface PushFigures {
  readonly channels: readonly PushChannelRow[]
  readonly crowds: readonly PushCrowdRow[]
  readonly errors: number
}

/** @param onProgress reports progress */
export async function measurePush(
  storage: Storage,
  [build]: Builds,
  { devices, crowdSize, seconds, rounds }: PushOptions & Effort,
  onProgress: (text: string) => void,
): Promise<PushFigures[]> {
  using simulator = await startSimulator()
  await using servers = await Servers.start(storage, [build])
  const server = servers.all[0] as StoredServer
  const effort = { seconds, rounds, onProgress }
  const channels =
    devices > 0 ? await measureChannels(storage, server, simulator, { ...effort, devices }) : []
  const crowds =
    crowdSize > 0
      ? [await measureCrowd(storage, server, simulator, { ...effort, devices: crowdSize })]
      : []
  return [{ channels, crowds, errors: crowds[0]?.errors ?? 0 }]
}
