import type { Conversation, Message } from '@hermod/client'
import { FailedChange } from './failed-change.js'
import { MessageActions } from './message-actions.js'
import { MessageBody } from './message-body.js'
import { MessageFooter } from './message-footer.js'
import { Quote } from './quote.js'
import { Reactions } from './reactions.js'
import { SenderLine } from './sender-line.js'
import { StopButton } from './stop-button.js'

/** What a message asks of the conversation around it. */
export interface MessageHandlers {
  onReply(message: Message): void
  onEdit(message: Message): void
  /** Goes to the message with this ID. */
  onJump(messageId: number): void
}

interface MessageItemProps extends MessageHandlers {
  readonly conversation: Conversation
  readonly message: Message
  /** True: it stands close to the message before, which has the same sender. */
  readonly isContinued: boolean
  /** One message of the list is reached with the tab key. */
  readonly isTabStop: boolean
  /** True: the user has just come to it from elsewhere. */
  readonly isMarked: boolean
  onFocus(): void
}

/** A message with its quote, reactions and actions. */
export function MessageItem({ conversation, message, ...props }: MessageItemProps) {
  const { isContinued, isTabStop, isMarked, onReply, onEdit, onJump } = props
  if (message.isSystem) return <li className="system-message">{message.text}</li>
  const hasSender = conversation.kind === 'group' && !message.isOwn && !isContinued
  const tabIndex = isTabStop ? 0 : -1
  return (
    <li
      className="message"
      data-message={message.key}
      data-id={message.id}
      data-own={message.isOwn}
      data-continued={isContinued}
      data-marked={isMarked}
      data-status={message.status}
      data-pending={message.pending?.status === 'sending' ? message.pending.kind : undefined}
      data-stream={message.stream?.state}
      tabIndex={tabIndex}
      onFocus={props.onFocus}
    >
      {hasSender && <SenderLine userId={message.senderId} />}
      <div className="bubble">
        <Quote {...{ message, tabIndex, onJump }} />
        <MessageBody message={message} />
        <FailedChange {...{ conversation, message }} />
        <StopButton {...{ conversation, message }} />
        <MessageFooter message={message} />
        <MessageActions
          {...{ conversation, message, tabIndex }}
          onReply={() => onReply(message)}
          onEdit={() => onEdit(message)}
        />
      </div>
      <Reactions {...{ conversation, message, tabIndex }} />
    </li>
  )
}
