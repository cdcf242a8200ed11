import type { Message, MessageStream } from '@hermod/client'
import { timeText } from '../ui/format.js'
import { Icon } from '../ui/icon.js'
import { MessageStatusIcon } from './message-status-icon.js'

const ends: Readonly<Record<MessageStream['state'], string>> = {
  open: '',
  done: '',
  failed: 'not finished',
  cancelled: 'stopped',
  interrupted: 'interrupted',
}

/** The time of a message, whether it was edited, and how far it and its last change have come. */
export function MessageFooter({ message }: { readonly message: Message }) {
  const { timestamp, isEdited, isOwn, status, failure, pending, pinned, stream } = message
  return (
    <p className="message-footer">
      {failure !== undefined && <span className="failure">Not sent: {failure.message}</span>}
      {pending?.status === 'sending' && (
        <span className="pending-change">
          {pending.kind === 'edit' ? 'edit waits' : 'recall waits'} <Icon name="clock" />
        </span>
      )}
      {pinned !== undefined && <Icon name="pin" label="pinned" />}
      {stream !== undefined && ends[stream.state]}
      {isEdited && pending === undefined && 'edited '}
      <time dateTime={new Date(timestamp).toISOString()}>{timeText(timestamp)}</time>
      {isOwn && <MessageStatusIcon status={status} />}
    </p>
  )
}
