import type { Conversation, Message } from '@hermod/client'
import { useEffect, useRef } from 'react'
import { useAttempt } from '../ui/notice.js'

interface ReactionChoiceProps {
  readonly conversation: Conversation
  readonly message: Message
  onClose(): void
}

const choice = ['👍', '💜', '😂', '😮', '🎉', '🙏']

/** A row of emoji to react with. Escape closes it. */
export function ReactionChoice({ conversation, message, onClose }: ReactionChoiceProps) {
  const attempt = useAttempt()
  const row = useRef<HTMLFieldSetElement>(null)
  useEffect(() => row.current?.querySelector('button')?.focus(), [])
  return (
    <fieldset
      className="reaction-choice"
      aria-label="Reaction"
      ref={row}
      onBlur={({ currentTarget, relatedTarget }) => {
        if (!currentTarget.contains(relatedTarget)) onClose()
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return
        event.preventDefault()
        focusMessage(event.currentTarget)
      }}
    >
      {choice.map((emoji) => {
        const isOwn = message.reactions.some(({ key, isOwn }) => isOwn && key === emoji)
        return (
          <button
            key={emoji}
            type="button"
            aria-label={`React with ${emoji}`}
            aria-pressed={isOwn}
            onClick={({ currentTarget }) => {
              attempt(conversation.react(message, emoji, { isOn: !isOwn }))
              focusMessage(currentTarget)
            }}
          >
            {emoji}
          </button>
        )
      })}
    </fieldset>
  )
}

/** The row closes when it loses the focus. */
function focusMessage(element: HTMLElement): void {
  element.closest<HTMLElement>('[data-message]')?.focus()
}
