import { useState } from 'react'
import { Icon } from '../ui/icon.js'
import type { PinnedLine } from './use-pinned.js'

interface PinnedBarProps {
  readonly pinned: readonly PinnedLine[]
  /** Goes to a message. */
  onJump(messageId: number): void
}

/** The message that was pinned last, or all of them; a click goes there. */
export function PinnedBar({ pinned, onJump }: PinnedBarProps) {
  const [isOpen, setOpen] = useState(false)
  if (pinned.length === 0) return null
  return (
    <section className="pinned-bar" aria-label="Pinned messages">
      <ul>
        {pinned.slice(0, isOpen ? undefined : 1).map(({ id, text }) => (
          <li key={id}>
            <button type="button" title="Go to this message" onClick={() => onJump(id)}>
              <Icon name="pin" />
              <span>{text}</span>
            </button>
          </li>
        ))}
      </ul>
      {pinned.length > 1 && (
        <button
          type="button"
          className="text-button pinned-toggle"
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
        >
          {isOpen ? 'Show one' : `Show all ${pinned.length}`}
        </button>
      )}
    </section>
  )
}
