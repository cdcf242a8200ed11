/** The effect of several pushes at once on a badge. Loaded by the writer's thread too. */
import type { BadgeChange } from '../../../push/notification.js'

/** The net effect of several badge changes. */
export interface BadgeTotal {
  /** The sum of the additions before the badge is set; null: none. */
  readonly added: number | null
  /** The final value when the badge is set; null: it is not set. */
  readonly set: number | null
}

/** @param changes of one badge, in their order */
export function totalOf(changes: readonly BadgeChange[]): BadgeTotal {
  const firstSet = changes.findIndex(({ mode }) => mode === 'set')
  const before = firstSet < 0 ? changes : changes.slice(0, firstSet)
  return {
    added: before.length > 0 ? before.reduce((sum, { count }) => sum + count, 0) : null,
    set: firstSet < 0 ? null : changes.slice(firstSet).reduce(changedBadge, 0),
  }
}

const greatestShown = 2 ** 31 - 1

/**
 * The badges that devices show after each change.
 * @param afterAdding the badge after the additions before it is set
 */
export function shownAfter(changes: readonly BadgeChange[], afterAdding: number): number[] {
  let badge = afterAdding - (totalOf(changes).added ?? 0)
  return changes.map((change) => {
    badge = changedBadge(badge, change)
    return Math.min(badge, greatestShown)
  })
}

function changedBadge(badge: number, { mode, count }: BadgeChange): number {
  return mode === 'set' ? count : badge + count
}
