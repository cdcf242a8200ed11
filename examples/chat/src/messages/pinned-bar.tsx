import type { Conversation } from '@hermod/client'
import { usePinnedMessages } from '@hermod/client/react'
import { useState } from 'react'
import { previewText } from '../message/preview-text.js'
import { Icon } from '../ui/icon.js'

interface PinnedBarProps {
  readonly conversation: Conversation
  /** Goes to a message. */
  onJump(messageId: number): void
}

/** The message that was pinned last, or all of them; a click goes there. */
export function PinnedBar({ conversation, onJump }: PinnedBarProps) {
  const pinned = usePinnedMessages(conversation) ?? []
  const [isOpen, setOpen] = useState(false)
  if (pinned.length === 0) return null
  return (
    <div className="pinned-bar">
      <ul aria-label="Pinned messages">
        {pinned.slice(0, isOpen ? undefined : 1).map((message) => (
          <li key={message.key}>
            <button type="button" title="Go to this message" onClick={() => onJump(message.id)}>
              <Icon name="pin" />
              <span>{previewText(message)}</span>
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
    </div>
  )
}
