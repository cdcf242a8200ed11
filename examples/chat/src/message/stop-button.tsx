import type { Conversation, Message } from '@hermod/client'
import { useState } from 'react'
import { Icon } from '../ui/icon.js'
import { useAttempt } from '../ui/notice.js'

interface StopButtonProps {
  readonly conversation: Conversation
  readonly message: Message
}

/** Asks the sender to stop, while a message is being written. In groups its sender and admins may. */
export function StopButton({ conversation, message }: StopButtonProps) {
  const attempt = useAttempt()
  const [isAsked, setAsked] = useState(false)
  const mayStop = conversation.kind === 'direct' || message.isOwn
  if (message.stream?.state !== 'open' || !mayStop) return null
  return (
    <button
      type="button"
      className="stop-button"
      aria-disabled={isAsked}
      onClick={({ currentTarget }) => {
        if (isAsked) return
        setAsked(true)
        attempt(conversation.cancelStream(message))
        // The button vanishes at the end.
        currentTarget.closest<HTMLElement>('[data-message]')?.focus()
      }}
    >
      <Icon name="stop" /> {isAsked ? 'Stopping …' : 'Stop'}
    </button>
  )
}
