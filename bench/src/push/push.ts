/** Pushes: how fast each channel is, and what a push to everybody costs. */
import { type Build, Servers, type Storage, type StoredServer } from '../measure/build.js'
import type { Effort } from '../measure/measure.js'
import { measureChannels, type PushChannelRow } from './push-channels.js'
import { measureCrowd, type PushCrowdRow } from './push-crowd.js'
import { startSimulator } from './push-processes.js'

export interface PushOptions {
  /** On each channel; 0: channels are left out. */
  readonly devices: number
  /** Of the audience of all; 0: it is left out. */
  readonly crowdSize: number
}

export interface PushFigures {
  readonly channels: readonly PushChannelRow[]
  readonly crowds: readonly PushCrowdRow[]
}

/** @param tell says what goes on */
export async function measurePush(
  storage: Storage,
  build: Build,
  { devices, crowdSize, seconds, rounds }: PushOptions & Effort,
  tell: (text: string) => void,
): Promise<PushFigures> {
  using simulator = await startSimulator()
  await using servers = await Servers.start(storage, [build])
  const server = servers.all[0] as StoredServer
  const effort = { seconds, rounds, tell }
  return {
    channels:
      devices > 0 ? await measureChannels(storage, server, simulator, { ...effort, devices }) : [],
    crowds:
      crowdSize > 0
        ? [await measureCrowd(storage, server, simulator, { ...effort, devices: crowdSize })]
        : [],
  }
}
