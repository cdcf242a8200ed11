import type { ConversationRef } from '@hermod/client'
import { useClient, useMessages, useSummary } from '@hermod/client/react'
import { type KeyboardEvent, useRef, useState } from 'react'
import { Composer, type Composition } from '../composer/composer.js'
import { ConversationHeader } from './conversation-header.js'
import { MessageList } from './message-list.js'
import { PinnedBar } from './pinned-bar.js'
import { TypingLine } from './typing-line.js'
import { useActivity } from './use-activity.js'
import { useFirstUnread } from './use-first-unread.js'
import { useJump } from './use-jump.js'

interface ConversationViewProps {
  readonly conversation: ConversationRef
  onClose(): void
}

/** An open conversation: its header, its messages, and the field for a new one. Escape closes it. */
export function ConversationView({ conversation: { id, kind }, onClose }: ConversationViewProps) {
  const conversation = useClient().conversation({ id, kind })
  const summary = useSummary(conversation)
  const list = useMessages(conversation)
  const scroller = useRef<HTMLDivElement>(null)
  const [composition, setComposition] = useState<Composition>({ kind: 'new' })
  const firstUnread = useFirstUnread(list)
  const { marked, jumpTo, toNewest } = useJump(conversation, list, scroller)
  const activity = useActivity(conversation)
  // Its answer ends the activity.
  const isAnswered = list.messages.at(-1)?.senderId === activity?.userId

  function onKeyDown(event: KeyboardEvent) {
    const isInDialog = (event.target as HTMLElement).closest('dialog') !== null
    if (event.key !== 'Escape' || event.defaultPrevented || isInDialog) return
    onClose()
  }

  return (
    <article
      className="conversation"
      aria-label={`Conversation with ${summary.title}`}
      onKeyDown={onKeyDown}
    >
      <ConversationHeader summary={summary} onClose={onClose} />
      <PinnedBar conversation={conversation} onJump={jumpTo} />
      <MessageList
        {...{ conversation, list, firstUnread, marked, scroller, toNewest }}
        unread={summary.unread}
        handlers={{
          onReply: (message) => setComposition({ kind: 'reply', message }),
          onEdit: (message) => setComposition({ kind: 'edit', message }),
          onJump: jumpTo,
        }}
      />
      <TypingLine userIds={summary.typing} {...(activity && !isAnswered && { activity })} />
      {summary.isWritable ? (
        <Composer
          key={composition.kind === 'edit' ? composition.message.key : ''}
          {...{ conversation, composition }}
          lastOwn={list.messages.findLast(
            ({ isOwn, id, contentType }) => isOwn && id > 0 && contentType === 'text',
          )}
          onCompose={setComposition}
          onSent={toNewest}
        />
      ) : (
        <p className="composer-closed">You cannot write here any more.</p>
      )}
    </article>
  )
}
