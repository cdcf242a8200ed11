import type { Message } from '@hermod/client'
import { timeText } from '../ui/format.js'
import { MessageStatusIcon } from './message-status-icon.js'

/** The time of a message, whether it was edited, and how far it and its last change have come. */
export function MessageFooter({ message }: { readonly message: Message }) {
  const { timestamp, isEdited, isOwn, status, failure, pending } = message
  return (
    <p className="message-footer">
      {failure !== undefined && <span className="failure">Not sent: {failure.message}</span>}
      {pending?.status === 'sending' && 'changing … '}
      {pending?.failure !== undefined && (
        <span className="failure">Not changed: {pending.failure.message}</span>
      )}
      {isEdited && 'edited '}
      <time dateTime={new Date(timestamp).toISOString()}>{timeText(timestamp)}</time>
      {isOwn && <MessageStatusIcon status={status} />}
    </p>
  )
}
