/** What several pushes at once make of a badge. Loaded by the writer's thread too. */
import type { BadgeChange } from '../../../push/sender.js'

/** What changes come to. */
export interface BadgeTotal {
  /** What is added before the badge is set; null: nothing is. */
  readonly added: number | null
  /** What it is at last when it is set; null: it is not. */
  readonly set: number | null
}

/** @param changes of one badge, in their order */
export function totalOf(changes: readonly BadgeChange[]): BadgeTotal {
  const firstSet = changes.findIndex(({ mode }) => mode === 'set')
  const before = firstSet < 0 ? changes : changes.slice(0, firstSet)
  return {
    added: before.length > 0 ? before.reduce((sum, { count }) => sum + count, 0) : null,
    set: firstSet < 0 ? null : changes.slice(firstSet).reduce(changed, 0),
  }
}

const greatestShown = 2 ** 31 - 1

/**
 * What devices show after each of the changes.
 * @param afterAdding the badge when all was added that is added before it is set
 */
export function shownAfter(changes: readonly BadgeChange[], afterAdding: number): number[] {
  let badge = afterAdding - (totalOf(changes).added ?? 0)
  return changes.map((change) => {
    badge = changed(badge, change)
    return Math.min(badge, greatestShown)
  })
}

function changed(badge: number, { mode, count }: BadgeChange): number {
  return mode === 'set' ? count : badge + count
}
