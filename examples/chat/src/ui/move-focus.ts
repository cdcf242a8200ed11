import type { KeyboardEvent } from 'react'

/**
 * Lets the arrow keys, Home and End move the focus between the items of a list; for `onKeyDown` of
 * the list. @param selector matches the items
 */
export function moveFocus(event: KeyboardEvent<HTMLElement>, selector: string): void {
  const items = [...event.currentTarget.querySelectorAll<HTMLElement>(selector)]
  const focused = (event.target as HTMLElement).closest<HTMLElement>(selector)
  const at = focused === null ? -1 : items.indexOf(focused)
  const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[event.key]
  const item = next === undefined ? undefined : items[next]
  if (item === undefined) return
  event.preventDefault()
  item.focus()
}
