import type { Conversation, Message } from '@hermod/client'
import { useAttempt } from '../ui/notice.js'

interface FailedChangeProps {
  readonly conversation: Conversation
  readonly message: Message
}

/** An edit or a recall that was refused, below the present text, and the choice what becomes of it. */
export function FailedChange({ conversation, message: { pending } }: FailedChangeProps) {
  const attempt = useAttempt()
  if (pending?.failure === undefined) return null
  const { key, text, failure } = pending
  // Another device or an administrator was faster.
  const isOvertaken = failure.name === 'edited_meanwhile'
  return (
    <fieldset className="failed-change" aria-label="Your change">
      <p>
        {isOvertaken
          ? 'Changed elsewhere meanwhile. Your text:'
          : `Not changed: ${failure.message}`}
      </p>
      {text !== undefined && <blockquote>{text}</blockquote>}
      {(isOvertaken || failure.retry) && (
        <button
          type="button"
          className="text-button"
          onClick={() => attempt(conversation.retry(key, { anyway: isOvertaken }))}
        >
          {isOvertaken ? 'Use mine' : 'Try again'}
        </button>
      )}
      <button
        type="button"
        className="text-button"
        onClick={() => attempt(conversation.discard(key))}
      >
        {isOvertaken ? 'Discard mine' : 'Discard'}
      </button>
    </fieldset>
  )
}
