import type { FaultKind } from '@hermod/testkit/chaos'

/** What a run expects beside the checked history. A part that the service does not have yet is off. */
export const expectations = {
  /** A message reaches connected devices of every node within this time while nothing fails. */
  deliveryMs: 5_000,
  /** Every node says of every user whether a device is connected, to whichever node. */
  presence: true,
  /** The table `sessions` has the open sessions, and no other. */
  sessionsTable: true,
  /** Commits that a failover loses are noticed: clients begin again, IDs are not used twice. */
  lostHistory: false,
} as const

/** The faults that a run has. */
export function isExpected(kind: FaultKind): boolean {
  return kind !== 'lossy_promotion' || expectations.lostHistory
}
