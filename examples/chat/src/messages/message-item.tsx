import type { Conversation, Message } from '@hermod/client'
import { MessageActions } from './message-actions.js'
import { MessageBody } from './message-body.js'
import { MessageFooter } from './message-footer.js'
import { SenderLine } from './sender-line.js'

interface MessageItemProps {
  readonly conversation: Conversation
  readonly message: Message
  /** The heading of a new day. */
  readonly day: string | undefined
  /** True: it stands close to the message before, which has the same sender. */
  readonly isContinued: boolean
  /** One message of the list is reached with the tab key. */
  readonly isTabStop: boolean
  onFocus(): void
  onEdit(): void
}

/** A message with the day above it, and the actions next to it. */
export function MessageItem({ conversation, message, ...props }: MessageItemProps) {
  const { day, isContinued, isTabStop } = props
  if (message.isSystem) return <SystemMessage text={message.text} day={day} />
  const hasSender = conversation.kind === 'group' && !message.isOwn && !isContinued
  return (
    <>
      {day !== undefined && <Day text={day} />}
      <li
        className="message"
        data-message={message.key}
        data-own={message.isOwn}
        data-continued={isContinued}
        data-status={message.status}
        tabIndex={isTabStop ? 0 : -1}
        onFocus={props.onFocus}
      >
        {hasSender && <SenderLine userId={message.senderId} />}
        <div className="message-row">
          <div className="bubble">
            <MessageBody message={message} />
            <MessageFooter message={message} />
          </div>
          <MessageActions
            conversation={conversation}
            message={message}
            isTabStop={isTabStop}
            onEdit={props.onEdit}
          />
        </div>
      </li>
    </>
  )
}

function Day({ text }: { readonly text: string }) {
  return (
    <li className="day">
      <span>{text}</span>
    </li>
  )
}

function SystemMessage({ text, day }: { readonly text: string; readonly day: string | undefined }) {
  return (
    <>
      {day !== undefined && <Day text={day} />}
      <li className="system-message">{text}</li>
    </>
  )
}
