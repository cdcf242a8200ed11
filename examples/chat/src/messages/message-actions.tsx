import type { Conversation, Message } from '@hermod/client'
import { IconButton } from '../ui/icon-button.js'
import { useAttempt } from '../ui/notice.js'

interface MessageActionsProps {
  readonly conversation: Conversation
  readonly message: Message
  readonly isTabStop: boolean
  onEdit(): void
}

/** Actions on an own message: edit and recall; retry and discard one that failed, or its change. */
export function MessageActions({ conversation, message, ...props }: MessageActionsProps) {
  const { isOwn, contentType, pending } = message
  const attempt = useAttempt()
  if (!isOwn) return null
  const tabIndex = props.isTabStop ? 0 : -1
  const run = (button: HTMLElement, action: () => Promise<void>) => {
    attempt(action())
    // The button may vanish with its message.
    button.closest('.conversation')?.querySelector('textarea')?.focus()
  }
  const failed = [message, pending].find((each) => each?.status === 'failed')
  if (failed) {
    const { key, failure } = failed
    // The footer says why; sending it all the same is up to the user.
    const anyway = failure?.name === 'undecided' || failure?.name === 'edited_meanwhile'
    return (
      <div className="message-actions always">
        <IconButton
          icon="retry"
          label="Send again"
          tabIndex={tabIndex}
          onClick={({ currentTarget }) =>
            run(currentTarget, () => conversation.retry(key, { anyway }))
          }
        />
        <IconButton
          icon="close"
          label="Discard"
          tabIndex={tabIndex}
          onClick={({ currentTarget }) => run(currentTarget, () => conversation.discard(key))}
        />
      </div>
    )
  }
  return (
    <div className="message-actions">
      {contentType === 'text' && (
        <IconButton icon="edit" label="Edit" tabIndex={tabIndex} onClick={props.onEdit} />
      )}
      <IconButton
        icon="recall"
        label="Recall"
        tabIndex={tabIndex}
        onClick={({ currentTarget }) => run(currentTarget, () => conversation.recall(message))}
      />
    </div>
  )
}
