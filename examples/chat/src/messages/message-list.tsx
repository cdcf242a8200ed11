import type { Conversation, Message, MessageList as Messages } from '@hermod/client'
import { type RefObject, useState } from 'react'
import { dayText, isSameDay } from '../ui/format.js'
import { IconButton } from '../ui/icon-button.js'
import { moveFocus } from '../ui/move-focus.js'
import { MessageItem } from './message-item.js'
import { OlderMessages } from './older-messages.js'
import { ReadMarker } from './read-marker.js'

interface MessageListProps {
  readonly conversation: Conversation
  readonly list: Messages
  readonly unread: number
  readonly scroller: RefObject<HTMLDivElement | null>
  onEdit(message: Message): void
}

/**
 * The messages, oldest first. The element around the list has `flex-direction: column-reverse`, so
 * it starts at its end and keeps the place when older messages come in above.
 */
export function MessageList({ conversation, list, unread, scroller, onEdit }: MessageListProps) {
  const { messages, hasOlder, isLoading, error } = list
  const [focused, setFocused] = useState<string>()
  const [isAway, setAway] = useState(false)
  const newest = messages.at(-1)?.key
  const tabStop = messages.some(({ key }) => key === focused) ? focused : newest
  return (
    <div className="messages-area">
      <div
        className="messages"
        ref={scroller}
        onScroll={({ currentTarget }) => setAway(currentTarget.scrollTop < -200)}
      >
        <ReadMarker conversation={conversation} unread={unread} newest={newest} />
        <ol aria-label="Messages" onKeyDown={(event) => moveFocus(event, '[data-message]')}>
          {hasOlder && (
            <OlderMessages
              conversation={conversation}
              isLoading={isLoading}
              hasFailed={error !== undefined}
            />
          )}
          {messages.map((message, index) => {
            const before = messages[index - 1]
            const isNewDay = !before || !isSameDay(before.timestamp, message.timestamp)
            return (
              <MessageItem
                key={message.key}
                conversation={conversation}
                message={message}
                day={isNewDay ? dayText(message.timestamp) : undefined}
                isContinued={!isNewDay && isSameBlock(before, message)}
                isTabStop={message.key === tabStop}
                onFocus={() => setFocused(message.key)}
                onEdit={() => onEdit(message)}
              />
            )
          })}
        </ol>
      </div>
      {isAway && (
        <IconButton
          className="to-end"
          icon="down"
          label="To the newest message"
          onClick={() => scroller.current?.scrollTo({ top: 0, behavior: 'smooth' })}
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
