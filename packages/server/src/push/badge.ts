import type { BadgeChange } from './notification.js'

/**
 * Parses the field `badge` of a push: a number sets the badge, a number after + adds to it, an
 * empty text adds one.
 *
 * @param text as the contract allows it: at most 9 digits, optionally after a +, or empty
 */
export function badgeChange(text: string): BadgeChange {
  if (text === '') return { mode: 'add', count: 1 }
  return text.startsWith('+')
    ? { mode: 'add', count: Number(text.slice(1)) }
    : { mode: 'set', count: Number(text) }
}
