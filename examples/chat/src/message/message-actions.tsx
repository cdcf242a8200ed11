import type { Conversation, Message } from '@hermod/client'
import { useState } from 'react'
import { IconButton } from '../ui/icon-button.js'
import { useAttempt } from '../ui/notice.js'
import { PinButton } from './pin-button.js'
import { ReactionChoice } from './reaction-choice.js'

interface MessageActionsProps {
  readonly conversation: Conversation
  readonly message: Message
  readonly tabIndex: number
  onReply(): void
  onEdit(): void
}

/** The actions on a message, above it while it has the mouse or the focus. */
export function MessageActions({ conversation, message, tabIndex, ...on }: MessageActionsProps) {
  const { id, isOwn, isBroadcast, contentType, stream } = message
  const attempt = useAttempt()
  const [isChoosing, setChoosing] = useState(false)
  const isOpen = stream?.state === 'open'
  if (message.status === 'failed') return <FailedActions {...{ conversation, message, tabIndex }} />
  if (isChoosing)
    return (
      <div className="message-actions always">
        <ReactionChoice {...{ conversation, message }} onClose={() => setChoosing(false)} />
      </div>
    )
  return (
    <div className="message-actions">
      {id > 0 && !isBroadcast && (
        <>
          <IconButton
            icon="smile"
            label="React"
            tabIndex={tabIndex}
            onClick={() => setChoosing(true)}
          />
          <IconButton icon="reply" label="Reply" tabIndex={tabIndex} onClick={on.onReply} />
          <PinButton {...{ conversation, message, tabIndex }} />
        </>
      )}
      {isOwn && contentType === 'text' && !isOpen && (
        <IconButton icon="edit" label="Edit" tabIndex={tabIndex} onClick={on.onEdit} />
      )}
      {isOwn && (
        <IconButton
          icon="recall"
          label="Recall"
          tabIndex={tabIndex}
          onClick={({ currentTarget }) => {
            attempt(conversation.recall(message))
            focusField(currentTarget)
          }}
        />
      )}
    </div>
  )
}

function FailedActions({
  conversation,
  message: { key, failure },
  tabIndex,
}: Pick<MessageActionsProps, 'conversation' | 'message' | 'tabIndex'>) {
  const attempt = useAttempt()
  return (
    <div className="message-actions always">
      <IconButton
        icon="retry"
        label="Send again"
        tabIndex={tabIndex}
        onClick={({ currentTarget }) => {
          // The footer says why; sending it all the same is up to the user.
          attempt(conversation.retry(key, { anyway: failure?.name === 'undecided' }))
          focusField(currentTarget)
        }}
      />
      <IconButton
        icon="close"
        label="Discard"
        tabIndex={tabIndex}
        onClick={({ currentTarget }) => {
          attempt(conversation.discard(key))
          focusField(currentTarget)
        }}
      />
    </div>
  )
}

/** The button vanishes with its message, and would take the focus along. */
function focusField(button: HTMLElement): void {
  button.closest('.conversation')?.querySelector('textarea')?.focus()
}
