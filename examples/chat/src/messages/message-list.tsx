import type { Conversation, Message, MessageList as Messages } from '@hermod/client'
import { Fragment, type RefObject, useState } from 'react'
import { type MessageHandlers, MessageItem } from '../message/message-item.js'
import { dayText, isSameDay } from '../ui/format.js'
import { IconButton } from '../ui/icon-button.js'
import { moveFocus } from '../ui/move-focus.js'
import { MoreMessages } from './more-messages.js'
import { ReadMarker } from './read-marker.js'

interface MessageListProps {
  readonly conversation: Conversation
  readonly list: Messages
  readonly unread: number
  /** The key of the message below the line for new messages. */
  readonly firstUnread: string | undefined
  /** The ID of the message that is marked. */
  readonly marked: number | undefined
  readonly scroller: RefObject<HTMLDivElement | null>
  readonly handlers: MessageHandlers
  toNewest(): void
}

/**
 * The messages, oldest first. The element around the list has `flex-direction: column-reverse`, so
 * it starts at its end and keeps the place when older messages come in above.
 */
export function MessageList({ conversation, list, ...props }: MessageListProps) {
  const { messages, hasOlder, hasNewer, isLoading, error } = list
  const { loadOlder, loadNewer } = conversation.messages
  const [focused, setFocused] = useState<string>()
  const [isAway, setAway] = useState(false)
  const newest = messages.at(-1)?.key
  const tabStop = messages.some(({ key }) => key === focused) ? focused : newest
  const pages = { isLoading, hasFailed: error !== undefined }
  return (
    <div className="messages-area">
      <div
        className="messages"
        ref={props.scroller}
        onScroll={({ currentTarget }) => setAway(currentTarget.scrollTop < -200)}
      >
        {!hasNewer && (
          <ReadMarker conversation={conversation} unread={props.unread} newest={newest} />
        )}
        <ol aria-label="Messages" onKeyDown={(event) => moveFocus(event, '[data-message]')}>
          {hasOlder && <MoreMessages end="older" load={loadOlder} {...pages} />}
          {messages.map((message, index) => {
            const before = messages[index - 1]
            const isNewDay = !before || !isSameDay(before.timestamp, message.timestamp)
            const isFirstUnread = message.key === props.firstUnread
            return (
              <Fragment key={message.key}>
                {isNewDay && <li className="day">{dayText(message.timestamp)}</li>}
                {isFirstUnread && <li className="first-unread">New messages</li>}
                <MessageItem
                  conversation={conversation}
                  message={message}
                  isContinued={!isNewDay && !isFirstUnread && isSameBlock(before, message)}
                  isTabStop={message.key === tabStop}
                  isMarked={message.id > 0 && message.id === props.marked}
                  onFocus={() => setFocused(message.key)}
                  {...props.handlers}
                />
              </Fragment>
            )
          })}
          {hasNewer && <MoreMessages end="newer" load={loadNewer} {...pages} />}
        </ol>
      </div>
      {(isAway || hasNewer) && (
        <IconButton
          className="to-end"
          icon="down"
          label="To the newest message"
          onClick={props.toNewest}
        />
      )}
    </div>
  )
}

/** Messages of one sender within five minutes stand close together. */
function isSameBlock(one: Message, other: Message): boolean {
  return (
    one.senderId === other.senderId &&
    !one.isSystem &&
    !other.isSystem &&
    other.timestamp - one.timestamp < 300_000
  )
}
