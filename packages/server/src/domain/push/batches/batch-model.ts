import type { Int64, PushChannel } from '@hermod/protocol'
import type { TaskKey } from '../tasks/task-model.js'

/** Devices, in all and of them those that are told through each channel. */
export interface DeviceCounts {
  readonly devices: number
  readonly targets: ReadonlyMap<PushChannel, number>
}

/** Names a batch: deliveries that are sent together. */
export interface BatchKey {
  readonly appId: string
  readonly batchId: Int64
}

/** How far a batch is. */
export interface BatchProgress extends BatchKey {
  /** Users above it have no deliveries yet. */
  readonly openedTo: Int64
  /** The devices of those users, as they are counted in the task until then. */
  readonly expected: DeviceCounts
}

/** A part of the audience of a task. The deliveries are written when its turn comes, by what is so then: the batch is opened. */
export interface Batch extends BatchProgress, TaskKey {
  /** Users above it are of other batches. */
  readonly upTo: Int64
}

/** What is expected where nobody is. */
export const noDevices: DeviceCounts = { devices: 0, targets: new Map() }

/** The devices of two parts of an audience. */
export function addCounts(a: DeviceCounts, b: DeviceCounts): DeviceCounts {
  const targets = new Map(a.targets)
  for (const [channel, count] of b.targets)
    targets.set(channel, (targets.get(channel) ?? 0) + count)
  return { devices: a.devices + b.devices, targets }
}

/** So many parts of an audience that are all the same. */
export function multiplied({ devices, targets }: DeviceCounts, times: number): DeviceCounts {
  return {
    devices: devices * times,
    targets: new Map([...targets].map(([channel, count]) => [channel, count * times])),
  }
}

/**
 * Counts devices that were expected and are found now. A part counts no device a second time that is among those expected, and the last
 * one takes back what was not found, so that in the end those are counted that were found.
 * @returns what the counts of the task change by, and what is expected of the rest of the batch
 */
export function settle(
  expected: DeviceCounts,
  found: DeviceCounts,
  { isLast }: { readonly isLast: boolean },
): { readonly change: DeviceCounts; readonly rest: DeviceCounts } {
  const changeOf = (before: number, now: number) =>
    isLast ? now - before : Math.max(now - before, 0)
  const restOf = (before: number, now: number) => (isLast ? 0 : Math.max(before - now, 0))
  const both = (of: typeof changeOf): DeviceCounts => {
    const channels = new Set([...expected.targets.keys(), ...found.targets.keys()])
    const targets = [...channels]
      .map((channel) => {
        const before = expected.targets.get(channel) ?? 0
        return [channel, of(before, found.targets.get(channel) ?? 0)] as const
      })
      .filter(([, count]) => count !== 0)
    return { devices: of(expected.devices, found.devices), targets: new Map(targets) }
  }
  return { change: both(changeOf), rest: both(restOf) }
}
