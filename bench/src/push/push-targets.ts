/** Targets of pushes. */
import type { PushChannelRow } from './push-channels.js'
import type { PushCrowdRow } from './push-crowd.js'

/** Minimum for ios_gw: sends a second or a share of the bare client, whichever is less. */
export const channelTarget = { channel: 'ios_gw', perSecond: 5_000, ofBare: 0.6 } as const

/** Longest answer of a push to all users, and the growth of p99 that it may cause. */
export const crowdTarget = { notifyMs: 20, p99Growth: 2 } as const

/**
 * Returns missed targets, including figures that could not be measured. Null: the channel has no
 * target.
 */
export function missedChannelTarget({
  channel,
  sendsPerSecond,
  ofBare,
}: Pick<PushChannelRow, 'channel' | 'sendsPerSecond' | 'ofBare'>): string[] | null {
  if (channel !== channelTarget.channel) return null
  const isMet = sendsPerSecond >= channelTarget.perSecond || ofBare >= channelTarget.ofBare
  return isMet ? [] : ['sends']
}

/** Returns missed targets of a push to all users. */
export function missedCrowdTargets({
  notifyMs,
  before,
  during,
}: Pick<PushCrowdRow, 'notifyMs' | 'before' | 'during'>): string[] {
  return [
    ...(notifyMs <= crowdTarget.notifyMs ? [] : ['answer']),
    ...(during.p99Ms <= before.p99Ms * crowdTarget.p99Growth ? [] : ['p99']),
  ]
}
